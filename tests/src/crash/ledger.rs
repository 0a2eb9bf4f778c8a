//! What the chain says, read over JSON-RPC and decoded here from the documented layout. It shares no code with the relayer, and
//! does not use the client's reader of landed transactions, on purpose: it judges both, and would repeat their mistakes.

use std::collections::{HashMap, HashSet};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use solana_sdk::pubkey::Pubkey;

const PAGE: usize = 1_000;

/// Talks to the network directly.
#[derive(Clone)]
pub(super) struct Ledger {
    http: reqwest::Client,
    url: String,
    program: String,
}

/// The chain's state at one moment.
pub(super) struct LedgerSnapshot {
    /// Micro-USDC by token account.
    pub balances: HashMap<Pubkey, u64>,
    /// The agents' successful transactions.
    signatures: HashSet<String>,
}

#[cfg(test)]
impl LedgerSnapshot {
    pub(super) fn of(balances: impl IntoIterator<Item = (Pubkey, u64)>) -> LedgerSnapshot {
        LedgerSnapshot { balances: balances.into_iter().collect(), signatures: HashSet::new() }
    }
}

/// A `TransferExecuted` event of the program, from a successful transaction.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Payment {
    pub signature: String,
    pub agent: Pubkey,
    /// Its place among the account's payments.
    pub number: u64,
    pub transfer_id: [u8; 16],
    pub tag: u64,
    pub amount_micros: u64,
    pub recipient: Pubkey,
    pub memo: String,
}

impl Ledger {
    pub fn at(url: &str, program: Pubkey) -> Ledger {
        Ledger { http: reqwest::Client::new(), url: url.to_owned(), program: program.to_string() }
    }

    pub async fn stands(&self, agents: &[Pubkey], accounts: &[Pubkey]) -> LedgerSnapshot {
        let mut balances = HashMap::new();
        for account in accounts {
            let answer = self.asks("getTokenAccountBalance", json!([account.to_string()])).await;
            let amount = answer["value"]["amount"].as_str().expect("a token account has an amount");
            balances.insert(*account, amount.parse().expect("amounts are whole numbers"));
        }
        LedgerSnapshot { balances, signatures: self.signatures_of(agents).await }
    }

    /// Every payment of `agents` since `then`.
    pub async fn payments_since(&self, agents: &[Pubkey], then: &LedgerSnapshot) -> Vec<Payment> {
        let mut payments = Vec::new();
        for signature in self.signatures_of(agents).await.difference(&then.signatures) {
            payments.extend(self.payments_in(signature).await);
        }
        payments
    }

    /// How many agents' accounts the operator has. Discriminator 8, version 1, bump 1, role 1, reserved 1, policy version 4,
    /// operator 32.
    pub async fn agents_of(&self, operator: &Pubkey) -> u64 {
        let agents = bs58::encode(&Sha256::digest(b"account:Agent")[..8]).into_string();
        let filters = [(0, agents), (16, operator.to_string())]
            .map(|(offset, bytes)| json!({ "memcmp": { "offset": offset, "bytes": bytes } }));
        let slice = json!({ "offset": 0, "length": 0 });
        let options = json!({ "encoding": "base64", "filters": filters, "dataSlice": slice });
        let listed = self.asks("getProgramAccounts", json!([self.program, options])).await;
        listed.as_array().expect("accounts are a list").len() as u64
    }

    /// Whether a transaction landed, and succeeded.
    pub async fn has(&self, signature: &str) -> bool {
        let options = json!({ "searchTransactionHistory": true });
        let answer = self.asks("getSignatureStatuses", json!([[signature], options])).await;
        let status = &answer["value"][0];
        status.is_object() && status["err"].is_null()
    }

    /// All successful transactions that name one of `agents`.
    async fn signatures_of(&self, agents: &[Pubkey]) -> HashSet<String> {
        let mut signatures = HashSet::new();
        for agent in agents {
            let mut before: Option<String> = None;
            loop {
                let mut window = json!({ "limit": PAGE });
                if let Some(before) = &before {
                    window["before"] = json!(before);
                }
                let page = self.asks("getSignaturesForAddress", json!([agent.to_string(), window])).await;
                let page = page.as_array().expect("signatures are a list");
                let text =
                    |line: &Value| line["signature"].as_str().expect("a line has a signature").to_owned();
                signatures.extend(page.iter().filter(|line| line["err"].is_null()).map(text));
                match page.last() {
                    Some(oldest) if page.len() == PAGE => before = Some(text(oldest)),
                    _ => break,
                }
            }
        }
        signatures
    }

