//! The two databases: how each is opened, brought up to date, written to and read from.

use std::path::Path;
use std::str::FromStr;
use std::time::Duration;

use futures::future::BoxFuture;
use prometheus_client::metrics::histogram::Histogram;
use sqlx::postgres::{PgConnectOptions, PgConnection};
use sqlx::sqlite::{SqliteConnectOptions, SqliteJournalMode, SqliteSynchronous};
use sqlx::{ConnectOptions, Connection, Executor};

use super::StoreError;
use super::connect::{PostgresPrimary, SqliteReading};
use super::connections::Connections;
use super::look::{MIGRATIONS, Tables, applied_in_postgres, tables_of};
use super::query::Target;
use super::transaction::{Transaction, transact};
use super::writer::{Turn, Writer};
use crate::metrics::Histograms;

/// How long a connection waits for a lock that another process holds, in seconds.
const BUSY_TIMEOUT_SECONDS: u64 = 5;
/// How long a start waits for Postgres to answer, in seconds.
const CONNECT_TIMEOUT_SECONDS: u64 = 10;
/// Connections for what a payment waits for; and for lists and the searches of workers, which take longer.
const SQLITE_READERS: usize = 4;
const SQLITE_LISTERS: usize = 2;
const POSTGRES_CONNECTIONS: usize = 12;
const POSTGRES_LISTERS: usize = 4;
/// What the writer keeps in memory; below zero, SQLite counts in KiB instead of pages.
const CACHE_KIBIBYTES: &str = "-8192";
/// The advisory lock under which one process at a time changes the tables: "purser" in ASCII.
const MIGRATION_LOCK: i64 = 0x7075_7273_6572;

/// What pools are called: SQLite's three, and Postgres's two.
const WRITER: &str = "writer";
const READERS: &str = "readers";
const LISTERS: &str = "listers";
const PAYMENTS: &str = "payments";

/// What a pool is at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PoolFigures {
    pub pool: &'static str,
    /// Connections, and how many of them are lent; the one writer is never lent.
    pub open: usize,
    pub lent: usize,
    /// Calls that wait for one.
    pub waiting: usize,
}

/// Open connections to one of the two.
#[derive(Clone)]
pub(super) enum Pools {
    Sqlite { writer: Writer, readers: Connections<SqliteReading>, listers: Connections<SqliteReading> },
    Postgres { pool: Connections<PostgresPrimary>, listers: Connections<PostgresPrimary> },
}

impl Pools {
    /// Opens the database that the scheme of `url` names, and brings its tables up to date.
    pub async fn open(url: &str, waits: &Histograms) -> Result<Self, StoreError> {
        match url.split_once(':') {
            Some(("sqlite", _)) => Self::open_sqlite(url, waits).await,
            Some(("postgres" | "postgresql", _)) => Self::open_postgres(url, waits).await,
            Some(_) | None => Err(StoreError::Unsupported),
        }
    }

    async fn open_sqlite(url: &str, waits: &Histograms) -> Result<Self, StoreError> {
        let options = SqliteConnectOptions::from_str(url).map_err(|_| StoreError::Unsupported)?;
        let file = options.get_filename().display().to_string();
        let failed = |error| StoreError::Open { place: file.clone(), error };
        if !is_in_memory(url) {
            keep_from_others(options.get_filename()).map_err(|error| failed(error.into()))?;
        }
        let options = options.foreign_keys(true).busy_timeout(Duration::from_secs(BUSY_TIMEOUT_SECONDS));
        let writing = options
            .clone()
            .create_if_missing(true)
            .journal_mode(SqliteJournalMode::Wal)
            // An answered commit survives a power cut: WAL is synced on each.
            .synchronous(SqliteSynchronous::Full)
            // What a statement keeps to take itself back by.
            .pragma("temp_store", "memory")
            .pragma("cache_size", CACHE_KIBIBYTES);
        let mut writer = writing.connect().await.map_err(failed)?;
        MIGRATIONS.run(&mut writer).await?;
        let writer =
            Writer::start(writer, writing, waits_of(waits, WRITER)).map_err(|error| failed(error.into()))?;
        let reading = |pool, connections| {
            let read_only = SqliteReading(options.clone().read_only(true));
            Connections::new(read_only, connections, waits_of(waits, pool))
        };
        let (readers, listers) = (reading(READERS, SQLITE_READERS)?, reading(LISTERS, SQLITE_LISTERS)?);
        Ok(Self::Sqlite { writer, readers, listers })
    }

