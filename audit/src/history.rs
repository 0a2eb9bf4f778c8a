//! A relayer's REST history of the accounts, compared with the chain entry by entry. Only this part of the audit needs an API
//! key, an operator's or an agent's.

use std::collections::BTreeMap;
use std::time::Duration;

use anchor_lang::prelude::Pubkey;
use purser_client::AccountIds;
use purser_policy::UsdcAmount;
use reqwest::{Client, StatusCode, Url};
use serde::Deserialize;
use time::OffsetDateTime;
use time::format_description::well_known::Rfc3339;
use ulid::Ulid;

use crate::AuditError;
use crate::check::Check;
use crate::node::Node;
use crate::replay::{Mismatch, Movement, Outcome, Place};

/// An entry may be dated this many seconds after its block, because a payment cannot come before its request.
const ASKED_LATER_MAX: i64 = 300;
const TIMEOUT: Duration = Duration::from_secs(60);

/// A relayer.
pub struct Api {
    client: Client,
    base: String,
    key: String,
}

/// A settled entry, from the relayer or from the chain.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Entry {
    kind: String,
    amount: String,
    transfer_id: Option<String>,
    memo: Option<String>,
    /// An account id or an address.
    counterparty: Option<String>,
    created_at: String,
}

#[derive(Deserialize)]
struct Page {
    data: Vec<WireEntry>,
    cursor: Option<String>,
    has_more: bool,
}

#[derive(Deserialize)]
struct WireEntry {
    #[serde(rename = "type")]
    kind: String,
    status: String,
    amount_usdc: String,
    counterparty: Option<String>,
    memo: Option<String>,
    transfer_id: Option<String>,
    tx_signature: Option<String>,
    created_at: String,
}

/// The ids of the operator's accounts by token account.
type Ids = BTreeMap<Pubkey, String>;

/// The chain's side of the comparison.
pub struct Compared<'a> {
    pub node: Option<&'a Node>,
    pub account_ids: AccountIds,
    pub until_slot: u64,
    pub until_time: Option<i64>,
}

impl Api {
    /// `base`: with or without `/v1`.
    pub fn at(base: &Url, key: String) -> Result<Self, AuditError> {
        let client = Client::builder().timeout(TIMEOUT).redirect(reqwest::redirect::Policy::none()).build();
        let client =
            client.map_err(|error| AuditError::Refused(format!("cannot make an HTTP client: {error}")))?;
        let base = base.as_str().trim_end_matches('/').trim_end_matches("/v1").to_owned();
        Ok(Self { client, base, key })
    }

    /// Compares the history of each account, and adds the differences to `outcome`. Returns how many entries were newer than
    /// the audit.
    pub async fn compare(
        &self,
        agents: &[Pubkey],
        outcome: &mut Outcome,
        with: Compared<'_>,
    ) -> Result<u64, AuditError> {
        let mut newer = 0;
        for agent in agents {
            if !outcome.lives.contains_key(agent) {
                continue;
            }
            let id = with.account_ids.of(agent);
            let Some(listed) = self.history(&id).await? else {
                let why =
                    format!("the key does not open the history of {id}, or the relayer does not know it");
                outcome.unchecked.entry(Check::History).or_default().insert(why);
                continue;
            };
            newer += compare_account(*agent, listed, outcome, &with).await?;
        }
        Ok(newer)
    }

