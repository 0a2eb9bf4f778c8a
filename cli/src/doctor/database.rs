//! The database: does it take writes, are its tables current, and does it belong to the key that seals webhooks' secrets?

use std::path::Path;

use anyhow::Result;
use secrecy::ExposeSecret;
use tokio::time::timeout;

use super::files::problem_with;
use super::{Findings, PATIENCE};
use purser_model::{Operator, SealingKey};
use purser_relayer::config::Config;
use purser_store::{Store, StoreError, Tables, is_pooled_by_transaction, look_at as look_at_tables};

/// How many webhooks' secrets are opened.
const SECRETS_MAX: u32 = 1_000;

/// Returns its operators, if they can be read.
pub(super) async fn look_at(
    config: &Config,
    sealing: Option<&SealingKey>,
    findings: &mut Findings,
) -> Result<Vec<Operator>> {
    let url = config.database.url.expose_secret();
    let overdue = |_| Err(StoreError::unavailable("no answer within 10 s"));
    let found = match timeout(PATIENCE, look_at_tables(url)).await.unwrap_or_else(overdue) {
        Ok(found) => found,
        Err(error) => {
            findings.not_ok("database", &error, mend_of(&error))?;
            return Ok(Vec::new());
        }
    };
    if let Some(file) = found.file.as_ref().filter(|file| file.exists()) {
        let check = format!("file {}", file.display());
        match problem_with(file, "") {
            None => findings.ok(check, "its owner alone can read it")?,
            Some((problem, mend)) => findings.not_ok(check, problem, mend)?,
        }
    }
    let place = found.place;
    match found.tables {
        Tables::Current => {
            findings.ok("database", format!("{place}: takes writes, its tables are up to date"))?
        }
        Tables::None => {
            // It makes the file, and no folder.
            let folder = found.file.as_deref().and_then(Path::parent).filter(|folder| !folder.exists());
            let folder = folder.filter(|folder| !folder.as_os_str().is_empty());
            let first = folder.map(|folder| format!("mkdir -p {} && ", folder.display()));
            let mend = format!("{}purser migrate", first.unwrap_or_default());
            findings.not_ok("database", format!("{place}: has no tables"), mend)?
        }
        Tables::Old(missing) => findings.not_ok(
            "database",
            format!("{place}: {missing} migrations are missing"),
            "stop the old relayers, then: purser migrate",
        )?,
        Tables::Other => findings.not_ok(
            "database",
            format!("{place}: its tables were made by another build"),
            "run the purser that made them, or name an empty database in `database.url`",
        )?,
    }
    if found.tables != Tables::Current {
        return Ok(Vec::new());
    }
    if let Ok(Ok(true)) = timeout(PATIENCE, is_pooled_by_transaction(url)).await {
        findings.not_ok(
            "database: pooler",
            "gives each transaction another connection of the server",
            "set `pool_mode = session` in the pooler, or connect to the server itself: docs/run/set-up.md",
        )?;
        return Ok(Vec::new());
    }
    let store = Store::open(url).await?;
    let operators = look_into(&store, sealing, findings).await;
    store.close().await;
    operators
}

/// What mends a database that cannot be opened.
fn mend_of(error: &StoreError) -> &'static str {
    if let StoreError::Unsupported = error {
        return "write `database.url` as sqlite:///folder/purser.db or postgres://user:password@host/database";
    }
    if let StoreError::Open { .. } = error {
        return "check that the user that purser runs as may write the file and its folder, that the disk has room, and that the file \
                is a database; docs/run/operating.md has how to restore a copy, under Backup";
    }
    "check that the server runs, takes writes and lets this user in, and that `database.url` is right"
}

async fn look_into(
    store: &Store,
    sealing: Option<&SealingKey>,
    findings: &mut Findings,
) -> Result<Vec<Operator>> {
    match store.webhooks.list_webhook_secrets(SECRETS_MAX).await {
        Ok(secrets) => {
            let opens = |key: &SealingKey| {
                let closed = secrets.iter().filter(|(id, sealed)| key.open(*id, sealed).is_err());
                closed.count()
            };
            let (closed, all) = (sealing.map_or(secrets.len(), opens), secrets.len());
            let check = "secrets of webhooks";
            match sealing {
                _ if closed == 0 => findings.ok(check, format!("{all}, sealed with the key"))?,
                Some(_) => findings.not_ok(
                    check,
                    format!("{closed} of {all} were sealed with another key than the configured one: nothing is sent to them"),
                    "put back the key that sealed them, or give each a new secret: POST /v1/webhooks/ID/rotate_secret",
                )?,
                None => findings.not_ok(
                    check,
                    format!("{all} are sealed, and no key is configured: nothing is sent to them"),
                    "name the key that sealed them in `webhooks.secret_key_file`",
                )?,
            }
        }
        Err(error) => findings.not_ok("secrets of webhooks", error, "see the database")?,
    }
    match store.operators.list_operators().await {
        Ok(operators) if operators.is_empty() => {
            let mend = "purser operator create, or purser operator add";
            findings.not_ok("operators", "there is none", mend)?;
            Ok(operators)
        }
        Ok(operators) => {
            findings.ok("operators", operators.len())?;
            Ok(operators)
        }
        Err(error) => {
            findings.not_ok("operators", error, "see the database")?;
            Ok(Vec::new())
        }
    }
}
