//! Amounts and times of what left accounts, for summing.

use super::query::sql;
use super::{History, StoreError};
use crate::domain::{AccountId, OperatorId, Timestamp, UsdcAmount, position_after};

impl History {
    /// Up to `rows_max` amounts of the operator's account: payments and withdrawals that became visible after `since`,
    /// newest first.
    pub async fn list_spending(
        &self,
        operator: OperatorId,
        account: AccountId,
        since: Timestamp,
        rows_max: u32,
    ) -> Result<Vec<(Timestamp, UsdcAmount)>, StoreError> {
        // The index delivers each kind in order.
        sql! {
            "SELECT created_at, amount_usdc, position FROM (
                 SELECT created_at, amount_usdc, position FROM history
                 WHERE operator_id = {operator} AND account_id = {account} AND kind = 'transfer' AND status = 'settled'
                     AND position > {since}
                 ORDER BY position DESC LIMIT {rows_max}) AS payments
             UNION ALL SELECT created_at, amount_usdc, position FROM (
                 SELECT created_at, amount_usdc, position FROM history
                 WHERE operator_id = {operator} AND account_id = {account} AND kind = 'withdrawal' AND status = 'settled'
                     AND position > {since}
                 ORDER BY position DESC LIMIT {rows_max}) AS withdrawals
             ORDER BY position DESC LIMIT {rows_max}",
            operator, account, since = position_after(since), rows_max
        }
        .fetch_all(self.lister())
        .await
    }
}
