//! Amounts and times of what left accounts, for summing.

use macro_rules_attribute::derive;

use super::columns::Table;
use super::query::query;
use super::row::ByName;
use super::{Store, StoreError};
use crate::domain::{AccountId, OperatorId, Timestamp, UsdcAmount, position_after};

const TABLE: Table = Table("history");

#[derive(Debug, ByName!)]
struct SpentRow {
    amount_usdc: String,
    created_at: String,
}

impl Store {
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
        const SQL: &str = "SELECT amount_usdc, created_at, position FROM (
                 SELECT amount_usdc, created_at, position FROM history
                 WHERE operator_id = $1 AND account_id = $2 AND kind = 'transfer' AND status = 'settled' AND position > $3
                 ORDER BY position DESC LIMIT $4) AS payments
             UNION ALL SELECT amount_usdc, created_at, position FROM (
                 SELECT amount_usdc, created_at, position FROM history
                 WHERE operator_id = $1 AND account_id = $2 AND kind = 'withdrawal' AND status = 'settled' AND position > $3
                 ORDER BY position DESC LIMIT $4) AS withdrawals
             ORDER BY position DESC LIMIT $4";
        let rows: Vec<SpentRow> = query(SQL)
            .bind(operator.to_string())
            .bind(account.to_string())
            .bind(position_after(since))
            .bind(i64::from(rows_max))
            .fetch_all(self.lister())
            .await?;
        let read = |row: SpentRow| {
            let at = TABLE.read("created_at", &row.created_at)?;
            Ok((at, TABLE.read("amount_usdc", &row.amount_usdc)?))
        };
        rows.into_iter().map(read).collect()
    }
}
