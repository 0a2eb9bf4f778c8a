//! A database looked at as it stands: nothing is made, nothing is brought up to date.

use std::path::PathBuf;
use std::str::FromStr;

use sqlx::migrate::Migrator;
use sqlx::postgres::{PgConnectOptions, PgConnection};
use sqlx::sqlite::{SqliteConnectOptions, SqliteConnection};
use sqlx::{ConnectOptions, Executor};

use super::StoreError;
use super::connect::PostgresPrimary;
use super::connections::Connect;

pub(super) static MIGRATIONS: Migrator = sqlx::migrate!("./migrations");

/// What stands at `url`, without making or changing anything.
pub async fn look_at(url: &str) -> Result<Found, StoreError> {
    let sqlite = SqliteConnectOptions::from_str(url).ok().filter(|_| url.starts_with("sqlite:"));
    if let Some(options) = sqlite {
        let file = options.get_filename().to_owned();
        if !file.exists() {
            return Ok(Found { place: file.display().to_string(), file: Some(file), tables: Tables::None });
        }
        let place = file.display().to_string();
        let failed = |error| StoreError::Open { place: place.clone(), error };
        let mut connection = options.create_if_missing(false).connect().await.map_err(failed)?;
        // Takes the place of the one writer for a moment.
        connection.execute("BEGIN IMMEDIATE").await.map_err(failed)?;
        let applied = applied_in_sqlite(&mut connection).await;
        connection.execute("ROLLBACK").await.map_err(failed)?;
        return Ok(Found { place, file: Some(file), tables: tables_of(applied) });
    }
    if !url.starts_with("postgres:") && !url.starts_with("postgresql:") {
        return Err(StoreError::Unsupported);
    }
    let options = PgConnectOptions::from_str(url).map_err(|_| StoreError::Unsupported)?;
    let database = options.get_database().unwrap_or(options.get_username());
    let place = format!("{database} at {}:{}", options.get_host(), options.get_port());
    let mut connection = PostgresPrimary(options).connect().await?;
    let applied = applied_in_postgres(&mut connection).await;
    Ok(Found { place, file: None, tables: tables_of(applied) })
}

/// A database as it stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Found {
    /// A file, or a name and a server; without user and password.
    pub place: String,
    pub file: Option<PathBuf>,
    pub tables: Tables,
}

/// How far its tables have come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tables {
    None,
    /// So many migrations are missing.
    Old(usize),
    Current,
    /// Made by another build.
    Other,
}

pub(super) fn tables_of(applied: Option<Vec<(i64, Vec<u8>)>>) -> Tables {
    let ours: Vec<_> = MIGRATIONS.iter().map(|one| (one.version, one.checksum.to_vec())).collect();
    match applied {
        None => Tables::None,
        Some(applied) if applied == ours => Tables::Current,
        Some(applied) if applied.iter().all(|one| ours.contains(one)) => {
            Tables::Old(ours.len() - applied.len())
        }
        Some(_) => Tables::Other,
    }
}

const APPLIED: &str = "SELECT version, checksum FROM _sqlx_migrations WHERE success ORDER BY version";

/// The migrations that were applied; `None` where there are no tables.
async fn applied_in_sqlite(connection: &mut SqliteConnection) -> Option<Vec<(i64, Vec<u8>)>> {
    sqlx::query_as(APPLIED).fetch_all(connection).await.ok()
}

pub(super) async fn applied_in_postgres(connection: &mut PgConnection) -> Option<Vec<(i64, Vec<u8>)>> {
    sqlx::query_as(APPLIED).fetch_all(connection).await.ok()
}
