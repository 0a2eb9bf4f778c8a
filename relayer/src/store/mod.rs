//! What Purser remembers. Never asks the chain, and never holds a transaction while anybody waits for a network.
//!
//! The SQL is one portable text: `$1` placeholders; TEXT, BIGINT and BOOLEAN. Every finder takes the owner first;
//! the functions for workers, which serve all operators, say so.

mod accounts;
mod claims;
mod columns;
mod error;
mod keys;
mod operators;
mod transfer_row;
mod transfers;

#[cfg(test)]
mod tests;

use std::str::FromStr;
use std::time::Duration;

pub use claims::{ClaimClock, NewTransfer};
pub use error::StoreError;
use sqlx::migrate::Migrator;
use sqlx::sqlite::{
    SqliteConnectOptions, SqliteJournalMode, SqlitePool, SqlitePoolOptions, SqliteSynchronous,
};
use sqlx::{Sqlite, Transaction};

static MIGRATIONS: Migrator = sqlx::migrate!("./migrations");

/// How long a connection waits for a lock that another process holds, in seconds.
const BUSY_TIMEOUT_SECONDS: u64 = 10;
const READERS_MAX: u32 = 4;

/// The database. Cheap to clone.
#[derive(Clone)]
pub struct Store {
    /// One connection: SQLite has one writer at a time, and a queue in the process is fairer than its busy loop.
    writer: SqlitePool,
    reader: SqlitePool,
}

impl Store {
    /// Opens the database at `url` (`sqlite:///path/purser.db`), makes the file if there is none, and brings its
    /// tables up to date.
    pub async fn open(url: &str) -> Result<Self, StoreError> {
        if !url.starts_with("sqlite:") {
            return Err(StoreError::Unsupported);
        }
        let options = SqliteConnectOptions::from_str(url).map_err(|_| StoreError::Unsupported)?;
        let file = options.get_filename().to_owned();
        let options = options.foreign_keys(true).busy_timeout(Duration::from_secs(BUSY_TIMEOUT_SECONDS));
        let writing = options
            .clone()
            .create_if_missing(true)
            .journal_mode(SqliteJournalMode::Wal)
            // An answered commit survives a power cut: WAL is synced on each.
            .synchronous(SqliteSynchronous::Full);
        let writer = pool(1).connect_with(writing).await.map_err(StoreError::open(&file))?;
        MIGRATIONS.run(&writer).await.map_err(StoreError::Migrate)?;
        let reading = options.read_only(true);
        let reader = pool(READERS_MAX).connect_with(reading).await.map_err(StoreError::open(&file))?;
        Ok(Self { writer, reader })
    }

    /// The versions of the migrations that the tables have, ascending.
    pub async fn list_migrations(&self) -> Result<Vec<i64>, StoreError> {
        const SQL: &str = "SELECT version FROM _sqlx_migrations ORDER BY version";
        Ok(sqlx::query_scalar(SQL).fetch_all(self.reader()).await?)
    }

    /// Waits for connections in use, and closes.
    pub async fn close(&self) {
        self.reader.close().await;
        self.writer.close().await;
    }

    async fn begin(&self) -> Result<Transaction<'static, Sqlite>, StoreError> {
        Ok(self.writer.begin_with("BEGIN IMMEDIATE").await?)
    }

    fn writer(&self) -> &SqlitePool {
        &self.writer
    }

    fn reader(&self) -> &SqlitePool {
        &self.reader
    }
}

fn pool(connections_max: u32) -> SqlitePoolOptions {
    SqlitePoolOptions::new()
        .min_connections(1)
        .max_connections(connections_max)
        .idle_timeout(None)
        .max_lifetime(None)
        .test_before_acquire(false)
        .acquire_timeout(Duration::from_secs(30))
}
