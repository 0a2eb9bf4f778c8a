//! Leases on unfinished transfers. A worker takes one with the claim or by a sweep, renews it while it works, and gives
//! it back at a stop. When the holder dies the lease expires, and the next sweep of any relayer takes the transfer.

use super::due::Due;
use super::pools::Pools;
use super::query::{Each, Sql, sql};
use super::row::Listed;
use super::{Result, Transfers};
use purser_model::{Network, OperatorId, Timestamp, Transfer, TransferId};

/// How many leases one statement renews.
const RENEWED_AT_ONCE_MAX: usize = 500;

impl Transfers {
    /// For a worker: leases up to `rows_max` unfinished transfers of every operator on `network` that nobody holds at
    /// `now`, longest abandoned first. The caller holds them until `lease_expires_at`.
    pub async fn take_unfinished_transfers(
        &self,
        network: Network,
        now: Timestamp,
        lease_expires_at: Timestamp,
        rows_max: u32,
    ) -> Result<Vec<Transfer>> {
        // A separate CTE, so that Postgres runs it once; within the update it may run repeatedly and exceed the limit.
        sql! {
            "WITH abandoned AS MATERIALIZED (
                 SELECT operator_id, transfer_id FROM transfers
                 WHERE network = {network} AND state IN ('claimed', 'signed', 'sent') AND {is_free}
                 ORDER BY lease_expires_at LIMIT {rows_max} {skip_locked})
             UPDATE transfers SET lease_holder = {holder}, lease_expires_at = {lease_expires_at}
             WHERE (operator_id, transfer_id) IN (SELECT operator_id, transfer_id FROM abandoned)
             RETURNING {columns}",
            network, is_free = Due::of_lease(now, lease_expires_at).has_come("lease_expires_at"), rows_max,
            skip_locked = Sql(self.pools.skip_locked()), holder = *self.holder, lease_expires_at,
            columns = Transfer::COLUMNS
        }
        .fetch_all(self.writer())
        .await
    }

    /// For a worker: renews this store's leases on an operator's unfinished transfers among these, until
    /// `lease_expires_at`. Keeps a lease that another has taken meanwhile.
    pub async fn renew_leases(
        &self,
        operator: OperatorId,
        ids: &[TransferId],
        lease_expires_at: Timestamp,
    ) -> Result<()> {
        for ids in ids.chunks(RENEWED_AT_ONCE_MAX) {
            sql! {
                "UPDATE transfers SET lease_expires_at = {lease_expires_at}
                 WHERE lease_holder = {holder} AND state IN ('claimed', 'signed', 'sent')
                     AND operator_id = {operator} AND transfer_id IN ({ids})",
                lease_expires_at, holder = *self.holder, operator, ids = Each(ids)
            }
            .execute(self.writer())
            .await?;
        }
        Ok(())
    }

    /// Gives back one lease, so that a sweep resumes the transfer at once.
    pub async fn release_lease(&self, operator: OperatorId, id: TransferId, now: Timestamp) -> Result<()> {
        sql! {
            "UPDATE transfers SET lease_expires_at = {now}
             WHERE lease_holder = {holder} AND operator_id = {operator} AND transfer_id = {id}
                 AND state IN ('claimed', 'signed', 'sent') AND lease_expires_at > {now}",
            now, holder = *self.holder, operator, id
        }
        .run(self.writer())
        .await
    }

    /// Gives back every lease of this store at a stop, so that another may resume at once.
    pub async fn release_leases(&self, now: Timestamp) -> Result<()> {
        self.end_leases("=", now).await
    }

    /// Ends the leases of dead processes, at a start. A SQLite file serves one relayer, so every earlier holder is
    /// gone. On Postgres others may be alive, and leases of dead ones expire by themselves.
    pub async fn release_orphaned_leases(&self, now: Timestamp) -> Result<()> {
        match self.pools {
            Pools::Sqlite { .. } => self.end_leases("<>", now).await,
            Pools::Postgres { .. } => Ok(()),
        }
    }

    async fn end_leases(&self, is_ours: &'static str, now: Timestamp) -> Result<()> {
        sql! {
            "UPDATE transfers SET lease_expires_at = {now}
             WHERE lease_holder {is_ours} {holder} AND state IN ('claimed', 'signed', 'sent')
                 AND lease_expires_at > {now}",
            now, is_ours = Sql(is_ours), holder = *self.holder
        }
        .run(self.writer())
        .await
    }
}
