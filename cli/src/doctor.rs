//! `purser doctor`: checks everything that `purser serve` depends on, without changing it. Each line says what was found, or how
//! to fix it. None shows a secret: of the addresses of nodes and databases it prints only a database's name and server.

mod database;
mod files;
mod listeners;
mod networks;

use std::path::Path;
use std::process::ExitCode;
use std::time::Duration;

use anyhow::Result;
use serde::Serialize;

pub(super) use self::listeners::reachable;
use super::output::{Format, print_line};
use purser_base::traces;
use purser_relayer::config::{Config, Sections};

/// How long a database or a listener may take to answer.
const PATIENCE: Duration = Duration::from_secs(10);

/// What was checked, and its state.
#[derive(Debug, Serialize)]
struct Finding {
    check: String,
    /// It does not keep the service from its work.
    ok: bool,
    /// The service works, and a defence is off.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    weak: bool,
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
        self.add(Finding { check: check.into(), ok: true, weak: false, found: found.to_string(), mend: None })
    }

    fn weak(
        &mut self,
        check: impl Into<String>,
        found: impl ToString,
        mend: impl Into<String>,
    ) -> Result<()> {
        let mend = Some(mend.into());
        self.add(Finding { check: check.into(), ok: true, weak: true, found: found.to_string(), mend })
    }

    fn not_ok(
        &mut self,
        check: impl Into<String>,
        found: impl ToString,
        mend: impl Into<String>,
    ) -> Result<()> {
        let mend = Some(mend.into());
        self.add(Finding { check: check.into(), ok: false, weak: false, found: found.to_string(), mend })
    }

    fn add(&mut self, finding: Finding) -> Result<()> {
        if !matches!(self.format, Format::Json) {
            let Finding { check, ok, weak, found, mend } = &finding;
            let word = match (ok, weak) {
                (true, false) => "ok    ",
                (true, true) => "weak  ",
                (false, _) => "not ok",
            };
            print_line(&format!("{word}  {check}: {found}"))?;
            if let Some(mend) = mend {
                print_line(&format!("        mend: {mend}"))?;
            }
        }
        self.all.push(finding);
        Ok(())
    }

    fn count(&self, is_it: impl Fn(&Finding) -> bool) -> usize {
        self.all.iter().filter(|finding| is_it(finding)).count()
    }
}

/// Checks everything, and returns whether all of it works as the exit status.
pub(super) async fn run<S: Sections>(format: Format, file: Option<&Path>) -> Result<ExitCode> {
    let mut findings = Findings { format, all: Vec::new() };
    match Config::read::<S>(file) {
        Ok((config, sections)) => {
            let file = Config::file_of(file);
            look_at(&config, (file.as_deref(), sections.refusals_key()), &mut findings).await?;
        }
        Err(error) => findings.not_ok(
            "configuration",
            error,
            "docs/run/configuration.md has all settings; `purser init` makes another folder with a configuration of its own",
        )?,
    }
    let wrong = findings.count(|finding| !finding.ok);
    let weak = findings.count(|finding| finding.weak);
    match format {
        Format::Json => {
            print_line(&serde_json::json!({ "ok": wrong == 0, "checks": findings.all }).to_string())?;
        }
        Format::Text | Format::Env => print_line(&match (wrong, weak) {
            (0, 0) => "Everything is well.".to_owned(),
            (0, 1) => "Everything works, and one defence is off.".to_owned(),
            (0, weak) => format!("Everything works, and {weak} defences are off."),
            (wrong, _) => format!("{wrong} of {} are not well.", findings.all.len()),
        })?,
    }
    Ok(if wrong == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

async fn look_at(
    config: &Config,
    (file, refusals_key): (Option<&Path>, Option<&Path>),
    findings: &mut Findings,
) -> Result<()> {
    let place = file.map_or_else(|| "the environment".into(), |file| file.display().to_string());
    findings.ok("configuration", place)?;
    let keys = files::look_at(config, (file, refusals_key), findings)?;
    look_at_traces(findings)?;
    listeners::look_at(&config.server, findings).await?;
    let (operators, accounts) = database::look_at(config, keys.sealing.as_deref(), findings).await?;
    for (network, section) in config.networks.iter() {
        let of_network = operators.iter().filter(|operator| operator.network == network);
        let of_network: Vec<_> = of_network.collect();
        networks::look_at(
            network,
            (section, &config.quotas),
            (&of_network, &accounts),
            keys.denials,
            findings,
        )
        .await?;
    }
    Ok(())
}

/// Whether `serve` would refuse to start because of the environment's trace settings.
fn look_at_traces(findings: &mut Findings) -> Result<()> {
    match traces::asked() {
        Ok(Some(by)) => findings.ok("traces", format!("sent to the collector that {by} names")),
        Ok(None) => findings.ok("traces", "not sent: the environment names no collector"),
        Err(error) => {
            findings.not_ok("traces", error, "docs/run/operating.md has what traces need, under Traces")
        }
    }
}
