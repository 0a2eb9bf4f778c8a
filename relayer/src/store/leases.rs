//! Leases on unfinished transfers. A worker takes one with the claim or by a sweep, renews it while it works, and gives
//! it back at a stop. When the holder dies the lease expires, and the next sweep of any relayer takes the transfer.

use sqlx::AssertSqlSafe;

use super::due::Due;
use super::pools::Pools;
use super::query::{places, query};
use super::transfer_row::TransferRow;
use super::transfers::COLUMNS;
use super::{Store, StoreError};
use crate::domain::{Network, OperatorId, Timestamp, Transfer, TransferId};

/// How many leases one statement renews.
const RENEWED_AT_ONCE_MAX: usize = 500;

impl Store {
    /// For a worker: leases up to `rows_max` unfinished transfers of every operator on `network` that nobody holds at
    /// `now`, longest abandoned first. The caller holds them until `lease_expires_at`.
    pub async fn take_unfinished_transfers(
        &self,
        network: Network,
        now: Timestamp,
        lease_expires_at: Timestamp,
        rows_max: u32,
    ) -> Result<Vec<Transfer>, StoreError> {
        // A separate CTE, so that Postgres runs it once; within the update it may run repeatedly and exceed the limit.
        let (due, is_free) = (Due::of_lease(now, lease_expires_at), Due::sql("lease_expires_at", 4, 6));
        let sql = format!(
            "WITH abandoned AS MATERIALIZED (
                 SELECT operator_id, transfer_id FROM transfers
                 WHERE network = $3 AND state IN ('claimed', 'signed', 'sent') AND {is_free}
                 ORDER BY lease_expires_at LIMIT $5 {})
             UPDATE transfers SET lease_holder = $1, lease_expires_at = $2
             WHERE (operator_id, transfer_id) IN (SELECT operator_id, transfer_id FROM abandoned)
             RETURNING {COLUMNS}",
            self.pools.skip_locked()
        );
        let rows: Vec<TransferRow> = query(AssertSqlSafe(sql))
            .bind(&*self.holder)
            .bind(lease_expires_at.to_string())
            .bind(network.as_str())
            .bind(due.now.to_string())
            .bind(i64::from(rows_max))
            .bind(due.latest.to_string())
            .fetch_all(self.writer())
            .await?;
        rows.into_iter().map(Transfer::try_from).collect()
    }

    /// For a worker: renews this store's leases on an operator's unfinished transfers among these, until
    /// `lease_expires_at`. Keeps a lease that another has taken meanwhile.
    pub async fn renew_leases(
        &self,
        operator: OperatorId,
        ids: &[TransferId],
        lease_expires_at: Timestamp,
    ) -> Result<(), StoreError> {
        for ids in ids.chunks(RENEWED_AT_ONCE_MAX) {
            let sql = format!(
                "UPDATE transfers SET lease_expires_at = $2
                 WHERE lease_holder = $1 AND state IN ('claimed', 'signed', 'sent')
                     AND operator_id = $3 AND transfer_id IN ({})",
                places(4, ids.len())
            );
            // Only placeholders are interpolated.
            query(AssertSqlSafe(sql))
                .bind(&*self.holder)
                .bind(lease_expires_at.to_string())
                .bind(operator.to_string())
                .bind_all(ids.iter().map(TransferId::to_string))
                .execute(self.writer())
                .await?;
        }
        Ok(())
    }

    /// Gives back one lease, so that a sweep resumes the transfer at once.
    pub async fn release_lease(
        &self,
        operator: OperatorId,
        id: TransferId,
        now: Timestamp,
    ) -> Result<(), StoreError> {
        const SQL: &str = "UPDATE transfers SET lease_expires_at = $3
             WHERE lease_holder = $1 AND operator_id = $4 AND transfer_id = $2 AND state IN ('claimed', 'signed', 'sent')
                 AND lease_expires_at > $3";
        query(SQL)
            .bind(&*self.holder)
            .bind(id.to_string())
            .bind(now.to_string())
            .bind(operator.to_string())
            .execute(self.writer())
            .await?;
        Ok(())
    }

    /// Gives back every lease of this store at a stop, so that another may resume at once.
    pub async fn release_leases(&self, now: Timestamp) -> Result<(), StoreError> {
        const SQL: &str = "UPDATE transfers SET lease_expires_at = $2
             WHERE lease_holder = $1 AND state IN ('claimed', 'signed', 'sent') AND lease_expires_at > $2";
        query(SQL).bind(&*self.holder).bind(now.to_string()).execute(self.writer()).await?;
        Ok(())
    }

    /// Ends the leases of dead processes, at a start. A SQLite file serves one relayer, so every earlier holder is
    /// gone. On Postgres others may be alive, and leases of dead ones expire by themselves.
    pub async fn release_orphaned_leases(&self, now: Timestamp) -> Result<(), StoreError> {
        const SQL: &str = "UPDATE transfers SET lease_expires_at = $2
             WHERE lease_holder <> $1 AND state IN ('claimed', 'signed', 'sent') AND lease_expires_at > $2";
        match self.pools {
            Pools::Sqlite { .. } => {
                query(SQL).bind(&*self.holder).bind(now.to_string()).execute(self.writer()).await?;
            }
            Pools::Postgres { .. } => {}
        }
        Ok(())
    }
}
