//! A signed verdict: whoever knows the auditor's key sees what was audited, and that nothing was changed since.

use std::fs;
use std::process::Command;

use purser_tests::network::{path_text, temp_folder};
use purser_tests::{binaries, foreign};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use super::{Copy, Scene, check};

fn purser(arguments: &[&str]) -> (i32, String, String) {
    let nowhere = temp_folder();
    let mut purser = Command::new(binaries::relayer());
    purser.args(arguments).current_dir(nowhere.path()).env_remove("PURSER_CONFIG");
    let output = purser.output().expect("the binary starts");
    let [said, complaint] =
        [output.stdout, output.stderr].map(|it| String::from_utf8_lossy(&it).into_owned());
    (output.status.code().expect("it ends by itself"), said, complaint)
}

/// Makes a keypair, and returns its address.
fn key(file: &str) -> String {
    let (status, said, complaint) = purser(&["keygen", file, "--json"]);
    assert_eq!(status, 0, "{complaint}");
    let made: Value = serde_json::from_str(said.trim()).expect("JSON");
    made[0]["address"].as_str().expect("an address").to_owned()
}

fn signs(copy: &Copy, key: &str, to: &str) -> (i32, String) {
    let from = path_text(copy.folder.path());
    let period = ["--period-from", "2020-01-01"];
    let signing = ["audit", "--from", from, "--sign", key, "--attestation", to, "--json"];
    let (status, said, complaint) = purser(&[&signing[..], &period].concat());
    assert!(complaint.is_empty(), "{complaint}");
    (status, said.trim().to_owned())
}

pub(super) fn verdict_is_signed_and_verified(scene: &Scene) {
    let folder = temp_folder();
    let file = |name: &str| path_text(&folder.path().join(name)).to_owned();
    let [auditor, other] = ["auditor.json", "other.json"].map(|name| key(&file(name)));
    let (copy, signed) = (scene.copy(), file("audit.dsse.json"));
    let from = path_text(copy.folder.path());
    let (status, report) = signs(&copy, &file("auditor.json"), &signed);
    assert_eq!(status, 0, "{report}");
    let operator = scene.operator.address.to_string();
    let verify = |more: &[&str]| purser(&[&["attest", "verify", &signed, "--json"], more].concat());
    let (status, said, complaint) = verify(&["--key", &auditor, "--from", from, "--operator", &operator]);
    assert_eq!(status, 0, "{complaint}");
    let statement: Value = serde_json::from_str(said.trim()).expect("JSON");
    let audited = &statement["predicate"];
    assert_eq!((&audited["holds"], &audited["operator"]), (&json!(true), &json!(operator)));
    assert_eq!(audited["report_sha256"], hex::encode(Sha256::digest(&report)));
    assert_eq!(audited["period"], json!({ "first_day": "2020-01-01", "last_day": null, "is_over": true }));
    let (_, said, _) = purser(&["attest", "verify", &signed, "--key", &auditor]);
    assert!(said.contains("2020-01-01 to the end of what was read"), "{said}");
    let tool = fs::read(binaries::relayer()).expect("it is there");
    assert_eq!(audited["tool_sha256"], hex::encode(Sha256::digest(tool)));

    let refused = |more: &[&str], why: &str| {
        let (status, said, complaint) = verify(more);
        assert_eq!((status, said.as_str()), (2, ""), "{complaint}");
        assert!(complaint.contains(why), "{complaint}");
    };
    refused(&["--key", &other], "none of its signatures is");
    refused(&["--key", &auditor, "--operator", &auditor], "is about the operator");
    // What never ends is no attestation.
    let (status, _, complaint) = purser(&["attest", "verify", "/dev/zero", "--key", &auditor]);
    assert!(status == 2 && complaint.contains("too long"), "{complaint}");
    // Of the same past, and of another node's words.
    copy.spoils(&scene.payments[0], |transaction| transaction["meta"]["fee"] = json!(1));
    refused(&["--key", &auditor, "--from", from], "is about another directory");

    // What does not hold is signed as that.
    copy.hides(&scene.payments[1]);
    let (status, _) = signs(&copy, &file("auditor.json"), &signed);
    assert_eq!(status, 1);
    let (status, said, _) = verify(&["--key", &auditor, "--from", from]);
    assert_eq!(status, 1);
    assert!(said.contains("DO NOT HOLD"), "{said}");

    // A verdict about one account says nothing of its operator.
    let (account, own) = (scene.ada.address.to_string(), file("auditor.json"));
    let of_one = ["audit", "--url", scene.url(), "--account", &account, "--json"];
    let (status, _, complaint) = purser(&[&of_one[..], &["--sign", &own, "--attestation", &signed]].concat());
    assert_eq!(status, 0, "{complaint}");
    refused(&["--key", &auditor, "--operator", &operator], "ONE account");
    let (status, _, complaint) = verify(&["--key", &auditor, "--account", &account]);
    assert_eq!(status, 0, "{complaint}");
}

/// The report of a node and a relayer, and that of a directory, against the schema.
pub(super) async fn fits_its_schema(reports: &[&Value]) {
    assert_eq!(check(reports[0], "solvency")["result"], "holds", "{:#}", reports[0]["solvency"]);
    let Some(python) = foreign::python() else { return };
    let folder = temp_folder();
    let mut command = tokio::process::Command::new(python.join("python"));
    command.arg(foreign::file("schema.py"));
    command.arg(binaries::workspace().join("docs/trust/audit-report.schema.json"));
    for (at, report) in reports.iter().enumerate() {
        let file = folder.path().join(format!("{at}.json"));
        fs::write(&file, report.to_string()).expect("the folder is writable");
        command.arg(file);
    }
    foreign::printed(command).await;
}
