//! A relayer's REST history of the accounts, compared with the chain entry by entry. Only this part of the audit needs an API
//! key, an operator's or an agent's.

mod api;
pub(crate) mod kept;
mod refusals;
mod solvency;

use std::collections::BTreeMap;

use anchor_lang::prelude::Pubkey;
use purser::state::Agent;
use purser_client::AccountIds;
use purser_policy::UsdcAmount;
use solana_signature::Signature;
use time::OffsetDateTime;
use time::format_description::well_known::Rfc3339;
use ulid::Ulid;

pub use self::api::{Api, RelayerTransport};
use self::api::{WireAccount, WireEntry};
pub use self::solvency::{Held, compare as compare_balances};
use crate::AuditError;
use crate::check::Check;
use crate::node::Node;
use crate::replay::{Mismatch, Movement, Outcome, Place};

/// A payment's id holds when it was asked for, and it is dated no earlier; an id that is further ahead says nothing.
const ASKED_LATER_MAX: i64 = 300;
/// Networks for development may date a block by its end.
const MICROS_OFF_MAX: i128 = 1_000_000;

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

/// The ids of the operator's accounts by token account.
type Ids = BTreeMap<Pubkey, String>;

/// The chain's side of the comparison.
#[derive(Clone, Copy)]
pub struct Compared<'a> {
    pub node: Option<&'a Node>,
    pub account_ids: AccountIds,
    pub program: Pubkey,
    pub operator: Pubkey,
    pub until_slot: u64,
    pub until_time: Option<i64>,
    /// All accounts of the operator are audited.
    pub is_whole: bool,
}

impl Compared<'_> {
    /// Whether an agent account of the audited operator stands at an address.
    async fn has_own_agent(&self, node: &Node, address: Pubkey) -> Result<bool, AuditError> {
        let stands = node.accounts(&[address]).await?.pop().and_then(|(_, account)| account);
        let own = stands.filter(|account| account.owner() == Some(self.program));
        let agent = own.and_then(|account| account.bytes()).and_then(|data| Agent::read(&data));
        Ok(agent.is_some_and(|view| view.agent.operator == self.operator))
    }
}

/// Compares what a relayer lists with the chain: accounts, and the history of each. Adds the differences to `outcome`, and
/// returns how many entries were newer than the audit.
pub async fn compare(
    api: &Api,
    agents: &[Pubkey],
    outcome: &mut Outcome,
    with: Compared<'_>,
) -> Result<u64, AuditError> {
    if with.is_whole {
        compare_accounts(api, agents, outcome, &with).await?;
    }
    let denials = api.denials().await?;
    let mut newer = 0;
    for agent in agents {
        if !outcome.lives.contains_key(agent) {
            continue;
        }
        let id = with.account_ids.of(agent);
        let Some(listed) = api.history(&id).await? else {
            let why = format!("the key does not open the history of {id}, or the relayer does not know it");
            outcome.leaves_open(Check::History, why);
            continue;
        };
        check_order(*agent, &listed, outcome);
        if let Some(denials) = &denials {
            refusals::compare(*agent, &id, &listed, denials, outcome);
        }
        let settled = listed.into_iter().filter(|entry| entry.status == "settled");
        let settled = settled.map(|it| (it.tx_signature.clone().unwrap_or_default(), Entry::from(it)));
        newer += compare_account(*agent, settled.collect(), outcome, &with).await?;
    }
    Ok(newer)
}

/// An account that the relayer lists and the chain does not have. One that was created meanwhile is newer than the audit.
async fn compare_accounts(
    api: &Api,
    agents: &[Pubkey],
    outcome: &mut Outcome,
    with: &Compared<'_>,
) -> Result<(), AuditError> {
    // An agent's key sees its own account alone.
    let Some(listed) = api.accounts().await? else { return Ok(()) };
    for WireAccount { account_id, solana_address, created_at } in listed {
        *outcome.examined.entry(Check::History).or_default() += 1;
        let address = solana_address.parse::<Pubkey>().ok();
        let is_known = address.is_some_and(|it| agents.contains(&it) && outcome.lives.contains_key(&it));
        let is_newer = match (with.node, address) {
            (Some(node), Some(address)) => {
                // Dates are whole seconds.
                with.has_own_agent(node, address).await?
                    && unix_seconds(&created_at).map(|time| time + 1) >= with.until_time
            }
            (None, _) | (_, None) => unix_seconds(&created_at) > with.until_time,
        };
        if !is_known && !is_newer {
            let text = format!(
                "The relayer lists the account {account_id}, {solana_address}, which the operator's transactions do not create."
            );
            outcome.finds(Check::History, Some(text));
        } else if let Some(address) = address.filter(|it| is_known && with.account_ids.of(it) != account_id) {
            let text =
                format!("The relayer lists {address} under the id {account_id}, which is not its own.");
            outcome.finds(Check::History, Some(text));
        }
    }
    Ok(())
}