    /// All settled entries with their signatures; `None` if the key does not give access.
    async fn history(&self, id: &str) -> Result<Option<Vec<(String, Entry)>>, AuditError> {
        const WHAT: &str = "GET /v1/accounts/:id/transactions";
        let failed = |why: String| AuditError::Node { method: WHAT, why };
        let (mut all, mut cursor) = (Vec::new(), None);
        loop {
            let url = format!("{}/v1/accounts/{id}/transactions", self.base);
            let mut query = vec![("limit", "100".to_owned()), ("status", "settled".to_owned())];
            query.extend(cursor.map(|cursor| ("cursor", cursor)));
            let sent = self.client.get(url).query(&query).bearer_auth(&self.key).send().await;
            let answer = sent.map_err(|error| failed(error.to_string()))?;
            match answer.status() {
                StatusCode::OK => {}
                StatusCode::NOT_FOUND | StatusCode::FORBIDDEN => return Ok(None),
                StatusCode::UNAUTHORIZED => return Err(failed("the relayer does not know the key".into())),
                status => return Err(failed(format!("HTTP {status}"))),
            }
            let page: Page = answer.json().await.map_err(|error| failed(error.to_string()))?;
            let settled = page.data.into_iter().filter(|entry| entry.status == "settled");
            all.extend(
                settled.map(|entry| (entry.tx_signature.clone().unwrap_or_default(), Entry::from(entry))),
            );
            cursor = page.cursor.filter(|_| page.has_more);
            if cursor.is_none() {
                return Ok(Some(all));
            }
        }
    }
}

impl From<WireEntry> for Entry {
    fn from(wire: WireEntry) -> Self {
        let WireEntry { kind, amount_usdc, counterparty, memo, transfer_id, created_at, .. } = wire;
        Self { kind, amount: amount_usdc, transfer_id, memo, counterparty, created_at }
    }
}

/// Compares one account's entries, by transaction and kind. Returns how many are newer than the audit.
async fn compare_account(
    agent: Pubkey,
    listed: Vec<(String, Entry)>,
    outcome: &mut Outcome,
    with: &Compared<'_>,
) -> Result<u64, AuditError> {
    let owners = outcome.owners.iter();
    let ids: Ids = owners.map(|(purse, owner)| (*purse, with.account_ids.of(owner))).collect();
    let mut chain: BTreeMap<(String, String), Vec<(Place, Entry)>> = BTreeMap::new();
    for (place, movement) in outcome.movements.iter().filter(|(_, movement)| movement.agent() == agent) {
        let entry = entry_of(place, movement, &ids);
        let key = (place.signature.clone(), entry.kind.clone());
        chain.entry(key).or_default().push((place.clone(), entry));
    }
    let (mut mismatches, mut newer, mut examined) = (Vec::new(), 0, 0);
    let mut mismatch = |place: Option<Place>, text: String| {
        mismatches.push(Mismatch { check: Check::History, account: Some(agent), place, text });
    };
    let mut relayer: BTreeMap<(String, String), Vec<Entry>> = BTreeMap::new();
    for (signature, entry) in listed {
        relayer.entry((signature, entry.kind.clone())).or_default().push(entry);
    }
    for ((signature, kind), mut entries) in relayer {
        examined += entries.len() as u64;
        let Some(mut own) = chain.remove(&(signature.clone(), kind)) else {
            if is_newer(&signature, &entries, with).await? {
                newer += entries.len() as u64;
                continue;
            }
            for entry in entries {
                let text = format!(
                    "The relayer's history has a {} of {} USDC in the transaction {signature}; the chain has none there.",
                    entry.kind, entry.amount
                );
                mismatch(None, text);
            }
            continue;
        };
        entries.sort();
        own.sort_by(|(_, one), (_, other)| one.cmp(other));
        for (place, missing) in own.iter().skip(entries.len()) {
            mismatch(Some(place.clone()), lacks(missing));
        }
        for extra in entries.iter().skip(own.len()) {
            let text = format!(
                "The relayer's history has one more {} of {} USDC than the chain.",
                extra.kind, extra.amount
            );
            mismatch(own.first().map(|(place, _)| place.clone()), text);
        }
        for (entry, (place, expected)) in entries.iter().zip(&own) {
            for text in differences(entry, expected, place, &ids) {
                mismatch(Some(place.clone()), text);
            }
        }
    }
    for (place, missing) in chain.into_values().flatten() {
        examined += 1;
        mismatch(Some(place), lacks(&missing));
    }
    outcome.mismatches.extend(mismatches);
    *outcome.examined.entry(Check::History).or_default() += examined;
    Ok(newer)
}

/// Whether these entries happened after the last audited slot.
async fn is_newer(signature: &str, entries: &[Entry], with: &Compared<'_>) -> Result<bool, AuditError> {
    if let Some(node) = with.node {
        return Ok(node.slot_of(signature).await?.is_some_and(|slot| slot > with.until_slot));
    }
    let dates = entries.iter().filter_map(|entry| unix_seconds(&entry.created_at));
    Ok(dates.max() > with.until_time)
}

