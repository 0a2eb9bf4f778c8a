//! Inspects a database as it is: creates and migrates nothing.

use std::path::{Path, PathBuf};

use sqlx::postgres::PgConnection;

use super::postgres;
use super::tables::{APPLIED, Applied, Tables, tables_of};
use super::{Result, StoreError, sqlite};

/// Inspects the database at `url` without creating or changing anything.
pub async fn look_at(url: &str) -> Result<Found> {
    if let Some(file) = sqlite::file_of(url).map(Path::to_owned) {
        let place = file.display().to_string();
        if !file.exists() {
            return Ok(Found { place, file: Some(file), tables: Tables::None, bytes_free: None });
        }
        let looked_at = file.clone();
        let looked = sqlite::on_a_thread(move || Ok(sqlite::look_at(&looked_at)?)).await;
        let failed = |error| StoreError::Open { place: place.clone(), error: Box::new(error) };
        let tables = tables_of(looked.map_err(failed)?);
        let disk = rustix::fs::statvfs(&file).ok();
        let bytes_free = disk.map(|disk| disk.f_bavail.saturating_mul(disk.f_frsize));
        return Ok(Found { place, file: Some(file), tables, bytes_free });
    }
    if !url.starts_with("postgres:") && !url.starts_with("postgresql:") {
        return Err(StoreError::Unsupported);
    }
    let login = postgres::Login::parse(url)?;
    let mut connection = postgres::connect(&login).await?;
    let applied = applied_in_postgres(&mut connection).await;
    Ok(Found { place: login.place(), file: None, tables: tables_of(applied), bytes_free: None })
}

/// Whether a pooler gives each transaction to another connection of the server: then one client's session is another's.
pub async fn is_pooled_by_transaction(url: &str) -> Result<bool> {
    const SETS: &str = "SELECT set_config('purser.probe', $1, FALSE)";
    const READS: &str = "SELECT COALESCE(current_setting('purser.probe', TRUE), '')";
    /// A statement was prepared by another client, or is not there.
    const OF_OTHERS: [&str; 2] = ["42P05", "26000"];
    if sqlite::file_of(url).is_some() {
        return Ok(false);
    }
    let login = postgres::Login::parse(url)?;
    let mark = format!("{:032x}", rand::random::<u128>());
    let probe = async {
        let mut setting = postgres::connect(&login).await?;
        let _: (String,) = sqlx::query_as(SETS).bind(&mark).fetch_one(&mut setting).await?;
        let mut reading = postgres::connect(&login).await?;
        let (read,): (String,) = sqlx::query_as(READS).fetch_one(&mut reading).await?;
        Ok(read == mark)
    };
    match probe.await {
        Err(StoreError::Postgres(error)) => {
            let code = error.as_database_error().and_then(|error| error.code()).unwrap_or_default();
            if OF_OTHERS.contains(&&*code) { Ok(true) } else { Err(error.into()) }
        }
        probed => probed,
    }
}

/// A database as found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Found {
    /// A file, or a name and a server; without user and password.
    pub place: String,
    pub file: Option<PathBuf>,
    pub tables: Tables,
    /// On the file's disk, for this user.
    pub bytes_free: Option<u64>,
}

pub(super) async fn applied_in_postgres(connection: &mut PgConnection) -> Option<Applied> {
    sqlx::query_as(APPLIED).fetch_all(connection).await.ok()
}
