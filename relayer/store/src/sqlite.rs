//! SQLite: opens a file, and runs statements on the calling thread.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use rusqlite::{Connection, OpenFlags, ToSql, TransactionBehavior};

use super::connections::Connect;
use super::row::{Record, Row};
use super::statement::{Answer, Value, Wanted};
use super::tables::{APPLIED, Applied, MIGRATIONS, of_other_build};
use super::{Result, StoreError};

/// Records applied migrations in the format of the Postgres driver.
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
/// How long to wait for a lock that another process holds.
const BUSY_TIMEOUT: Duration = Duration::from_secs(5);
/// Compiled statements cached per connection.
const STATEMENTS_MAX: usize = 128;
/// Settings of every connection.
const ALWAYS: &str = "PRAGMA foreign_keys = ON;";
/// Settings of the writer. An answered commit survives a power cut: each commit syncs the write-ahead log. A
/// statement's rollback data stays in memory. A negative cache size counts KiB instead of pages. The log may grow to
/// 2,000 pages (8 MB) before its pages are copied into the database, so that a page written often is copied less often.
const WRITING: &str = "PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA temp_store = MEMORY;
    PRAGMA cache_size = -8192; PRAGMA wal_autocheckpoint = 2000;";

/// The file named by `sqlite:///path/purser.db`. `None`: no file is named, or an option does not fit a file, like `?mode=memory`.
pub(super) fn file_of(url: &str) -> Option<&Path> {
    let named = url.strip_prefix("sqlite:")?;
    let file = named.strip_prefix("//").unwrap_or(named);
    (!file.is_empty() && !file.contains([':', '?', '%'])).then(|| Path::new(file))
}

/// The applied migrations. `None` without tables.
fn applied(connection: &Connection) -> Option<Applied> {
    Some(run(connection, APPLIED, &[], Wanted::All).ok()?.rows)
}

/// Runs the missing migrations and records them: all or nothing.
pub(super) fn bring_up_to_date(connection: &mut Connection) -> Result<()> {
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

/// Opens a connection for writing. Creates the file if it is missing.
pub(super) fn open_to_write(file: &Path) -> Result<Connection, rusqlite::Error> {
    let connection = open(file, OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_CREATE)?;
    connection.execute_batch(WRITING)?;
    Ok(connection)
}

/// The applied migrations of a file, read with the writer's access. Creates nothing.
pub(super) fn look_at(file: &Path) -> Result<Option<Applied>, rusqlite::Error> {
    let mut connection = open(file, OpenFlags::SQLITE_OPEN_READ_WRITE)?;
    let tx = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    Ok(applied(&tx))
}

fn open(file: &Path, flags: OpenFlags) -> Result<Connection, rusqlite::Error> {
    // One thread at a time uses each connection.
    let connection = Connection::open_with_flags(file, flags | OpenFlags::SQLITE_OPEN_NO_MUTEX)?;
    connection.busy_timeout(BUSY_TIMEOUT)?;
    connection.set_prepared_statement_cache_capacity(STATEMENTS_MAX);
    connection.execute_batch(ALWAYS)?;
    Ok(connection)
}

/// Opens a file for reading. A failed connection is reopened.
pub(super) struct SqliteReading(pub Arc<Path>);

impl Connect for SqliteReading {
    type Connection = Connection;
    const IS_REMOTE: bool = false;

    async fn connect(&self) -> Result<Connection> {
        let file = self.0.clone();
        on_a_thread(move || Ok(open(&file, OpenFlags::SQLITE_OPEN_READ_ONLY)?)).await
    }

    async fn is_alive(&self, _: &mut Connection) -> bool {
        true
    }

    async fn close(connection: Connection) -> Result<()> {
        on_a_thread(move || connection.close().map_err(|(_, error)| error.into())).await
    }
}

/// Runs a call where it may block on the disk.
pub(super) async fn on_a_thread<T: Send + 'static>(
    call: impl FnOnce() -> Result<T> + Send + 'static,
) -> Result<T> {
    tokio::task::spawn_blocking(call).await.map_err(StoreError::unavailable)?
}

/// Runs a statement.
pub(super) fn run<R: Record>(
    connection: &Connection,
    sql: &str,
    values: &[Value],
    wanted: Wanted,
) -> Result<Answer<R>> {
    let mut statement = connection.prepare_cached(sql)?;
    for place in 1..=statement.parameter_count() {
        // SQLite numbers placeholders as they appear, so `$2` may come before `$1`.
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
        rows.push(Row::Sqlite(row).record()?);
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
