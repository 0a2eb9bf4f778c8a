//! One RPC node, in the questions of an audit: final data alone, lists to their ends, accounts in full.

use std::time::Duration;

use anchor_lang::Discriminator;
use anchor_lang::prelude::Pubkey;
use async_trait::async_trait;
use purser::state::Agent;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use crate::AuditError;
use crate::archive::{CLOCK, Line, SavedAccount};

/// The most lines that `getSignaturesForAddress` returns at once.
const LINES_MAX: usize = 1_000;
/// The pause between two questions for the slot, and how many there are until it is final.
const SLOT_PAUSE: Duration = Duration::from_millis(500);
const SLOT_QUESTIONS: u32 = 120;
/// How often a transaction is asked for that the node lists and does not show.
const TRANSACTION_QUESTIONS: u32 = 3;
const SIGNATURES: &str = "getSignaturesForAddress";
const COMMITMENT: &str = "finalized";
/// Most keys that `getMultipleAccounts` takes.
const ACCOUNTS_MAX: usize = 100;

/// How a node is reached. It asks again itself what may pass, and waits as long as the node wants.
#[async_trait]
pub trait NodeTransport: Send + Sync {
    /// The `result` of a call, or why there is none.
    async fn call(&self, method: &'static str, params: Value) -> Result<Value, String>;

    /// Its host: a URL may hold a provider's key.
    fn host(&self) -> String;

    async fn pause(&self, time: Duration);
}

/// A node, read at its finalized slot.
pub struct Node(pub(crate) Box<dyn NodeTransport>);

impl Node {
    pub fn over(transport: impl NodeTransport + 'static) -> Self {
        Self(Box::new(transport))
    }

    /// The node's host, for reports.
    pub fn host(&self) -> String {
        self.0.host()
    }

    async fn ask<T: DeserializeOwned>(&self, method: &'static str, params: Value) -> Result<T, AuditError> {
        let failed = |why: String| AuditError::Node { host: self.host(), method, why };
        let answer = self.0.call(method, params).await.map_err(failed)?;
        serde_json::from_value(answer).map_err(|_| failed("unreadable answer".into()))
    }

    pub async fn genesis_hash(&self) -> Result<String, AuditError> {
        self.ask("getGenesisHash", json!([])).await
    }

    /// Waits until what is newest now has reached the node's commitment. Some nodes answer accounts as of their newest block,
    /// whatever is asked: read before, an account would hold what no list shows yet.
    pub async fn settle(&self) -> Result<(), AuditError> {
        let newest: u64 = self.ask("getSlot", json!([{ "commitment": "processed" }])).await?;
        self.reaches(newest).await.map(drop)
    }

    /// The newest slot that is final.
    pub async fn finalized(&self) -> Result<u64, AuditError> {
        self.ask("getSlot", json!([{ "commitment": COMMITMENT }])).await
    }

    /// Waits until this slot has reached the node's commitment. Whether it had at once.
    pub async fn reaches(&self, newest: u64) -> Result<bool, AuditError> {
        const METHOD: &str = "getSlot";
        for asked in 0..SLOT_QUESTIONS {
            let reached: u64 = self.ask(METHOD, json!([{ "commitment": COMMITMENT }])).await?;
            if reached >= newest {
                return Ok(asked == 0);
            }
            self.0.pause(SLOT_PAUSE).await;
        }
        let why = format!("the node is at slot {newest}, and that slot does not become {COMMITMENT}");
        Err(AuditError::Node { host: self.host(), method: METHOD, why })
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
                        return Err(AuditError::Node { host: self.host(), method: SIGNATURES, why });
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
        let mut config = json!({ "limit": LINES_MAX, "commitment": COMMITMENT });
        for (name, signature) in [("before", before), ("until", until)] {
            if let Some(signature) = signature {
                config[name] = signature.into();
            }
        }
        self.ask(SIGNATURES, json!([address.to_string(), config])).await
    }

