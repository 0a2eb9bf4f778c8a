//! One statement for both databases: its text, its values, and whichever connection it is run on.

use sqlx::postgres::{PgConnection, PgPool, PgRow};
use sqlx::sqlite::{SqliteConnection, SqlitePool, SqliteRow};
use sqlx::{FromRow, SqlSafeStr, SqlStr};

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

/// Where a statement runs: a pool of either database, or a transaction on it.
pub(super) enum Target<'c> {
    SqlitePool(&'c SqlitePool),
    PostgresPool(&'c PgPool),
    Sqlite(&'c mut SqliteConnection),
    Postgres(&'c mut PgConnection),
}

/// A row type that can be read from either database. Every `#[derive(FromRow)]` over TEXT, BIGINT and BOOLEAN is one.
pub(super) trait Record:
    for<'r> FromRow<'r, SqliteRow> + for<'r> FromRow<'r, PgRow> + Send + Unpin
{
}

impl<T> Record for T where T: for<'r> FromRow<'r, SqliteRow> + for<'r> FromRow<'r, PgRow> + Send + Unpin {}

/// A statement with its values, in the order of its placeholders `$1`, `$2`, ...
pub(super) struct Query {
    sql: SqlStr,
    values: Vec<Value>,
}

/// A statement without values. Text that was put together at run time must consist of the program's own pieces.
pub(super) fn query(sql: impl SqlSafeStr) -> Query {
    Query { sql: sql.into_sql_str(), values: Vec::new() }
}

/// Hands the values to the driver's own query, of whichever database.
macro_rules! bound {
    ($query:expr, $values:expr) => {
        $values.into_iter().fold($query, |query, value| match value {
            Value::Text(text) => query.bind(text),
            Value::Number(number) => query.bind(number),
            Value::Flag(flag) => query.bind(flag),
        })
    };
}

/// Runs `$driver_query` by `$method` on the target; the one place where the two drivers are told apart.
macro_rules! on {
    ($target:expr, $method:ident, $driver_query:expr) => {
        match $target {
            Target::SqlitePool(pool) => $driver_query.$method(pool).await,
            Target::PostgresPool(pool) => $driver_query.$method(pool).await,
            Target::Sqlite(connection) => $driver_query.$method(connection).await,
            Target::Postgres(connection) => $driver_query.$method(connection).await,
        }
    };
}

impl Query {
    /// The next placeholder's value.
    pub fn bind(mut self, value: impl Into<Value>) -> Self {
        self.values.push(value.into());
        self
    }

    /// Several values for as many placeholders.
    pub fn bind_all<V: Into<Value>>(mut self, values: impl IntoIterator<Item = V>) -> Self {
        self.values.extend(values.into_iter().map(Into::into));
        self
    }

    /// Runs it and gives the number of rows that it touched.
    pub async fn execute(self, on: impl Into<Target<'_>>) -> Result<u64, sqlx::Error> {
        let Self { sql, values } = self;
        match on.into() {
            Target::SqlitePool(pool) => {
                bound!(sqlx::query(sql), values).execute(pool).await.map(|done| done.rows_affected())
            }
            Target::PostgresPool(pool) => {
                bound!(sqlx::query(sql), values).execute(pool).await.map(|done| done.rows_affected())
            }
            Target::Sqlite(connection) => {
                bound!(sqlx::query(sql), values).execute(connection).await.map(|done| done.rows_affected())
            }
            Target::Postgres(connection) => {
                bound!(sqlx::query(sql), values).execute(connection).await.map(|done| done.rows_affected())
            }
        }
    }

    /// Every row.
    pub async fn fetch_all<R: Record>(self, on: impl Into<Target<'_>>) -> Result<Vec<R>, sqlx::Error> {
        let Self { sql, values } = self;
        on!(on.into(), fetch_all, bound!(sqlx::query_as(sql), values))
    }

    /// The row, if there is one.
    pub async fn fetch_optional<R: Record>(
        self,
        on: impl Into<Target<'_>>,
    ) -> Result<Option<R>, sqlx::Error> {
        let Self { sql, values } = self;
        on!(on.into(), fetch_optional, bound!(sqlx::query_as(sql), values))
    }
}
