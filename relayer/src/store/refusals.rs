//! How many transfers ended without a payment: counted from their rows, which an index has in the order of their times.

use super::columns::Table;
use super::query::query;
use super::{Store, StoreError};
use crate::domain::{AccountId, OperatorId, Timestamp, TransferId};

const TABLE: Table = Table("transfers");

impl Store {
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
        const SQL: &str = "SELECT COALESCE(
             (SELECT transfer_id FROM transfers
              WHERE operator_id = $1 AND account_id = $2 AND state IN ('rejected', 'failed') AND ended_at IS NOT NULL
                  AND transfer_id >= $3
              ORDER BY transfer_id DESC LIMIT 1 OFFSET $4),
             (SELECT transfer_id FROM transfers
              WHERE operator_id = $1 AND state IN ('rejected', 'failed') AND ended_at IS NOT NULL
                  AND transfer_id >= $3
              ORDER BY transfer_id DESC LIMIT 1 OFFSET $5))";
        let found: Option<(Option<String>,)> = query(SQL)
            .bind(operator.to_string())
            .bind(account.to_string())
            .bind(TransferId::with_tag(since, 0, 0).to_string())
            .bind(i64::from(per_account) - 1)
            .bind(i64::from(per_operator) - 1)
            .fetch_optional(self.reader())
            .await?;
        let last = found.and_then(|(last,)| last);
        TABLE.read_optional("transfer_id", last.as_deref())
    }
}
