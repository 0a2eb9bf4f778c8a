//! One statement for both databases: its text, its values, and whichever connection it is run on.

use std::fmt::Display;

use futures::FutureExt;
use sqlx::postgres::{PgConnection, PgRow};
use sqlx::sqlite::{SqliteConnection, SqliteRow};
use sqlx::{FromRow, SqlSafeStr, SqlStr};

use super::StoreError;
use super::connect::{PostgresPrimary, SqliteReading};
use super::connections::Connections;
use super::transaction::Transaction;
use super::writer::{Turn, Writer};

/// A value of one of the types that both databases have.
#[derive(Debug, Clone)]
pub(super) enum Value {
    Text(Option<String>),
    Number(Option<i64>),
    Flag(bool),
}

impl From<String> for Value {
    fn from(text: String) -> Self {
        Self::Text(Some(text))
    }
}

impl From<&str> for Value {
    fn from(text: &str) -> Self {
        Self::Text(Some(text.to_owned()))
    }
}

impl From<Option<String>> for Value {
    fn from(text: Option<String>) -> Self {
        Self::Text(text)
    }
}

impl From<Option<&str>> for Value {
    fn from(text: Option<&str>) -> Self {
        Self::Text(text.map(str::to_owned))
    }
}

impl From<i64> for Value {
    fn from(number: i64) -> Self {
        Self::Number(Some(number))
    }
}

impl From<Option<i64>> for Value {
    fn from(number: Option<i64>) -> Self {
        Self::Number(number)
    }
}

impl From<bool> for Value {
    fn from(flag: bool) -> Self {
        Self::Flag(flag)
    }
}

/// Where a statement runs: where it finds a connection to either database, or in a transaction on it.
pub(super) enum Target<'c> {
    SqliteWriter(&'c Writer),
    SqliteReaders(&'c Connections<SqliteReading>),
    PostgresPool(&'c Connections<PostgresPrimary>),
    Sqlite(&'c mut SqliteConnection),
    Postgres(&'c mut PgConnection),
}

impl<'c> From<&'c mut Transaction<'_>> for Target<'c> {
    fn from(transaction: &'c mut Transaction<'_>) -> Self {
        match transaction {
            Transaction::Sqlite(connection) => Self::Sqlite(connection),
            Transaction::Postgres(connection) => Self::Postgres(connection),
        }
    }
}

/// A row type that can be read from either database. Every `#[derive(FromRow)]` over TEXT, BIGINT and BOOLEAN is one.
pub(super) trait Record:
    for<'r> FromRow<'r, SqliteRow> + for<'r> FromRow<'r, PgRow> + Send + Unpin + 'static
{
}

impl<T> Record for T where
    T: for<'r> FromRow<'r, SqliteRow> + for<'r> FromRow<'r, PgRow> + Send + Unpin + 'static
{
}

/// A statement with its values, in the order of its placeholders `$1`, `$2`, ...
#[derive(Clone)]
pub(super) struct Query {
    sql: SqlStr,
    values: Vec<Value>,
}

/// A statement without values. Text that was put together at run time must consist of the program's own pieces.
pub(super) fn query(sql: impl SqlSafeStr) -> Query {
    Query { sql: sql.into_sql_str(), values: Vec::new() }
}

/// So many placeholders in a row: `$first, ...`.
pub(super) fn places(first: usize, count: usize) -> String {
    let places: Vec<String> = (first..first + count).map(|place| format!("${place}")).collect();
    places.join(", ")
}

/// One list out of `pages`, each of which an index finds in the order and to the limit of `ending`. `None`: there are none.
pub(super) fn merged(pages: impl IntoIterator<Item = String>, ending: &str) -> Option<String> {
    let mut pages: Vec<String> = pages.into_iter().collect();
    if pages.len() < 2 {
        return pages.pop();
    }
    let parts = pages.into_iter().enumerate();
    let parts: Vec<String> =
        parts.map(|(part, page)| format!("SELECT * FROM ({page}) AS part_{part}")).collect();
    Some(format!("{} {ending}", parts.join(" UNION ALL ")))
}

/// Runs a statement by `$method` on a connection or pool of whichever database.
macro_rules! run {
    ($sql:expr, $values:expr, $on:expr, $driver_query:path, $method:ident $(, $read:ident)?) => {{
        let bound = $values.into_iter().fold($driver_query($sql), |query, value| match value {
            Value::Text(text) => query.bind(text),
            Value::Number(number) => query.bind(number),
            Value::Flag(flag) => query.bind(flag),
        });
        Ok(bound.$method($on).await?$(.$read())?)
    }};
}

/// As `run`, on a connection that is lent for it.
macro_rules! lending {
    ($connections:expr, $sql:expr, $values:expr, $($how:tt)*) => {
        $connections
            // Boxed: callers hold one call within another, and the driver's futures are long.
            .call(Box::pin(async {
                let mut lent = $connections.lend().await?;
                let answer = async { run!($sql, $values, lent.connection()?, $($how)*) }.await;
                lent.give_back(&answer);
                answer
            }))
            .await
    };
}

/// Runs `$query` on the target; the one place where the two drivers are told apart.
macro_rules! on {
    ($query:expr, $target:expr, $($how:tt)*) => {{
        let Query { sql, values } = $query;
        #[cfg(test)]
        super::tests::note(&sql, &values);
        match $target {
            Target::SqliteReaders(readers) => lending!(readers, sql, values, $($how)*),
            Target::PostgresPool(pool) => lending!(pool, sql, values, $($how)*),
            Target::Sqlite(connection) => run!(sql, values, connection, $($how)*),
            Target::Postgres(connection) => run!(sql, values, connection, $($how)*),
            Target::SqliteWriter(writer) => {
                writer.write(move |tx| {
                    async move {
                        match tx {
                            Transaction::Sqlite(connection) => run!(sql, values, &mut **connection, $($how)*),
                            Transaction::Postgres(connection) => run!(sql, values, &mut **connection, $($how)*),
                        }
                    }
                    .boxed()
                }, Turn::GoesOn).await
            }
        }
    }};
}

impl Query {
    /// The next placeholder's value.
    pub fn bind(mut self, value: impl Into<Value>) -> Self {
        self.values.push(value.into());
        self
    }

    /// What a list goes on below, newest first: `after`, or at the beginning what is above every id and position.
    pub fn bind_below(self, after: Option<impl Display>) -> Self {
        self.bind(after.map_or_else(|| "~".to_owned(), |after| after.to_string()))
    }

    /// Several values for as many placeholders.
    pub fn bind_all<V: Into<Value>>(mut self, values: impl IntoIterator<Item = V>) -> Self {
        self.values.extend(values.into_iter().map(Into::into));
        self
    }

    /// Runs it and gives the number of rows that it touched.
    pub async fn execute(self, on: impl Into<Target<'_>>) -> Result<u64, StoreError> {
        on!(self, on.into(), sqlx::query, execute, rows_affected)
    }

    /// Every row.
    pub async fn fetch_all<R: Record>(self, on: impl Into<Target<'_>>) -> Result<Vec<R>, StoreError> {
        on!(self, on.into(), sqlx::query_as, fetch_all)
    }

    /// The row, if there is one.
    pub async fn fetch_optional<R: Record>(self, on: impl Into<Target<'_>>) -> Result<Option<R>, StoreError> {
        on!(self, on.into(), sqlx::query_as, fetch_optional)
    }
}
