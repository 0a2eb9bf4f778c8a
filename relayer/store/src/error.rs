use rusqlite::ffi;
use sqlx::migrate::MigrateError;

use purser_model::{QuotaExceeded, WrongState};

/// Postgres' codes for a transaction that lost to another and may be retried: `serialization_failure` and
/// `deadlock_detected`.
const CONTENTION_CODES: [&str; 2] = ["40001", "40P01"];

/// Postgres' code classes for a server that is unavailable: connections, resources, interventions, the system.
const UNAVAILABLE_CLASSES: [&str; 4] = ["08", "53", "57", "58"];
/// Its disk has no room.
const DISK_FULL: &str = "53100";
/// It has as many connections as it takes, in all or for this user.
const TOO_MANY_CONNECTIONS: &str = "53300";
/// A standby was asked to write.
const READ_ONLY: &str = "25006";
/// A statement exceeded the server's time limit.
const STATEMENT_TIMED_OUT: &str = "57014";
/// SQLite's codes for an unusable file: busy, locked, read-only, I/O error, cannot be opened.
const UNAVAILABLE_CODES: [i32; 5] =
    [ffi::SQLITE_BUSY, ffi::SQLITE_LOCKED, ffi::SQLITE_READONLY, ffi::SQLITE_IOERR, ffi::SQLITE_CANTOPEN];
const ALREADY_THERE_CODES: [i32; 2] = [ffi::SQLITE_CONSTRAINT_UNIQUE, ffi::SQLITE_CONSTRAINT_PRIMARYKEY];

/// The result of a call of the store.
pub(super) type Result<T, E = StoreError> = std::result::Result<T, E>;

/// Why the database failed a call.
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
    /// The database is unavailable. A write may have taken effect.
    #[error("the database is unavailable: {problem}")]
    Unavailable { problem: String, is_connection_lost: bool },
    /// There is no room left on the database's disk. A write has not taken effect.
    #[error("the database's disk is full: {0}")]
    DiskFull(String),
    /// The server has as many connections as it takes, and none of them is ours.
    #[error("the database has no room for another connection")]
    NoRoom,
    /// An answer that a healthy database does not give.
    #[error("database: {0}")]
    Postgres(sqlx::Error),
    #[error("database: {0}")]
    Sqlite(rusqlite::Error),
    /// A row with the same identity exists already.
    #[error("already there")]
    AlreadyThere,
    /// The operator has reached its maximum of these.
    #[error("the operator has as many as it may have")]
    Full,
    /// The account has as many transfers that wait for a person as it may.
    #[error("too many transfers of the account wait for approval")]
    TooManyApprovals,
    /// Others got in first at every try.
    #[error("others keep changing the same rows")]
    Contended,
    /// The operator has reached its quota.
    #[error("{0:?}")]
    QuotaExceeded(QuotaExceeded),
    /// This version cannot read a row's content.
    #[error("unreadable column `{column}`")]
    Unreadable { column: String },
    /// The step is not allowed from the state that the caller knows.
    #[error(transparent)]
    WrongState(#[from] WrongState),
    /// Another worker moved the transfer on since the caller read it: read it again.
    #[error("the transfer is in another state by now")]
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
    /// The database did not answer; this connection is no longer usable.
    pub fn unavailable(problem: impl ToString) -> Self {
        Self::Unavailable { problem: problem.to_string(), is_connection_lost: true }
    }

    fn of_postgres(error: sqlx::Error, code: &str) -> Self {
        let is_unavailable = UNAVAILABLE_CLASSES.iter().any(|class| code.starts_with(class));
        if CONTENTION_CODES.contains(&code) {
            Self::Contended
        } else if code == TOO_MANY_CONNECTIONS {
            Self::NoRoom
        } else if code == DISK_FULL {
            Self::DiskFull(error.to_string())
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
        // The lowest byte of an extended code is its primary code.
        } else if failed.extended_code & 0xff == ffi::SQLITE_FULL {
            Self::DiskFull(error.to_string())
        } else if UNAVAILABLE_CODES.contains(&(failed.extended_code & 0xff)) {
            Self::unavailable(error)
        } else {
            Self::Sqlite(error)
        }
    }
}
