//! The same audit as a page in a browser takes it: in turns, without waiting, on files in memory; and where there is a Node, by the
//! page's worker with the committed module.

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::{LazyLock, Mutex, PoisonError};

use purser_audit::archive::PARTS;
use purser_audit::report::Report;
use purser_audit::{AuditError, DenialsReport, exit_status};
use purser_page::running::{Files, Running};
use purser_tests::{binaries, foreign};
use serde_json::{Value, json};

/// A Node that audits a directory or nodes for each line, until the tests end.
struct Worker {
    directories: ChildStdin,
    ends: BufReader<ChildStdout>,
}

static WORKER: LazyLock<Option<Mutex<Worker>>> = LazyLock::new(|| Some(Mutex::new(Worker::started()?)));

/// How a page's audit of a directory ends.
fn ended(folder: &Path, settings: &Value) -> Value {
    let mut running = Running::begin(settings.to_string().as_bytes(), files_of(folder)).expect("it begins");
    loop {
        let (said, is_end) = running.step(0.0);
        let said: Value = serde_json::from_slice(&said).expect("JSON");
        assert_eq!(said["asks"], json!([]), "it asks nobody");
        if is_end {
            return said["end"].clone();
        }
    }
}

/// How it ends where somebody names a page for transactions.
pub fn links_to(folder: &Path, explorer: &str) -> (Value, Value) {
    let mut end = ended(folder, &json!({ "directory": folder, "explorer": explorer }));
    (end["status"].take(), end["verdict"].take())
}

/// The page finds the same in a file of signed refusals.
pub async fn finds_the_same(file: &Path, url: &str, operator: &str, key: &str, report: &DenialsReport) {
    let host = url.trim_start_matches("http://");
    let settings =
        json!({ "hosts": [host], "operator": operator, "denials_keys": [key], "is_about_denials": true });
    let asked = json!({ "urls": [url], "settings": settings, "denials": file });
    let Some(said) = worker_says(asked.to_string()).await else { return };
    let end = &said["end"];
    assert_eq!(end["status"], exit_status(report.holds, report.complete), "{said}");
    let own: Value = serde_json::from_str(end["json"].as_str().expect("a report")).expect("JSON");
    assert_eq!(own["findings"], json!(report.findings));
}

/// What the worker says; meanwhile the nodes of a test answer. `None` where there is no Node.
async fn worker_says(asked: String) -> Option<Value> {
    let said = tokio::task::spawn_blocking(move || {
        Some((*WORKER).as_ref()?.lock().unwrap_or_else(PoisonError::into_inner).audits(&asked))
    });
    said.await.expect("it ends")
}

/// A page says of nodes what the command line says of them; of an error it may use other words. Returns what it says.
pub async fn says_the_same_at(
    urls: &[&str],
    operator: &str,
    audited: &Result<Report, AuditError>,
) -> Option<String> {
    let hosts: Vec<&str> = urls.iter().map(|url| url.trim_start_matches("http://")).collect();
    let settings = json!({ "hosts": hosts, "operator": operator });
    let asked = json!({ "urls": urls, "settings": settings }).to_string();
    let said = worker_says(asked).await?;
    let end = &said["end"];
    match audited {
        Ok(report) => {
            assert_eq!(end["status"], exit_status(report.holds, report.complete), "{said}");
            let own: Value = serde_json::from_str(end["json"].as_str().expect("a report")).expect("JSON");
            assert_eq!(comparable(own), comparable(json!(report)));
        }
        Err(_) => assert_eq!(end["status"], 2, "{said}"),
    }
    end["verdict"].as_str().map(str::to_owned)
}

/// A page says of a directory what the command line says of it.
pub fn says_the_same(folder: &Path, audited: &Result<Report, AuditError>) {
    let end = ended(folder, &json!({ "directory": folder }));
    if let Some(worker) = &*WORKER {
        let mut worker = worker.lock().unwrap_or_else(PoisonError::into_inner);
        let said = worker.audits(&folder.display().to_string())["end"].clone();
        assert_eq!((&said["status"], &said["verdict"]), (&end["status"], &end["verdict"]), "{said}");
        let report = |end: &Value| {
            let report: Option<Value> = serde_json::from_str(end["json"].as_str().unwrap_or_default()).ok();
            report.map(comparable)
        };
        assert_eq!(report(&said), report(&end));
    }
    match audited {
        Ok(report) => {
            assert_eq!(end["status"], exit_status(report.holds, report.complete), "{end}");
            let own: Value = serde_json::from_str(end["json"].as_str().expect("a report")).expect("JSON");
            assert_eq!(comparable(own), comparable(json!(report)));
        }
        Err(error) => {
            assert_eq!(end["status"], 2, "{end}");
            // The page knows files by their names in the directory.
            let error = error.to_string().replace(&format!("{}/", folder.display()), "");
            assert_eq!(end["verdict"], format!("error: {error}"));
        }
    }
}

impl Worker {
    fn started() -> Option<Worker> {
        let node = foreign::node_modules()?.join(".bin/node");
        let mut worker = Command::new(node);
        worker.arg(foreign::file("audit_page.mjs"));
        worker.args(
            ["worker.js", "built/purser_page.wasm"]
                .map(|file| binaries::workspace().join("audit/page").join(file)),
        );
        let Child { stdin, stdout, .. } =
            worker.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("node starts");
        Some(Worker { directories: stdin?, ends: BufReader::new(stdout?) })
    }

    /// `asked`: a directory, or URLs and settings in JSON.
    fn audits(&mut self, asked: &str) -> Value {
        writeln!(self.directories, "{asked}").expect("node runs");
        let mut line = String::new();
        self.ends.read_line(&mut line).expect("node runs");
        serde_json::from_str(&line).unwrap_or_else(|_| panic!("the worker said {line:?}"))
    }
}

fn files_of(folder: &Path) -> Files {
    let mut files = Files::new();
    for part in [""].iter().chain(&PARTS) {
        for entry in fs::read_dir(folder.join(part)).expect("it was saved") {
            let path = entry.expect("it was saved").path();
            if path.extension().is_some_and(|extension| extension == "json") {
                let name = path.strip_prefix(folder).expect("it is inside").display().to_string();
                files.insert(name, fs::read(&path).expect("it was saved"));
            }
        }
    }
    files
}

/// Without what belongs to the machine and the moment.
fn comparable(mut report: Value) -> Value {
    for field in ["made_at", "read_from", "tool_sha256"] {
        report.as_object_mut().and_then(|fields| fields.remove(field));
    }
    report
}
