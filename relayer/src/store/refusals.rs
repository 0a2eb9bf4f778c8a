//! How many transfers ended without a payment: counted from their rows, which an index has in the order of their times.

use super::query::sql;
use super::{StoreError, Transfers};
use crate::domain::{AccountId, OperatorId, Timestamp, TransferId};

impl Transfers {
    /// Of the transfers since `since` that were rejected or failed: the account's `per_account`th last, or else the
    /// operator's `per_operator`th last. `None`: there are fewer.
    pub async fn find_last_allowed_refusal(
        &self,
        (operator, account): (OperatorId, AccountId),
        since: Timestamp,
        per_account: u32,
        per_operator: u32,
    ) -> Result<Option<TransferId>, StoreError> {
        // The operator's many are counted only while the account has few.
        let found: Option<Option<TransferId>> = sql! {
            "SELECT COALESCE(
             (SELECT transfer_id FROM transfers
              WHERE operator_id = {operator} AND account_id = {account} AND state IN ('rejected', 'failed')
                  AND ended_at IS NOT NULL AND transfer_id >= {first}
              ORDER BY transfer_id DESC LIMIT 1 OFFSET {per_account}),
             (SELECT transfer_id FROM transfers
              WHERE operator_id = {operator} AND state IN ('rejected', 'failed') AND ended_at IS NOT NULL
                  AND transfer_id >= {first}
              ORDER BY transfer_id DESC LIMIT 1 OFFSET {per_operator}))",
            operator, account, first = TransferId::with_tag(since, 0, 0),
            per_account = i64::from(per_account) - 1, per_operator = i64::from(per_operator) - 1
        }
        .fetch_optional(self.reader())
        .await?;
        Ok(found.flatten())
    }
}
