//! One statement for both databases: its text, its values, and the connection it runs on.

use std::fmt::Display;

use futures::FutureExt;
use sqlx::postgres::PgConnection;
use sqlx::{SqlSafeStr, SqlStr};

use super::StoreError;
use super::connections::Connections;
use super::postgres::{self, PostgresPrimary};
use super::row::Record;
use super::sqlite::{self, SqliteReading};
use super::statement::{Answer, Value, Wanted};
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

/// `count` placeholders: `$first, ...`.
pub(super) fn places(first: usize, count: usize) -> String {
    let places: Vec<String> = (first..first + count).map(|place| format!("${place}")).collect();
    places.join(", ")
}

/// Merges `pages` into one list; an index delivers each page in the order and to the limit of `ending`. `None`: no pages.
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

impl Query {
    /// The next placeholder's value.
    pub fn bind(mut self, value: impl Into<Value>) -> Self {
        self.values.push(value.into());
        self
    }

    /// Binds where a newest-first list continues: below `after`, or else below a bound above every id and position.
    pub fn bind_below(self, after: Option<impl Display>) -> Self {
        self.bind(after.map_or_else(|| "~".to_owned(), |after| after.to_string()))
    }

    /// Binds several values to as many placeholders.
    pub fn bind_all<V: Into<Value>>(mut self, values: impl IntoIterator<Item = V>) -> Self {
        self.values.extend(values.into_iter().map(Into::into));
        self
    }

    /// Runs the statement and returns the number of rows touched.
    pub async fn execute(self, on: impl Into<Target<'_>>) -> Result<u64, StoreError> {
        Ok(self.run::<bool>(on.into(), Wanted::Count).await?.touched)
    }

    /// Every row.
    pub async fn fetch_all<R: Record>(self, on: impl Into<Target<'_>>) -> Result<Vec<R>, StoreError> {
        Ok(self.run(on.into(), Wanted::All).await?.rows)
    }

    /// The row, if there is one.
    pub async fn fetch_optional<R: Record>(self, on: impl Into<Target<'_>>) -> Result<Option<R>, StoreError> {
        Ok(self.run(on.into(), Wanted::First).await?.rows.pop())
    }

    /// The one place where the two drivers are told apart.
    async fn run<R: Record>(self, on: Target<'_>, wanted: Wanted) -> Result<Answer<R>, StoreError> {
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
