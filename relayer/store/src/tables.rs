//! The migration state of a database's tables.

use std::sync::LazyLock;

use sqlx::SqlStr;
use sqlx::migrate::{Migration, MigrationType, Migrator};

/// Version, subject and text of each file in `migrations/`, listed by `build.rs`.
const FILES: &[(i64, &str, &str)] = &include!(concat!(env!("OUT_DIR"), "/migrations.rs"));

pub(super) static MIGRATIONS: LazyLock<Migrator> = LazyLock::new(|| {
    let read = |&(version, subject, text): &(i64, &'static str, &'static str)| {
        Migration::new(version, subject.into(), MigrationType::Simple, SqlStr::from_static(text), false)
    };
    Migrator::with_migrations(FILES.iter().map(read).collect())
});

/// The migration state of the tables.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tables {
    None,
    /// How many migrations are missing.
    Old(usize),
    Current,
    /// Another build made them.
    Other,
}

/// Version and checksum of each applied migration.
pub(super) type Applied = Vec<(i64, Vec<u8>)>;

pub(super) const APPLIED: &str =
    "SELECT version, checksum FROM _sqlx_migrations WHERE success ORDER BY version";

/// The first migration that another build applied.
pub(super) fn of_other_build(applied: &Applied) -> Option<i64> {
    let ours = MIGRATIONS.iter().map(|one| Some((one.version, &*one.checksum)));
    let known = applied.iter().map(|(version, checksum)| Some((*version, checksum.as_slice())));
    let other = known.zip(ours.chain(std::iter::repeat(None))).find(|(known, ours)| known != ours);
    other.and_then(|(known, _)| known).map(|(version, _)| version)
}

pub(super) fn tables_of(applied: Option<Applied>) -> Tables {
    let Some(applied) = applied else { return Tables::None };
    match MIGRATIONS.iter().count().saturating_sub(applied.len()) {
        _ if of_other_build(&applied).is_some() => Tables::Other,
        0 => Tables::Current,
        missing => Tables::Old(missing),
    }
}