/// A movement in the relayer's form.
fn entry_of(place: &Place, movement: &Movement, ids: &Ids) -> Entry {
    let shown = |token_account: &Pubkey| match ids.get(token_account) {
        Some(id) => id.clone(),
        None => token_account.to_string(),
    };
    // The relayer replaces what a database cannot hold in the same way.
    let text = |memo: &[u8]| String::from_utf8_lossy(memo).replace('\0', "\u{FFFD}");
    let given = |memo: &[u8]| (!memo.is_empty()).then(|| text(memo));
    let transfer_id = |id: [u8; 16]| format!("txn_{}", Ulid::from_bytes(id));
    let bare = |kind: &str, amount: &UsdcAmount| Entry {
        kind: kind.to_owned(),
        amount: amount.to_string(),
        transfer_id: None,
        memo: None,
        counterparty: None,
        created_at: place.date(),
    };
    match movement {
        Movement::Payment { payment, .. } => Entry {
            transfer_id: Some(transfer_id(payment.transfer_id)),
            memo: given(&payment.memo),
            counterparty: Some(shown(&payment.recipient)),
            ..bare("transfer", &payment.amount)
        },
        Movement::Withdrawal { amount, recipient, .. } => {
            Entry { counterparty: Some(shown(recipient)), ..bare("withdrawal", amount) }
        }
        Movement::Deposit { amount, source, transfer, .. } => Entry {
            transfer_id: transfer.as_ref().map(|(id, _)| transfer_id(*id)),
            memo: transfer.as_ref().and_then(|(_, memo)| given(memo)),
            counterparty: source.as_ref().map(shown),
            ..bare("deposit", amount)
        },
    }
}

fn lacks(entry: &Entry) -> String {
    let Entry { kind, amount, .. } = entry;
    format!("The relayer's history lacks a {kind} of {amount} USDC that is on the chain.")
}

/// The fields in which the relayer differs from the chain.
fn differences(listed: &Entry, chain: &Entry, place: &Place, ids: &Ids) -> Vec<String> {
    let mut found = Vec::new();
    let mut differs = |what: &str, listed: Option<&str>, chain: Option<&str>| {
        if listed != chain {
            let words = |text: Option<&str>| text.map_or("none".to_owned(), |text| format!("{text:?}"));
            found.push(format!(
                "The relayer says {what} {}; on the chain it is {}.",
                words(listed),
                words(chain)
            ));
        }
    };
    differs("that the amount is", Some(&listed.amount), Some(&chain.amount));
    differs("that the transfer's id is", listed.transfer_id.as_deref(), chain.transfer_id.as_deref());
    differs("that the memo is", listed.memo.as_deref(), chain.memo.as_deref());
    // The payer of a deposit may be another operator's account, which is not among these.
    let is_deposit = chain.kind == "deposit";
    let is_foreign =
        |text: &str| is_deposit && text.starts_with("acct_") && !ids.values().any(|id| id == text);
    let by_address = |text: &str| ids.iter().find(|(_, id)| *id == text).map(|(purse, _)| purse.to_string());
    let address = chain.counterparty.as_deref().and_then(by_address);
    let is_same = match listed.counterparty.as_deref() {
        Some(listed) => is_foreign(listed) || address.as_deref() == Some(listed),
        None => false,
    };
    if !is_same {
        differs("that the counterparty is", listed.counterparty.as_deref(), chain.counterparty.as_deref());
    }
    let second = unix_seconds(&listed.created_at);
    let fits = second.is_some_and(|at| (place.time - 1..=place.time + ASKED_LATER_MAX + 1).contains(&at));
    if !fits {
        differs("that it happened at", Some(&listed.created_at), Some(&chain.created_at));
    }
    found
}

fn unix_seconds(text: &str) -> Option<i64> {
    OffsetDateTime::parse(text, &Rfc3339).ok().map(OffsetDateTime::unix_timestamp)
}
