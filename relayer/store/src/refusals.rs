//! How many transfers ended without a payment: counted from their rows, which an index has in the order of their times.

use super::Result;
use super::query::{Target, sql};
use purser_core::RefusalLimits;
use purser_model::{AccountId, OperatorId, Timestamp, TransferId};

/// Whose refusals are counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Counted {
    Account,
    AccountAndOperator,
}

/// The oldest refusal that still counts, if the account or its operator has as many since `since` as it may: a transfer that was
/// rejected or failed. `None`: there are fewer.
pub(super) async fn last_allowed(
    target: impl Into<Target<'_>>,
    (operator, account): (OperatorId, AccountId),
    counted: Counted,
    since: Timestamp,
    RefusalLimits { per_account, per_operator }: RefusalLimits,
) -> Result<Option<TransferId>> {
    // The operator's many are counted only while the account has few.
    sql! {
        "SELECT COALESCE(
             (SELECT transfer_id FROM transfers
              WHERE operator_id = {operator} AND account_id = {account} AND state IN ('rejected', 'failed')
                  AND ended_at IS NOT NULL AND transfer_id >= {first}
              ORDER BY transfer_id DESC LIMIT 1 OFFSET {per_account}),
             (SELECT transfer_id FROM transfers
              WHERE {with_operator} AND operator_id = {operator} AND state IN ('rejected', 'failed')
                  AND ended_at IS NOT NULL AND transfer_id >= {first}
              ORDER BY transfer_id DESC LIMIT 1 OFFSET {per_operator}))",
        operator, account, with_operator = counted == Counted::AccountAndOperator, first = TransferId::with_tag(since, 0, 0),
        per_account = i64::from(per_account) - 1, per_operator = i64::from(per_operator) - 1
    }
    .fetch_value(target)
    .await
}
