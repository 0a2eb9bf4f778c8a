//! Events that follow from a history entry.

use serde::Serialize;
use utoipa::ToSchema;

use crate::wire::schema::{ChainMemo, OtherSide, PolicyVersionNumber, Signature, Usdc};
use crate::{
    AccountId, BudgetId, EntryId, EntryKind, EntryOutcome, Event, EventType, HistoryEntry, LimitUsed,
    Timestamp, TransferId, UsdcAmount, WatchedLimit,
};

const DAY_SECONDS: i64 = 86_400;

#[derive(Serialize, ToSchema)]
pub struct DepositData {
    account_id: AccountId,
    /// The line of the account's history.
    entry_id: EntryId,
    amount_usdc: Usdc,
    /// Who paid; `null` unless it was one party alone.
    #[schema(required)]
    from: Option<OtherSide>,
    /// In the words of whoever sent it: anybody.
    #[schema(required)]
    memo: Option<ChainMemo>,
    /// Of a deposit that one transfer made.
    #[schema(required)]
    transfer_id: Option<TransferId>,
    tx_signature: Signature,
    settled_at: Timestamp,
}

#[derive(Serialize, ToSchema)]
pub struct WithdrawalData {
    account_id: AccountId,
    /// The line of the account's history.
    entry_id: EntryId,
    amount_usdc: Usdc,
    /// Who was paid; `null` unless it was one party alone.
    #[schema(required)]
    to: Option<OtherSide>,
    tx_signature: Signature,
    settled_at: Timestamp,
}

#[derive(Serialize, ToSchema)]
pub struct ThresholdData {
    account_id: AccountId,
    limit: WatchedLimit,
    /// Of a budget's limit; otherwise `null`.
    #[schema(required)]
    budget_id: Option<BudgetId>,
    /// Which share of the cap was reached.
    #[schema(minimum = 1, maximum = 100)]
    threshold_percent: u8,
    /// What counts against the cap, up to and including the payment.
    spent_usdc: Usdc,
    /// The cap.
    limit_usdc: Usdc,
    /// The same, whichever limit it is.
    max_daily_spend_usdc: Usdc,
    policy_version: PolicyVersionNumber,
    /// The payment's line of the account's history.
    entry_id: EntryId,
    /// Of the payment.
    amount_usdc: Usdc,
    /// Of the payment.
    #[schema(required)]
    transfer_id: Option<TransferId>,
    tx_signature: Signature,
    settled_at: Timestamp,
}

impl Event {
    /// The event of a deposit or withdrawal. `None` for transfers, which have their own events.
    pub fn of_entry(entry: &HistoryEntry, now: Timestamp) -> Option<Self> {
        let EntryOutcome::Settled { signature, .. } = &entry.outcome else { return None };
        let of = (entry.operator_id, entry.account_id);
        let (account_id, entry_id) = (entry.account_id, entry.id);
        let (amount_usdc, settled_at) = (entry.amount.into(), entry.created_at);
        let (other_side, tx_signature) =
            (entry.counterparty.map(|party| OtherSide(party.to_string())), signature.as_str().into());
        match entry.kind {
            EntryKind::Transfer => None,
            EntryKind::Deposit => {
                let data = DepositData {
                    account_id,
                    entry_id,
                    amount_usdc,
                    from: other_side,
                    memo: entry.memo.as_ref().map(|memo| ChainMemo(memo.to_string())),
                    transfer_id: entry.transfer_id,
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
        let Some(spent) = entry.spent else { return Vec::new() };
        let limit = WatchedLimit::Daily;
        let used = LimitUsed { limit, budget: None, used: spent.in_window, cap: max_daily_spend };
        let reached = spent.reached(entry.amount, max_daily_spend);
        let fact = |percent| format!("{}|{percent}", entry.id);
        reached
            .filter_map(|percent| Self::limit_reached(entry, &used, percent, &fact(percent), now))
            .collect()
    }

    /// A payment brought a limit to a share of its cap. A cap for 30 days counts by days, so a share is reached once a day; of a
    /// budget it is announced once a day.
    pub fn limit_reached_today(
        entry: &HistoryEntry,
        used: &LimitUsed,
        percent: u8,
        now: Timestamp,
    ) -> Option<Self> {
        let of = used.budget.map_or_else(|| entry.account_id.to_string(), |budget| budget.to_string());
        let day = entry.created_at.unix_seconds().div_euclid(DAY_SECONDS);
        let fact = format!("{of}|{}|{percent}|{}|{day}", used.limit, used.cap);
        Self::limit_reached(entry, used, percent, &fact, now)
    }

    fn limit_reached(
        entry: &HistoryEntry,
        used: &LimitUsed,
        threshold_percent: u8,
        fact: &str,
        now: Timestamp,
    ) -> Option<Self> {
        let (Some(spent), EntryOutcome::Settled { signature, .. }) = (entry.spent, &entry.outcome) else {
            return None;
        };
        let data = ThresholdData {
            account_id: entry.account_id,
            limit: used.limit,
            budget_id: used.budget,
            threshold_percent,
            spent_usdc: used.used.into(),
            limit_usdc: used.cap.into(),
            max_daily_spend_usdc: used.cap.into(),
            policy_version: PolicyVersionNumber(spent.policy_version),
            entry_id: entry.id,
            amount_usdc: entry.amount.into(),
            transfer_id: entry.transfer_id,
            tx_signature: signature.as_str().into(),
            settled_at: entry.created_at,
        };
        let of = (entry.operator_id, entry.account_id);
        Some(Self::of_account(of, EventType::LimitThreshold, fact, &data, now))
    }
}
