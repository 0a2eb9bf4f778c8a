//! The same past, audited by `tests/foreign/auditor`, which shares no code with `purser audit`.

use std::collections::BTreeSet;
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::{LazyLock, Mutex, PoisonError};

use purser_audit::check::Check;
use purser_audit::report::{Report, Verdict};
use purser_audit::{AuditError, DenialsReport, exit_status};
use purser_tests::foreign;
use serde_json::{Value, json};
use tempfile::TempDir;

/// A Node that audits by each line's arguments, until the tests end.
struct Auditors {
    arguments: ChildStdin,
    ends: BufReader<ChildStdout>,
    /// With the script and its packages.
    folder: TempDir,
}

static AUDITORS: LazyLock<Option<Mutex<Auditors>>> = LazyLock::new(|| Some(Mutex::new(Auditors::started()?)));

/// It comes to the same exit status of a directory, and names a check that does not hold.
pub fn says_the_same(folder: &Path, audited: &Result<Report, AuditError>) {
    is_the_same(audits(&["--from", folder.to_str().expect("paths are text")]), audited);
}

/// Its exit status of a directory, and what it says; `None` where its packages are missing.
pub fn status(folder: &Path) -> Option<(i64, String)> {
    audits(&["--from", folder.to_str().expect("paths are text")])
}

/// The same by these arguments; meanwhile the nodes of a test answer.
pub async fn says_the_same_by(arguments: &[&str], audited: &Result<Report, AuditError>) {
    is_the_same(audits_meanwhile(arguments).await, audited);
}

fn is_the_same(said: Option<(i64, String)>, audited: &Result<Report, AuditError>) {
    let Some((status, printed)) = said else { return };
    let Ok(report) = audited else {
        return assert_eq!(status, 2, "{audited:?}\n{printed}");
    };
    assert_eq!(
        status,
        i64::from(exit_status(report.holds, report.complete)),
        "{:?}\n{printed}",
        broken(report)
    );
    let is_said = |verdict: Verdict, end: &str| {
        let of: BTreeSet<Check> =
            report.checks.iter().filter(|it| it.result == verdict).map(|it| it.check).collect();
        let names = of.iter().map(|check| format!("{}: {end}", json!(check).as_str().expect("a name")));
        assert!(of.is_empty() || names.into_iter().any(|name| printed.contains(&name)), "{of:?}\n{printed}");
    };
    is_said(Verdict::DoesNotHold, "");
    if report.holds {
        is_said(Verdict::Incomplete, "cannot be told: ");
    }
}

/// Of a file of signed refusals it finds the same.
pub async fn finds_the_same(arguments: &[&str], report: &DenialsReport) {
    let Some((status, printed)) = audits_meanwhile(arguments).await else { return };
    assert_eq!(status, i64::from(exit_status(report.holds, report.complete)), "{report:?}\n{printed}");
    let found = report.findings.iter().map(|it| {
        let kind = json!(it.kind);
        format!("{}: denial {}: ", kind.as_str().expect("a name"), it.number.expect("they have numbers"))
    });
    let found: BTreeSet<String> = found.collect();
    for finding in &found {
        assert!(printed.contains(finding), "{finding} is not in\n{printed}");
    }
    let said = printed.lines().filter(|line| line.contains(": denial ")).count();
    assert_eq!(said, report.findings.len(), "{found:?}\n{printed}");
}

fn broken(report: &Report) -> Vec<(Check, &str)> {
    let findings =
        report.checks.iter().flat_map(|it| it.findings.iter().map(|one| (it.check, one.text.as_str())));
    findings.collect()
}

/// Its exit status and what it says; `None` if the packages are missing.
fn audits(arguments: &[&str]) -> Option<(i64, String)> {
    let auditors = AUDITORS.as_ref()?;
    Some(auditors.lock().unwrap_or_else(PoisonError::into_inner).audits(arguments))
}

async fn audits_meanwhile(arguments: &[&str]) -> Option<(i64, String)> {
    let arguments: Vec<String> = arguments.iter().map(|it| (*it).to_owned()).collect();
    let ended = tokio::task::spawn_blocking(move || {
        audits(&arguments.iter().map(String::as_str).collect::<Vec<_>>())
    });
    ended.await.expect("it ends")
}

impl Auditors {
    fn started() -> Option<Self> {
        let modules = foreign::node_modules()?;
        if !modules.join("@anchor-lang/core").exists() {
            eprintln!("not run: @anchor-lang/core is not installed");
            return None;
        }
        let folder = foreign::auditor(&modules);
        let mut node = Command::new(modules.join(".bin/node"));
        node.args([foreign::file("auditors.mjs"), folder.path().join("auditor.mts")]);
        let Child { stdin, stdout, .. } =
            node.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("node starts");
        Some(Self { arguments: stdin?, ends: BufReader::new(stdout?), folder })
    }

    fn audits(&mut self, arguments: &[&str]) -> (i64, String) {
        let idl = self.folder.path().join("purser.json");
        let all: Vec<&str> =
            arguments.iter().copied().chain(["--idl", idl.to_str().expect("paths are text")]).collect();
        writeln!(self.arguments, "{}", json!(all)).expect("node runs");
        let mut line = String::new();
        self.ends.read_line(&mut line).expect("node runs");
        let end: Value = serde_json::from_str(&line).unwrap_or_else(|_| panic!("it said {line:?}"));
        (end["status"].as_i64().expect("a status"), end["printed"].as_str().expect("text").to_owned())
    }
}
