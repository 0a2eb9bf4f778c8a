//! Every movement of money, as bookkeeping wants it, and its sums by month and counterparty.

use std::collections::BTreeMap;

use anchor_lang::prelude::Pubkey;
use purser::OpenedBy;
use purser_policy::UsdcAmount;
use ulid::Ulid;

use super::shown;
use crate::replay::{Movement, Outcome, Place, date};

/// A payment, a withdrawal or a deposit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LedgerEntry {
    /// Unix seconds.
    pub time: i64,
    pub account: Pubkey,
    /// `payment`, `withdrawal` (by the admin, past every policy) or `deposit`.
    pub kind: &'static str,
    /// Of a payment, as the program numbers them.
    pub number: Option<u64>,
    pub amount: UsdcAmount,
    /// What the account held after it, in micro-USDC: the sum of its movements. Less than nothing where some were hidden.
    pub balance: i128,
    /// The other token account; of a deposit that came from several, or from none, it is not known.
    pub counterparty: Option<Pubkey>,
    pub owner: Option<Pubkey>,
    /// A stranger's words, with control characters in escapes.
    pub memo: Option<String>,
    pub policy_version: Option<u32>,
    pub grant: Option<Pubkey>,
    /// The key that opened the grant.
    pub approved_by: Option<Pubkey>,
    /// That key's role: `admin`, `policy_authority` or `approver`.
    pub approved_as: Option<&'static str>,
    pub transfer_id: Option<Ulid>,
    pub signature: String,
}

/// What moved in a month to or from one counterparty.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LedgerTotal {
    /// Such as `2026-11`.
    pub month: String,
    pub kind: &'static str,
    pub counterparty: Option<Pubkey>,
    pub owner: Option<Pubkey>,
    pub count: u64,
    /// Micro-USDC.
    pub amount: u128,
}

/// `held` has the balance of each account before its first movement.
pub(super) fn ledger(outcome: &Outcome, held: &[(Pubkey, u64)]) -> Vec<LedgerEntry> {
    let mut balances: BTreeMap<Pubkey, i128> =
        held.iter().map(|(agent, held)| (*agent, i128::from(*held))).collect();
    let entry = |(place, movement): &(Place, Movement)| {
        let mut entry = entry(place, movement);
        let balance = balances.entry(entry.account).or_default();
        *balance = balance.saturating_add(entry.change());
        entry.balance = *balance;
        entry
    };
    let by_transaction = outcome.movements.chunk_by(|(one, _), (next, _)| one.signature == next.signature);
    // What left may have come in the same transaction.
    let in_order = by_transaction.flat_map(|movements| {
        let is_deposit = |(_, it): &&(Place, Movement)| matches!(it, Movement::Deposit { .. });
        let (came, left): (Vec<_>, Vec<_>) = movements.iter().partition(is_deposit);
        came.into_iter().chain(left)
    });
    in_order.map(entry).collect()
}

impl LedgerEntry {
    /// What it added to the account, in micro-USDC.
    pub(super) fn change(&self) -> i128 {
        let micros = i128::from(self.amount.micros());
        if self.kind == "deposit" { micros } else { -micros }
    }
}

/// The movement, without the balance after it.
fn entry(place: &Place, movement: &Movement) -> LedgerEntry {
    let words = |memo: &[u8]| (!memo.is_empty()).then(|| shown(&String::from_utf8_lossy(memo)));
    let entry = |kind, amount| LedgerEntry {
        time: place.time,
        account: movement.agent(),
        kind,
        number: None,
        amount,
        balance: 0,
        counterparty: None,
        owner: None,
        memo: None,
        policy_version: None,
        grant: None,
        approved_by: None,
        approved_as: None,
        transfer_id: None,
        signature: place.signature.clone(),
    };
    match movement {
        Movement::Payment { payment, .. } => LedgerEntry {
            number: Some(payment.number),
            counterparty: Some(payment.recipient),
            owner: payment.owner,
            memo: words(&payment.memo),
            policy_version: Some(payment.policy_version),
            grant: payment.grant,
            approved_by: payment.approved_by.map(|(_, key)| key),
            approved_as: payment.approved_by.map(|(opened_by, _)| role(opened_by)),
            transfer_id: Some(Ulid::from_bytes(payment.transfer_id)),
            ..entry("payment", payment.amount)
        },
        Movement::Withdrawal { amount, recipient, owner, .. } => {
            LedgerEntry { counterparty: Some(*recipient), owner: *owner, ..entry("withdrawal", *amount) }
        }
        Movement::Deposit { amount, source, transfer, .. } => LedgerEntry {
            counterparty: *source,
            memo: transfer.as_ref().and_then(|(_, memo)| words(memo)),
            transfer_id: transfer.as_ref().map(|(transfer, _)| Ulid::from_bytes(*transfer)),
            ..entry("deposit", *amount)
        },
    }
}

fn role(opened_by: OpenedBy) -> &'static str {
    match opened_by {
        OpenedBy::Admin => "admin",
        OpenedBy::PolicyAuthority => "policy_authority",
        OpenedBy::Approver => "approver",
    }
}

/// The sums of a ledger by month, kind and counterparty, in this order.
pub fn totals(ledger: &[LedgerEntry]) -> Vec<LedgerTotal> {
    let mut sums: BTreeMap<_, (u64, u128)> = BTreeMap::new();
    for LedgerEntry { time, kind, amount, counterparty, owner, .. } in ledger {
        let month: String = date(*time).chars().take(7).collect();
        let (count, sum) = sums.entry((month, *kind, *counterparty, *owner)).or_default();
        *count += 1;
        *sum += u128::from(amount.micros());
    }
    let total = |((month, kind, counterparty, owner), (count, amount))| LedgerTotal {
        month,
        kind,
        counterparty,
        owner,
        count,
        amount,
    };
    sums.into_iter().map(total).collect()
}
