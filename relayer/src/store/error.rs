use std::path::{Path, PathBuf};

use sqlx::migrate::MigrateError;

use crate::domain::WrongState;

/// Why the database did not do what was asked.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    #[error("`database.url` must be of the form sqlite:///path/purser.db")]
    Unsupported,
    #[error("cannot open the database {}: {error}", file.display())]
    Open { file: PathBuf, error: sqlx::Error },
    #[error("cannot bring the database up to date: {0}")]
    Migrate(MigrateError),
    /// No answer, or an answer that a healthy database does not give.
    #[error("database: {0}")]
    Database(sqlx::Error),
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
    pub(super) fn open(file: &Path) -> impl Fn(sqlx::Error) -> Self {
        |error| Self::Open { file: file.to_owned(), error }
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
