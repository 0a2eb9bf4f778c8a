//! A panic in a request is that request's 500. A panic in a task that the rest relies on ends the process, and the supervisor
//! starts it again.

use std::collections::BTreeSet;
use std::time::Duration;

use purser_tests::{AppSettings, TestApp, TestNetwork, binaries};

use crate::admin::with_admin;

/// Every task of a relayer with two nodes, a changing price, an account to watch and an admin listener, and the iteration in which
/// it panics.
const TASKS: [(&str, u32); 20] = [
    ("admin listener", 1),
    ("chain clock", 1),
    ("co-signatures", 1),
    ("conditions", 1),
    ("cross-check", 1),
    ("denial heads", 1),
    ("denials", 1),
    ("deposit websocket", 1),
    ("dispatcher", 2),
    ("events", 1),
    ("indexer", 2),
    ("key uses", 1),
    ("node comparison", 1),
    ("prices", 1),
    ("reconciler", 2),
    ("recorder of attempts", 1),
    ("submitter", 1),
    ("stops", 1),
    ("sweeper", 2),
    ("websocket", 1),
];

/// The tasks that the relayer itself reports.
async fn kept_by(app: &TestApp) -> BTreeSet<String> {
    let metrics = app.admin_client().get("/metrics").await.has_status(200).text;
    let name = |line: &str| Some(line.strip_prefix("purser_tasks{task=\"")?.split_once('"')?.0.to_owned());
    metrics.lines().filter_map(name).collect()
}

#[tokio::test]
async fn process_ends_and_says_why_when_a_task_panics_that_it_cannot_do_without() {
    let settings = AppSettings { denials: Some(3_600), ..with_admin(AppSettings::default()) };
    let app = TestApp::start(TestNetwork::shared().await, &settings).await;
    app.new_operator().await.creates_account("Ada").await;
    assert!(app.stops(Duration::from_secs(60)).await);
    let config = std::fs::read_to_string(app.config()).expect("readable");
    let node = format!("rpc_url = \"{}\"", TestNetwork::shared().await.rpc_url);
    assert!(config.contains(&node), "{config}");
    let more = node.replace("rpc_url = ", "rpc_urls = [") + "]\npriority_fee_micro_lamports_max = 1000";
    std::fs::write(app.config(), config.replace(&node, &format!("{node}\n{more}"))).expect("written");
    app.starts();
    let all: BTreeSet<_> = TASKS.iter().map(|(name, _)| (*name).to_owned()).collect();
    let mut kept = BTreeSet::new();
    // The websocket for deposits opens when the first account is watched.
    for _ in 0..300 {
        kept = kept_by(&app).await;
        if kept.is_superset(&all) {
            break;
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    assert_eq!(kept, all);
    assert!(app.stops(Duration::from_secs(60)).await);
    for (name, time) in TASKS {
        let task = format!("{name}:{time}");
        let mut serving = tokio::process::Command::new(binaries::fault_injection_relayer());
        serving.arg("serve").arg("--config").arg(app.config()).kill_on_drop(true);
        serving.env("PURSER_PANIC_AT", format!("task {task}"));
        let ended = tokio::time::timeout(Duration::from_secs(60), serving.output()).await;
        let output = ended.unwrap_or_else(|_| panic!("{task}: the process goes on")).expect("it starts");
        let log = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(1), "{task}: {log}");
        let last = log.lines().last().unwrap_or_default();
        assert_eq!(
            last,
            format!("error: the task `{name}` panicked, and the process ends to be started anew")
        );
        assert!(log.contains("an essential task panicked"), "{log}");
    }
    // Nothing that the panic left behind prevents a start.
    app.starts();
    app.new_operator().await.creates_account("Ada").await;
}

#[tokio::test]
async fn panic_of_a_request_is_answered_500_and_ends_nothing_else() {
    let settings = AppSettings { panic_at: Some("claim.before:1"), ..AppSettings::default() };
    let app = TestApp::start(TestNetwork::shared().await, &settings).await;
    let pid = app.pid();
    let agent = app.new_operator().await.creates_account_with("Ada", "10").await;
    let (payee, _) = agent.operator.chain.new_payee().await;
    let payment = agent.pays("1").to(&payee);
    payment.clone().await.is_error(500, "internal_error");
    payment.await.is_settled();
    assert_eq!(app.pid(), pid);
    assert_eq!(agent.operator.chain.usdc_micros(&payee).await, 1_000_000);
}