    async fn payments_in(&self, signature: &str) -> Vec<Payment> {
        let options = json!({ "encoding": "json", "maxSupportedTransactionVersion": 1 });
        let transaction = self.asks("getTransaction", json!([signature, options])).await;
        assert!(transaction["meta"]["err"].is_null(), "{signature} is said to have succeeded");
        let logs = transaction["meta"]["logMessages"].as_array().cloned().unwrap_or_default();
        let lines: Vec<&str> = logs.iter().filter_map(Value::as_str).collect();
        payments_of_logs(&self.program, signature, &lines)
    }

    async fn asks(&self, method: &str, params: Value) -> Value {
        let call = json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": params });
        let answer = self.http.post(&self.url).json(&call).send().await.expect("the network answers");
        let mut answer: Value = answer.json().await.expect("the network answers JSON");
        assert!(answer["error"].is_null(), "{method}: {answer}");
        answer["result"].take()
    }
}

/// Follows the invoke stack, so that it skips what another program logs in its own frame.
fn payments_of_logs(program: &str, signature: &str, lines: &[&str]) -> Vec<Payment> {
    let mut stack: Vec<&str> = Vec::new();
    let mut payments = Vec::new();
    for line in lines {
        let words: Vec<&str> = line.split(' ').collect();
        match words[..] {
            ["Program", name, "invoke", _] => stack.push(name),
            ["Program", _, "success"] => {
                stack.pop();
            }
            ["Program", "data:", data] if stack.last() == Some(&program) => {
                payments.extend(STANDARD.decode(data).ok().and_then(|data| payment_of(signature, &data)));
            }
            _ => {}
        }
    }
    payments
}

/// Discriminator 8, agent 32, number 8, transfer id 16 with the tag in its last 8, amount 8, recipient 32, its owner 32, policy version 4, spent in
/// window 8, memo with its length 4.
fn payment_of(signature: &str, data: &[u8]) -> Option<Payment> {
    let discriminator = Sha256::digest(b"event:TransferExecuted");
    let data = data.strip_prefix(&discriminator[..8])?;
    let key = |from: usize| Pubkey::try_from(data.get(from..from + 32)?).ok();
    let number = |from: usize| Some(u64::from_le_bytes(data.get(from..from + 8)?.try_into().ok()?));
    let memo_length = u32::from_le_bytes(data.get(140..144)?.try_into().ok()?) as usize;
    Some(Payment {
        signature: signature.to_owned(),
        agent: key(0)?,
        number: number(32)?,
        transfer_id: data.get(40..56)?.try_into().ok()?,
        tag: number(48)?,
        amount_micros: number(56)?,
        recipient: key(64)?,
        memo: String::from_utf8(data.get(144..144 + memo_length)?.to_vec()).ok()?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn event(memo: &str) -> String {
        let mut bytes = Sha256::digest(b"event:TransferExecuted")[..8].to_vec();
        bytes.extend([1; 32]);
        bytes.extend(9_u64.to_le_bytes());
        bytes.extend([2; 8]);
        bytes.extend(7_u64.to_le_bytes());
        bytes.extend(1_500_000_u64.to_le_bytes());
        bytes.extend([3; 32]);
        bytes.extend([4; 32]);
        bytes.extend(5_u32.to_le_bytes());
        bytes.extend(6_u64.to_le_bytes());
        bytes.extend(u32::try_from(memo.len()).unwrap().to_le_bytes());
        bytes.extend(memo.as_bytes());
        format!("Program data: {}", STANDARD.encode(bytes))
    }

    #[test]
    fn a_payment_is_read_from_the_frame_of_the_program_alone() {
        let data = event("rent");
        let ours =
            ["Program A invoke [1]", "Program T invoke [2]", "Program T success", &data, "Program A success"];
        let payment = &payments_of_logs("A", "s", &ours)[..];
        assert_eq!(payment.len(), 1);
        assert_eq!((payment[0].amount_micros, payment[0].tag), (1_500_000, 7));
        assert_eq!((payment[0].recipient, &payment[0].memo[..]), (Pubkey::from([3; 32]), "rent"));
        let forged =
            ["Program A invoke [1]", "Program T invoke [2]", &data, "Program T success", "Program A success"];
        assert_eq!(payments_of_logs("A", "s", &forged), []);
    }
}
