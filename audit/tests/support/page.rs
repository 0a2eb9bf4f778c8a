//! The same audit as a page in a browser takes it: in turns, without waiting, on files in memory.

use std::fs;
use std::path::Path;

use purser_audit::archive::PARTS;
use purser_audit::report::Report;
use purser_audit::{AuditError, exit_status};
use purser_page::running::{Files, Running};
use serde_json::{Value, json};

/// A page says of a directory what the command line says of it.
pub fn says_the_same(folder: &Path, audited: &Result<Report, AuditError>) {
    let settings = json!({ "directory": folder }).to_string();
    let mut running = Running::begin(settings.as_bytes(), files_of(folder)).expect("it begins");
    let end = loop {
        let (said, is_end) = running.step(0.0);
        let said: Value = serde_json::from_slice(&said).expect("JSON");
        assert_eq!(said["asks"], json!([]), "it asks nobody");
        if is_end {
            break said["end"].clone();
        }
    };
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
    for field in ["made_at", "read_from"] {
        report.as_object_mut().and_then(|fields| fields.remove(field));
    }
    report
}
