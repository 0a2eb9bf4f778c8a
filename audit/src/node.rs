//! One RPC node over JSON-RPC, with retries: it may be busy, limit its clients or be away for a moment.

use std::time::Duration;

use anchor_lang::Discriminator;
use anchor_lang::prelude::Pubkey;
use purser::state::Agent;
use reqwest::header::RETRY_AFTER;
use reqwest::{Client, StatusCode, Url};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::AuditError;
use crate::archive::{Line, SavedAccount};

/// The most lines that `getSignaturesForAddress` returns at once.
const LINES_MAX: usize = 1_000;
/// The most keys that `getMultipleAccounts` takes.
const ACCOUNTS_MAX: usize = 100;
const TRIES: u32 = 7;
const FIRST_PAUSE: Duration = Duration::from_millis(250);
const TIMEOUT: Duration = Duration::from_secs(60);
/// The pause between two questions for the slot, and how many there are until it is final.
const SLOT_PAUSE: Duration = Duration::from_millis(500);
const SLOT_QUESTIONS: u32 = 120;
const SIGNATURES: &str = "getSignaturesForAddress";
/// The longest that a node may ask to wait.
const RETRY_AFTER_MAX: Duration = Duration::from_secs(60);
/// Codes with which a node refuses for now: not healthy, behind, and its provider's limits.
const BUSY_CODES: [i64; 4] = [-32_005, -32_016, -32_014, -32_429];

/// A node at one commitment.
pub struct Node {
    client: Client,
    url: Url,
    commitment: &'static str,
}

#[derive(Deserialize)]
struct Answer {
    #[serde(default)]
    result: Value,
    error: Option<Fault>,
}

#[derive(Deserialize)]
struct Fault {
    code: i64,
    message: String,
}

/// Whether a retry may help.
enum Failed {
    /// With the pause that the node asks for.
    ForNow(String, Option<Duration>),
    ForGood(String),
}

impl Node {
    /// Reads finalized data. `url` may hold a provider's key, so no message shows more of it than its host.
    pub fn at(url: Url) -> Result<Self, AuditError> {
        let client = Client::builder().timeout(TIMEOUT).build();
        let client =
            client.map_err(|error| AuditError::Refused(format!("cannot make an HTTP client: {error}")))?;
        Ok(Self { client, url, commitment: "finalized" })
    }

    /// The node's host, for reports.
    pub fn host(&self) -> String {
        let host = self.url.host_str().unwrap_or("?").to_owned();
        self.url.port().map_or(host.clone(), |port| format!("{host}:{port}"))
    }

    pub async fn genesis_hash(&self) -> Result<String, AuditError> {
        self.ask("getGenesisHash", json!([])).await
    }

    /// Waits until what is newest now has reached the node's commitment. Some nodes answer accounts as of their newest block,
    /// whatever is asked: read before, an account would hold what no list shows yet.
    pub async fn settle(&self) -> Result<(), AuditError> {
        const METHOD: &str = "getSlot";
        let newest: u64 = self.ask(METHOD, json!([{ "commitment": "processed" }])).await?;
        self.reaches(newest).await
    }

    /// Waits until this slot has reached the node's commitment.
    pub async fn reaches(&self, newest: u64) -> Result<(), AuditError> {
        const METHOD: &str = "getSlot";
        for _ in 0..SLOT_QUESTIONS {
            let reached: u64 = self.ask(METHOD, json!([{ "commitment": self.commitment }])).await?;
            if reached >= newest {
                return Ok(());
            }
            tokio::time::sleep(SLOT_PAUSE).await;
        }
        let why = format!("the node is at slot {newest}, and that slot does not become {}", self.commitment);
        Err(AuditError::Node { method: METHOD, why })
    }

    /// When a block was made, in Unix seconds; `None` if the node does not know.
    pub async fn block_time(&self, slot: u64) -> Result<Option<i64>, AuditError> {
        // A node answers an error for a slot without a block.
        Ok(self.ask("getBlockTime", json!([slot])).await.unwrap_or_default())
    }

    /// The signatures of an address that are newer than `known`, newest first; without it, all that are older than `below`.
    ///
    /// An empty page ends a list only if it comes twice, and above a known line only if that line follows: a node that once
    /// answered nothing would leave a gap that nobody asks for again.
    pub async fn signatures(
        &self,
        address: &Pubkey,
        known: Option<&str>,
        below: Option<&str>,
    ) -> Result<Vec<Line>, AuditError> {
        let mut all: Vec<Line> = Vec::new();
        let mut is_end = false;
        loop {
            let before = all.last().map(|oldest| oldest.signature.as_str()).or(below);
            // Above a known line, the last question goes past it.
            let until = known.filter(|_| !is_end);
            let page = self.page(address, before, until).await?;
            if page.is_empty() {
                match (is_end, known) {
                    // Nothing is newer.
                    (false, Some(_)) if all.is_empty() => return Ok(all),
                    (true, None) => return Ok(all),
                    (false, _) => is_end = true,
                    (true, Some(known)) => {
                        let why =
                            format!("its list of {address} ends before {known}, which it listed earlier");
                        return Err(AuditError::Node { method: SIGNATURES, why });
                    }
                }
                continue;
            }
            if let Some(known) = known.filter(|_| is_end) {
                let new = page.iter().take_while(|line| line.signature != known);
                let count = new.clone().count();
                all.extend(new.cloned());
                if count < page.len() {
                    return Ok(all);
                }
            } else {
                all.extend(page);
            }
            is_end = false;
        }
    }

