//! Events that follow from a history entry.

use serde::Serialize;
use utoipa::ToSchema;

use super::{Event, EventType};
use crate::domain::schema;
use crate::domain::schema::{ChainMemo, OtherSide, PolicyVersionNumber, Signature, Usdc};
use crate::domain::{EntryKind, EntryOutcome, HistoryEntry, Memo, Timestamp, UsdcAmount};

#[derive(Serialize, ToSchema)]
pub(crate) struct DepositData<'a> {
    #[schema(value_type = schema::AccountId)]
    account_id: String,
    /// The line of the account's history.
    #[schema(value_type = schema::EntryId)]
    entry_id: String,
    #[schema(value_type = Usdc)]
    amount_usdc: String,
    /// Who paid; `null` unless it was one party alone.
    #[schema(value_type = Option<OtherSide>, required)]
    from: Option<String>,
    #[schema(value_type = Option<ChainMemo>, required)]
    memo: Option<&'a str>,
    /// Of a deposit that one transfer made.
    #[schema(value_type = Option<schema::TransferId>, required)]
    transfer_id: Option<String>,
    #[schema(value_type = Signature)]
    tx_signature: &'a str,
    #[schema(value_type = schema::Timestamp)]
    settled_at: String,
}

#[derive(Serialize, ToSchema)]
pub(crate) struct WithdrawalData<'a> {
    #[schema(value_type = schema::AccountId)]
    account_id: String,
    /// The line of the account's history.
    #[schema(value_type = schema::EntryId)]
    entry_id: String,
    #[schema(value_type = Usdc)]
    amount_usdc: String,
    /// Who was paid; `null` unless it was one party alone.
    #[schema(value_type = Option<OtherSide>, required)]
    to: Option<String>,
    #[schema(value_type = Signature)]
    tx_signature: &'a str,
    #[schema(value_type = schema::Timestamp)]
    settled_at: String,
}

#[derive(Serialize, ToSchema)]
pub(crate) struct ThresholdData<'a> {
    #[schema(value_type = schema::AccountId)]
    account_id: String,
    /// Which share of the daily cap was reached.
    #[schema(minimum = 1, maximum = 100)]
    threshold_percent: u8,
    /// What left in the 24 hours up to and including the payment.
    #[schema(value_type = Usdc)]
    spent_usdc: String,
    /// The cap as it was in force for the payment.
    #[schema(value_type = Usdc)]
    max_daily_spend_usdc: String,
    #[schema(value_type = PolicyVersionNumber)]
    policy_version: u64,
    /// The payment's line of the account's history.
    #[schema(value_type = schema::EntryId)]
    entry_id: String,
    /// Of the payment.
    #[schema(value_type = Usdc)]
    amount_usdc: String,
    /// Of the payment.
    #[schema(value_type = Option<schema::TransferId>, required)]
    transfer_id: Option<String>,
    #[schema(value_type = Signature)]
    tx_signature: &'a str,
    #[schema(value_type = schema::Timestamp)]
    settled_at: String,
}

impl Event {
    /// The event of a deposit or withdrawal. `None` for transfers, which have their own events.
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

    /// Events for the shares of the daily cap that a payment reached; `max_daily_spend` is the cap at the payment. None
    /// when the spending is unknown.
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
