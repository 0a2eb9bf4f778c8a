//! The database: does it take writes, are its tables current, and does it belong to the key that seals webhooks' secrets?

use std::env;
use std::fs;
use std::io::ErrorKind;
use std::path::Path;

use anyhow::Result;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use secrecy::ExposeSecret;
use tokio::time::timeout;
use url::Url;

use super::files::problem_with;
use super::{Findings, PATIENCE};
use purser_model::{Account, Operator, SealingKey, TransferFilter, TransferStatus};
use purser_relayer::config::Config;
use purser_store::{
    Store, StoreError, SystemClock, Tables, is_pooled_by_transaction, look_at as look_at_tables,
};

/// How many webhooks' secrets are opened.
const SECRETS_MAX: u32 = 1_000;

/// How many unfinished payments of an operator are counted.
const UNFINISHED_MAX: u32 = 1_000;
/// How many accounts of an operator are looked at.
const ACCOUNTS_MAX: u32 = 1_000;
/// Less than this is used up before anybody looks again.
const DISK_BYTES_LOW: u64 = 64 << 20;
/// Files that the address or the environment may name, and what their PEM text is labelled.
const TLS_FILES: [(&str, &str, &str); 3] = [
    ("sslrootcert", "PGSSLROOTCERT", "CERTIFICATE"),
    ("sslcert", "PGSSLCERT", "CERTIFICATE"),
    ("sslkey", "PGSSLKEY", "PRIVATE KEY"),
];
const TLS_MODES: [&str; 6] = ["disable", "allow", "prefer", "require", "verify-ca", "verify-full"];

/// Returns its operators and their accounts, if they can be read.
pub(super) async fn look_at(
    config: &Config,
    sealing: Option<&SealingKey>,
    findings: &mut Findings,
) -> Result<(Vec<Operator>, Vec<Account>)> {
    let url = config.database.url.expose_secret();
    if !look_at_certificates(url, findings)? {
        return Ok(Default::default());
    }
    let overdue = |_| Err(StoreError::unavailable("no answer within 10 s"));
    let found = match timeout(PATIENCE, look_at_tables(url)).await.unwrap_or_else(overdue) {
        Ok(found) => found,
        Err(error) => {
            findings.not_ok("database", &error, mend_of(&error))?;
            return Ok(Default::default());
        }
    };
    if let Some(file) = found.file.as_ref().filter(|file| file.exists()) {
        let check = format!("file {}", file.display());
        match problem_with(file, "") {
            None => findings.ok(check, "its owner alone can read it")?,
            Some((problem, mend)) => findings.not_ok(check, problem, mend)?,
        }
    }
    let (place, mut has_tables) = (found.place, false);
    match found.tables {
        Tables::Current => match found.bytes_free.filter(|free| *free < DISK_BYTES_LOW) {
            Some(free) => findings.not_ok(
                "database",
                format!("{place}: its disk has {} kB left, and writes fail once it is full", free / 1_000),
                "free space on that disk, or move the database to another; docs/run/operating.md says what grows, under \"What is deleted, and when\"",
            )?,
            None => has_tables = true,
        },
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
        return Ok(Default::default());
    }
    if let Ok(Ok(true)) = timeout(PATIENCE, is_pooled_by_transaction(url)).await {
        findings.not_ok(
            "database: pooler",
            "gives each transaction another connection of the server",
            "set `pool_mode = session` in the pooler, or connect to the server itself: docs/run/set-up.md",
        )?;
        return Ok(Default::default());
    }
    let store = match Store::open(url).await {
        Ok(store) => store,
        Err(error) => {
            findings.not_ok("database", format!("{place}: {error}"), mend_of(&error))?;
            return Ok(Default::default());
        }
    };
    if has_tables {
        look_for_room(&store, &place, findings).await?;
    }
    let operators = look_into(&store, sealing, findings).await;
    let mut accounts = Vec::new();
    for operator in operators.iter().flatten() {
        let listed = store.accounts.list_accounts(operator.id, None, None, ACCOUNTS_MAX).await;
        accounts.extend(listed.unwrap_or_default());
    }
    store.close().await;
    Ok((operators?, accounts))
}

/// Checks that the database takes writes which need room on its disk.
async fn look_for_room(store: &Store, place: &str, findings: &mut Findings) -> Result<()> {
    let probed = timeout(PATIENCE, store.upkeep.probe_room(SystemClock::of(store).now())).await;
    match probed.unwrap_or_else(|_| Err(StoreError::unavailable("no answer within 10 s"))) {
        Ok(()) => findings.ok("database", format!("{place}: takes writes, its tables are up to date")),
        Err(error @ StoreError::DiskFull(_)) => findings.not_ok(
            "database",
            format!("{place}: {error}"),
            "free space on that disk, or move the database to another; docs/run/operating.md says what grows, under \"What is deleted, and when\"",
        ),
        Err(error) => findings.not_ok("database", format!("{place}: {error}"), mend_of(&error)),
    }
}

