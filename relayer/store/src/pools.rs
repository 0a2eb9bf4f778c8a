//! The two databases: how each is opened, migrated, written to and read from.

use parking_lot::Mutex;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use futures::future::BoxFuture;
use prometheus_client::metrics::histogram::Histogram;
use sqlx::postgres::PgConnection;
use sqlx::{ConnectOptions, Connection, Executor};

use super::connections::Connections;
use super::look::applied_in_postgres;
use super::postgres::{Login, PostgresPrimary, ServerClock};
use super::query::Target;
use super::sqlite::{self, SqliteReading};
use super::tables::{MIGRATIONS, Tables, tables_of};
use super::transaction::{Transaction, transact};
use super::writer::{Turn, Writer};
use super::{Result, StoreError};
use purser_base::metrics::Histograms;

/// How long Postgres may take to answer at a start, in seconds.
const CONNECT_TIMEOUT_SECONDS: u64 = 10;
/// Separate connections for reads that payments wait for, and for lists and workers' searches, which take longer.
const SQLITE_READERS: usize = 4;
const SQLITE_LISTERS: usize = 2;
const POSTGRES_CONNECTIONS: usize = 12;
const POSTGRES_LISTERS: usize = 4;
/// The advisory lock that lets one process at a time migrate: "purser" in ASCII.
const MIGRATION_LOCK: i64 = 0x7075_7273_6572;

/// Names of the pools: three for SQLite, two for Postgres.
const WRITER: &str = "writer";
const READERS: &str = "readers";
const LISTERS: &str = "listers";
const PAYMENTS: &str = "payments";

/// The state of a pool.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PoolFigures {
    pub pool: &'static str,
    /// Open connections, and how many are lent; the single writer is never lent.
    pub open: usize,
    pub lent: usize,
    /// Calls waiting for a connection.
    pub waiting: usize,
}

/// Open connections to one of the two databases.
#[derive(Clone)]
pub(super) enum Pools {
    Sqlite { writer: Writer, readers: Connections<SqliteReading>, listers: Connections<SqliteReading> },
    Postgres { pool: Connections<PostgresPrimary>, listers: Connections<PostgresPrimary>, clock: ServerClock },
}

impl Pools {
    /// Opens the database that the scheme of `url` names, and migrates its tables.
    pub async fn open(url: &str, waits: &Histograms) -> Result<Self> {
        match url.split_once(':') {
            Some(("sqlite", _)) => Self::open_sqlite(url, waits).await,
            Some(("postgres" | "postgresql", _)) => Self::open_postgres(url, waits).await,
            Some(_) | None => Err(StoreError::Unsupported),
        }
    }

    async fn open_sqlite(url: &str, waits: &Histograms) -> Result<Self> {
        let file: Arc<Path> = sqlite::file_of(url).ok_or(StoreError::Unsupported)?.into();
        let made = file.clone();
        let opened = sqlite::on_a_thread(move || {
            keep_from_others(&made).map_err(StoreError::unavailable)?;
            let mut connection = sqlite::open_to_write(&made)?;
            sqlite::bring_up_to_date(&mut connection)?;
            Ok(connection)
        });
        let failed = |error| match error {
            of_other_build @ StoreError::OfOtherBuild(_) => of_other_build,
            error => StoreError::Open { place: file.display().to_string(), error: Box::new(error) },
        };
        let connection = opened.await.map_err(failed)?;
        let writer = Writer::start(connection, file.clone(), waits_of(waits, WRITER))?;
        let reading = |pool, connections| {
            Connections::new(SqliteReading(file.clone()), connections, waits_of(waits, pool))
        };
        let (readers, listers) = (reading(READERS, SQLITE_READERS)?, reading(LISTERS, SQLITE_LISTERS)?);
        Ok(Self::Sqlite { writer, readers, listers })
    }

