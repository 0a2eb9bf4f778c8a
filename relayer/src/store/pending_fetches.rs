//! Transactions that were listed but that no node shows yet: fetched until they are shown or forked away.

use macro_rules_attribute::derive;
use sqlx::AssertSqlSafe;

use super::columns::Table;
use super::due::Due;
use super::query::query;
use super::row::ByName;
use super::{Store, StoreError, Transaction};
use crate::domain::{Network, Timestamp};

const TABLE: Table = Table("pending_fetches");

/// A transaction that was listed but that no node shows yet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PendingFetch {
    /// Base58.
    pub signature: String,
    pub slot: u64,
    pub tries: u32,
    pub next_try_at: Timestamp,
}

#[derive(Debug, ByName!)]
struct PendingFetchRow {
    tx_signature: String,
    slot: i64,
    tries: i64,
    next_try_at: String,
}

impl Store {
    /// For the indexer: the pending fetches that may be retried, longest waiting first.
    pub async fn list_pending_fetches(
        &self,
        network: Network,
        due: Due,
        rows_max: u32,
    ) -> Result<Vec<PendingFetch>, StoreError> {
        let sql = format!(
            "SELECT tx_signature, slot, tries, next_try_at FROM pending_fetches
             WHERE network = $1 AND {} ORDER BY next_try_at LIMIT $4",
            Due::sql("next_try_at", 2, 3)
        );
        // Only our own constants are interpolated.
        let rows: Vec<PendingFetchRow> = query(AssertSqlSafe(sql))
            .bind(network.as_str())
            .bind(due.now.to_string())
            .bind(due.latest.to_string())
            .bind(i64::from(rows_max))
            .fetch_all(self.reader())
            .await?;
        let read = |row: PendingFetchRow| {
            Ok(PendingFetch {
                slot: row.slot.cast_unsigned(),
                tries: u32::try_from(row.tries).map_err(|_| TABLE.unreadable("tries"))?,
                next_try_at: TABLE.read("next_try_at", &row.next_try_at)?,
                signature: row.tx_signature,
            })
        };
        rows.into_iter().map(read).collect()
    }
}

pub(super) async fn replace_pending_fetch(
    tx: &mut Transaction<'_>,
    network: Network,
    pending: &PendingFetch,
) -> Result<(), StoreError> {
    const SQL: &str = "INSERT INTO pending_fetches (network, tx_signature, slot, tries, next_try_at)
         VALUES ($1, $2, $3, $4, $5)
         ON CONFLICT (network, tx_signature) DO UPDATE
             SET slot = excluded.slot, tries = excluded.tries, next_try_at = excluded.next_try_at
             WHERE pending_fetches.tries < excluded.tries";
    query(SQL)
        .bind(network.as_str())
        .bind(pending.signature.as_str())
        .bind(pending.slot.cast_signed())
        .bind(i64::from(pending.tries))
        .bind(pending.next_try_at.to_string())
        .execute(tx)
        .await?;
    Ok(())
}

pub(super) async fn delete_pending_fetch(
    tx: &mut Transaction<'_>,
    network: Network,
    signature: &str,
) -> Result<(), StoreError> {
    const SQL: &str = "DELETE FROM pending_fetches WHERE network = $1 AND tx_signature = $2";
    query(SQL).bind(network.as_str()).bind(signature).execute(tx).await?;
    Ok(())
}