    /// The agent accounts of an operator that stand on the chain.
    pub async fn agents(&self, program: &Pubkey, operator: &Pubkey) -> Result<Vec<Pubkey>, AuditError> {
        const METHOD: &str = "getProgramAccounts";
        let starts_with = |offset: usize, bytes: &[u8]| json!({ "memcmp": { "offset": offset, "bytes": bs58::encode(bytes).into_string() } });
        let operator_at = Agent::DISCRIMINATOR.len() + std::mem::offset_of!(Agent, operator);
        let config = json!({
            "encoding": "base64", "commitment": COMMITMENT, "dataSlice": { "offset": 0, "length": 0 },
            "filters": [starts_with(0, Agent::DISCRIMINATOR), starts_with(operator_at, operator.as_ref())],
        });
        let found: Vec<Value> = self.ask(METHOD, json!([program.to_string(), config])).await?;
        let address = |account: &Value| account["pubkey"].as_str()?.parse().ok();
        let unreadable =
            || AuditError::Node { host: self.host(), method: METHOD, why: "cannot read its answer".into() };
        found.iter().map(address).collect::<Option<_>>().ok_or_else(unreadable)
    }

    /// The raw answer of `getTransaction`; `None` if the node does not know the transaction. Behind one address may be several
    /// nodes, of which one is behind: so it is asked for again.
    pub async fn transaction(&self, signature: &str) -> Result<Option<Value>, AuditError> {
        let config = json!({
            "encoding": "json", "maxSupportedTransactionVersion": 1, "commitment": COMMITMENT,
        });
        let params = json!([signature, config]);
        for _ in 1..TRANSACTION_QUESTIONS {
            if let Some(transaction) = self.ask("getTransaction", params.clone()).await? {
                return Ok(Some(transaction));
            }
            self.0.pause(SLOT_PAUSE).await;
        }
        self.ask("getTransaction", params).await
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
        let mut all = Vec::with_capacity(keys.len());
        for group in keys.chunks(ACCOUNTS_MAX) {
            let (slot, accounts) = self.group(group).await?;
            all.extend(accounts.into_iter().map(|account| (slot, account)));
        }
        Ok(all)
    }

    /// The same, each group together with the chain's own clock, which says of which slot they are: a node that ignores the
    /// commitment answers those of its newest block, and that they were of the final one.
    pub async fn accounts_by_clock(
        &self,
        keys: &[Pubkey],
    ) -> Result<Vec<(u64, Option<SavedAccount>)>, AuditError> {
        let mut all = Vec::with_capacity(keys.len());
        for group in keys.chunks(ACCOUNTS_MAX - 1) {
            let (said, mut accounts) = self.group(&[group, &[CLOCK]].concat()).await?;
            let clock = accounts.pop().flatten();
            let slot = said.max(clock.and_then(|clock| clock_slot(&clock)).unwrap_or_default());
            all.extend(accounts.into_iter().map(|account| (slot, account)));
        }
        Ok(all)
    }

    async fn group(&self, keys: &[Pubkey]) -> Result<(u64, Vec<Option<SavedAccount>>), AuditError> {
        const METHOD: &str = "getMultipleAccounts";
        let asked: Vec<String> = keys.iter().map(Pubkey::to_string).collect();
        let config = json!({ "encoding": "base64", "commitment": COMMITMENT });
        let answer: Value = self.ask(METHOD, json!([asked, config])).await?;
        let unreadable =
            || AuditError::Node { host: self.host(), method: METHOD, why: "cannot read its answer".into() };
        let slot = answer["context"]["slot"].as_u64().ok_or_else(unreadable)?;
        let accounts = answer["value"].as_array().filter(|found| found.len() == keys.len());
        let text = |value: &Value| value.as_str().map(str::to_owned);
        let saved = |account: &Value| match account {
            Value::Null => Ok(None),
            account => Ok(Some(SavedAccount {
                owner: text(&account["owner"]).ok_or_else(unreadable)?,
                data: text(&account["data"][0]).ok_or_else(unreadable)?,
            })),
        };
        let accounts = accounts.ok_or_else(unreadable)?.iter().map(saved);
        Ok((slot, accounts.collect::<Result<_, AuditError>>()?))
    }
}

/// The slot of the chain's clock, which comes first in it.
pub(crate) fn clock_slot(clock: &SavedAccount) -> Option<u64> {
    Some(u64::from_le_bytes(*clock.bytes()?.first_chunk()?))
}
