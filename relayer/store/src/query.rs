//! One statement for both databases: its text, its values, and the connection it runs on.

use std::fmt::Display;

use futures::FutureExt;
use sqlx::postgres::PgConnection;
use sqlx::{AssertSqlSafe, SqlSafeStr, SqlStr};

use super::Result;
use super::connections::Connections;
use super::postgres::{self, PostgresPrimary};
use super::row::{Record, Stored};
use super::sqlite::{self, SqliteReading};
use super::statement::{Answer, Bound, Columns, Value, Wanted};
use super::transaction::Transaction;
use super::writer::{Turn, Writer};

/// Where a statement runs: on a connection to either database, or in a transaction.
pub(super) enum Target<'c> {
    SqliteWriter(&'c Writer),
    SqliteReaders(&'c Connections<SqliteReading>),
    SqliteListers(&'c Connections<SqliteReading>),
    PostgresPool(&'c Connections<PostgresPrimary>),
    Sqlite(&'c mut rusqlite::Connection),
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

/// A statement with its values, in the order of its placeholders `$1`, `$2`, ...
#[derive(Clone)]
pub(super) struct Query {
    sql: SqlStr,
    values: Vec<Value>,
}

/// A statement without values. Text assembled at run time must consist of the program's own pieces.
pub(super) fn query(sql: impl SqlSafeStr) -> Query {
    Query { sql: sql.into_sql_str(), values: Vec::new() }
}

/// A statement. Its text is a format string, whose names get their values after it, each once:
/// `sql! { "SELECT name FROM accounts WHERE operator_id = {operator_id} AND account_id = {id}", key.operator_id, id }`,
/// where `key.operator_id` is short for `operator_id = key.operator_id`. A value becomes a placeholder; [`Each`] becomes
/// several, [`Sql`] and [`Piece`] become text. A name without value and a value without name do not compile.
macro_rules! sql {
    ($text:literal) => { $crate::query::query($text) };
    ($text:literal, $($named:tt)+) => {{
        let mut held = Vec::new();
        let values = &mut held;
        let text = $crate::query::text!(values, $text, $($named)+);
        $crate::query::Query::new(text, held)
    }};
}

/// The text of such a statement, or of a [`Piece`] of one; its values go to `$values`.
macro_rules! text {
    (@ $values:ident $text:literal [$($name:ident = $value:expr;)*]) => {
        // A format string from `concat!` captures nothing by itself, so that no value gets into the text.
        format!(concat!($text), $($name = $crate::query::Place::place(&$value, $values)),*)
    };
    (@ $values:ident $text:literal [$($done:tt)*] $name:ident = $value:expr, $($rest:tt)*) => {
        $crate::query::text!(@ $values $text [$($done)* $name = $value;] $($rest)*)
    };
    (@ $values:ident $text:literal [$($done:tt)*] $of:ident.$name:ident, $($rest:tt)*) => {
        $crate::query::text!(@ $values $text [$($done)* $name = $of.$name;] $($rest)*)
    };
    (@ $values:ident $text:literal [$($done:tt)*] $name:ident, $($rest:tt)*) => {
        $crate::query::text!(@ $values $text [$($done)* $name = $name;] $($rest)*)
    };
    ($values:ident, $text:literal, $($named:tt)+) => {
        $crate::query::text!(@ $values $text [] $($named)+,)
    };
}

/// The columns of an insert: `columns! { ..account }` those of a [`row`](super::row::row), `columns! { ..key, key_hash = hash }`
/// more, and `columns! { account_id = account.id, account.name, slot }` these. In a statement it becomes the list of columns and
/// their values: `"INSERT INTO accounts {row} ON CONFLICT DO NOTHING"`.
macro_rules! columns {
    (..$row:ident) => { $crate::row::Listed::columns($row) };
    (..$row:ident, $($named:tt)+) => {{
        let mut columns = $crate::row::Listed::columns($row);
        columns.0.extend($crate::query::columns!($($named)+).0);
        columns
    }};
    (@ [$($name:ident = $value:expr;)*]) => {
        $crate::statement::Columns(vec![$((stringify!($name), $crate::statement::Bound::value(&$value))),*])
    };
    (@ [$($done:tt)*] $name:ident = $value:expr, $($rest:tt)*) => {
        $crate::query::columns!(@ [$($done)* $name = $value;] $($rest)*)
    };
    (@ [$($done:tt)*] $of:ident.$name:ident, $($rest:tt)*) => {
        $crate::query::columns!(@ [$($done)* $name = $of.$name;] $($rest)*)
    };
    (@ [$($done:tt)*] $name:ident, $($rest:tt)*) => {
        $crate::query::columns!(@ [$($done)* $name = $name;] $($rest)*)
    };
    ($first:ident $($named:tt)*) => { $crate::query::columns!(@ [] $first $($named)*,) };
}
pub(super) use super::statement::Sql;
pub(super) use {columns, sql, text};

/// What a name in a statement's text stands for.
pub(super) trait Place {
    fn place(&self, values: &mut Vec<Value>) -> String;
}

impl<T: Bound + ?Sized> Place for T {
    fn place(&self, values: &mut Vec<Value>) -> String {
        values.push(self.value());
        format!("${}", values.len())
    }
}

/// Several values, with commas between.
pub(super) struct Each<'a, T>(pub &'a [T]);

impl<T: Bound> Place for Each<'_, T> {
    fn place(&self, values: &mut Vec<Value>) -> String {
        joined(self.0.iter().map(|value| value.place(values)))
    }
}

impl Place for Columns {
    fn place(&self, values: &mut Vec<Value>) -> String {
        std::slice::from_ref(self).place(values)
    }
}

/// Rows with the same columns, at least one.
impl Place for [Columns] {
    fn place(&self, values: &mut Vec<Value>) -> String {
        let names = self.iter().take(1).flat_map(|row| row.0.iter().map(|(name, _)| (*name).to_owned()));
        let names = joined(names);
        let placed = self.iter().map(|row| {
            let placed = row.0.iter().map(|(_, value)| {
                values.push(value.clone());
                format!("${}", values.len())
            });
            format!("({})", joined(placed))
        });
        format!("({names}) VALUES {}", joined(placed))
    }
}

impl<T: Display> Place for Sql<T> {
    fn place(&self, _: &mut Vec<Value>) -> String {
        self.0.to_string()
    }
}

/// Text with values in it.
pub(super) struct Piece<F>(pub F);

impl<F: Fn(&mut Vec<Value>) -> String> Place for Piece<F> {
    fn place(&self, values: &mut Vec<Value>) -> String {
        self.0(values)
    }
}

/// With commas between.
pub(super) fn joined(parts: impl Iterator<Item = String>) -> String {
    parts.collect::<Vec<_>>().join(", ")
}

/// Merges `pages` into one list; an index delivers each page in the order and to the limit of `ending`.
pub(super) fn merged(pages: impl Iterator<Item = String>, ending: &str) -> String {
    let mut pages: Vec<String> = pages.collect();
    if pages.len() < 2 {
        return pages.pop().unwrap_or_default();
    }
    let parts = pages.iter().enumerate().map(|(part, page)| format!("SELECT * FROM ({page}) AS part_{part}"));
    format!("{} {ending}", parts.collect::<Vec<_>>().join(" UNION ALL "))
}

impl Query {
    /// See [`sql`].
    pub fn new(text: String, values: Vec<Value>) -> Self {
        Self { sql: AssertSqlSafe(text).into_sql_str(), values }
    }

    /// Runs the statement and returns the number of rows touched.
    pub async fn execute(self, on: impl Into<Target<'_>>) -> Result<u64> {
        Ok(self.answer::<bool>(on.into(), Wanted::Count).await?.touched)
    }

    /// Runs the statement. `false`: it touches no row.
    pub async fn touches(self, on: impl Into<Target<'_>>) -> Result<bool> {
        Ok(self.execute(on).await? > 0)
    }

    /// Runs the statement, however many rows it touches.
    pub async fn run(self, on: impl Into<Target<'_>>) -> Result<()> {
        self.execute(on).await.map(|_| ())
    }

    /// Every row.
    pub async fn fetch_all<R: Record>(self, on: impl Into<Target<'_>>) -> Result<Vec<R>> {
        Ok(self.answer(on.into(), Wanted::All).await?.rows)
    }

    /// The row, if there is one.
    pub async fn fetch_optional<R: Record>(self, on: impl Into<Target<'_>>) -> Result<Option<R>> {
        Ok(self.answer(on.into(), Wanted::First).await?.rows.pop())
    }

    /// The one value. `None`: there is no row, or it is NULL.
    pub async fn fetch_value<S: Stored + Send + 'static>(
        self,
        on: impl Into<Target<'_>>,
    ) -> Result<Option<S>> {
        Ok(self.fetch_optional::<Option<S>>(on).await?.flatten())
    }

    /// The number that a `SELECT COUNT` gives.
    pub async fn count(self, on: impl Into<Target<'_>>) -> Result<u64> {
        Ok(self.fetch_value(on).await?.unwrap_or(0))
    }

    /// The one place where the two drivers are told apart.
    async fn answer<R: Record>(self, on: Target<'_>, wanted: Wanted) -> Result<Answer<R>> {
        let Self { sql, values } = self;
        #[cfg(test)]
        super::tests::note(&sql, &values);
        match on {
            Target::Sqlite(connection) => sqlite::run(connection, sql.as_str(), &values, wanted),
            Target::Postgres(connection) => postgres::run(connection, sql, values, wanted).await,
            Target::SqliteWriter(writer) => {
                writer
                    .write(
                        move |tx| {
                            async move {
                                match tx {
                                    Transaction::Sqlite(on) => sqlite::run(on, sql.as_str(), &values, wanted),
                                    Transaction::Postgres(on) => postgres::run(on, sql, values, wanted).await,
                                }
                            }
                            .boxed()
                        },
                        Turn::GoesOn,
                    )
                    .await
            }
            // Payments wait only for key lookups of a few microseconds, which cost less than waking another thread.
            Target::SqliteReaders(readers) => {
                // Boxed, like the next two: callers nest these calls, and the futures are large.
                let reading = Box::pin(async {
                    let mut lent = readers.lend().await?;
                    let answer =
                        lent.connection().and_then(|on| sqlite::run(on, sql.as_str(), &values, wanted));
                    lent.give_back(&answer);
                    answer
                });
                readers.call(reading).await
            }
            Target::SqliteListers(listers) => {
                let reading = Box::pin(async {
                    let mut lent = listers.lend().await?;
                    let run = move || {
                        let answer =
                            lent.connection().and_then(|on| sqlite::run(on, sql.as_str(), &values, wanted));
                        Ok((lent, answer))
                    };
                    let (lent, answer) = sqlite::on_a_thread(run).await?;
                    lent.give_back(&answer);
                    answer
                });
                listers.call(reading).await
            }
            Target::PostgresPool(pool) => {
                let calling = Box::pin(async {
                    let mut lent = pool.lend().await?;
                    let answer = async { postgres::run(lent.connection()?, sql, values, wanted).await }.await;
                    lent.give_back(&answer);
                    answer
                });
                pool.call(calling).await
            }
        }
    }
}
