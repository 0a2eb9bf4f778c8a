//! Who carries an unfinished transfer. A lease is taken with the claim or by a sweep, renewed while the work goes on,
//! and given back at a stop; when its holder dies it ends by itself, and the next sweep of any relayer takes it.
//! Times are the hosts' clocks: were they to differ by more than a lease, two would do the same work, harmlessly.

use sqlx::AssertSqlSafe;

use super::pools::Pools;
use super::query::{places, query};
use super::transfer_row::TransferRow;
use super::transfers::COLUMNS;
use super::{Store, StoreError};
use crate::domain::{Network, OperatorId, Timestamp, Transfer, TransferId};

/// How many leases one statement renews.
const RENEWED_AT_ONCE_MAX: usize = 500;

impl Store {
    /// For a worker: takes up to `rows_max` transfers of every operator on `network` that somebody must finish and
    /// nobody holds at `now`, those that were left first. They are the caller's until `lease_expires_at`.
    pub async fn take_unfinished_transfers(
        &self,
        network: Network,
        now: Timestamp,
        lease_expires_at: Timestamp,
        rows_max: u32,
    ) -> Result<Vec<Transfer>, StoreError> {
        // Apart, so that Postgres runs it once: within the update it may run it again and again, past the limit.
        let sql = format!(
            "WITH abandoned AS MATERIALIZED (
                 SELECT operator_id, transfer_id FROM transfers
                 WHERE network = $3 AND state IN ('claimed', 'signed', 'sent') AND lease_expires_at <= $4
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
            .bind(now.to_string())
            .bind(i64::from(rows_max))
            .fetch_all(self.writer())
            .await?;
        rows.into_iter().map(Transfer::try_from).collect()
    }

    /// For a worker: of the unfinished transfers among these of an operator, those that this store holds are its own until
    /// `lease_expires_at`. A lease that another has taken meanwhile stays the other's.
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
            // Only placeholders were put into the text.
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

    /// Gives back one lease, so that a sweep goes on with the transfer at once.
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

    /// Gives back every lease that this store holds, so that another may go on at once. For a stop.
    pub async fn release_leases(&self, now: Timestamp) -> Result<(), StoreError> {
        const SQL: &str = "UPDATE transfers SET lease_expires_at = $2
             WHERE lease_holder = $1 AND state IN ('claimed', 'signed', 'sent') AND lease_expires_at > $2";
        query(SQL).bind(&*self.holder).bind(now.to_string()).execute(self.writer()).await?;
        Ok(())
    }

    /// Ends the leases of processes that are gone. For a start: a SQLite file serves one relayer, so whoever held a
    /// lease before is gone; on Postgres the others may be alive, and a dead one's leases end by themselves.
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
