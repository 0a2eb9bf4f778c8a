//! Every movement of money, as bookkeeping wants it, and its sums by month and counterparty.

use std::collections::BTreeMap;

use anchor_lang::prelude::Pubkey;
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
    /// The other token account; of a deposit that came from several, or from none, it is not known.
    pub counterparty: Option<Pubkey>,
    pub owner: Option<Pubkey>,
    /// A stranger's words, with control characters in escapes.
    pub memo: Option<String>,
    pub policy_version: Option<u32>,
    pub grant: Option<Pubkey>,
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

pub(super) fn ledger(outcome: &Outcome) -> Vec<LedgerEntry> {
    outcome.movements.iter().map(|(place, movement)| entry(place, movement)).collect()
}

fn entry(place: &Place, movement: &Movement) -> LedgerEntry {
    let words = |memo: &[u8]| (!memo.is_empty()).then(|| shown(&String::from_utf8_lossy(memo)));
    let entry = |kind, amount| LedgerEntry {
        time: place.time,
        account: movement.agent(),
        kind,
        number: None,
        amount,
        counterparty: None,
        owner: None,
        memo: None,
        policy_version: None,
        grant: None,
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
