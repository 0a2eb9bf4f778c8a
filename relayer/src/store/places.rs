//! The past of an adopted account: read newest first, shown oldest first. See `ledgers::place`.

use futures::FutureExt;

use super::columns::Table;
use super::ledgers::{AccountKey, of};
use super::query::query;
use super::{Store, StoreError};
use crate::domain::{Network, Timestamp};

const TABLE: Table = Table("history");

impl Store {
    /// For the indexer: up to `rows_max` accounts of every operator on `network` whose past is read but not yet placed.
    pub async fn list_unplaced(
        &self,
        network: Network,
        rows_max: u32,
    ) -> Result<Vec<AccountKey>, StoreError> {
        // With cross joins, SQLite starts from the few ledgers.
        const SQL: &str = "SELECT ledgers.operator_id, ledgers.account_id FROM ledgers
                 CROSS JOIN accounts CROSS JOIN walks CROSS JOIN operators
             WHERE ledgers.placed_micros < 0 AND accounts.operator_id = ledgers.operator_id
                 AND accounts.account_id = ledgers.account_id
                 AND walks.network = $1 AND walks.address = accounts.token_account AND NOT walks.under_way
                 AND operators.operator_id = accounts.operator_id AND operators.network = $1 LIMIT $2";
        let rows: Vec<(String, String)> =
            query(SQL).bind(network.as_str()).bind(i64::from(rows_max)).fetch_all(self.reader()).await?;
        let read = |(operator, account): &(String, String)| {
            Ok((TABLE.read("operator_id", operator)?, TABLE.read("account_id", account)?))
        };
        rows.iter().map(read).collect()
    }

    /// For the indexer: gives places to the next `rows_max` entries of an account's past, in the order of the chain.
    /// `true` when none is left; from then on new entries get their place at once.
    pub async fn place_past(
        &self,
        account: AccountKey,
        now: Timestamp,
        rows_max: u32,
    ) -> Result<bool, StoreError> {
        // An update instead of a select: on Postgres nobody else can add to the past until the commit.
        const LAST: &str = "UPDATE ledgers SET booked_micros = booked_micros
             WHERE operator_id = $1 AND account_id = $2 AND placed_micros < 0 RETURNING placed_micros";
        const NEXT: &str = "SELECT entry_id, created_at FROM history
             WHERE operator_id = $1 AND account_id = $2 AND position < '0' ORDER BY position LIMIT $3";
        const PLACE: &str = "UPDATE history SET position = $3 WHERE operator_id = $1 AND entry_id = $2";
        const NOTE: &str = "UPDATE ledgers SET placed_micros = $3 WHERE operator_id = $1 AND account_id = $2";
        let operator = account.0.to_string();
        self.write(move |tx| {
            async move {
                let last: Option<(i64,)> = of(LAST, account).fetch_optional(&mut *tx).await?;
                let Some((last,)) = last else { return Ok(true) };
                let mut placed = last.saturating_neg();
                let next: Vec<(String, String)> =
                    of(NEXT, account).bind(i64::from(rows_max)).fetch_all(&mut *tx).await?;
                let is_last = next.len() < usize::try_from(rows_max).unwrap_or(usize::MAX);
                for (entry, created_at) in next {
                    let created_at: Timestamp = TABLE.read("created_at", &created_at)?;
                    placed = placed.saturating_add(1).max(created_at.max(now).unix_micros());
                    let position = Timestamp::from_unix_micros(placed).to_string();
                    query(PLACE).bind(operator.as_str()).bind(entry).bind(position).execute(&mut *tx).await?;
                }
                let note = if is_last { placed } else { placed.saturating_neg() };
                of(NOTE, account).bind(note).execute(tx).await?;
                Ok(is_last)
            }
            .boxed()
        })
        .await
    }
}
