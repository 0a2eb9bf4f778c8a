//! `purser audit --page`: in a real browser, opened as a file, the page comes to the command line's report: on an honest past, on each
//! way of cheating, with several nodes, and on a directory. Driven by `tests/browser/audit_page.mjs`, which needs what
//! `dashboard_browser.rs` needs. `PURSER_SHOTS` names a folder for screenshots.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use purser_tests::binaries::{self, workspace};
use purser_tests::network::{path_text, temp_folder};
use purser_tests::saved;
use purser_tests::turns::{BROWSER, Turn};
use serde_json::{Value, json};
use tokio::process::Command;

use super::{Cheat, Scene, audits, check, findings};
use crate::dashboard_browser::chromium;

/// What the page is to be tried on: the command line's arguments, the page's form, and the findings.
struct Case {
    name: String,
    arguments: Vec<String>,
    form: Value,
    found: Vec<(&'static str, &'static str)>,
}

impl Case {
    fn at_nodes(name: String, urls: &[&str], address: &str, found: &[(&'static str, &'static str)]) -> Self {
        let arguments = urls.iter().flat_map(|url| ["--url", url]).chain(["--operator", address]);
        let arguments = arguments.map(str::to_owned).collect();
        let form = json!({ "name": name, "urls": urls, "address": address });
        Self { name, arguments, form, found: found.to_vec() }
    }

    fn of_directory(name: &str, folder: &Path) -> Self {
        let (folder, name) = (path_text(folder).to_owned(), name.to_owned());
        let form = json!({ "name": name, "directory": folder });
        Self { name, arguments: vec!["--from".into(), folder], form, found: Vec::new() }
    }
}

/// Writes the page, and returns its file.
fn written(folder: &Path) -> PathBuf {
    let output = std::process::Command::new(binaries::relayer())
        .args(["audit", "--page", path_text(folder)])
        .env_remove("PURSER_CONFIG")
        .output()
        .expect("the binary starts");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let page = folder.join("index.html");
    assert_eq!(String::from_utf8_lossy(&output.stdout).trim(), path_text(&page));
    page
}

/// What the page says of each case.
async fn in_a_browser(page: &Path, cases: &[Case]) -> Option<Vec<Value>> {
    let modules = std::env::var_os("PURSER_NODE_MODULES").map(PathBuf::from);
    let modules = modules
        .filter(|modules| modules.join("playwright-core").exists() && modules.join("axe-core").exists());
    let (Some(modules), Some(chromium)) = (modules, chromium()) else {
        eprintln!("PURSER_NODE_MODULES or a Chromium is missing: nobody opened the audit's page");
        return None;
    };
    let _turn = Turn::wait(BROWSER);
    let folder = temp_folder();
    let file = folder.path().join("cases.json");
    let forms: Vec<&Value> = cases.iter().map(|case| &case.form).collect();
    fs::write(&file, json!(forms).to_string()).expect("the folder is writable");
    let mut node = Command::new("node");
    node.arg(workspace().join("tests/browser/audit_page.mjs")).kill_on_drop(true);
    node.env("PURSER_NODE_MODULES", &modules).env("PURSER_CHROMIUM", chromium);
    node.env("PURSER_PAGE", page).env("PURSER_CASES", &file);
    let output = tokio::time::timeout(Duration::from_secs(450), node.output()).await;
    let output = output.expect("the script ends").expect("node starts");
    let printed = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{printed}\n{}", String::from_utf8_lossy(&output.stderr));
    Some(printed.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect())
}

/// Without what belongs to the machine and the moment.
fn comparable(report: &Value) -> Value {
    let mut report = report.clone();
    for field in ["made_at", "read_from", "tool_sha256"] {
        report.as_object_mut().and_then(|fields| fields.remove(field));
    }
    report
}

