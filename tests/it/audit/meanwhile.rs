//! An audit while its operator pays: on the embedded network, which answers accounts as of the block that it is making, and lists as of its
//! final ones. Whoever audits there, command line, page or `tests/foreign/auditor`, accuses nobody.

use std::path::PathBuf;
use std::process::Stdio;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use purser_tests::wallet::mints;
use purser_tests::{Agent, AppSettings, DirectOutcome, TestApp, TestNetwork, binaries, foreign};
use serde_json::{Value, json};
use solana_sdk::pubkey::Pubkey;
use tokio::io::AsyncWriteExt;
use tokio::process::Command;

use super::auditor::Auditor;
use super::audits;

/// How many audits are made by each.
const AUDITS: usize = 3;

/// What happens until it is told to stop.
struct Meanwhile {
    is_over: Arc<AtomicBool>,
    payments: Arc<AtomicU64>,
}

impl Meanwhile {
    /// Each pays as fast as the chain takes it. Where one is named twice, the network may list two payments that it got at once in
    /// another order than it made them.
    fn pays(agents: &[&Arc<Agent>], payee: Pubkey) -> Meanwhile {
        let meanwhile = Meanwhile { is_over: Arc::default(), payments: Arc::default() };
        for agent in agents {
            let (is_over, payments) = (Arc::clone(&meanwhile.is_over), Arc::clone(&meanwhile.payments));
            let agent = Arc::clone(*agent);
            tokio::spawn(async move {
                while !is_over.load(Ordering::SeqCst) {
                    if let DirectOutcome::Settled(_) = agent.pays_directly("0.01", &payee, "meanwhile").await
                    {
                        payments.fetch_add(1, Ordering::SeqCst);
                    }
                }
            });
        }
        meanwhile
    }
}

/// What the page's worker says of an operator at a node; `None` if there is no Node.
async fn page_says(url: &str, operator: &str) -> Option<Value> {
    let node = foreign::node_modules()?.join(".bin/node");
    let files = ["worker.js", "built/purser_page.wasm"]
        .map(|file| binaries::workspace().join("audit/page").join(file));
    let mut worker = Command::new(node);
    worker.arg(foreign::file("audit_page.mjs")).args::<_, &PathBuf>(&files).kill_on_drop(true);
    let mut worker = worker.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("node starts");
    let asked = json!({ "urls": [url], "settings": { "hosts": ["node"], "operator": operator } });
    let mut lines = worker.stdin.take().expect("it reads");
    lines.write_all(format!("{asked}\n").as_bytes()).await.expect("node runs");
    drop(lines);
    let output = worker.wait_with_output().await.expect("it ends");
    Some(serde_json::from_slice::<Value>(&output.stdout).expect("JSON")["end"].take())
}

#[tokio::test(flavor = "multi_thread")]
async fn payments_and_new_accounts_while_an_audit_runs_accuse_nobody() {
    let app = TestApp::start(TestNetwork::slow(), &AppSettings::default()).await;
    let operator = app.new_operator().await;
    let ada = Arc::new(operator.creates_account("Ada").await);
    let eve = Arc::new(operator.creates_account("Eve").await);
    let chain = operator.chain.clone();
    let (payee, _) = chain.new_payee().await;
    mints(&chain, "1000", &ada.token_account).await;
    mints(&chain, "1000", &eve.token_account).await;
    ada.gets_room(50).await;
    eve.gets_room(50).await;
    let (url, address) = (operator.network().rpc_url.clone(), operator.address.to_string());

    let meanwhile = Meanwhile::pays(&[&ada, &ada, &eve], payee);
    let (auditor, mut seen) = (Auditor::new(), Vec::new());
    for round in 0..AUDITS {
        let (at, of) = (url.clone(), address.clone());
        let audited = tokio::task::spawn_blocking(move || audits(&["--url", &at, "--operator", &of]));
        // Its first transaction comes after the operator's list was read.
        let ben = operator.creates_account(&format!("Ben {round}")).await;
        mints(&chain, "1", &ben.token_account).await;
        let (status, report) = audited.await.expect("it ends");
        assert_eq!(status, 0, "{report:#}");
        seen.push(
            report["accounts"].as_array().expect("accounts").iter().map(|it| it["payments"].as_u64()).max(),
        );
        if let Some(end) = page_says(&url, &address).await {
            assert_eq!(end["status"], 0, "{}", end["text"].as_str().unwrap_or_default());
        }
        if let Some(auditor) = &auditor {
            let (status, printed) = auditor.audits(&url, &ada.address).await;
            assert_eq!(status, 0, "{printed}");
        }
    }
    meanwhile.is_over.store(true, Ordering::SeqCst);
    assert!(meanwhile.payments.load(Ordering::SeqCst) > 20, "it pays all the time");
    assert!(seen.is_sorted() && seen.first() != seen.last(), "each saw more than the one before: {seen:?}");
}
