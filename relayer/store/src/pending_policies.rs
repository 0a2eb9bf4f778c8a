//! Pending policies: when to look at them, and whether they were announced.

use super::accounts::set_policy;
use super::events::announce;
use super::query::{Query, columns, sql};
use super::quotas::{fits, hold};
use super::row::{Listed, row};
use super::{Policies, Result};
use futures::FutureExt;
use purser_model::{
    AccountId, AccountStatus, Asking, Event, KeyId, Network, OperatorId, PendingPolicy, PolicyReason, Quotas,
};

row! { PendingPolicy of pending_policies {
    operator_id, account_id, hash, expected_version, allowlist_entries, due_at: due_unix, is_announced,
    created_at, sealed_by,
}}

/// Schedules the next look at a proposal for `due_at`.
fn put_off(pending: &PendingPolicy, due_at: i64) -> Query {
    sql! {
        "UPDATE pending_policies SET due_unix = {due_at}
         WHERE operator_id = {operator_id} AND account_id = {account_id} AND hash = {hash}",
        due_at, pending.operator_id, pending.account_id, pending.hash
    }
}

fn delete(pending: &PendingPolicy) -> Query {
    sql! {
        "DELETE FROM pending_policies
         WHERE operator_id = {operator_id} AND account_id = {account_id} AND hash = {hash}",
        pending.operator_id, pending.account_id, pending.hash
    }
}

impl Policies {
    /// Records a proposal before it is sent to the chain. Overwrites an existing one.
    /// `QuotaExceeded`: it has more entries than the operator may have.
    pub async fn insert_pending_policy(&self, pending: &PendingPolicy, quotas: Quotas) -> Result<()> {
        let more = pending.allowlist_entries;
        let known = sql! {
            "SELECT expected_version FROM pending_policies
             WHERE operator_id = {operator_id} AND account_id = {account_id} AND hash = {hash}",
            pending.operator_id, pending.account_id, pending.hash
        };
        let insert = sql! {
            "INSERT INTO pending_policies {row}
             ON CONFLICT (operator_id, account_id, hash) DO UPDATE SET
                 allowlist_entries = excluded.allowlist_entries, due_unix = excluded.due_unix,
                 is_announced = excluded.is_announced, created_at = excluded.created_at,
                 sealed_by = excluded.sealed_by",
            row = columns! { ..pending }
        };
        let operator = pending.operator_id;
        self.write(move |tx| {
            async move {
                let held = hold(tx, operator).await?;
                let known: Option<u64> = known.fetch_optional(&mut *tx).await?;
                fits(held.allowlist_entries, if known.is_some() { 0 } else { more }, quotas)?;
                insert.run(tx).await
            }
            .boxed()
        })
        .await
    }

    /// For the indexer: records a draft that a wallet sealed past this service, to be looked at soon. A known one stays as it is.
    pub async fn insert_sealed_draft(&self, pending: &PendingPolicy) -> Result<()> {
        sql! {
            "INSERT INTO pending_policies
                 (operator_id, account_id, hash, expected_version, due_unix, is_announced, created_at, sealed_by)
             VALUES ({operator_id}, {account_id}, {hash}, {expected_version}, 0, FALSE, {created_at}, {sealed_by})
             ON CONFLICT (operator_id, account_id, hash) DO NOTHING",
            pending.operator_id, pending.account_id, pending.hash, pending.expected_version, pending.created_at,
            pending.sealed_by
        }
        .run(self.writer())
        .await
    }

    /// Records that the proposal is pending on the chain until `due_at`. The first writer announces it by `event`.
    /// Schedules a look at the account's other proposals: a new draft replaces the one before.
    pub async fn mark_policy_pending(
        &self,
        pending: &PendingPolicy,
        due_at: i64,
        event: Event,
    ) -> Result<()> {
        let others = sql! {
            "UPDATE pending_policies SET due_unix = 0
             WHERE operator_id = {operator_id} AND account_id = {account_id} AND hash <> {hash}",
            pending.operator_id, pending.account_id, pending.hash
        };
        let due = put_off(pending, due_at);
        let announced = sql! {
            "UPDATE pending_policies SET is_announced = TRUE
             WHERE operator_id = {operator_id} AND account_id = {account_id} AND hash = {hash} AND NOT is_announced",
            pending.operator_id, pending.account_id, pending.hash
        };
        self.write_events(move |tx| {
            async move {
                others.execute(&mut *tx).await?;
                due.execute(&mut *tx).await?;
                if !announced.touches(&mut *tx).await? {
                    return Ok(());
                }
                announce(tx, &[event]).await
            }
            .boxed()
        })
        .await
    }

