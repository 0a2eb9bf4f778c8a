use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, Result, anyhow, bail};
use clap::Args;
use purser_audit::attest::attest;
use purser_audit::gather::Subject;
use purser_audit::ledger::{write_csv, write_xlsx};
use purser_audit::page::write_page;
use purser_audit::report::{CalendarDay, Period, Report, html, text};
use purser_audit::{
    DenialsReport, DenialsRequest, Request, Source, audit_denials, denials_text, exit_status,
};
use reqwest::Url;
use secrecy::{ExposeSecret, SecretString};
use serde_json::json;
use sha2::{Digest, Sha256};
use solana_sdk::pubkey::Pubkey;
use solana_sdk::signature::Keypair;

use super::follow::{Following, follow};
use super::operator::read_keypair;
use super::output::{Format, ends_progress, print_line, progress};

/// The audit, or a part of it, could not be done.
pub(super) const NOT_DONE: u8 = 2;

pub(super) const HELP: &str = "\
Exit status:
  0  everything that was checked holds
  1  something does not hold: the report names it
  2  the audit could not be done, or not completely

Examples:
  An operator, with a report to print, a workbook, and all that was read:
    purser audit --url \"$RPC_URL\" --operator \"$OPERATOR\" --save audit --html report.html --xlsx ledger.xlsx
  Two nodes of different providers, held against each other:
    purser audit --url \"$RPC_URL\" --url \"$SECOND_RPC_URL\" --operator \"$OPERATOR\"
  What somebody else saved, without a node, with the totals and the ledger of a month:
    purser audit --from audit --period-from 2026-11-01 --period-to 2026-11-30 --csv november.csv
  A verdict with the auditor's signature:
    purser audit --from audit --sign auditor.json --attestation audit.dsse.json
  A file of signed refusals:
    purser audit --denials denials.jsonl --denials-key \"$KEY\" --url \"$RPC_URL\"";

#[derive(Debug, Args)]
pub(super) struct Audit {
    /// An RPC node that keeps all of the past; given more than once, nodes are held against each other
    #[arg(long, required_unless_present_any = ["from", "denials", "page"], conflicts_with = "from", help_heading = "What to audit")]
    url: Vec<Url>,
    /// An operator, with all its accounts
    #[arg(long, value_name = "ADDRESS", required_unless_present_any = ["account", "from", "denials", "page"], conflicts_with = "account", help_heading = "What to audit")]
    operator: Option<Pubkey>,
    /// One agent account
    #[arg(long, value_name = "ADDRESS", help_heading = "What to audit")]
    account: Option<Pubkey>,
    /// The program, where it is not at its own address; a directory with `--from` knows it
    #[arg(long, value_name = "ADDRESS", default_value_t = purser::ID, conflicts_with = "from", help_heading = "What to audit")]
    program_id: Pubkey,
    /// Keep what is read here; with the same directory, an interrupted audit goes on where it stopped
    #[arg(long, value_name = "DIR", conflicts_with = "from", help_heading = "What to write")]
    save: Option<PathBuf>,
    /// Read what an earlier audit saved, and no node
    #[arg(long, value_name = "DIR", conflicts_with_all = ["operator", "account"], help_heading = "What to audit")]
    from: Option<PathBuf>,
    /// Write the report to this file too, as one HTML page
    #[arg(long, value_name = "FILE", help_heading = "What to write")]
    html: Option<PathBuf>,
    /// Write every movement of money to this file, as CSV; beside it sums by month and counterparty, and totals by account
    #[arg(long, value_name = "FILE", help_heading = "What to write")]
    csv: Option<PathBuf>,
    /// The same as a workbook for a spreadsheet
    #[arg(long, value_name = "FILE", help_heading = "What to write")]
    xlsx: Option<PathBuf>,
    /// Count totals and ledger from this day on (UTC); the checks cover the whole past all the same
    #[arg(long, value_name = "DATE", conflicts_with_all = ["denials", "page"], help_heading = "What to write")]
    period_from: Option<CalendarDay>,
    /// Count totals and ledger up to this day, which is included
    #[arg(long, value_name = "DATE", conflicts_with_all = ["denials", "page"], help_heading = "What to write")]
    period_to: Option<CalendarDay>,
    /// Sign the verdict with this keypair file, as an in-toto statement in a DSSE envelope; `purser attest verify` reads it
    #[arg(long, value_name = "KEYPAIR", requires = "attestation", help_heading = "A signed verdict")]
    sign: Option<PathBuf>,
    /// The file that the signed verdict is written to
    #[arg(long, value_name = "FILE", requires = "sign", help_heading = "A signed verdict")]
    attestation: Option<PathBuf>,
    /// Compare the history of a relayer at this address
    #[arg(long, value_name = "URL", requires = "key", help_heading = "A relayer")]
    api: Option<Url>,
    /// An API key of that relayer, of the operator or of the agent
    #[arg(
        long,
        env = "PURSER_AUDIT_KEY",
        hide_env_values = true,
        value_name = "KEY",
        help_heading = "A relayer"
    )]
    key: Option<SecretString>,
    /// Where to look at a transaction, with `{signature}` in it
    #[arg(long, value_name = "URL", help_heading = "What to write")]
    explorer: Option<String>,
    /// Check a file of signed refusals instead (`GET /v1/denials` as application/x-ndjson); with --url, against their heads on
    /// Solana and the operator's past too
    #[arg(long, value_name = "FILE", conflicts_with_all = ["account", "from", "html", "csv", "xlsx", "api", "explorer", "sign"], help_heading = "Signed refusals")]
    denials: Option<PathBuf>,
    /// The key that signs refusals, as whoever runs the relayer told it; for each that did
    #[arg(long, value_name = "ADDRESS", requires = "denials", conflicts_with_all = ["account", "from", "html", "api"], help_heading = "Signed refusals")]
    denials_key: Vec<Pubkey>,
    /// Audit nothing, and write index.html into this directory: a page that audits in a browser, without a server
    #[arg(long, value_name = "DIR", conflicts_with_all = ["url", "operator", "account", "from", "save", "denials", "html", "csv", "xlsx", "api", "sign"], help_heading = "A page")]
    page: Option<PathBuf>,
    #[command(flatten)]
    following: Following,
}

