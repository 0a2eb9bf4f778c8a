use std::io::IsTerminal;
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Context, Result, bail};
use clap::Args;
use purser_audit::gather::Subject;
use purser_audit::report::{Report, html, text};
use purser_audit::{DenialsReport, DenialsRequest, Request, Source, audit_denials, denials_text};
use reqwest::Url;
use secrecy::{ExposeSecret, SecretString};
use solana_sdk::pubkey::Pubkey;

use super::output::{Format, print_line};

/// Something does not hold.
const DOES_NOT_HOLD: u8 = 1;
/// The audit, or a part of it, could not be done.
const NOT_DONE: u8 = 2;

#[derive(Debug, Args)]
pub(super) struct Audit {
    /// An RPC node that keeps all of the past; given more than once, nodes are held against each other
    #[arg(long, required_unless_present_any = ["from", "denials"], conflicts_with = "from")]
    url: Vec<Url>,
    /// An operator, with all its accounts
    #[arg(long, value_name = "ADDRESS", required_unless_present_any = ["account", "from", "denials"], conflicts_with = "account")]
    operator: Option<Pubkey>,
    /// One agent account
    #[arg(long, value_name = "ADDRESS")]
    account: Option<Pubkey>,
    /// The program, where it is not at its own address; a directory with `--from` knows it
    #[arg(long, value_name = "ADDRESS", default_value_t = purser::ID, conflicts_with = "from")]
    program_id: Pubkey,
    /// Keep what is read here; with the same directory, an interrupted audit goes on where it stopped
    #[arg(long, value_name = "DIR", conflicts_with = "from")]
    save: Option<PathBuf>,
    /// Read what an earlier audit saved, and no node
    #[arg(long, value_name = "DIR", conflicts_with_all = ["operator", "account"])]
    from: Option<PathBuf>,
    /// Write the report to this file too, as one HTML page
    #[arg(long, value_name = "FILE")]
    html: Option<PathBuf>,
    /// Compare the history of a relayer at this address
    #[arg(long, value_name = "URL", requires = "key")]
    api: Option<Url>,
    /// An API key of that relayer, of the operator or of the agent
    #[arg(long, env = "PURSER_AUDIT_KEY", hide_env_values = true, value_name = "KEY")]
    key: Option<SecretString>,
    /// Where to look at a transaction, with `{signature}` in it
    #[arg(long, value_name = "URL")]
    explorer: Option<String>,
    /// Check a file of signed refusals instead (`GET /v1/denials` as application/x-ndjson); with --url, against their heads on
    /// Solana and the operator's past too
    #[arg(long, value_name = "FILE", conflicts_with_all = ["account", "from", "html", "api", "explorer"])]
    denials: Option<PathBuf>,
    /// The key that signs refusals, as whoever runs the relayer told it; for each that did
    #[arg(long, value_name = "ADDRESS", requires = "denials", conflicts_with_all = ["account", "from", "html", "api"])]
    denials_key: Vec<Pubkey>,
}

/// Audits, prints the report, and returns whether everything holds as the exit status.
pub(super) async fn run(format: Format, arguments: Audit) -> ExitCode {
    let audited = match arguments.denials {
        Some(_) => denials(format, arguments).await.map(|report| (report.holds, report.complete)),
        None => audit(format, arguments).await.map(|report| (report.holds, report.complete)),
    };
    match audited {
        Ok((false, _)) => ExitCode::from(DOES_NOT_HOLD),
        Ok((true, false)) => ExitCode::from(NOT_DONE),
        Ok((true, true)) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::from(NOT_DONE)
        }
    }
}

async fn denials(format: Format, arguments: Audit) -> Result<DenialsReport> {
    let Audit { url, operator, program_id, save, denials, denials_key, .. } = arguments;
    let file = denials.context("name a file with --denials")?;
    let request = DenialsRequest { file, keys: denials_key, operator, nodes: url, save, program: program_id };
    let report = audit_denials(request, &progress).await;
    ends_progress();
    let report = report?;
    match format {
        Format::Json => print_line(&serde_json::to_string(&report)?)?,
        Format::Text => print_line(denials_text(&report).trim_end())?,
    }
    Ok(report)
}

async fn audit(format: Format, arguments: Audit) -> Result<Report> {
    let Audit { url, operator, account, program_id, save, from, html: page, api, key, explorer, .. } =
        arguments;
    let subject = operator.map(Subject::Operator).or(account.map(Subject::Account));
    let source = match (from, subject) {
        (Some(folder), None) => Source::Saved(folder),
        (None, Some(subject)) => Source::Node { urls: url, program: program_id, subject, save },
        _ => bail!("name --url with --operator or --account, or --from"),
    };
    let api = match (api, key) {
        (Some(api), Some(key)) => Some((api, key.expose_secret().to_owned())),
        _ => None,
    };
    if explorer.as_ref().is_some_and(|template| !template.contains("{signature}")) {
        bail!("--explorer needs {{signature}} where the signature goes");
    }
    let report = purser_audit::audit(Request { source, api, explorer }, &progress).await;
    ends_progress();
    let report = report?;
    if let Some(page) = page {
        std::fs::write(&page, html(&report)).with_context(|| format!("cannot write {}", page.display()))?;
    }
    match format {
        Format::Json => print_line(&serde_json::to_string(&report)?)?,
        Format::Text => print_line(text(&report).trim_end())?,
    }
    Ok(report)
}

fn ends_progress() {
    if std::io::stderr().is_terminal() {
        eprint!("\r\x1b[K");
    }
}

/// On a terminal, progress redraws one line; elsewhere each update is a line.
fn progress(what: String) {
    if std::io::stderr().is_terminal() {
        eprint!("\r\x1b[K{what}");
    } else {
        eprintln!("{what}");
    }
}