    async fn open_postgres(url: &str, waits: &Histograms) -> Result<Self, StoreError> {
        let options = PgConnectOptions::from_str(url).map_err(|_| StoreError::Unsupported)?;
        let database = options.get_database().unwrap_or(options.get_username());
        let place = format!("{database} at {}:{}", options.get_host(), options.get_port());
        let failed = |error| StoreError::Open { place: place.clone(), error };
        // Not through the pool, which would keep trying and then say only that it timed out.
        let connecting =
            tokio::time::timeout(Duration::from_secs(CONNECT_TIMEOUT_SECONDS), options.connect());
        let connected = connecting.await.unwrap_or(Err(sqlx::Error::PoolTimedOut));
        let mut connection = connected.map_err(failed)?;
        if !is_up_to_date(&mut connection).await {
            bring_up_to_date(&mut connection).await?;
        }
        connection.close().await.map_err(failed)?;
        let primary = |pool, connections| {
            Connections::new(PostgresPrimary(options.clone()), connections, waits_of(waits, pool))
        };
        let pool = primary(PAYMENTS, POSTGRES_CONNECTIONS)?;
        let listers = primary(LISTERS, POSTGRES_LISTERS)?;
        // That it takes writing shows now rather than at the first payment.
        let lent = pool.call(pool.lend()).await?;
        lent.give_back(&Ok(()));
        Ok(Self::Postgres { pool, listers })
    }

    /// What each of its pools is at.
    pub fn figures(&self) -> Vec<PoolFigures> {
        let of = |pool, (open, lent, waiting)| PoolFigures { pool, open, lent, waiting };
        match self {
            Self::Sqlite { writer, readers, listers } => vec![
                of(WRITER, (1, 0, writer.waiting())),
                of(READERS, readers.figures()),
                of(LISTERS, listers.figures()),
            ],
            Self::Postgres { pool, listers } => {
                vec![of(PAYMENTS, pool.figures()), of(LISTERS, listers.figures())]
            }
        }
    }

    /// Waits for connections in use, and closes.
    pub async fn close(&self) {
        match self {
            Self::Sqlite { writer, readers, listers } => {
                readers.close().await;
                listers.close().await;
                writer.close().await;
            }
            Self::Postgres { pool, listers } => {
                pool.close().await;
                listers.close().await;
            }
        }
    }

    /// Does `work` in a transaction, and commits it unless it fails. What it reads is committed; only SQLite keeps all
    /// others from writing meanwhile. It must not wait for anything but statements.
    pub async fn write<T, F>(&self, work: F, turn: Turn) -> Result<T, StoreError>
    where
        F: for<'c> FnOnce(&'c mut Transaction<'_>) -> BoxFuture<'c, Result<T, StoreError>>,
        F: Clone + Send + 'static,
        T: Send + 'static,
    {
        match self {
            Self::Sqlite { writer, .. } => writer.write(work, turn).await,
            Self::Postgres { pool, .. } => pool.call(Box::pin(transact(pool, work))).await,
        }
    }

    pub fn writer(&self) -> Target<'_> {
        match self {
            Self::Sqlite { writer, .. } => Target::SqliteWriter(writer),
            Self::Postgres { pool, .. } => Target::PostgresPool(pool),
        }
    }

    pub fn reader(&self) -> Target<'_> {
        match self {
            Self::Sqlite { readers, .. } => Target::SqliteReaders(readers),
            Self::Postgres { pool, .. } => Target::PostgresPool(pool),
        }
    }

    pub fn lister(&self) -> Target<'_> {
        match self {
            Self::Sqlite { listers, .. } => Target::SqliteReaders(listers),
            Self::Postgres { listers, .. } => Target::PostgresPool(listers),
        }
    }

    /// What a worker ends its `SELECT` of rows to take with: rows that another worker is taking are left to it.
    /// SQLite has one writer and nothing to skip.
    pub fn skip_locked(&self) -> &'static str {
        match self {
            Self::Sqlite { .. } => "",
            Self::Postgres { .. } => "FOR UPDATE SKIP LOCKED",
        }
    }
}

fn waits_of(waits: &Histograms, pool: &'static str) -> Histogram {
    waits.get_or_create(&[("pool", pool)]).clone()
}

fn is_in_memory(url: &str) -> bool {
    url.contains(":memory:") || url.contains("mode=memory")
}

/// The file is made for its owner alone, before SQLite would make it for everybody. What SQLite puts beside it gets the same
/// mode.
fn keep_from_others(file: &Path) -> std::io::Result<()> {
    for beside in ["-wal", "-shm"] {
        let mut name = file.as_os_str().to_owned();
        name.push(beside);
        crate::secret_file::close_to_others(Path::new(&name))?;
    }
    crate::secret_file::create(file)
}

/// Exactly our migrations are applied. Asked first, so that a server whose tables are made needs no right to make any.
async fn is_up_to_date(connection: &mut PgConnection) -> bool {
    tables_of(applied_in_postgres(connection).await) == Tables::Current
}

/// Makes the collation that SQLite has built in, and runs what is missing of the migrations; one process at a time.
async fn bring_up_to_date(connection: &mut PgConnection) -> Result<(), StoreError> {
    let lock = sqlx::query("SELECT pg_advisory_lock($1)").bind(MIGRATION_LOCK);
    lock.execute(&mut *connection).await?;
    connection.execute("CREATE COLLATION IF NOT EXISTS \"binary\" FROM \"C\"").await?;
    MIGRATIONS.run_direct(None, &mut *connection, false).await?;
    // A connection that ends on the way lets go of the lock by that.
    let unlock = sqlx::query("SELECT pg_advisory_unlock($1)").bind(MIGRATION_LOCK);
    unlock.execute(connection).await?;
    Ok(())
}
