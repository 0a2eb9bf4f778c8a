//! What can be subscribed to, and how it reads on the wire.

use super::Commitment;
use super::wire::{RawAccount, Response, WireAccount};
use serde::Deserialize;
use serde_json::{Value, json};
use solana_sdk::pubkey::Pubkey;
use std::sync::Arc;

/// Something that a node tells of when it changes.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) enum Topic {
    /// That a transaction reached a commitment; told once.
    Signature { signature: Arc<str>, commitment: Commitment },
    /// Every confirmed change of an account.
    Account(Pubkey),
    /// Every transaction that names a program, once it stands at a commitment.
    Program { program: Pubkey, commitment: Commitment },
}

/// What a node told.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Notice {
    /// `err` is null when it landed well.
    Signature {
        signature: Arc<str>,
        commitment: Commitment,
        err: Value,
    },
    Account {
        key: Pubkey,
        account: RawAccount,
    },
    /// Something was done with the program. What, is to be asked: notices get lost.
    Program,
}

impl Topic {
    /// The request that subscribes.
    pub fn subscribe(&self, id: u64) -> String {
        let (method, params) = match self {
            Topic::Signature { signature, commitment } => {
                ("signatureSubscribe", json!([&**signature, { "commitment": commitment.as_str() }]))
            }
            Topic::Account(key) => {
                let config = json!({ "encoding": "base64", "commitment": Commitment::Confirmed.as_str() });
                ("accountSubscribe", json!([key.to_string(), config]))
            }
            Topic::Program { program, commitment } => {
                let mentions = json!({ "mentions": [program.to_string()] });
                ("logsSubscribe", json!([mentions, { "commitment": commitment.as_str() }]))
            }
        };
        request(id, method, params)
    }

    /// The request that ends subscription `number`.
    pub fn unsubscribe(&self, id: u64, number: u64) -> String {
        let method = match self {
            Topic::Signature { .. } => "signatureUnsubscribe",
            Topic::Account(_) => "accountUnsubscribe",
            Topic::Program { .. } => "logsUnsubscribe",
        };
        request(id, method, json!([number]))
    }

    /// Whether the node ends the subscription by itself after one notice.
    pub fn ends_with_a_notice(&self) -> bool {
        match self {
            Topic::Signature { .. } => true,
            Topic::Account(_) | Topic::Program { .. } => false,
        }
    }

    /// Slot and contents of a notice on this topic; `None` when it is not one.
    pub fn read(&self, result: Value) -> Option<(u64, Notice)> {
        #[derive(Deserialize)]
        struct Landed {
            err: Value,
        }
        match self {
            Topic::Signature { signature, commitment } => {
                let Response::<Landed> { context, value } = serde_json::from_value(result).ok()?;
                let (signature, commitment) = (signature.clone(), *commitment);
                Some((context.slot, Notice::Signature { signature, commitment, err: value.err }))
            }
            Topic::Account(key) => {
                let Response::<WireAccount> { context, value } = serde_json::from_value(result).ok()?;
                Some((context.slot, Notice::Account { key: *key, account: value.decode()? }))
            }
            Topic::Program { .. } => {
                let Response::<Value> { context, .. } = serde_json::from_value(result).ok()?;
                Some((context.slot, Notice::Program))
            }
        }
    }
}

fn request(id: u64, method: &str, params: Value) -> String {
    json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }).to_string()
}

/// A message from a node: the answer to a request, or a notice.
#[derive(Debug, Deserialize)]
pub(super) struct Incoming {
    pub id: Option<u64>,
    #[serde(default)]
    pub result: Value,
    pub params: Option<IncomingNotice>,
}

#[derive(Debug, Deserialize)]
pub(super) struct IncomingNotice {
    pub subscription: u64,
    pub result: Value,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_signature_notice_is_read_with_its_slot_and_error() {
        let topic = Topic::Signature { signature: "sig".into(), commitment: Commitment::Confirmed };
        let read = |value: Value| topic.read(json!({ "context": { "slot": 7 }, "value": value }));
        let err = json!({ "InstructionError": [2, { "Custom": 6001 }] });
        for err in [Value::Null, err] {
            let notice = Notice::Signature {
                signature: "sig".into(),
                commitment: Commitment::Confirmed,
                err: err.clone(),
            };
            assert_eq!(read(json!({ "err": err })), Some((7, notice)));
        }
        // That a node received it says nothing about its landing.
        assert_eq!(read(json!("receivedSignature")), None);
        assert_eq!(read(json!({})), None);
        assert_eq!(topic.read(json!({ "value": { "err": null } })), None);
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
