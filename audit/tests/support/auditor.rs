//! The same past, audited by `tests/foreign/auditor.mts`, which shares no code with `purser audit`: a node serves what was saved.

use std::collections::BTreeSet;
use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::{LazyLock, Mutex, PoisonError};

use purser_audit::AuditError;
use purser_audit::check::Check;
use purser_audit::report::{CheckReport, Report};
use purser_tests::{binaries, foreign, saved};
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::runtime::Runtime;

/// What it leaves to `purser audit`, as docs/auditing.md says: checks, and findings by their words.
const LEFT: [Check; 5] = [Check::Nodes, Check::Network, Check::Program, Check::History, Check::Solvency];
const LEFT_WORDS: [(Check, &str); 5] = [
    (Check::DailyLimit, "USDC in 24 hours, of which"),
    (Check::Dates, "What was read ends at"),
    (Check::State, "The grant "),
    (Check::State, "The approver "),
    (Check::State, "The budget "),
];

/// A Node that audits at a URL for each line, until the tests end.
struct Auditors {
    urls: ChildStdin,
    ends: BufReader<ChildStdout>,
    /// With the script and its packages.
    _folder: TempDir,
}

static AUDITORS: LazyLock<Option<Mutex<Auditors>>> = LazyLock::new(|| Some(Mutex::new(Auditors::started()?)));
/// Nodes answer while a test waits.
static NODES: LazyLock<Runtime> = LazyLock::new(|| {
    tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().expect("a runtime")
});

/// It comes to the same exit status, and names a check that does not hold.
pub fn says_the_same(folder: &Path, audited: &Result<Report, AuditError>) {
    let (Some(auditors), Some(account)) = (&*AUDITORS, account_of(folder)) else { return };
    let url = NODES.block_on(saved::serves(folder));
    let (status, printed) = auditors.lock().unwrap_or_else(PoisonError::into_inner).audits(&url, &account);
    let own: BTreeSet<Check> = audited.as_ref().map(own_checks).unwrap_or_default();
    match audited {
        Ok(_) if !own.is_empty() => {
            assert_eq!(status, 1, "{own:?}\n{printed}");
            let names = own.iter().map(|check| format!("{}: ", json!(check).as_str().expect("a name")));
            assert!(names.into_iter().any(|name| printed.contains(&name)), "{own:?}\n{printed}");
        }
        Ok(report) if report.complete => assert_eq!(status, 0, "{printed}"),
        // What is missing in a directory may be nothing that it asks for, and from a node it is an account that does not exist.
        Ok(_) | Err(_) => assert!(status != 1 || !has_accounts(folder), "{printed}"),
    }
}

/// The checks that do not hold, without what it leaves.
fn own_checks(report: &Report) -> BTreeSet<Check> {
    let is_left = |check: Check, text: &str| {
        LEFT.contains(&check) || LEFT_WORDS.iter().any(|(of, words)| *of == check && text.contains(words))
    };
    let is_own = |it: &&CheckReport| it.findings.iter().any(|finding| !is_left(it.check, &finding.text));
    report.checks.iter().filter(is_own).map(|it| it.check).collect()
}

/// Whether the accounts that it asks for were saved.
fn has_accounts(folder: &Path) -> bool {
    let manifest: Value =
        serde_json::from_slice(&fs::read(folder.join("audit.json")).unwrap_or_default()).unwrap_or_default();
    let asked = [&manifest["operator"], &manifest["agents"][0]];
    asked
        .iter()
        .all(|key| folder.join(format!("accounts/{}.json", key.as_str().unwrap_or_default())).exists())
}

/// The one account of these pasts.
fn account_of(folder: &Path) -> Option<String> {
    let manifest: Value = serde_json::from_slice(&fs::read(folder.join("audit.json")).ok()?).ok()?;
    let listed = ["agents", "standing"].into_iter().flat_map(|of| manifest[of].as_array());
    listed.flatten().find_map(Value::as_str).map(str::to_owned)
}

impl Auditors {
    /// `None` if the packages are missing.
    fn started() -> Option<Self> {
        let modules = foreign::node_modules()?;
        if !modules.join("@anchor-lang/core").exists() {
            eprintln!("not run: @anchor-lang/core is not installed");
            return None;
        }
        let folder = tempfile::tempdir().expect("a temporary folder can be made");
        let kept = |file: &str| {
            let from = binaries::workspace().join(file);
            let to = folder.path().join(from.file_name().expect("files have names"));
            fs::copy(&from, &to).expect("the folder is writable");
            to
        };
        let [auditors, auditor, idl] =
            ["tests/foreign/auditors.mjs", "tests/foreign/auditor.mts", "programs/purser/idl/purser.json"]
                .map(kept);
        std::os::unix::fs::symlink(&modules, folder.path().join("node_modules"))
            .expect("the folder is writable");
        let mut node = Command::new(modules.join(".bin/node"));
        node.args([&auditors, &auditor, &idl]).stdin(Stdio::piped()).stdout(Stdio::piped());
        let Child { stdin, stdout, .. } = node.spawn().expect("node starts");
        Some(Self { urls: stdin?, ends: BufReader::new(stdout?), _folder: folder })
    }

    fn audits(&mut self, url: &str, account: &str) -> (i64, String) {
        writeln!(self.urls, "{url} {account}").expect("node runs");
        let mut line = String::new();
        self.ends.read_line(&mut line).expect("node runs");
        let end: Value = serde_json::from_str(&line).unwrap_or_else(|_| panic!("it said {line:?}"));
        (end["status"].as_i64().expect("a status"), end["printed"].as_str().expect("text").to_owned())
    }
}
