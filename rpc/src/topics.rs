//! What can be subscribed to, and how it reads on the wire.

use crate::ACCOUNT_BYTES_MAX;
use crate::wire::{Commitment, RawAccount, RpcResponse, WireAccount};
use serde::Deserialize;
use serde_json::{Value, json};
use solana_sdk::pubkey::Pubkey;

/// Something that a node reports when it changes.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Topic {
    /// Every confirmed change of an account, cut to [`ACCOUNT_BYTES_MAX`].
    Account(Pubkey),
    /// Every change of an account in full, once it reaches a commitment.
    WholeAccount { key: Pubkey, commitment: Commitment },
    /// Every transaction that names an account, once it reaches a commitment.
    Naming { account: Pubkey, commitment: Commitment },
}

/// What a node reported.
#[derive(Debug, Clone, PartialEq)]
pub enum Notice {
    Account {
        key: Pubkey,
        account: RawAccount,
    },
    /// A transaction that names an account has reached a commitment.
    Landed {
        naming: Pubkey,
        commitment: Commitment,
        signature: String,
        /// Null on success; `None` when the node reports success and its logs show a failure.
        err: Option<Value>,
        logs: Vec<String>,
    },
}

impl Topic {
    /// The request that subscribes.
    pub fn subscribe(&self, id: u64) -> String {
        let (method, params) = match self {
            Topic::Account(key) => {
                // A recipient can be any account on the chain, however long.
                let slice = json!({ "offset": 0, "length": ACCOUNT_BYTES_MAX });
                let config = json!({
                    "encoding": "base64", "commitment": Commitment::Confirmed.as_str(), "dataSlice": slice
                });
                ("accountSubscribe", json!([key.to_string(), config]))
            }
            Topic::WholeAccount { key, commitment } => {
                let config = json!({ "encoding": "base64", "commitment": commitment.as_str() });
                ("accountSubscribe", json!([key.to_string(), config]))
            }
            Topic::Naming { account, commitment } => {
                let mentions = json!({ "mentions": [account.to_string()] });
                ("logsSubscribe", json!([mentions, { "commitment": commitment.as_str() }]))
            }
        };
        request(id, method, params)
    }

    /// The request that ends subscription `number`.
    pub fn unsubscribe(&self, id: u64, number: u64) -> String {
        let method = match self {
            Topic::Account(_) | Topic::WholeAccount { .. } => "accountUnsubscribe",
            Topic::Naming { .. } => "logsUnsubscribe",
        };
        request(id, method, json!([number]))
    }

    /// Slot and contents of a notice on this topic; `None` when it is not a notice on it.
    pub fn read(&self, result: Value) -> Option<(u64, Notice)> {
        #[derive(Deserialize)]
        struct Logs {
            signature: String,
            err: Value,
            logs: Vec<String>,
        }
        match self {
            Topic::Account(key) | Topic::WholeAccount { key, .. } => {
                let RpcResponse::<WireAccount> { context, value } = serde_json::from_value(result).ok()?;
                Some((context.slot, Notice::Account { key: *key, account: value.decode()? }))
            }
            Topic::Naming { account, commitment } => {
                let RpcResponse::<Logs> { context, value: Logs { signature, err, logs } } =
                    serde_json::from_value(result).ok()?;
                let contradicted = err.is_null() && logs.iter().any(|line| is_failure(line));
                let err = (!contradicted).then_some(err);
                Some((
                    context.slot,
                    Notice::Landed { naming: *account, commitment: *commitment, signature, err, logs },
                ))
            }
        }
    }
}

/// A failure line of the runtime itself; what programs write comes after `Program log: ` and the like.
fn is_failure(line: &str) -> bool {
    let mut words = line.split(' ');
    words.next() == Some("Program")
        && words.next().is_some_and(|program| !program.ends_with(':'))
        && words.next() == Some("failed:")
}

fn request(id: u64, method: &str, params: Value) -> String {
    json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }).to_string()
}

/// A message from a node: the answer to a request, or a notice.
#[derive(Debug, Deserialize)]
pub struct Incoming {
    pub id: Option<u64>,
    #[serde(default)]
    pub result: Value,
    pub params: Option<IncomingNotice>,
}

#[derive(Debug, Deserialize)]
pub struct IncomingNotice {
    pub subscription: u64,
    pub result: Value,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_landing_is_read_with_its_slot_and_error() {
        let naming = Pubkey::new_from_array([3; 32]);
        let topic = Topic::Naming { account: naming, commitment: Commitment::Confirmed };
        let read = |value: Value| topic.read(json!({ "context": { "slot": 7 }, "value": value }));
        let landed = |err, logs: [&str; 3]| {
            let (commitment, signature) = (Commitment::Confirmed, "sig".to_owned());
            let logs = logs.map(str::to_owned).into();
            Some((7, Notice::Landed { naming, commitment, signature, err, logs }))
        };
        let well = ["Program 11 invoke [1]", "Program log: Program 11 failed: no", "Program 11 success"];
        let badly = ["Program 11 invoke [1]", "Program 11 failed: custom program error: 0x1771"];
        let read_logs =
            |err: &Value, logs: [&str; 3]| read(json!({ "signature": "sig", "err": err, "logs": logs }));
        let err = json!({ "InstructionError": [2, { "Custom": 6001 }] });
        let badly = [badly[0], badly[1], ""];
        assert_eq!(read_logs(&Value::Null, well), landed(Some(Value::Null), well));
        assert_eq!(read_logs(&err, badly), landed(Some(err), badly));
        assert_eq!(read_logs(&Value::Null, badly), landed(None, badly));
        assert_eq!(read(json!({ "signature": "sig", "err": null })), None);
        assert_eq!(read(json!({})), None);
    }

    #[test]
    fn an_account_notice_is_read() {
        let key = Pubkey::new_from_array([3; 32]);
        let account = json!({
            "owner": key.to_string(), "executable": false, "lamports": 5, "data": ["AQI=", "base64"],
        });
        let (slot, notice) = Topic::Account(key)
            .read(json!({ "context": { "slot": 9 }, "value": account }))
            .expect("readable");
        let account = RawAccount { owner: key, executable: false, lamports: 5, data: vec![1, 2] };
        assert_eq!((slot, notice), (9, Notice::Account { key, account }));
    }
}
