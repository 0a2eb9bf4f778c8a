//! The past of an adopted account: read newest first, shown oldest first. See `ledgers::place`.

use futures::FutureExt;

use super::ledgers::AccountKey;
use super::query::sql;
use super::{Index, Result};
use purser_model::{EntryId, Network, Timestamp};

impl Index {
    /// For the indexer: up to `rows_max` accounts of every operator on `network` whose past is read but not yet placed.
    pub async fn list_unplaced(&self, network: Network, rows_max: u32) -> Result<Vec<AccountKey>> {
        // With cross joins, SQLite starts from the few ledgers.
        sql! {
            "SELECT ledgers.operator_id, ledgers.account_id FROM ledgers
                 CROSS JOIN accounts CROSS JOIN walks CROSS JOIN operators
             WHERE ledgers.placed_micros < 0 AND accounts.operator_id = ledgers.operator_id
                 AND accounts.account_id = ledgers.account_id
                 AND walks.network = {network} AND walks.address = accounts.token_account AND NOT walks.under_way
                 AND operators.operator_id = accounts.operator_id AND operators.network = {network}
             LIMIT {rows_max}",
            network, rows_max
        }
        .fetch_all(self.reader())
        .await
    }

    /// For the indexer: gives places to the next `rows_max` entries of an account's past, in the order of the chain.
    /// `true` when none is left; from then on new entries get their place at once.
    pub async fn place_past(
        &self,
        (operator, account): AccountKey,
        now: Timestamp,
        rows_max: u32,
    ) -> Result<bool> {
        self.write(move |tx| {
            async move {
                // An update instead of a select: on Postgres nobody else can add to the past until the commit.
                let last: Option<i64> = sql! {
                    "UPDATE ledgers SET booked_micros = booked_micros
                     WHERE operator_id = {operator} AND account_id = {account} AND placed_micros < 0
                     RETURNING placed_micros",
                    operator, account
                }
                .fetch_optional(&mut *tx)
                .await?;
                let Some(last) = last else { return Ok(true) };
                let mut placed = last.saturating_neg();
                let next: Vec<(EntryId, Timestamp)> = sql! {
                    "SELECT entry_id, created_at FROM history
                     WHERE operator_id = {operator} AND account_id = {account} AND position < '0'
                     ORDER BY position LIMIT {rows_max}",
                    operator, account, rows_max
                }
                .fetch_all(&mut *tx)
                .await?;
                let is_last = next.len() < usize::try_from(rows_max).unwrap_or(usize::MAX);
                for (entry, created_at) in next {
                    placed = placed.saturating_add(1).max(created_at.max(now).unix_micros());
                    sql! {
                        "UPDATE history SET position = {position}
                         WHERE operator_id = {operator} AND entry_id = {entry}",
                        position = Timestamp::from_unix_micros(placed), operator, entry
                    }
                    .execute(&mut *tx)
                    .await?;
                }
                sql! {
                    "UPDATE ledgers SET placed_micros = {placed}
                     WHERE operator_id = {operator} AND account_id = {account}",
                    placed = if is_last { placed } else { placed.saturating_neg() }, operator, account
                }
                .execute(tx)
                .await?;
                Ok(is_last)
            }
            .boxed()
        })
        .await
    }
}
