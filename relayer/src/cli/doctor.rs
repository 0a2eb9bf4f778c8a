//! `purser doctor`: checks everything that `purser serve` depends on, without changing it. Each line says what was found, or how
//! to fix it. None shows a secret: of the addresses of nodes and databases it prints only a database's name and server.

mod networks;

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use anyhow::Result;
use secrecy::ExposeSecret;
use serde::Serialize;
use tokio::time::timeout;

use super::output::{Format, print_line};
use crate::app::{denial_parts, webhook_parts};
use crate::chain::KeySource;
use crate::config::Config;
use crate::secret_file;
use crate::store::{Store, StoreError, Tables, look_at};
use crate::traces;

/// How long a database may take to answer.
const PATIENCE: Duration = Duration::from_secs(10);

/// What was checked, and its state.
#[derive(Debug, Serialize)]
struct Finding {
    check: String,
    ok: bool,
    found: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    mend: Option<String>,
}

/// All findings; in text mode, each is printed as it is made.
struct Findings {
    format: Format,
    all: Vec<Finding>,
}

impl Findings {
    fn ok(&mut self, check: impl Into<String>, found: impl ToString) -> Result<()> {
        self.add(Finding { check: check.into(), ok: true, found: found.to_string(), mend: None })
    }

    fn not_ok(
        &mut self,
        check: impl Into<String>,
        found: impl ToString,
        mend: impl Into<String>,
    ) -> Result<()> {
        let mend = Some(mend.into());
        self.add(Finding { check: check.into(), ok: false, found: found.to_string(), mend })
    }

    fn add(&mut self, finding: Finding) -> Result<()> {
        if let Format::Text = self.format {
            let Finding { check, ok, found, mend } = &finding;
            let word = if *ok { "ok    " } else { "not ok" };
            print_line(&format!("{word}  {check}: {found}"))?;
            if let Some(mend) = mend {
                print_line(&format!("        mend: {mend}"))?;
            }
        }
        self.all.push(finding);
        Ok(())
    }

    fn are_ok(&self) -> bool {
        self.all.iter().all(|finding| finding.ok)
    }
}

