//! `tests/foreign/auditor.mts`, which shares no code with `purser audit`, reaches the same verdict and exit status: on the chain
//! itself, and on each way of cheating, served by a node that has only what an audit saved.

use std::fs;
use std::net::Ipv4Addr;
use std::path::{Path, PathBuf};

use axum::routing::post;
use axum::{Json, Router};
use purser_tests::binaries::workspace;
use purser_tests::foreign;
use purser_tests::network::temp_folder;
use serde_json::{Value, json};
use solana_sdk::pubkey::Pubkey;
use tempfile::TempDir;
use tokio::net::TcpListener;

use super::{Cheat, Scene};

/// The command line of the page for auditors.
const COMMAND: &str = "node auditor.mts --url \"$RPC_URL\" --account \"$ACCOUNT\" --idl purser.json";

/// The script in a folder with its packages.
struct Auditor {
    folder: TempDir,
    modules: PathBuf,
}

impl Auditor {
    /// `None` if the packages are missing.
    fn new() -> Option<Auditor> {
        let modules = foreign::node_modules()?;
        if !modules.join("@anchor-lang/core").exists() {
            eprintln!("not run: @anchor-lang/core is not installed");
            return None;
        }
        let folder = temp_folder();
        for file in ["tests/foreign/auditor.mts", "programs/purser/idl/purser.json"] {
            let file = workspace().join(file);
            let name = file.file_name().expect("files have names");
            fs::copy(&file, folder.path().join(name)).expect("the folder is writable");
        }
        std::os::unix::fs::symlink(&modules, folder.path().join("node_modules"))
            .expect("the folder is writable");
        Some(Auditor { folder, modules })
    }

    /// Returns its exit status and output.
    async fn audits(&self, url: &str, account: &Pubkey) -> (i32, String) {
        let mut shell = foreign::shell(self.folder.path(), &[self.modules.join(".bin")], COMMAND);
        shell.env("RPC_URL", url).env("ACCOUNT", account.to_string());
        let output = shell.output().await.expect("there is a shell");
        let printed = [output.stdout, output.stderr].concat();
        (output.status.code().expect("it ends by itself"), String::from_utf8_lossy(&printed).into_owned())
    }
}

/// Starts a node that serves what an audit saved; returns its address.
async fn serves(folder: &Path) -> String {
    let folder = folder.to_owned();
    let answers = move |Json(call): Json<Value>| async move {
        Json(json!({ "jsonrpc": "2.0", "id": call["id"], "result": answer(&folder, &call) }))
    };
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.expect("a port is free");
    let address = listener.local_addr().expect("it has an address");
    let node = Router::new().route("/", post(answers));
    tokio::spawn(async move { axum::serve(listener, node).await });
    format!("http://{address}")
}

fn answer(folder: &Path, call: &Value) -> Value {
    let read = |part: &str, name: &Value| -> Value {
        let file = folder.join(part).join(format!("{}.json", name.as_str().unwrap_or_default()));
        fs::read(file).ok().and_then(|bytes| serde_json::from_slice(&bytes).ok()).unwrap_or_default()
    };
    let (asked, config) = (&call["params"][0], &call["params"][1]);
    match call["method"].as_str() {
        // The whole list in one page.
        Some("getSignaturesForAddress") if config["before"].is_null() => read("signatures", asked),
        Some("getSignaturesForAddress") => json!([]),
        Some("getTransaction") => read("transactions", asked),
        Some("getMultipleAccounts") => {
            let found = asked.as_array().expect("addresses").iter().map(|address| read("accounts", address));
            let found: Vec<Value> = found.collect();
            let account = |snapshot: &Value| match &snapshot["account"] {
                Value::Null => Value::Null,
                account => json!({ "owner": account["owner"], "data": [account["data"], "base64"] }),
            };
            let accounts: Vec<Value> = found.iter().map(account).collect();
            json!({ "context": { "slot": found[0]["slot"] }, "value": accounts })
        }
        other => panic!("{other:?} was asked"),
    }
}

#[tokio::test]
async fn auditor_that_knows_the_idl_alone_comes_to_the_same_verdict() {
    let Some(auditor) = Auditor::new() else { return };
    let page = fs::read_to_string(workspace().join("docs/auditing.md")).expect("the page is there");
    assert!(page.contains(COMMAND), "the page calls it otherwise");
    let scene = Scene::new().await;
    assert_eq!(scene.audited(&[]).0, 0);
    let ada = scene.ada.address;
    for account in [ada, scene.ben.address] {
        let (status, printed) = auditor.audits(scene.url(), &account).await;
        assert_eq!(status, 0, "{printed}");
        assert!(printed.contains("Everything that was checked holds."), "{printed}");
    }
    let (_, printed) = auditor.audits(scene.url(), &ada).await;
    let sums = "4 payments of 10.500000 USDC, 100.000000 USDC came, 5.000000 USDC were withdrawn, 84.500000 USDC are left";
    assert!(printed.contains(sums), "{printed}");

    for Cheat { copy, found } in scene.cheats() {
        let (status, printed) = auditor.audits(&serves(copy.folder.path()).await, &ada).await;
        assert_eq!(status, copy.audited().0, "{found:?}\n{printed}");
        for (check, _) in found {
            assert!(printed.contains(&format!("{check}: ")), "{check} is not in\n{printed}");
        }
    }
    let modified = scene.lets_too_much_pass().await;
    let (status, printed) = auditor.audits(&serves(modified.folder.path()).await, &ada).await;
    assert_eq!(status, modified.audited().0, "{printed}");
    assert!(printed.contains("single_limit: Payment 3 of 12.000000 USDC"), "{printed}");

    let (forged, _) = scene.adds_a_line_of_another_program();
    let (status, printed) = auditor.audits(&serves(forged.folder.path()).await, &ada).await;
    assert_eq!((status, forged.audited().0), (0, 0), "{printed}");
    let lost = scene.copy();
    fs::remove_file(lost.transaction(&scene.payments[0])).expect("it was saved");
    let (status, printed) = auditor.audits(&serves(lost.folder.path()).await, &ada).await;
    assert_eq!((status, lost.audited().0), (2, 2), "{printed}");
    assert_eq!(auditor.audits(scene.url(), &Pubkey::new_unique()).await.0, 2);
}