/// The latest visible comes first, no two at one time, and none before it happened.
fn check_order(agent: Pubkey, listed: &[WireEntry], outcome: &mut Outcome) {
    let visible = |entry: &WireEntry| OffsetDateTime::parse(&entry.visible_at, &Rfc3339).ok();
    let mut mismatch = |text: String| {
        outcome.mismatches.push(Mismatch { check: Check::History, account: Some(agent), place: None, text });
    };
    for pair in listed.windows(2) {
        if let [later, earlier] = pair
            && visible(later) <= visible(earlier)
        {
            mismatch(format!(
                "The relayer's list is out of order: an entry that became visible at {} stands above one of {}.",
                later.visible_at, earlier.visible_at
            ));
        }
    }
    for entry in listed {
        let happened = OffsetDateTime::parse(&entry.created_at, &Rfc3339).ok();
        if visible(entry).is_none() || visible(entry) < happened.map(|it| it - time::Duration::seconds(1)) {
            mismatch(format!(
                "The relayer shows an entry of {} that it says became visible at {}, before it happened.",
                entry.created_at, entry.visible_at
            ));
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
            if signature.parse::<Signature>().is_ok() && is_newer(&signature, &entries, with).await? {
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
    let expected = happened_at(place.time, chain.transfer_id.as_deref());
    let listed_at = OffsetDateTime::parse(&listed.created_at, &Rfc3339).ok();
    let micros = listed_at.map(|at| at.unix_timestamp_nanos() / 1_000);
    let fits = micros.is_some_and(|at| (at - expected).abs() <= MICROS_OFF_MAX);
    if !fits {
        differs("that it happened at", Some(&listed.created_at), Some(&chain.created_at));
    }
    found
}

/// In Unix microseconds: the block's second, but not before the millisecond that the transfer's id holds.
fn happened_at(block: i64, transfer_id: Option<&str>) -> i128 {
    let block = i128::from(block) * 1_000_000;
    let asked = transfer_id.and_then(|id| Ulid::from_string(id.strip_prefix("txn_")?).ok());
    // The end of the millisecond.
    let asked = asked.map_or(block, |id| (i128::from(id.timestamp_ms()) + 1) * 1_000);
    if asked - block <= i128::from(ASKED_LATER_MAX) * 1_000_000 { block.max(asked) } else { block }
}

fn unix_seconds(text: &str) -> Option<i64> {
    OffsetDateTime::parse(text, &Rfc3339).ok().map(OffsetDateTime::unix_timestamp)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn payment_is_dated_by_its_block_or_its_id_and_an_id_far_ahead_says_nothing() {
        let id = |millisecond: u64| format!("txn_{}", Ulid::from_parts(millisecond, 7));
        assert_eq!(happened_at(100, None), 100_000_000);
        assert_eq!(happened_at(100, Some(&id(99_000))), 100_000_000);
        assert_eq!(happened_at(100, Some(&id(104_250))), 104_251_000);
        assert_eq!(happened_at(100, Some(&id(500_000))), 100_000_000);
    }

    #[test]
    fn list_out_of_order_or_shown_before_it_happened_is_named() {
        let entry = |created: &str, visible: &str| {
            json!({ "type": "deposit", "status": "settled", "amount_usdc": "1.000000",
                "created_at": format!("2026-01-01T00:00:{created}Z"), "visible_at": format!("2026-01-01T00:00:{visible}Z") })
        };
        let found = |entries: serde_json::Value| {
            let mut outcome = Outcome::default();
            let listed: Vec<WireEntry> = serde_json::from_value(entries).expect("a history");
            check_order(Pubkey::default(), &listed, &mut outcome);
            outcome.mismatches.into_iter().map(|it| it.text).collect::<Vec<_>>().join("\n")
        };
        assert_eq!(found(json!([entry("03", "09.2"), entry("05", "06.1")])), "");
        assert!(found(json!([entry("05", "06.1"), entry("03", "09.2")])).contains("out of order"));
        assert!(found(json!([entry("05", "06.1"), entry("04", "06.1")])).contains("out of order"));
        assert!(found(json!([entry("30", "06.1")])).contains("before it happened"));
    }
}
