//! Keeps what the service pays rent for within each operator's quotas. The transaction that adds also counts, while it
//! holds the operator's row, so no two count the same room.

use futures::FutureExt;

use super::accounts::insert;
use super::operators::lock_operator;
use super::query::{Query, sql};
use super::transaction::Transaction;
use super::{Accounts, Result};
use purser_model::{Account, AccountId, OperatorId, QuotaExceeded, Quotas};

/// What an operator has on the chain through this relayer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Held {
    pub accounts: u64,
    /// Includes entries of pending policies.
    pub allowlist_entries: u64,
}

impl Accounts {
    /// Records an account before its creation is sent to the chain. `QuotaExceeded`: the operator may have no more
    /// accounts, or not this many entries.
    pub async fn insert_account_within(&self, account: &Account, quotas: Quotas) -> Result<()> {
        let (operator, entries) = (account.operator_id, account.allowlist_entries);
        let insert = insert(account, "requested");
        self.write(move |tx| {
            async move {
                let held = hold(tx, operator).await?;
                if held.accounts >= u64::from(quotas.accounts) {
                    return Err(QuotaExceeded::Accounts(quotas.accounts).into());
                }
                fits(held.allowlist_entries, entries, quotas)?;
                insert.run(tx).await
            }
            .boxed()
        })
        .await
    }

    /// Reserves room for an account's longer allowlist before it is sent to the chain. `QuotaExceeded`: too little
    /// room. The reservation lasts until the account's next policy is recorded.
    pub async fn reserve_entries(
        &self,
        operator: OperatorId,
        account: AccountId,
        count: u64,
        quotas: Quotas,
    ) -> Result<()> {
        self.write(move |tx| {
            async move {
                let held = hold(tx, operator).await?;
                let has = sql! {
                    "SELECT allowlist_entries FROM accounts WHERE operator_id = {operator} AND account_id = {account}",
                    operator, account
                };
                let has: u64 = has.fetch_optional(&mut *tx).await?.unwrap_or(0);
                if count <= has {
                    return Ok(());
                }
                fits(held.allowlist_entries, count - has, quotas)?;
                sql! {
                    "UPDATE accounts SET allowlist_entries = {count}
                     WHERE operator_id = {operator} AND account_id = {account}",
                    count, operator, account
                }
                .run(tx)
                .await
            }
            .boxed()
        })
        .await
    }

    /// What an operator has.
    pub async fn count_held(&self, operator: OperatorId) -> Result<Held> {
        Ok(Held::of(&held_by(operator).fetch_all::<(u64, u64)>(self.reader()).await?))
    }

    /// Marks accounts that were found closed on the chain; they stop counting.
    pub async fn mark_accounts_closed(&self, operator: OperatorId, ids: &[AccountId]) -> Result<()> {
        for id in ids {
            sql! {
                "UPDATE accounts SET is_closed = TRUE WHERE operator_id = {operator} AND account_id = {id}",
                operator, id
            }
            .execute(self.writer())
            .await?;
        }
        Ok(())
    }
}

fn held_by(operator: OperatorId) -> Query {
    sql! {
        "SELECT COUNT(*), CAST(COALESCE(SUM(allowlist_entries), 0) AS BIGINT)
             FROM accounts WHERE operator_id = {operator} AND NOT is_closed
         UNION ALL
             SELECT 0, CAST(COALESCE(SUM(allowlist_entries), 0) AS BIGINT)
             FROM pending_policies WHERE operator_id = {operator}",
        operator
    }
}

impl Held {
    fn of(rows: &[(u64, u64)]) -> Self {
        Self {
            accounts: rows.iter().map(|(accounts, _)| accounts).sum(),
            allowlist_entries: rows.iter().map(|(_, entries)| entries).sum(),
        }
    }
}

/// Counts what the operator has, and keeps others from counting until the transaction ends. On Postgres the second
/// statement sees what was committed before the first one got the row; SQLite has one writer.
pub(super) async fn hold(tx: &mut Transaction<'_>, operator: OperatorId) -> Result<Held> {
    lock_operator(tx, operator).await?;
    Ok(Held::of(&held_by(operator).fetch_all::<(u64, u64)>(tx).await?))
}

pub(super) fn fits(held: u64, more: u64, quotas: Quotas) -> Result<()> {
    let most = quotas.allowlist_entries;
    if more > 0 && held.saturating_add(more) > u64::from(most) {
        return Err(QuotaExceeded::AllowlistEntries(most).into());
    }
    Ok(())
}