// While the command line audits, the nodes answer.
#[tokio::test(flavor = "multi_thread")]
async fn page_in_a_browser_comes_to_the_report_of_the_command_line() {
    let scene = Scene::new().await;
    let (status, honest) = scene.audited(&[]);
    assert_eq!(status, 0, "{honest:#}");
    let operator = scene.operator.address.to_string();
    let at_node = async |name: String, folder: &Path, found: &[(&'static str, &'static str)]| {
        Case::at_nodes(name, &[&saved::serves(folder).await], &operator, found)
    };
    let (mut cases, mut copies) = (Vec::new(), Vec::new());
    cases.push(at_node("honest".into(), scene.saved.path(), &[]).await);
    for (number, Cheat { copy, found }) in scene.cheats().into_iter().enumerate() {
        cases.push(at_node(format!("cheat {number} {}", found[0].0), copy.folder.path(), &found).await);
        copies.push(copy);
    }
    for (number, (copy, _)) in scene.untellable().into_iter().enumerate() {
        cases.push(at_node(format!("untellable {number}"), copy.folder.path(), &[]).await);
        copies.push(copy);
    }
    let modified = scene.lets_too_much_pass().await;
    let too_much = [("single_limit", "Payment 3 of 12.000000 USDC")];
    cases.push(at_node("modified program".into(), modified.folder.path(), &too_much).await);
    let (forged, _) = scene.adds_a_line_of_another_program();
    cases.push(at_node("forged line".into(), forged.folder.path(), &[]).await);
    let lost = scene.copy();
    fs::remove_file(lost.transaction(&scene.payments[0])).expect("it was saved");
    cases.push(at_node("lost transaction".into(), lost.folder.path(), &[]).await);
    // Two nodes, of which one hides a payment.
    let hides = scene.copy();
    hides.hides(&scene.payments[1]);
    let (whole, part) = (saved::serves(scene.saved.path()).await, saved::serves(hides.folder.path()).await);
    cases.push(Case::at_nodes("two nodes".into(), &[&part, &whole], &operator, &[]));
    cases.push(Case::of_directory("saved directory", scene.saved.path()));
    cases.push(Case::of_directory("spoiled directory", copies[0].folder.path()));
    copies.extend([modified, forged, lost, hides]);
    // What a relayer answered that changed a payment of 3 USDC, as an audit of the command line kept it.
    let answers = temp_folder();
    let (api, key) = (scene.app.base_url(), scene.operator.client.key());
    let kept = ["--url", scene.url(), "--operator", &operator, "--save", path_text(answers.path())];
    assert_eq!(audits(&[&kept[..], &["--api", &api, "--key", key]].concat()).0, 0);
    let file = answers.path().join("relayer.json");
    let text = fs::read_to_string(&file).expect("it was saved");
    fs::write(&file, text.replace("3.000000", "2.000000")).expect("the folder is writable");
    cases.push(Case::of_directory("a relayer's answers", answers.path()));

    let folder = temp_folder();
    let page = written(folder.path());
    let Some(said) = in_a_browser(&page, &cases).await else { return };
    assert_eq!(said.len(), cases.len());
    for (case, said) in cases.iter().zip(&said) {
        let name = &case.name;
        assert_eq!(said["name"], *name);
        let arguments: Vec<&str> = case.arguments.iter().map(String::as_str).collect();
        let (status, report) = audits(&arguments);
        assert_eq!(said["status"], status, "{name}: {said:#}");
        if report["error"].is_null() {
            assert_eq!(comparable(&said["report"]), comparable(&report), "{name}");
            for (of, says) in &case.found {
                assert!(findings(&said["report"], of).contains(says), "{name}: {says}\n{said:#}");
            }
        } else {
            let (told, error) = (said["verdict"].to_string(), report["error"].to_string());
            let error = error.trim_matches('"').trim_end_matches("\\n").trim_start_matches("error: ");
            assert!(told.contains(error), "{name}: {told}\nis not\n{error}");
        }
    }
    let two = said.iter().find(|said| said["name"] == "two nodes").expect("it was tried");
    assert_eq!(check(&two["report"], "nodes")["result"], "incomplete");
    let relayer = said.iter().find(|said| said["name"] == "a relayer's answers").expect("it was tried");
    assert!(
        findings(&relayer["report"], "history").contains("The relayer says that the amount is \"2.000000\"")
    );
    let own = said.iter().find(|said| said["name"] == "honest").expect("it was tried");
    assert_eq!(own["report"]["tool_sha256"].as_str().map(str::len), Some(64));
}
