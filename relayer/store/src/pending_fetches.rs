//! Transactions that were listed but that no node shows yet: fetched until they are shown or forked away.

use super::due::Due;
use super::query::{columns, sql};
use super::row::{Listed, row};
use super::{Index, Result, Transaction};
use purser_model::{Network, Timestamp};

/// A transaction that was listed but that no node shows yet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PendingFetch {
    /// Base58.
    pub signature: String,
    pub slot: u64,
    pub tries: u32,
    pub next_try_at: Timestamp,
}

row! { PendingFetch { signature: tx_signature, slot, tries, next_try_at } }

impl Index {
    /// Lists the pending fetches that are due, longest waiting first. With up to `few` tries, a time beyond `few_due` counts as due:
    /// a clock that was ahead set it.
    pub async fn list_pending_fetches(
        &self,
        network: Network,
        due: Due,
        (few, few_due): (u32, Due),
        rows_max: u32,
    ) -> Result<Vec<PendingFetch>> {
        sql! {
            "SELECT {columns} FROM pending_fetches
             WHERE network = {network} AND ({is_due} OR tries <= {few} AND next_try_at > {latest})
             ORDER BY next_try_at LIMIT {rows_max}",
            columns = PendingFetch::COLUMNS, network, is_due = due.has_come("next_try_at"), few,
            latest = few_due.latest, rows_max
        }
        .fetch_all(self.reader())
        .await
    }
}

pub(super) async fn replace_pending_fetch(
    tx: &mut Transaction<'_>,
    network: Network,
    pending: &PendingFetch,
) -> Result<()> {
    sql! {
        "INSERT INTO pending_fetches {row}
         ON CONFLICT (network, tx_signature) DO UPDATE
             SET slot = excluded.slot, tries = excluded.tries, next_try_at = excluded.next_try_at
             WHERE pending_fetches.tries < excluded.tries",
        row = columns! { ..pending, network }
    }
    .run(tx)
    .await
}

pub(super) async fn delete_pending_fetch(
    tx: &mut Transaction<'_>,
    network: Network,
    signature: &str,
) -> Result<()> {
    sql! {
        "DELETE FROM pending_fetches WHERE network = {network} AND tx_signature = {signature}",
        network, signature
    }
    .run(tx)
    .await
}
