//! Entries that may still be forked away: lists them, marks them final, and undoes those that are gone.

use futures::FutureExt;
use macro_rules_attribute::derive;
use sqlx::AssertSqlSafe;

use super::chain_wins::{Dropped, reopen_unpaid};
use super::columns::Table;
use super::events::announce;
use super::history::number_of;
use super::marks::{Mark, bind_marks, row_matches};
use super::query::query;
use super::row::ByName;
use super::{Store, StoreError, ledgers};
use crate::domain::{AccountId, EntryKind, Network, OperatorId, Timestamp, UsdcAmount};

const TABLE: Table = Table("history");

#[derive(Debug, ByName!)]
struct UndoneRow {
    operator_id: String,
    account_id: String,
    kind: String,
    amount_usdc: String,
    number: Option<i64>,
    transfer_id: Option<String>,
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

    /// For the indexer: undoes a transaction whose slot was forked away, opens the transfers again that it had settled, and announces
    /// that. Returns the number of its entries.
    pub async fn undo_transaction(
        &self,
        network: Network,
        transaction: &Mark,
        now: Timestamp,
    ) -> Result<usize, StoreError> {
        const WHOSE: &str = "SELECT DISTINCT operator_id FROM history
             WHERE network = $1 AND slot = $2 AND tx_signature = $3 AND NOT is_final";
        const SQL: &str =
            "DELETE FROM history WHERE network = $1 AND slot = $2 AND tx_signature = $3 AND NOT is_final
             RETURNING operator_id, account_id, kind, amount_usdc, number, transfer_id";
        let of = |sql| {
            query(sql)
                .bind(network.as_str())
                .bind(transaction.slot.cast_signed())
                .bind(transaction.signature.as_str())
        };
        // Read before the write, so that the writer is not held up.
        let whose: Vec<(String,)> = of(WHOSE).fetch_all(self.reader()).await?;
        let mut webhooks = Vec::new();
        for (operator,) in &whose {
            webhooks.extend(self.list_all_webhooks(TABLE.read("operator_id", operator)?).await?);
        }
        let (undo, signature) = (of(SQL), transaction.signature.clone());
        let write = self.write(move |tx| {
            async move {
                let undone: Vec<UndoneRow> = undo.fetch_all(&mut *tx).await?;
                let mut events = Vec::new();
                // Transfers before ledgers: every process locks them in this order.
                for row in &undone {
                    if let (EntryKind::Transfer, Some(transfer_id)) = (row.kind()?, &row.transfer_id) {
                        let (account, transfer_id) = (row.account()?, transfer_id.clone());
                        let dropped = Dropped { account, transfer_id, signature: signature.clone() };
                        events.extend(reopen_unpaid(tx, &dropped, now).await?);
                    }
                }
                for row in &undone {
                    let amount = TABLE.read::<UsdcAmount>("amount_usdc", &row.amount_usdc)?;
                    let change = ledgers::change_of(row.kind()?, amount);
                    ledgers::unbook(tx, row.account()?, change, row.number.map(number_of)).await?;
                }
                Ok((undone.len(), announce(tx, &events, &webhooks, now).await?))
            }
            .boxed()
        });
        let (undone, notified) = write.await?;
        self.outbox.hint(notified);
        Ok(undone)
    }
}

impl UndoneRow {
    fn account(&self) -> Result<(OperatorId, AccountId), StoreError> {
        Ok((TABLE.read("operator_id", &self.operator_id)?, TABLE.read("account_id", &self.account_id)?))
    }

    fn kind(&self) -> Result<EntryKind, StoreError> {
        EntryKind::from_stored(&self.kind).ok_or_else(|| TABLE.unreadable("kind"))
    }
}