/// Checks what the address says of TLS before anybody connects: a server's answer names none of it. Returns whether all of it can be used.
fn look_at_certificates(url: &str, findings: &mut Findings) -> Result<bool> {
    let Some(url) = Url::parse(url).ok().filter(|url| url.scheme().starts_with("postgres")) else {
        return Ok(true);
    };
    let mut is_well = true;
    for (setting, variable, label) in TLS_FILES {
        let given = url.query_pairs().find(|(name, _)| name == setting).map(|(_, value)| value.into_owned());
        let Some(file) = given.or_else(|| env::var(variable).ok()) else { continue };
        let check = format!("database: {setting}");
        match problem_with_pem(Path::new(&file), label) {
            None => findings.ok(check, file)?,
            Some(problem) => {
                is_well = false;
                let mend =
                    format!("name a PEM file of the server's or provider's in `{setting}` of `database.url`");
                findings.not_ok(check, format!("{file}: {problem}"), mend)?;
            }
        }
    }
    let given = url.query_pairs().find(|(name, _)| name == "sslmode" || name == "ssl-mode");
    let mode = given.map(|(_, value)| value.into_owned()).or_else(|| env::var("PGSSLMODE").ok());
    if let Some(mode) = mode.filter(|mode| !TLS_MODES.contains(&mode.as_str())) {
        is_well = false;
        let mend =
            format!("one of {}: verify-full checks the server's certificate and name", TLS_MODES.join(", "));
        findings.not_ok("database: sslmode", format!("`{mode}` is no such mode"), mend)?;
    }
    Ok(is_well)
}

/// Why a PEM file cannot be used, if it cannot.
fn problem_with_pem(file: &Path, label: &str) -> Option<String> {
    let text = match fs::read_to_string(file) {
        Ok(text) => text,
        Err(error) if error.kind() == ErrorKind::InvalidData => return Some("holds no PEM text".into()),
        Err(error) => return Some(error.to_string()),
    };
    // The first block: a label, base64, and the same label. DER begins with a sequence.
    let block = text.split_once("-----BEGIN ").and_then(|(_, block)| block.split_once("-----"));
    let body =
        block.filter(|(found, _)| found.ends_with(label)).and_then(|(_, body)| body.split_once("-----END"));
    let packed: String = body.map_or("", |(body, _)| body).split_whitespace().collect();
    let is_der = STANDARD.decode(packed).is_ok_and(|der| der.first() == Some(&0x30));
    (!is_der).then(|| format!("holds no {}", label.to_lowercase()))
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
    "check that the server runs, takes writes, has room on its disk and lets this user in, and that `database.url` is right, \
     `sslmode` in it too"
}

async fn look_into(
    store: &Store,
    sealing: Option<&SealingKey>,
    findings: &mut Findings,
) -> Result<Vec<Operator>> {
    match store.webhooks.list_webhook_secrets(SECRETS_MAX).await {
        Ok(secrets) => {
            let opens = |key: &SealingKey| {
                let closed = secrets.iter().filter(|(id, sealed)| key.open(*id, sealed).is_none());
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
            look_at_unfinished(store, &operators, findings).await?;
            Ok(operators)
        }
        Err(error) => {
            findings.not_ok("operators", error, "see the database")?;
            Ok(Vec::new())
        }
    }
}

/// Says what a copy that was put back may still pay.
async fn look_at_unfinished(store: &Store, operators: &[Operator], findings: &mut Findings) -> Result<()> {
    const CHECK: &str = "unfinished payments";
    let filter = TransferFilter { status: Some(TransferStatus::Submitted), ..TransferFilter::default() };
    let mut count = 0;
    for operator in operators {
        match store.transfers.list_transfers(operator.id, &filter, None, UNFINISHED_MAX).await {
            Ok(transfers) => count += transfers.len(),
            Err(error) => return findings.not_ok(CHECK, error, "see the database"),
        }
    }
    match count {
        0 => findings.ok(CHECK, "none"),
        _ => findings.ok(
            CHECK,
            format!(
                "{count}. If this database is a copy that was put back, they may still be paid until an hour after they were \
                 asked for, whatever was answered since"
            ),
        ),
    }
}
