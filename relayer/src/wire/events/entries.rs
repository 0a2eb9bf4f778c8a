//! Events that follow from a history entry.

use serde::Serialize;
use utoipa::ToSchema;

use crate::domain::{EntryKind, EntryOutcome, Event, EventType, HistoryEntry, Timestamp, UsdcAmount};
use crate::wire::schema::{self, ChainMemo, OtherSide, PolicyVersionNumber, Signature, Text, Usdc};

#[derive(Serialize, ToSchema)]
pub(crate) struct DepositData {
    account_id: schema::AccountId,
    /// The line of the account's history.
    entry_id: schema::EntryId,
    amount_usdc: Usdc,
    /// Who paid; `null` unless it was one party alone.
    #[schema(required)]
    from: Option<OtherSide>,
    #[schema(value_type = Option<ChainMemo>, required)]
    memo: Option<schema::Memo>,
    /// Of a deposit that one transfer made.
    #[schema(required)]
    transfer_id: Option<schema::TransferId>,
    tx_signature: Signature,
    settled_at: schema::Timestamp,
}

#[derive(Serialize, ToSchema)]
pub(crate) struct WithdrawalData {
    account_id: schema::AccountId,
    /// The line of the account's history.
    entry_id: schema::EntryId,
    amount_usdc: Usdc,
    /// Who was paid; `null` unless it was one party alone.
    #[schema(required)]
    to: Option<OtherSide>,
    tx_signature: Signature,
    settled_at: schema::Timestamp,
}

#[derive(Serialize, ToSchema)]
pub(crate) struct ThresholdData {
    account_id: schema::AccountId,
    /// Which share of the daily cap was reached.
    #[schema(minimum = 1, maximum = 100)]
    threshold_percent: u8,
    /// What left in the 24 hours up to and including the payment.
    spent_usdc: Usdc,
    /// The cap as it was in force for the payment.
    max_daily_spend_usdc: Usdc,
    #[schema(value_type = PolicyVersionNumber)]
    policy_version: u64,
    /// The payment's line of the account's history.
    entry_id: schema::EntryId,
    /// Of the payment.
    amount_usdc: Usdc,
    /// Of the payment.
    #[schema(required)]
    transfer_id: Option<schema::TransferId>,
    tx_signature: Signature,
    settled_at: schema::Timestamp,
}

impl Event {
    /// The event of a deposit or withdrawal. `None` for transfers, which have their own events.
    pub fn of_entry(entry: &HistoryEntry, now: Timestamp) -> Option<Self> {
        let EntryOutcome::Settled { signature, .. } = &entry.outcome else { return None };
        let of = (entry.operator_id, entry.account_id);
        let (account_id, entry_id) = (entry.account_id.into(), entry.id.into());
        let (amount_usdc, settled_at) = (entry.amount.into(), entry.created_at.into());
        let (other_side, tx_signature) = (entry.counterparty.map(Text), signature.as_str().into());
        match entry.kind {
            EntryKind::Transfer => None,
            EntryKind::Deposit => {
                let data = DepositData {
                    account_id,
                    entry_id,
                    amount_usdc,
                    from: other_side,
                    memo: entry.memo.clone().map(Text),
                    transfer_id: entry.transfer_id.map(Text),
                    tx_signature,
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
                    tx_signature,
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
                account_id: entry.account_id.into(),
                threshold_percent,
                spent_usdc: spent.in_window.into(),
                max_daily_spend_usdc: max_daily_spend.into(),
                policy_version: spent.policy_version,
                entry_id: entry.id.into(),
                amount_usdc: entry.amount.into(),
                transfer_id: entry.transfer_id.map(Text),
                tx_signature: signature.as_str().into(),
                settled_at: entry.created_at.into(),
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
