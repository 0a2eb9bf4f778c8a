//! `GET /healthz`: reports problems, and whether requests should go to another relayer.

use purser_tests::{Answer, AppSettings, Proxy, TestApp, TestNetwork, awaited, until};
use serde_json::json;

/// Polls until the status is this one.
async fn comes_to(app: &TestApp, status: u16) -> Answer {
    let what = format!("health comes to {status}");
    awaited(&what, async || Some(app.client().get("/healthz").await).filter(|answer| answer.status == status))
        .await
}

#[tokio::test]
async fn health_says_when_no_node_answers() {
    let network = TestNetwork::shared().await;
    let proxy = Proxy::to(&network.rpc_url);
    let settings = AppSettings { rpc_url: Some(proxy.url()), ..AppSettings::default() };
    let app = TestApp::start(network, &settings).await;
    assert_eq!(comes_to(&app, 200).await.body, json!({ "status": "ok" }));
    proxy.cuts();
    let answer = comes_to(&app, 503).await;
    let problems = json!(["network test: no node answers"]);
    assert_eq!(answer.body, json!({ "status": "unwell", "problems": problems }));
    proxy.mends();
    assert_eq!(comes_to(&app, 200).await.body, json!({ "status": "ok" }));
}

#[tokio::test]
async fn health_says_when_the_database_takes_no_writes() {
    let app = TestApp::start(TestNetwork::shared().await, &AppSettings::default()).await;
    comes_to(&app, 200).await;
    let other = rusqlite::Connection::open(app.folder().join("purser.db")).expect("opened");
    other.execute_batch("BEGIN IMMEDIATE").expect("the only writer");
    let answer = comes_to(&app, 503).await;
    let problems = json!(["database: takes no writes"]);
    assert_eq!(answer.body, json!({ "status": "unwell", "problems": problems }));
    other.execute_batch("ROLLBACK").expect("ended");
    assert_eq!(comes_to(&app, 200).await.body, json!({ "status": "ok" }));
}

#[tokio::test]
async fn one_network_of_two_without_a_node_leaves_the_service_to_the_other() {
    let network = TestNetwork::shared().await;
    let proxy = Proxy::to(&network.rpc_url);
    let settings = AppSettings {
        rpc_url: Some(proxy.url()),
        live: Some(TestNetwork::shared().await),
        ..AppSettings::default()
    };
    let app = TestApp::start(network, &settings).await;
    proxy.cuts();
    let problems = json!({ "status": "degraded", "problems": ["network test: no node answers"] });
    until("health is degraded", async || app.client().get("/healthz").await.has_status(200).body == problems)
        .await;
}
