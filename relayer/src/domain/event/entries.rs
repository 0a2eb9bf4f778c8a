//! What follows from an entry of a history.

use serde::Serialize;

use super::{Event, EventType};
use crate::domain::{EntryKind, EntryOutcome, HistoryEntry, Memo, Timestamp, UsdcAmount};

#[derive(Serialize)]
struct DepositData<'a> {
    account_id: String,
    entry_id: String,
    amount_usdc: String,
    from: Option<String>,
    memo: Option<&'a str>,
    transfer_id: Option<String>,
    tx_signature: &'a str,
    settled_at: String,
}

#[derive(Serialize)]
struct WithdrawalData<'a> {
    account_id: String,
    entry_id: String,
    amount_usdc: String,
    to: Option<String>,
    tx_signature: &'a str,
    settled_at: String,
}

#[derive(Serialize)]
struct ThresholdData<'a> {
    account_id: String,
    threshold_percent: u8,
    spent_usdc: String,
    max_daily_spend_usdc: String,
    policy_version: u64,
    entry_id: String,
    amount_usdc: String,
    transfer_id: Option<String>,
    tx_signature: &'a str,
    settled_at: String,
}

impl Event {
    /// The money that an entry moved in, or out past the policy. `None` for transfers, which have events of their own.
    pub fn of_entry(entry: &HistoryEntry, now: Timestamp) -> Option<Self> {
        let EntryOutcome::Settled { signature, .. } = &entry.outcome else { return None };
        let of = (entry.operator_id, entry.account_id);
        let (account_id, entry_id) = (entry.account_id.to_string(), entry.id.to_string());
        let amount_usdc = entry.amount.to_string();
        let other_side = entry.counterparty.map(|party| party.to_string());
        let settled_at = entry.created_at.to_string();
        match entry.kind {
            EntryKind::Transfer => None,
            EntryKind::Deposit => {
                let data = DepositData {
                    account_id,
                    entry_id,
                    amount_usdc,
                    from: other_side,
                    memo: entry.memo.as_ref().map(Memo::as_str),
                    transfer_id: entry.transfer_id.map(|id| id.to_string()),
                    tx_signature: signature,
                    settled_at,
                };
                let fact = entry.id.to_string();
                Some(Self::of_account(of, EventType::DepositSettled, &fact, &data, now))
            }
            EntryKind::Withdrawal => {
                let data = WithdrawalData {
                    account_id,
                    entry_id,
                    amount_usdc,
                    to: other_side,
                    tx_signature: signature,
                    settled_at,
                };
                let fact = entry.id.to_string();
                Some(Self::of_account(of, EventType::WithdrawalSettled, &fact, &data, now))
            }
        }
    }

    /// The shares of the daily cap that a payment reached; `max_daily_spend` as it was in force for it. None where
    /// nobody knows what was spent.
    pub fn limits_reached(entry: &HistoryEntry, max_daily_spend: UsdcAmount, now: Timestamp) -> Vec<Self> {
        let (Some(spent), EntryOutcome::Settled { signature, .. }) = (entry.spent, &entry.outcome) else {
            return Vec::new();
        };
        let reached = |threshold_percent| {
            let data = ThresholdData {
                account_id: entry.account_id.to_string(),
                threshold_percent,
                spent_usdc: spent.in_window.to_string(),
                max_daily_spend_usdc: max_daily_spend.to_string(),
                policy_version: spent.policy_version,
                entry_id: entry.id.to_string(),
                amount_usdc: entry.amount.to_string(),
                transfer_id: entry.transfer_id.map(|id| id.to_string()),
                tx_signature: signature,
                settled_at: entry.created_at.to_string(),
            };
            let fact = format!("{}|{threshold_percent}", entry.id);
            Self::of_account(
                (entry.operator_id, entry.account_id),
                EventType::LimitThreshold,
                &fact,
                &data,
                now,
            )
        };
        spent.reached(entry.amount, max_daily_spend).map(reached).collect()
    }
}
