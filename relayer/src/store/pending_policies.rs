//! Pending policies: how they were submitted, when to look at them, and whether they were announced.

use futures::FutureExt;
use macro_rules_attribute::derive;

use super::accounts::{count_entries, read_counterparties, write_counterparties};
use super::columns::Table;
use super::events::announce;
use super::query::{Query, query};
use super::quotas::{fits, hold};
use super::row::ByName;
use super::{Store, StoreError};
use crate::domain::{AccountId, AccountStatus, Event, Network, OperatorId, PendingPolicy, Quotas, Timestamp};

const TABLE: Table = Table("pending_policies");

#[derive(Debug, ByName!)]
struct PendingRow {
    operator_id: String,
    account_id: String,
    hash: String,
    expected_version: i64,
    counterparties: Option<String>,
    due_unix: i64,
    is_announced: bool,
    created_at: String,
    sealed_by: Option<String>,
}

impl TryFrom<PendingRow> for PendingPolicy {
    type Error = StoreError;

    fn try_from(row: PendingRow) -> Result<Self, StoreError> {
        let mut hash = [0; 32];
        hex::decode_to_slice(&row.hash, &mut hash).map_err(|_| TABLE.unreadable("hash"))?;
        Ok(Self {
            operator_id: TABLE.read("operator_id", &row.operator_id)?,
            account_id: TABLE.read("account_id", &row.account_id)?,
            hash,
            expected_version: row.expected_version.cast_unsigned(),
            counterparties: read_counterparties(row.counterparties.as_deref())
                .ok_or_else(|| TABLE.unreadable("counterparties"))?,
            due_at: row.due_unix,
            is_announced: row.is_announced,
            created_at: TABLE.read("created_at", &row.created_at)?,
            sealed_by: TABLE.read_optional("sealed_by", row.sealed_by.as_deref())?,
        })
    }
}

/// Binds one proposal to a statement, as `$1` to `$3`.
fn of(pending: &PendingPolicy, sql: &'static str) -> Query {
    let of_account = query(sql).bind(pending.operator_id.to_string()).bind(pending.account_id.to_string());
    of_account.bind(hex::encode(pending.hash))
}

