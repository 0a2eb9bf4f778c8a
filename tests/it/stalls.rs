//! A network that stalls for a while, and then catches up.

use std::time::Duration;

use purser_tests::{AppSettings, TestApp, TestNetwork};
use serde_json::json;

#[tokio::test]
async fn accounts_are_made_after_the_network_stood_still() {
    let network = TestNetwork::own();
    let app = TestApp::start(network.clone(), &AppSettings::default()).await;
    let operator = app.new_operator().await;
    let creates = async |name: String| operator.client.post("/v1/accounts", &json!({ "name": name })).await;
    // It signs now and then, so that it keeps a blockhash and knows the pace of blocks.
    for number in 0..4 {
        creates(format!("before {number}")).await.has_status(201);
        tokio::time::sleep(Duration::from_millis(500)).await;
    }
    network.stands_still(Duration::from_secs(3)).await;
    for number in 0..12 {
        creates(format!("after {number}")).await.has_status(201);
        tokio::time::sleep(Duration::from_secs(1)).await;
    }
}
