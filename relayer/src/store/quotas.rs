//! Keeps what the service pays rent for within each operator's quotas. The transaction that adds also counts, while it
//! holds the operator's row, so no two count the same room.

use futures::FutureExt;

use super::accounts::{entries, insert};
use super::query::query;
use super::transaction::Transaction;
use super::{Store, StoreError};
use crate::domain::{Account, AccountId, OperatorId, QuotaExceeded, Quotas};

/// What an operator has on the chain through this relayer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Held {
    pub accounts: u64,
    /// Includes entries of pending policies.
    pub allowlist_entries: u64,
}

impl Store {
    /// Records an account before its creation is sent to the chain. `QuotaExceeded`: the operator may have no more
    /// accounts, or not this many entries.
    pub async fn insert_account_within(&self, account: &Account, quotas: Quotas) -> Result<(), StoreError> {
        let (operator, entries) = (account.operator_id, entries(account.counterparties.entries().len()));
        let insert = insert(account);
        self.write(move |tx| {
            async move {
                let held = hold(tx, operator).await?;
                if held.accounts >= u64::from(quotas.accounts) {
                    return Err(QuotaExceeded::Accounts(quotas.accounts).into());
                }
                fits(held.allowlist_entries, entries, quotas)?;
                insert.execute(tx).await?;
                Ok(())
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
        count: usize,
        quotas: Quotas,
    ) -> Result<(), StoreError> {
        const HAS: &str = "SELECT allowlist_entries FROM accounts WHERE operator_id = $1 AND account_id = $2";
        const TAKE: &str =
            "UPDATE accounts SET allowlist_entries = $3 WHERE operator_id = $1 AND account_id = $2";
        let count = entries(count);
        let of = move |sql| query(sql).bind(operator.to_string()).bind(account.to_string());
        self.write(move |tx| {
            async move {
                let held = hold(tx, operator).await?;
                let has: Option<(i64,)> = of(HAS).fetch_optional(&mut *tx).await?;
                let has = has.map_or(0, |(has,)| has.cast_unsigned());
                if count <= has {
                    return Ok(());
                }
                fits(held.allowlist_entries, count - has, quotas)?;
                of(TAKE).bind(count.cast_signed()).execute(tx).await?;
                Ok(())
            }
            .boxed()
        })
        .await
    }

    /// What an operator has.
    pub async fn count_held(&self, operator: OperatorId) -> Result<Held, StoreError> {
        let rows: Vec<(i64, i64)> = query(HELD).bind(operator.to_string()).fetch_all(self.reader()).await?;
        Ok(Held::of(&rows))
    }

    /// Marks accounts that were found closed on the chain; they stop counting.
    pub async fn mark_accounts_closed(
        &self,
        operator: OperatorId,
        ids: &[AccountId],
    ) -> Result<(), StoreError> {
        const SQL: &str = "UPDATE accounts SET is_closed = TRUE WHERE operator_id = $1 AND account_id = $2";
        for id in ids {
            query(SQL).bind(operator.to_string()).bind(id.to_string()).execute(self.writer()).await?;
        }
        Ok(())
    }
}

const HELD: &str = "SELECT COUNT(*), CAST(COALESCE(SUM(allowlist_entries), 0) AS BIGINT)
     FROM accounts WHERE operator_id = $1 AND NOT is_closed
 UNION ALL
     SELECT 0, CAST(COALESCE(SUM(allowlist_entries), 0) AS BIGINT) FROM pending_policies WHERE operator_id = $1";

impl Held {
    fn of(rows: &[(i64, i64)]) -> Self {
        let sum = |numbers: &mut dyn Iterator<Item = i64>| numbers.map(i64::cast_unsigned).sum();
        Self {
            accounts: sum(&mut rows.iter().map(|(accounts, _)| *accounts)),
            allowlist_entries: sum(&mut rows.iter().map(|(_, entries)| *entries)),
        }
    }
}

/// Counts what the operator has, and keeps others from counting until the transaction ends. On Postgres the second
/// statement sees what was committed before the first one got the row; SQLite has one writer.
pub(super) async fn hold(tx: &mut Transaction<'_>, operator: OperatorId) -> Result<Held, StoreError> {
    const LOCK: &str = "UPDATE operators SET name = name WHERE operator_id = $1";
    query(LOCK).bind(operator.to_string()).execute(&mut *tx).await?;
    let rows: Vec<(i64, i64)> = query(HELD).bind(operator.to_string()).fetch_all(tx).await?;
    Ok(Held::of(&rows))
}

pub(super) fn fits(held: u64, more: u64, quotas: Quotas) -> Result<(), StoreError> {
    let most = quotas.allowlist_entries;
    if more > 0 && held.saturating_add(more) > u64::from(most) {
        return Err(QuotaExceeded::AllowlistEntries(most).into());
    }
    Ok(())
}
