//! A panic: of a request, it is that request's 500; of a task that the rest relies on, it is the end of the process, which
//! whoever supervises it starts again.

use std::time::Duration;

use purser_tests::{AppSettings, TestApp, TestNetwork, binaries};

/// As the tasks are named in the log.
const TASKS: [&str; 9] = [
    "sweeper:2",
    "reconciler:2",
    "indexer:2",
    "dispatcher:2",
    "recorder of attempts:1",
    "submitter:1",
    "chain clock:1",
    "node comparison:1",
    "websocket:1",
];

#[tokio::test]
async fn process_ends_and_says_why_when_a_task_panics_that_it_cannot_do_without() {
    let app = TestApp::start(TestNetwork::shared().await, &AppSettings::default()).await;
    assert!(app.stops(Duration::from_secs(60)).await);
    // Nodes are compared where there are two.
    let config = std::fs::read_to_string(app.config()).expect("readable");
    let node = format!("rpc_url = \"{}\"", TestNetwork::shared().await.rpc_url);
    assert!(config.contains(&node), "{config}");
    let second = node.replace("rpc_url = ", "rpc_urls = [") + "]";
    std::fs::write(app.config(), config.replace(&node, &format!("{node}\n{second}"))).expect("written");
    for task in TASKS {
        let mut serving = tokio::process::Command::new(binaries::fault_injection_relayer());
        serving.arg("serve").arg("--config").arg(app.config()).kill_on_drop(true);
        serving.env("PURSER_PANIC_AT", format!("task {task}"));
        let ended = tokio::time::timeout(Duration::from_secs(60), serving.output()).await;
        let output = ended.unwrap_or_else(|_| panic!("{task}: the process goes on")).expect("it starts");
        let log = String::from_utf8_lossy(&output.stderr);
        let (name, _) = task.split_once(':').expect("a name");
        assert_eq!(output.status.code(), Some(1), "{task}: {log}");
        let last = log.lines().last().unwrap_or_default();
        assert_eq!(
            last,
            format!("error: the task `{name}` panicked, and the process ends to be started anew")
        );
        assert!(log.contains("a task panicked that the process cannot do without"), "{log}");
    }
    // Nothing was left behind that keeps it from starting.
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