/// Checks everything, and returns whether all of it is well as the exit status.
pub(super) async fn run(format: Format, file: Option<&Path>) -> Result<ExitCode> {
    let mut findings = Findings { format, all: Vec::new() };
    match Config::read(file) {
        Ok(config) => {
            let file = Config::file_of(file);
            let place =
                file.as_ref().map_or_else(|| "the environment".into(), |file| file.display().to_string());
            findings.ok("configuration", place)?;
            look_at_files(&config, file.as_deref(), &mut findings)?;
            look_at_traces(&mut findings)?;
            let operators = look_at_database(&config, &mut findings).await?;
            for (network, section) in config.networks.iter() {
                let of_network = operators.iter().filter(|operator| operator.network == network);
                networks::look_at(network, section, &of_network.collect::<Vec<_>>(), &mut findings).await?;
            }
        }
        Err(error) => findings.not_ok(
            "configuration",
            error,
            "docs/operating.md has all settings; `purser init` writes a new configuration",
        )?,
    }
    let ok = findings.are_ok();
    match format {
        Format::Json => print_line(&serde_json::json!({ "ok": ok, "checks": findings.all }).to_string())?,
        Format::Text if ok => print_line("Everything is well.")?,
        Format::Text => {
            let wrong = findings.all.iter().filter(|finding| !finding.ok).count();
            print_line(&format!("{wrong} of {} are not well.", findings.all.len()))?;
        }
    }
    Ok(if ok { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// Whether `serve` would refuse to start because of the environment's trace settings.
fn look_at_traces(findings: &mut Findings) -> Result<()> {
    match traces::asked() {
        Ok(Some(by)) => findings.ok("traces", format!("sent to the collector that {by} names")),
        Ok(None) => findings.ok("traces", "not sent: the environment names no collector"),
        Err(error) => {
            findings.not_ok("traces", error, "docs/operating.md has what traces need, under Traces")
        }
    }
}

/// Who may read the files that hold secrets.
fn look_at_files(config: &Config, file: Option<&Path>, findings: &mut Findings) -> Result<()> {
    let keys = config.networks.iter().flat_map(|(_, network)| {
        network.policy_authority_keypair.iter().chain(&network.transfer_authority_keypair)
    });
    let keys = keys.filter_map(KeySource::file);
    let others = config.webhooks.secret_key_file.iter().chain(&config.denials.keypair);
    let mut files: Vec<PathBuf> = keys.chain(others).cloned().collect();
    files.extend(file.filter(|file| holds_secrets(config, file)).map(Path::to_owned));
    files.dedup();
    for file in files {
        let check = format!("file {}", file.display());
        match secret_file::check(&file) {
            Ok(()) => findings.ok(check, "its owner alone can read it")?,
            Err(problem) => findings.not_ok(check, problem, format!("chmod 600 {}", file.display()))?,
        }
    }
    match denial_parts(&config.denials) {
        Ok(Some(parts)) => findings.ok("denials", format!("refusals are signed by {}", parts.address()))?,
        Ok(None) => findings.ok("denials", "refusals are not signed: denials.keypair is not set")?,
        Err(error) => {
            findings.not_ok("denials", error, "put the key back, or make one: purser keygen FILE")?
        }
    }
    match webhook_parts(&config.webhooks) {
        Ok(parts) if parts.sealing_key.is_some() => findings.ok("webhooks", "they have a key"),
        Ok(_) => findings.ok("webhooks", "off: neither webhooks.secret_key_file nor webhooks.secret_key is set"),
        Err(error) => findings.not_ok(
            "webhooks",
            error,
            "write 32 bytes there: openssl rand -base64 32. Where webhooks exist, put back the key that sealed their secrets",
        ),
    }
}

/// Whether the file itself holds a password, a provider's key or the sealing key.
fn holds_secrets(config: &Config, file: &Path) -> bool {
    let Ok(text) = std::fs::read_to_string(file) else { return false };
    let is_secret = |url: &str| match url::Url::parse(url) {
        Ok(url) => url.password().is_some() || url.query().is_some() || url.path().len() > 1,
        Err(_) => true,
    };
    let database = config.database.url.expose_secret();
    let has_password = url::Url::parse(database).is_ok_and(|url| url.password().is_some());
    let nodes = config.networks.iter().flat_map(|(_, network)| {
        let all = std::iter::once(&network.rpc_url).chain(&network.rpc_urls).chain(&network.ws_url);
        all.chain(&network.ws_urls).chain(&network.rpc_proxy).map(ExposeSecret::expose_secret)
    });
    let nodes = nodes.filter(|url| !url.is_empty() && is_secret(url));
    let key = config.webhooks.secret_key.as_ref().map(ExposeSecret::expose_secret);
    let database = Some(database).filter(|_| has_password);
    nodes.chain(key).chain(database).any(|secret| text.contains(secret))
}

/// Checks the tables, and whether the database takes writes. Returns its operators, if they can be read.
async fn look_at_database(config: &Config, findings: &mut Findings) -> Result<Vec<crate::domain::Operator>> {
    let url = config.database.url.expose_secret();
    let overdue = |_| Err(StoreError::unavailable("no answer within 10 s"));
    let found = match timeout(PATIENCE, look_at(url)).await.unwrap_or_else(overdue) {
        Ok(found) => found,
        Err(error) => {
            let mend = "see that the server runs, takes writes and lets this user in, and that `database.url` is right";
            findings.not_ok("database", error, mend)?;
            return Ok(Vec::new());
        }
    };
    if let Some(file) = found.file.as_ref().filter(|file| file.exists()) {
        let check = format!("file {}", file.display());
        match secret_file::check(file) {
            Ok(()) => findings.ok(check, "its owner alone can read it")?,
            Err(problem) => findings.not_ok(check, problem, format!("chmod 600 {}", file.display()))?,
        }
    }
    let place = found.place;
    match found.tables {
        Tables::Current => {
            findings.ok("database", format!("{place}: takes writes, its tables are up to date"))?
        }
        Tables::None => findings.not_ok("database", format!("{place}: has no tables"), "purser migrate")?,
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
    let store = Store::open(url).await?;
    let listed = store.list_operators().await;
    store.close().await;
    match listed {
        Ok(operators) if operators.is_empty() => {
            findings.not_ok(
                "operators",
                "there is none",
                "purser operator create, or purser operator add",
            )?;
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
