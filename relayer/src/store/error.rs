use rusqlite::ffi;
use sqlx::migrate::MigrateError;

use crate::domain::{QuotaExceeded, WrongState};

/// Postgres' codes for a transaction that lost to another and may be tried again: `serialization_failure` and
/// `deadlock_detected`.
const CONTENTION_CODES: [&str; 2] = ["40001", "40P01"];

/// Postgres' classes of codes for a server that cannot serve now: connections, resources, interventions, the system.
const UNAVAILABLE_CLASSES: [&str; 4] = ["08", "53", "57", "58"];
/// A standby was asked to write.
const READ_ONLY: &str = "25006";
/// A statement took longer than the server lets it.
const STATEMENT_TIMED_OUT: &str = "57014";
/// SQLite's codes for a file that cannot be used now: busy, locked, read-only, fault of the disk, full, cannot be opened.
const UNAVAILABLE_CODES: [i32; 6] = [
    ffi::SQLITE_BUSY,
    ffi::SQLITE_LOCKED,
    ffi::SQLITE_READONLY,
    ffi::SQLITE_IOERR,
    ffi::SQLITE_FULL,
    ffi::SQLITE_CANTOPEN,
];
const ALREADY_THERE_CODES: [i32; 2] = [ffi::SQLITE_CONSTRAINT_UNIQUE, ffi::SQLITE_CONSTRAINT_PRIMARYKEY];

/// Why the database did not do what was asked.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    #[error(
        "`database.url` must be of the form sqlite:///path/purser.db or postgres://user:password@host/database"
    )]
    Unsupported,
    #[error("cannot open the database {place}: {error}")]
    Open { place: String, error: Box<StoreError> },
    #[error(
        "the database was made by another build, with other tables (migration {0}): start that build on it, or name an empty \
         database in `database.url`. Accounts and payments are read from the chain again; names, API keys and webhooks are not \
         on it"
    )]
    OfOtherBuild(i64),
    #[error("cannot bring the database up to date: {0}")]
    Migrate(MigrateError),
    /// The database cannot be used now. What was to be written may have been.
    #[error("the database is unavailable: {problem}")]
    Unavailable { problem: String, is_connection_lost: bool },
    /// An answer that a healthy database does not give.
    #[error("database: {0}")]
    Postgres(sqlx::Error),
    #[error("database: {0}")]
    Sqlite(rusqlite::Error),
    /// A row of the same identity is there already.
    #[error("already there")]
    AlreadyThere,
    /// The operator has as many of them as it may have.
    #[error("the operator has as many as it may have")]
    Full,
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

impl From<MigrateError> for StoreError {
    fn from(error: MigrateError) -> Self {
        match error {
            MigrateError::VersionMissing(version) | MigrateError::VersionMismatch(version) => {
                Self::OfOtherBuild(version)
            }
            other => Self::Migrate(other),
        }
    }
}

impl StoreError {
    /// Nothing can be said over this connection any more.
    pub(crate) fn unavailable(problem: impl ToString) -> Self {
        Self::Unavailable { problem: problem.to_string(), is_connection_lost: true }
    }

    fn of_postgres(error: sqlx::Error, code: &str) -> Self {
        let is_unavailable = UNAVAILABLE_CLASSES.iter().any(|class| code.starts_with(class));
        if CONTENTION_CODES.contains(&code) {
            Self::Contended
        } else if code == STATEMENT_TIMED_OUT {
            Self::Unavailable { problem: error.to_string(), is_connection_lost: false }
        } else if is_unavailable || code == READ_ONLY {
            Self::unavailable(error)
        } else {
            Self::Postgres(error)
        }
    }
}

impl From<QuotaExceeded> for StoreError {
    fn from(exceeded: QuotaExceeded) -> Self {
        Self::QuotaExceeded(exceeded)
    }
}

impl From<sqlx::Error> for StoreError {
    fn from(error: sqlx::Error) -> Self {
        let Some(database) = error.as_database_error() else {
            return match error {
                sqlx::Error::Io(_)
                | sqlx::Error::Tls(_)
                | sqlx::Error::Protocol(_)
                | sqlx::Error::PoolTimedOut
                | sqlx::Error::PoolClosed
                | sqlx::Error::WorkerCrashed => Self::unavailable(error),
                other => Self::Postgres(other),
            };
        };
        let code = database.code().unwrap_or_default().into_owned();
        if database.is_unique_violation() { Self::AlreadyThere } else { Self::of_postgres(error, &code) }
    }
}

impl From<rusqlite::Error> for StoreError {
    fn from(error: rusqlite::Error) -> Self {
        let Some(failed) = error.sqlite_error() else { return Self::Sqlite(error) };
        if ALREADY_THERE_CODES.contains(&failed.extended_code) {
            Self::AlreadyThere
        // Of an extended code the lowest byte says what kind it is.
        } else if UNAVAILABLE_CODES.contains(&(failed.extended_code & 0xff)) {
            Self::unavailable(error)
        } else {
            Self::Sqlite(error)
        }
    }
}