/// Audits, prints the report, and returns whether everything holds as the exit status.
pub(super) async fn run(format: Format, arguments: Audit) -> ExitCode {
    if let Some(folder) = &arguments.page {
        return page(format, folder).map_or_else(|error| fails(&error), |()| ExitCode::SUCCESS);
    }
    if arguments.following.follow {
        let Some(folder) = &arguments.save else {
            eprintln!("error: --follow needs --save");
            return ExitCode::from(NOT_DONE);
        };
        return match follow(format, &arguments.following, folder, &|| arguments.request()).await {
            Ok(()) => ExitCode::SUCCESS,
            Err(error) => fails(&error),
        };
    }
    let audited = match arguments.denials {
        Some(_) => denials(format, arguments).await.map(|report| (report.holds, report.complete)),
        None => audit(format, arguments).await.map(|report| (report.holds, report.complete)),
    };
    match audited {
        Ok((holds, complete)) => ExitCode::from(exit_status(holds, complete)),
        Err(error) => fails(&error),
    }
}

fn page(format: Format, folder: &Path) -> Result<()> {
    let page = write_page(folder)?.display().to_string();
    match format {
        Format::Json => print_line(&json!({ "page": page }).to_string()),
        Format::Text | Format::Env => print_line(&page),
    }
}

fn fails(error: &anyhow::Error) -> ExitCode {
    eprintln!("error: {error:#}");
    ExitCode::from(NOT_DONE)
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
        Format::Text | Format::Env => print_line(denials_text(&report).trim_end())?,
    }
    Ok(report)
}

async fn audit(format: Format, arguments: Audit) -> Result<Report> {
    // Before hours of reading.
    let sign = arguments.sign.as_ref().map(|file| signing_key(file)).transpose()?;
    let period = Period::of_days(arguments.period_from, arguments.period_to).map_err(|why| anyhow!(why))?;
    let report = purser_audit::audit(arguments.request()?, &progress).await;
    ends_progress();
    let mut report = report?;
    report.narrow_to(period);
    report.tool_sha256 = own_sha256();
    if let Some(page) = arguments.html {
        std::fs::write(&page, html(&report)).with_context(|| format!("cannot write {}", page.display()))?;
    }
    if let Some(file) = arguments.csv {
        write_csv(&file, &report)?;
    }
    if let Some(file) = arguments.xlsx {
        write_xlsx(&file, &report)?;
    }
    let json = serde_json::to_string(&report)?;
    if let (Some(key), Some(file)) = (sign, arguments.attestation) {
        let envelope = attest(&report, &json, &key)? + "\n";
        std::fs::write(&file, envelope).with_context(|| format!("cannot write {}", file.display()))?;
    }
    match format {
        Format::Json => print_line(&json)?,
        Format::Text | Format::Env => print_line(text(&report).trim_end())?,
    }
    Ok(report)
}

impl Audit {
    fn request(&self) -> Result<Request> {
        let Audit { url, operator, account, program_id, save, from, api, key, explorer, .. } = self;
        let subject = operator.map(Subject::Operator).or(account.map(Subject::Account));
        let source = match (from, subject) {
            (Some(folder), None) => Source::Saved(folder.clone()),
            (None, Some(subject)) => {
                Source::Node { urls: url.clone(), program: *program_id, subject, save: save.clone() }
            }
            _ => bail!("name --url with --operator or --account, or --from"),
        };
        let api = match (api, key) {
            (Some(api), Some(key)) => Some((api.clone(), key.expose_secret().to_owned())),
            _ => None,
        };
        Ok(Request { source, api, explorer: explorer.clone() })
    }
}

fn signing_key(file: &Path) -> Result<Keypair> {
    let bytes = read_keypair("keypair", file)?;
    let key = Keypair::try_from(bytes.as_slice());
    key.map_err(|_| anyhow!("keypair {}: is none", file.display()))
}

/// The hash of the program that runs, which a reader of the report can compare with a build. `None` if it cannot read itself.
fn own_sha256() -> Option<String> {
    // Also if the file was replaced since.
    let mut own = File::open("/proc/self/exe").or_else(|_| File::open(std::env::current_exe()?)).ok()?;
    let (mut hash, mut piece) = (Sha256::new(), vec![0; 1 << 16]);
    loop {
        match own.read(&mut piece).ok()? {
            0 => return Some(hex::encode(hash.finalize())),
            read => hash.update(piece.get(..read)?),
        }
    }
}
