//! Entries that may still be forked away: lists them, marks them final, and undoes those that are gone.

use futures::FutureExt;
use macro_rules_attribute::derive;
use sqlx::AssertSqlSafe;

use super::columns::Table;
use super::history::number_of;
use super::marks::{Mark, bind_marks, row_matches};
use super::query::query;
use super::row::ByName;
use super::{Store, StoreError, ledgers};
use crate::domain::{AccountId, EntryKind, Network, OperatorId, UsdcAmount};

const TABLE: Table = Table("history");

#[derive(Debug, ByName!)]
struct UndoneRow {
    operator_id: String,
    account_id: String,
    kind: String,
    amount_usdc: String,
    number: Option<i64>,
}

impl Store {
    /// For the indexer: up to `rows_max` transactions of every operator's history on `network` that are not final,
    /// oldest first.
    pub async fn list_open_transactions(
        &self,
        network: Network,
        rows_max: usize,
    ) -> Result<Vec<Mark>, StoreError> {
        const SQL: &str = "SELECT DISTINCT tx_signature, slot FROM history
             WHERE network = $1 AND NOT is_final AND slot IS NOT NULL ORDER BY slot, tx_signature LIMIT $2";
        let rows: Vec<(String, i64)> = query(SQL)
            .bind(network.as_str())
            .bind(i64::try_from(rows_max).unwrap_or(i64::MAX))
            .fetch_all(self.lister())
            .await?;
        Ok(rows.into_iter().map(|(signature, slot)| Mark { signature, slot: slot.cast_unsigned() }).collect())
    }

    /// For the indexer: marks transactions that can no longer be forked away. At most 1,000.
    pub async fn mark_final(&self, network: Network, transactions: &[Mark]) -> Result<(), StoreError> {
        if transactions.is_empty() {
            return Ok(());
        }
        let sql = format!(
            "UPDATE history SET is_final = $2 WHERE network = $1 AND NOT is_final AND {}",
            row_matches(3, transactions.len())
        );
        // Only placeholders are interpolated.
        bind_marks(query(AssertSqlSafe(sql)).bind(network.as_str()).bind(true), transactions)
            .execute(self.writer())
            .await?;
        Ok(())
    }

    /// For the indexer: undoes a transaction whose slot was forked away. Returns the number of its entries.
    pub async fn undo_transaction(&self, network: Network, transaction: &Mark) -> Result<usize, StoreError> {
        const SQL: &str =
            "DELETE FROM history WHERE network = $1 AND slot = $2 AND tx_signature = $3 AND NOT is_final
             RETURNING operator_id, account_id, kind, amount_usdc, number";
        let undo = query(SQL)
            .bind(network.as_str())
            .bind(transaction.slot.cast_signed())
            .bind(transaction.signature.as_str());
        self.write(move |tx| {
            async move {
                let undone: Vec<UndoneRow> = undo.fetch_all(&mut *tx).await?;
                for row in &undone {
                    let account: (OperatorId, AccountId) = (
                        TABLE.read("operator_id", &row.operator_id)?,
                        TABLE.read("account_id", &row.account_id)?,
                    );
                    let kind = EntryKind::from_stored(&row.kind).ok_or_else(|| TABLE.unreadable("kind"))?;
                    let amount = TABLE.read::<UsdcAmount>("amount_usdc", &row.amount_usdc)?;
                    let number = row.number.map(number_of);
                    ledgers::unbook(tx, account, ledgers::change_of(kind, amount), number).await?;
                }
                Ok(undone.len())
            }
            .boxed()
        })
        .await
    }
}