    /// Records that the proposal is in force: the account counts its entries, and the first writer announces it by `event`.
    pub async fn mark_policy_applied(
        &self,
        pending: &PendingPolicy,
        status: AccountStatus,
        event: Event,
    ) -> Result<()> {
        let delete = delete(pending);
        let account = set_policy(pending.operator_id, pending.account_id, status, pending.allowlist_entries);
        self.write_events(move |tx| {
            async move {
                if !delete.touches(&mut *tx).await? {
                    return Ok(());
                }
                account.execute(&mut *tx).await?;
                announce(tx, &[event]).await
            }
            .boxed()
        })
        .await
    }

    /// Deletes a proposal that is no longer pending, or never was.
    pub async fn delete_pending_policy(&self, pending: &PendingPolicy) -> Result<()> {
        delete(pending).run(self.writer()).await
    }

    /// Schedules the next look at the proposal for `due_at`.
    pub async fn put_off_pending_policy(&self, pending: &PendingPolicy, due_at: i64) -> Result<()> {
        put_off(pending, due_at).run(self.writer()).await
    }

    /// Schedules an early look at the account's proposals: its policy has changed, so no earlier proposal can take effect.
    pub async fn look_at_pending_policies(&self, operator: OperatorId, account: AccountId) -> Result<()> {
        sql! {
            "UPDATE pending_policies SET due_unix = 0 WHERE operator_id = {operator} AND account_id = {account}",
            operator, account
        }
        .run(self.writer())
        .await
    }

    /// The record of the account's proposal with this hash.
    pub async fn find_pending_policy(
        &self,
        operator: OperatorId,
        account: AccountId,
        hash: [u8; 32],
    ) -> Result<Option<PendingPolicy>> {
        sql! {
            "SELECT {columns} FROM pending_policies
             WHERE operator_id = {operator} AND account_id = {account} AND hash = {hash}",
            columns = PendingPolicy::COLUMNS, operator, account, hash
        }
        .fetch_optional(self.reader())
        .await
    }

    /// Up to `rows_max` proposals of the operator that are known to be pending on the chain, those that can take effect first
    /// first, with who asked for each here.
    pub async fn list_waiting_policies(
        &self,
        operator: OperatorId,
        rows_max: u32,
    ) -> Result<Vec<(PendingPolicy, Option<Asking>)>> {
        let waiting: Vec<(Option<KeyId>, Option<PolicyReason>, PendingPolicy)> = sql! {
            "SELECT policy_askings.key_id, policy_askings.reason, {columns} FROM pending_policies
             LEFT JOIN policy_askings
                 ON policy_askings.operator_id = pending_policies.operator_id
                     AND policy_askings.account_id = pending_policies.account_id
                     AND policy_askings.done_by = pending_policies.hash
             WHERE pending_policies.operator_id = {operator} AND is_announced
             ORDER BY due_unix, pending_policies.account_id LIMIT {rows_max}",
            columns = PendingPolicy::COLUMNS, operator, rows_max
        }
        .fetch_all(self.lister())
        .await?;
        let asked_for = |(key_id, reason, pending): (Option<_>, _, _)| {
            (pending, key_id.map(|key_id| Asking { key_id, reason }))
        };
        Ok(waiting.into_iter().map(asked_for).collect())
    }

    /// For a worker: up to `rows_max` proposals of every operator on `network` that are due at `due_at` or before,
    /// longest due first.
    pub async fn list_due_policies(
        &self,
        network: Network,
        due_at: i64,
        rows_max: u32,
    ) -> Result<Vec<PendingPolicy>> {
        sql! {
            "SELECT {columns} FROM pending_policies
             JOIN operators ON operators.operator_id = pending_policies.operator_id
             WHERE operators.network = {network} AND due_unix <= {due_at}
             ORDER BY due_unix LIMIT {rows_max}",
            columns = PendingPolicy::COLUMNS, network, due_at, rows_max
        }
        .fetch_all(self.lister())
        .await
    }
}