impl Store {
    /// Records a proposal before it is sent to the chain. Overwrites an existing one.
    /// `QuotaExceeded`: it has more entries than the operator may have.
    pub async fn insert_pending_policy(
        &self,
        pending: &PendingPolicy,
        quotas: Quotas,
    ) -> Result<(), StoreError> {
        const KNOWN: &str = "SELECT expected_version FROM pending_policies WHERE operator_id = $1 AND account_id = $2 AND hash = $3";
        const SQL: &str = "INSERT INTO pending_policies
                 (operator_id, account_id, hash, expected_version, counterparties, due_unix, is_announced, created_at,
                  allowlist_entries, sealed_by)
             VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)
             ON CONFLICT (operator_id, account_id, hash) DO UPDATE SET
                 counterparties = excluded.counterparties, due_unix = excluded.due_unix,
                 is_announced = excluded.is_announced, created_at = excluded.created_at,
                 allowlist_entries = excluded.allowlist_entries, sealed_by = excluded.sealed_by";
        let insert = of(pending, SQL)
            .bind(pending.expected_version.cast_signed())
            .bind(write_counterparties(&pending.counterparties))
            .bind(pending.due_at)
            .bind(pending.is_announced)
            .bind(pending.created_at.to_string())
            .bind(count_entries(&pending.counterparties))
            .bind(pending.sealed_by.map(|wallet| wallet.to_string()));
        let (operator, known) = (pending.operator_id, of(pending, KNOWN));
        let more = count_entries(&pending.counterparties).cast_unsigned();
        self.write(move |tx| {
            async move {
                let held = hold(tx, operator).await?;
                let known: Option<(i64,)> = known.fetch_optional(&mut *tx).await?;
                fits(held.allowlist_entries, if known.is_some() { 0 } else { more }, quotas)?;
                insert.execute(tx).await?;
                Ok(())
            }
            .boxed()
        })
        .await
    }

    /// For the indexer: records a draft that a wallet sealed past this service, to be looked at soon. A known one stays as it is.
    pub async fn insert_sealed_draft(&self, pending: &PendingPolicy) -> Result<(), StoreError> {
        const SQL: &str = "INSERT INTO pending_policies
                 (operator_id, account_id, hash, expected_version, due_unix, is_announced, created_at, sealed_by)
             VALUES ($1, $2, $3, $4, 0, FALSE, $5, $6)
             ON CONFLICT (operator_id, account_id, hash) DO NOTHING";
        of(pending, SQL)
            .bind(pending.expected_version.cast_signed())
            .bind(pending.created_at.to_string())
            .bind(pending.sealed_by.map(|wallet| wallet.to_string()))
            .execute(self.writer())
            .await?;
        Ok(())
    }

    /// Records that the proposal is pending on the chain until `due_at`. The first writer announces it by `event`.
    /// Schedules a look at the account's other proposals: a new draft replaces the one before.
    pub async fn mark_policy_pending(
        &self,
        pending: &PendingPolicy,
        due_at: i64,
        event: Event,
        now: Timestamp,
    ) -> Result<(), StoreError> {
        const OTHERS: &str = "UPDATE pending_policies SET due_unix = 0
             WHERE operator_id = $1 AND account_id = $2 AND hash <> $3";
        const DUE: &str = "UPDATE pending_policies SET due_unix = $4
             WHERE operator_id = $1 AND account_id = $2 AND hash = $3";
        const ANNOUNCED: &str = "UPDATE pending_policies SET is_announced = TRUE
             WHERE operator_id = $1 AND account_id = $2 AND hash = $3 AND NOT is_announced";
        let others = of(pending, OTHERS);
        let due = of(pending, DUE).bind(due_at);
        let announced = of(pending, ANNOUNCED);
        let webhooks = self.list_all_webhooks(pending.operator_id).await?;
        let write = self.write(move |tx| {
            async move {
                others.execute(&mut *tx).await?;
                due.execute(&mut *tx).await?;
                if announced.execute(&mut *tx).await? == 0 {
                    return Ok(Vec::new());
                }
                announce(tx, &[event], &webhooks, now).await
            }
            .boxed()
        });
        self.outbox.hint(write.await?);
        Ok(())
    }

    /// Records that the proposal is in force: the account takes its allowlist, and the first writer announces it by `event`.
    pub async fn mark_policy_applied(
        &self,
        pending: &PendingPolicy,
        status: AccountStatus,
        event: Event,
        now: Timestamp,
    ) -> Result<(), StoreError> {
        const ACCOUNT: &str = "UPDATE accounts SET status = $3, counterparties = $4, allowlist_entries = $5
             WHERE operator_id = $1 AND account_id = $2";
        let delete = of(pending, DELETE);
        let account = query(ACCOUNT)
            .bind(pending.operator_id.to_string())
            .bind(pending.account_id.to_string())
            .bind(status.as_str())
            .bind(write_counterparties(&pending.counterparties))
            .bind(count_entries(&pending.counterparties));
        let webhooks = self.list_all_webhooks(pending.operator_id).await?;
        let write = self.write(move |tx| {
            async move {
                if delete.execute(&mut *tx).await? == 0 {
                    return Ok(Vec::new());
                }
                account.execute(&mut *tx).await?;
                announce(tx, &[event], &webhooks, now).await
            }
            .boxed()
        });
        self.outbox.hint(write.await?);
        Ok(())
    }

    /// Deletes a proposal that is no longer pending, or never was.
    pub async fn delete_pending_policy(&self, pending: &PendingPolicy) -> Result<(), StoreError> {
        of(pending, DELETE).execute(self.writer()).await?;
        Ok(())
    }

    /// Schedules the next look at the proposal for `due_at`.
    pub async fn put_off_pending_policy(
        &self,
        pending: &PendingPolicy,
        due_at: i64,
    ) -> Result<(), StoreError> {
        const SQL: &str = "UPDATE pending_policies SET due_unix = $4
             WHERE operator_id = $1 AND account_id = $2 AND hash = $3";
        of(pending, SQL).bind(due_at).execute(self.writer()).await?;
        Ok(())
    }

    /// Schedules an early look at the account's proposals: its policy has changed, so no earlier proposal can take effect.
    pub async fn look_at_pending_policies(
        &self,
        operator: OperatorId,
        account: AccountId,
    ) -> Result<(), StoreError> {
        const SQL: &str =
            "UPDATE pending_policies SET due_unix = 0 WHERE operator_id = $1 AND account_id = $2";
        query(SQL).bind(operator.to_string()).bind(account.to_string()).execute(self.writer()).await?;
        Ok(())
    }

    /// The record of the account's proposal with this hash.
    pub async fn find_pending_policy(
        &self,
        operator: OperatorId,
        account: AccountId,
        hash: [u8; 32],
    ) -> Result<Option<PendingPolicy>, StoreError> {
        const SQL: &str = "SELECT operator_id, account_id, hash, expected_version, counterparties, due_unix,
                 is_announced, created_at, sealed_by
             FROM pending_policies WHERE operator_id = $1 AND account_id = $2 AND hash = $3";
        let row: Option<PendingRow> = query(SQL)
            .bind(operator.to_string())
            .bind(account.to_string())
            .bind(hex::encode(hash))
            .fetch_optional(self.reader())
            .await?;
        row.map(PendingPolicy::try_from).transpose()
    }

    /// Up to `rows_max` proposals of the operator that are known to be pending on the chain.
    pub async fn list_waiting_policies(
        &self,
        operator: OperatorId,
        rows_max: u32,
    ) -> Result<Vec<PendingPolicy>, StoreError> {
        const SQL: &str = "SELECT operator_id, account_id, hash, expected_version, counterparties, due_unix,
                 is_announced, created_at, sealed_by
             FROM pending_policies WHERE operator_id = $1 AND is_announced ORDER BY account_id DESC LIMIT $2";
        let listing = query(SQL).bind(operator.to_string()).bind(i64::from(rows_max));
        let rows: Vec<PendingRow> = listing.fetch_all(self.lister()).await?;
        rows.into_iter().map(PendingPolicy::try_from).collect()
    }

    /// For a worker: up to `rows_max` proposals of every operator on `network` that are due at `due_at` or before,
    /// longest due first.
    pub async fn list_due_policies(
        &self,
        network: Network,
        due_at: i64,
        rows_max: u32,
    ) -> Result<Vec<PendingPolicy>, StoreError> {
        const SQL: &str =
            "SELECT pending_policies.operator_id, account_id, hash, expected_version, counterparties,
                 due_unix, is_announced, pending_policies.created_at, sealed_by
             FROM pending_policies
             JOIN operators ON operators.operator_id = pending_policies.operator_id
             WHERE operators.network = $1 AND due_unix <= $2
             ORDER BY due_unix LIMIT $3";
        let rows: Vec<PendingRow> = query(SQL)
            .bind(network.as_str())
            .bind(due_at)
            .bind(i64::from(rows_max))
            .fetch_all(self.lister())
            .await?;
        rows.into_iter().map(PendingPolicy::try_from).collect()
    }
}

const DELETE: &str = "DELETE FROM pending_policies WHERE operator_id = $1 AND account_id = $2 AND hash = $3";
