//! Inspects a database as it is: creates and migrates nothing.

use std::path::{Path, PathBuf};
use std::str::FromStr;

use sqlx::postgres::{PgConnectOptions, PgConnection};

use super::postgres;
use super::tables::{APPLIED, Applied, Tables, tables_of};
use super::{StoreError, sqlite};

/// Inspects the database at `url` without creating or changing anything.
pub async fn look_at(url: &str) -> Result<Found, StoreError> {
    if let Some(file) = sqlite::file_of(url).map(Path::to_owned) {
        let place = file.display().to_string();
        if !file.exists() {
            return Ok(Found { place, file: Some(file), tables: Tables::None });
        }
        let looked_at = file.clone();
        let looked = sqlite::on_a_thread(move || Ok(sqlite::look_at(&looked_at)?)).await;
        let failed = |error| StoreError::Open { place: place.clone(), error: Box::new(error) };
        let tables = tables_of(looked.map_err(failed)?);
        return Ok(Found { place, file: Some(file), tables });
    }
    if !url.starts_with("postgres:") && !url.starts_with("postgresql:") {
        return Err(StoreError::Unsupported);
    }
    let options = PgConnectOptions::from_str(url).map_err(|_| StoreError::Unsupported)?;
    let database = options.get_database().unwrap_or(options.get_username());
    let place = format!("{database} at {}:{}", options.get_host(), options.get_port());
    let mut connection = postgres::connect(&options).await?;
    let applied = applied_in_postgres(&mut connection).await;
    Ok(Found { place, file: None, tables: tables_of(applied) })
}

/// A database as found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Found {
    /// A file, or a name and a server; without user and password.
    pub place: String,
    pub file: Option<PathBuf>,
    pub tables: Tables,
}

pub(super) async fn applied_in_postgres(connection: &mut PgConnection) -> Option<Applied> {
    sqlx::query_as(APPLIED).fetch_all(connection).await.ok()
}
