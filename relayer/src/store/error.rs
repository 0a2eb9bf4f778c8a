use sqlx::migrate::MigrateError;

use crate::domain::{QuotaExceeded, WrongState};

/// Postgres' codes for a transaction that lost to another and may be tried again: `serialization_failure` and
/// `deadlock_detected`.
const CONTENTION_CODES: [&str; 2] = ["40001", "40P01"];

/// Why the database did not do what was asked.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    #[error(
        "`database.url` must be of the form sqlite:///path/purser.db or postgres://user:password@host/database"
    )]
    Unsupported,
    #[error("cannot open the database {place}: {error}")]
    Open { place: String, error: sqlx::Error },
    #[error("cannot bring the database up to date: {0}")]
    Migrate(MigrateError),
    /// No answer, or an answer that a healthy database does not give.
    #[error("database: {0}")]
    Database(sqlx::Error),
    /// A row of the same identity is there already.
    #[error("already there")]
    AlreadyThere,
    /// Others got ahead, as often as it was tried.
    #[error("others keep changing the same rows")]
    Contended,
    /// The operator has as much as it may have.
    #[error("{0:?}")]
    QuotaExceeded(QuotaExceeded),
    /// A row holds what this version cannot read.
    #[error("unreadable `{column}` in table {table}")]
    Unreadable { table: &'static str, column: &'static str },
    /// The step is not allowed from the state that the caller knows.
    #[error(transparent)]
    WrongState(#[from] WrongState),
    /// Another worker moved the transfer on since the caller read it: read it again.
    #[error("the transfer has moved on")]
    Superseded,
}

impl From<QuotaExceeded> for StoreError {
    fn from(exceeded: QuotaExceeded) -> Self {
        Self::QuotaExceeded(exceeded)
    }
}

impl From<sqlx::Error> for StoreError {
    fn from(error: sqlx::Error) -> Self {
        match error.as_database_error() {
            Some(database) if database.is_unique_violation() => Self::AlreadyThere,
            Some(database) if database.code().is_some_and(|code| CONTENTION_CODES.contains(&&*code)) => {
                Self::Contended
            }
            Some(_) | None => Self::Database(error),
        }
    }
}