    async fn page(
        &self,
        address: &Pubkey,
        before: Option<&str>,
        until: Option<&str>,
    ) -> Result<Vec<Line>, AuditError> {
        let mut config = json!({ "limit": LINES_MAX, "commitment": self.commitment });
        for (name, signature) in [("before", before), ("until", until)] {
            if let Some(signature) = signature {
                config[name] = signature.into();
            }
        }
        self.ask(SIGNATURES, json!([address.to_string(), config])).await
    }

    /// The agent accounts of an operator that stand on the chain.
    pub async fn agents(&self, program: &Pubkey, operator: &Pubkey) -> Result<Vec<String>, AuditError> {
        const METHOD: &str = "getProgramAccounts";
        let starts_with = |offset: usize, bytes: &[u8]| json!({ "memcmp": { "offset": offset, "bytes": bs58::encode(bytes).into_string() } });
        let operator_at = Agent::DISCRIMINATOR.len() + std::mem::offset_of!(Agent, operator);
        let config = json!({
            "encoding": "base64", "commitment": self.commitment, "dataSlice": { "offset": 0, "length": 0 },
            "filters": [starts_with(0, Agent::DISCRIMINATOR), starts_with(operator_at, operator.as_ref())],
        });
        let found: Vec<Value> = self.ask(METHOD, json!([program.to_string(), config])).await?;
        let address = |account: &Value| account["pubkey"].as_str().map(str::to_owned);
        let unreadable = || AuditError::Node { method: METHOD, why: "cannot read its answer".into() };
        found.iter().map(address).collect::<Option<_>>().ok_or_else(unreadable)
    }

    /// The raw answer of `getTransaction`; `None` if the node does not know the transaction.
    pub async fn transaction(&self, signature: &str) -> Result<Option<Value>, AuditError> {
        let config = json!({
            "encoding": "json", "maxSupportedTransactionVersion": 1, "commitment": self.commitment,
        });
        self.ask("getTransaction", json!([signature, config])).await
    }

    /// The slot of a transaction that succeeded, final or not; `None` if the node knows none.
    pub async fn slot_of(&self, signature: &str) -> Result<Option<u64>, AuditError> {
        let params = json!([[signature], { "searchTransactionHistory": true }]);
        let answer: Value = self.ask("getSignatureStatuses", params).await?;
        let status = &answer["value"][0];
        Ok(status["slot"].as_u64().filter(|_| status["err"].is_null()))
    }

    /// The current accounts, in the order requested; each group of them is read at a slot of its own.
    pub async fn accounts(&self, keys: &[Pubkey]) -> Result<Vec<(u64, Option<SavedAccount>)>, AuditError> {
        const METHOD: &str = "getMultipleAccounts";
        let mut all = Vec::with_capacity(keys.len());
        for group in keys.chunks(ACCOUNTS_MAX) {
            let keys: Vec<String> = group.iter().map(Pubkey::to_string).collect();
            let config = json!({ "encoding": "base64", "commitment": self.commitment });
            let answer: Value = self.ask(METHOD, json!([keys, config])).await?;
            let unreadable = || AuditError::Node { method: METHOD, why: "cannot read its answer".into() };
            let slot = answer["context"]["slot"].as_u64().ok_or_else(unreadable)?;
            let accounts = answer["value"].as_array().filter(|found| found.len() == group.len());
            for account in accounts.ok_or_else(unreadable)? {
                let text = |value: &Value| value.as_str().map(str::to_owned);
                let saved = match account {
                    Value::Null => None,
                    account => Some(SavedAccount {
                        owner: text(&account["owner"]).ok_or_else(unreadable)?,
                        data: text(&account["data"][0]).ok_or_else(unreadable)?,
                    }),
                };
                all.push((slot, saved));
            }
        }
        Ok(all)
    }

    async fn ask<T: serde::de::DeserializeOwned>(
        &self,
        method: &'static str,
        params: Value,
    ) -> Result<T, AuditError> {
        let mut pause = FIRST_PAUSE;
        let mut tries = 1;
        let answer = loop {
            match self.try_once(method, &params).await {
                Ok(answer) => break answer,
                Err(Failed::ForNow(_, asked)) if tries < TRIES => {
                    tokio::time::sleep(asked.unwrap_or(pause).min(RETRY_AFTER_MAX)).await;
                    (tries, pause) = (tries + 1, pause * 2);
                }
                Err(Failed::ForNow(why, _) | Failed::ForGood(why)) => {
                    return Err(AuditError::Node { method, why });
                }
            }
        };
        let unreadable = |error| AuditError::Node { method, why: format!("cannot read its answer: {error}") };
        serde_json::from_value(answer).map_err(unreadable)
    }

    async fn try_once(&self, method: &'static str, params: &Value) -> Result<Value, Failed> {
        let call = json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": params });
        let sent = self.client.post(self.url.clone()).json(&call).send().await;
        // Without the URL, which may hold a provider's key.
        let sent = sent.map_err(|error| Failed::ForNow(error.without_url().to_string(), None))?;
        let status = sent.status();
        if status == StatusCode::TOO_MANY_REQUESTS || status.is_server_error() {
            let asked = sent.headers().get(RETRY_AFTER).and_then(|it| it.to_str().ok()?.parse().ok());
            return Err(Failed::ForNow(format!("HTTP {status}"), asked.map(Duration::from_secs)));
        }
        let answer = sent.json::<Answer>().await;
        let answer = answer.map_err(|_| Failed::ForGood(format!("HTTP {status} without JSON-RPC")))?;
        match answer.error {
            None => Ok(answer.result),
            Some(Fault { code, message }) if BUSY_CODES.contains(&code) => Err(Failed::ForNow(message, None)),
            Some(Fault { code, message }) => Err(Failed::ForGood(format!("{message} ({code})"))),
        }
    }
}