    async fn open_postgres(url: &str, waits: &Histograms) -> Result<Self> {
        let login = Login::parse(url)?;
        let place = login.place();
        let failed =
            |error: sqlx::Error| StoreError::Open { place: place.clone(), error: Box::new(error.into()) };
        // Connects outside the pool, which would keep retrying and then report only a time-out.
        let connecting = tokio::time::timeout(Duration::from_secs(CONNECT_TIMEOUT_SECONDS), async {
            login.options()?.connect().await
        });
        let connected = connecting.await.unwrap_or(Err(sqlx::Error::PoolTimedOut));
        let mut connection = connected.map_err(failed)?;
        if !is_up_to_date(&mut connection).await {
            bring_up_to_date(&mut connection).await?;
        }
        let clock = ServerClock::of(&mut connection).await.map_err(failed)?;
        connection.close().await.map_err(failed)?;
        let primary = |pool, connections| {
            let server =
                PostgresPrimary { login: login.clone(), clock: clock.clone(), said_at: Mutex::default() };
            Connections::new(server, connections, waits_of(waits, pool))
        };
        let pool = primary(PAYMENTS, POSTGRES_CONNECTIONS)?;
        let listers = primary(LISTERS, POSTGRES_LISTERS)?.beside(&pool);
        // Shows now, rather than at the first payment, whether the server accepts writes.
        let lent = pool.call(pool.lend()).await?;
        lent.give_back(&Ok(()));
        Ok(Self::Postgres { pool, listers, clock })
    }

    /// The state of each pool.
    pub fn figures(&self) -> Vec<PoolFigures> {
        let of = |pool, (open, lent, waiting)| PoolFigures { pool, open, lent, waiting };
        match self {
            Self::Sqlite { writer, readers, listers } => vec![
                of(WRITER, (1, 0, writer.waiting())),
                of(READERS, readers.figures()),
                of(LISTERS, listers.figures()),
            ],
            Self::Postgres { pool, listers, .. } => {
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
            Self::Postgres { pool, listers, .. } => {
                pool.close().await;
                listers.close().await;
            }
        }
    }

    /// Runs `work` in a transaction, and commits it unless it fails. It reads committed data; only SQLite keeps all
    /// others from writing meanwhile. `work` must await nothing but statements.
    pub async fn write<T, F>(&self, work: F, turn: Turn) -> Result<T>
    where
        F: for<'c> FnOnce(&'c mut Transaction<'_>) -> BoxFuture<'c, Result<T>>,
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
            Self::Sqlite { listers, .. } => Target::SqliteListers(listers),
            Self::Postgres { listers, .. } => Target::PostgresPool(listers),
        }
    }

    /// Ends a worker's `SELECT` of rows to lease: skips rows that another worker is leasing.
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

/// Creates the file for its owner alone, before SQLite would create it for everybody. SQLite gives its companion files
/// the same mode.
fn keep_from_others(file: &Path) -> std::io::Result<()> {
    for beside in ["-wal", "-shm"] {
        let mut name = file.as_os_str().to_owned();
        name.push(beside);
        purser_base::secret_file::close_to_others(Path::new(&name))?;
    }
    purser_base::secret_file::create(file)
}

/// Whether exactly our migrations are applied. Checked first, so a migrated server needs no right to create tables.
async fn is_up_to_date(connection: &mut PgConnection) -> bool {
    tables_of(applied_in_postgres(connection).await) == Tables::Current
}

/// Creates the collation that SQLite has built in, and runs the missing migrations; one process at a time.
async fn bring_up_to_date(connection: &mut PgConnection) -> Result<()> {
    let lock = sqlx::query("SELECT pg_advisory_lock($1)").bind(MIGRATION_LOCK);
    lock.execute(&mut *connection).await?;
    connection.execute("CREATE COLLATION IF NOT EXISTS \"binary\" FROM \"C\"").await?;
    MIGRATIONS.run_direct(None, &mut *connection, false).await?;
    // A connection that breaks on the way releases the lock.
    let unlock = sqlx::query("SELECT pg_advisory_unlock($1)").bind(MIGRATION_LOCK);
    unlock.execute(connection).await?;
    Ok(())
}
