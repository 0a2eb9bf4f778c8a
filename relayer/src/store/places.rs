//! The past of an account that was found on the chain: read newest first, shown oldest first. See `ledgers::place`.

use futures::FutureExt;

use super::columns::Table;
use super::query::query;
use super::{Store, StoreError};
use crate::domain::{AccountId, Network, Timestamp};

const TABLE: Table = Table("history");

impl Store {
    /// For the indexer: up to `rows_max` accounts of every operator on `network` whose past is read and has no places yet.
    pub async fn list_unplaced(&self, network: Network, rows_max: u32) -> Result<Vec<AccountId>, StoreError> {
        // Cross joins, for which SQLite begins with the few ledgers.
        const SQL: &str = "SELECT ledgers.account_id FROM ledgers
                 CROSS JOIN accounts CROSS JOIN walks CROSS JOIN operators
             WHERE ledgers.placed_micros < 0 AND accounts.account_id = ledgers.account_id
                 AND walks.network = $1 AND walks.address = accounts.token_account AND NOT walks.under_way
                 AND operators.operator_id = accounts.operator_id AND operators.network = $1 LIMIT $2";
        let rows: Vec<(String,)> =
            query(SQL).bind(network.as_str()).bind(i64::from(rows_max)).fetch_all(self.reader()).await?;
        rows.iter().map(|(account,)| TABLE.read("account_id", account)).collect()
    }

    /// For the indexer: gives the next `rows_max` entries of an account's past their places, in the order of the chain. `true`
    /// when none is left, and whatever comes from now on gets its place at once.
    pub async fn place_past(
        &self,
        account: AccountId,
        now: Timestamp,
        rows_max: u32,
    ) -> Result<bool, StoreError> {
        // Written before it is read, so that on Postgres nobody adds to the past until the commit.
        const LAST: &str = "UPDATE ledgers SET booked_micros = booked_micros
             WHERE account_id = $1 AND placed_micros < 0 RETURNING placed_micros";
        const NEXT: &str = "SELECT entry_id, created_at FROM history
             WHERE account_id = $1 AND position < '0' ORDER BY position LIMIT $2";
        const PLACE: &str = "UPDATE history SET position = $2 WHERE entry_id = $1";
        const NOTE: &str = "UPDATE ledgers SET placed_micros = $2 WHERE account_id = $1";
        self.write(move |tx| {
            async move {
                let last: Option<(i64,)> =
                    query(LAST).bind(account.to_string()).fetch_optional(&mut *tx).await?;
                let Some((last,)) = last else { return Ok(true) };
                let mut placed = last.saturating_neg();
                let next: Vec<(String, String)> = query(NEXT)
                    .bind(account.to_string())
                    .bind(i64::from(rows_max))
                    .fetch_all(&mut *tx)
                    .await?;
                let is_last = next.len() < usize::try_from(rows_max).unwrap_or(usize::MAX);
                for (entry, created_at) in next {
                    let created_at: Timestamp = TABLE.read("created_at", &created_at)?;
                    placed = placed.saturating_add(1).max(created_at.max(now).unix_micros());
                    let position = Timestamp::from_unix_micros(placed).to_string();
                    query(PLACE).bind(entry).bind(position).execute(&mut *tx).await?;
                }
                let note = if is_last { placed } else { placed.saturating_neg() };
                query(NOTE).bind(account.to_string()).bind(note).execute(tx).await?;
                Ok(is_last)
            }
            .boxed()
        })
        .await
    }
}
