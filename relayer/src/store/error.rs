use sqlx::migrate::MigrateError;

use crate::domain::WrongState;

/// Why the database did not do what was asked.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    #[error("the database URL must begin with `sqlite:`")]
    Unsupported,
    #[error("cannot open the database: {0}")]
    Open(#[source] sqlx::Error),
    #[error("cannot bring the database up to date: {0}")]
    Migrate(#[source] MigrateError),
    /// No answer, or an answer that a healthy database does not give.
    #[error("database: {0}")]
    Database(#[source] sqlx::Error),
    /// A row of the same identity is there already.
    #[error("already there")]
    AlreadyThere,
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

impl StoreError {
    pub(super) fn open(error: sqlx::Error) -> Self {
        Self::Open(error)
    }

    pub(super) fn migrate(error: MigrateError) -> Self {
        Self::Migrate(error)
    }
}

impl From<sqlx::Error> for StoreError {
    fn from(error: sqlx::Error) -> Self {
        match error.as_database_error() {
            Some(database) if database.is_unique_violation() => Self::AlreadyThere,
            Some(_) | None => Self::Database(error),
        }
    }
}
