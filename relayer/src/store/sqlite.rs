//! SQLite: how a file is opened, and how a statement is run on it, on the thread that asks.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use rusqlite::{Connection, OpenFlags, ToSql, TransactionBehavior};

use super::StoreError;
use super::connections::Connect;
use super::row::{Column, Record, Row};
use super::statement::{Answer, Value, Wanted};
use super::tables::{APPLIED, Applied, MIGRATIONS, of_other_build};

/// The notes of which migrations were applied, as the other database's driver keeps them.
const NOTES: &str = "CREATE TABLE IF NOT EXISTS _sqlx_migrations (
    version        BIGINT PRIMARY KEY,
    description    TEXT NOT NULL,
    installed_on   TIMESTAMP NOT NULL DEFAULT CURRENT_TIMESTAMP,
    success        BOOLEAN NOT NULL,
    checksum       BLOB NOT NULL,
    execution_time BIGINT NOT NULL
)";
const NOTE: &str = "INSERT INTO _sqlx_migrations (version, description, success, checksum, execution_time)
    VALUES (?1, ?2, TRUE, ?3, 0)";
/// How long a connection waits for a lock that another process holds.
const BUSY_TIMEOUT: Duration = Duration::from_secs(5);
/// How many statements a connection keeps compiled.
const STATEMENTS_MAX: usize = 128;
/// Of every connection.
const ALWAYS: &str = "PRAGMA foreign_keys = ON;";
/// Of the one that writes. An answered commit survives a power cut: the write-ahead log is synced on each. In memory is
/// what a statement keeps to take itself back by; below zero, the size of the cache counts in KiB instead of pages.
const WRITING: &str = "PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA temp_store = MEMORY;
    PRAGMA cache_size = -8192;";

/// The file that `sqlite:///path/purser.db` names. `None`: it names none, or asks for what a file has not, such as `?mode=memory`.
pub(super) fn file_of(url: &str) -> Option<&Path> {
    let named = url.strip_prefix("sqlite:")?;
    let file = named.strip_prefix("//").unwrap_or(named);
    (!file.is_empty() && !file.contains([':', '?', '%'])).then(|| Path::new(file))
}

/// The migrations that were applied. `None` where there are no tables.
fn applied(connection: &Connection) -> Option<Applied> {
    Some(run(connection, APPLIED, &[], Wanted::All).ok()?.rows)
}

/// Runs what is missing of the migrations, and notes that it did: all of it or nothing.
pub(super) fn bring_up_to_date(connection: &mut Connection) -> Result<(), StoreError> {
    let tx = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    tx.execute_batch(NOTES)?;
    let applied = applied(&tx).unwrap_or_default();
    if let Some(version) = of_other_build(&applied) {
        return Err(StoreError::OfOtherBuild(version));
    }
    for migration in MIGRATIONS.iter().skip(applied.len()) {
        tx.execute_batch(migration.sql.as_str())?;
        tx.execute(NOTE, (migration.version, &migration.description, &migration.checksum))?;
    }
    Ok(tx.commit()?)
}

/// A connection to write by. The file is made if there is none.
pub(super) fn open_to_write(file: &Path) -> Result<Connection, rusqlite::Error> {
    let connection = open(file, OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_CREATE)?;
    connection.execute_batch(WRITING)?;
    Ok(connection)
}

/// The migrations that were applied to a file, looked at in the place of the one writer. Nothing is made.
pub(super) fn look_at(file: &Path) -> Result<Option<Applied>, rusqlite::Error> {
    let mut connection = open(file, OpenFlags::SQLITE_OPEN_READ_WRITE)?;
    let tx = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    Ok(applied(&tx))
}

fn open(file: &Path, flags: OpenFlags) -> Result<Connection, rusqlite::Error> {
    // Each connection is used by one thread at a time.
    let connection = Connection::open_with_flags(file, flags | OpenFlags::SQLITE_OPEN_NO_MUTEX)?;
    connection.busy_timeout(BUSY_TIMEOUT)?;
    connection.set_prepared_statement_cache_capacity(STATEMENTS_MAX);
    connection.execute_batch(ALWAYS)?;
    Ok(connection)
}

/// A file, to be read from. A connection is opened anew after it failed.
pub(super) struct SqliteReading(pub Arc<Path>);

impl Connect for SqliteReading {
    type Connection = Connection;
    const IS_REMOTE: bool = false;

    async fn connect(&self) -> Result<Connection, StoreError> {
        let file = self.0.clone();
        on_a_thread(move || Ok(open(&file, OpenFlags::SQLITE_OPEN_READ_ONLY)?)).await
    }

    async fn is_alive(_: &mut Connection) -> bool {
        true
    }

    async fn close(connection: Connection) -> Result<(), StoreError> {
        on_a_thread(move || connection.close().map_err(|(_, error)| error.into())).await
    }
}

/// Where it may wait for the disk.
pub(super) async fn on_a_thread<T: Send + 'static>(
    call: impl FnOnce() -> Result<T, StoreError> + Send + 'static,
) -> Result<T, StoreError> {
    tokio::task::spawn_blocking(call).await.map_err(StoreError::unavailable)?
}

/// Runs a statement.
pub(super) fn run<R: Record>(
    connection: &Connection,
    sql: &str,
    values: &[Value],
    wanted: Wanted,
) -> Result<Answer<R>, StoreError> {
    let mut statement = connection.prepare_cached(sql)?;
    for place in 1..=statement.parameter_count() {
        // `$2` may stand before `$1`: SQLite counts them as they come.
        let number = statement.parameter_name(place).and_then(|name| name.get(1..)?.parse::<usize>().ok());
        let value = number.and_then(|number| values.get(number - 1));
        statement.raw_bind_parameter(
            place,
            value.ok_or(rusqlite::Error::InvalidParameterCount(values.len(), place))?,
        )?;
    }
    if let Wanted::Count = wanted {
        return Ok(Answer { touched: statement.raw_execute()? as u64, rows: Vec::new() });
    }
    let (mut found, mut rows) = (statement.raw_query(), Vec::new());
    while let Some(row) = found.next()? {
        rows.push(R::read(&Row::Sqlite(row), Column::Place(0))?);
        if let Wanted::First = wanted {
            break;
        }
    }
    Ok(Answer { touched: 0, rows })
}

impl ToSql for Value {
    fn to_sql(&self) -> rusqlite::Result<rusqlite::types::ToSqlOutput<'_>> {
        match self {
            Self::Text(text) => text.to_sql(),
            Self::Number(number) => number.to_sql(),
            Self::Flag(flag) => flag.to_sql(),
        }
    }
}
