//! The node announces outside deposits through the token account that they reach. Comparing balances finds nothing here: the
//! relayer does that once, at its start.

use std::sync::Arc;
use std::time::Duration;

use purser_tests::wallet::mints;
use purser_tests::{Agent, AppSettings, Node, TestApp, TestNetwork};
use tokio::runtime::Handle;

use crate::history::entries_once;

/// A relayer behind a proxy that compares balances only at its start, with one account.
async fn account(commitment: &'static str) -> (Arc<TestApp>, Node, Agent) {
    let network = TestNetwork::shared().await;
    let node = Node::before(&network.rpc_url, &network.ws_url, &Handle::current());
    let settings = AppSettings {
        commitment,
        indexer_interval_ms: 600_000,
        rpc_url: Some(node.rpc_url.clone()),
        ws_url: Some(node.ws_url.clone()),
        ..AppSettings::default()
    };
    let app = TestApp::start(network, &settings).await;
    let agent = app.new_operator().await.creates_account("Payee").await;
    (app, node, agent)
}

async fn deposits(agent: &Agent, usdc: &str) -> String {
    mints(&agent.operator.chain, usdc, &agent.token_account).await
}

/// Waits for `count` entries; the first is this deposit.
async fn shows(agent: &Agent, count: usize, signature: &str) {
    assert_eq!(entries_once(agent, count).await[0]["tx_signature"], *signature);
}

// The proxy answers while a test waits for the relayer to start.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn first_deposit_to_an_account_created_a_moment_ago_shows() {
    let (_app, _node, agent) = account("confirmed").await;
    let signature = deposits(&agent, "1").await;
    shows(&agent, 1, &signature).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn deposit_reported_before_it_counts_shows_once_it_does() {
    // The network notifies at once, and the change is final 31 slots later.
    let (_app, _node, agent) = account("finalized").await;
    let signature = deposits(&agent, "1").await;
    shows(&agent, 1, &signature).await;
    let signature = deposits(&agent, "2").await;
    shows(&agent, 2, &signature).await;
}

/// Waits until the relayer has made no call for a moment. On a busy machine it polls on until a subscription that was not answered in time
/// is asked for again: then what follows is shown by a poll, which is right, too.
async fn nothing_is_asked(node: &Node) {
    for _ in 0..10 {
        let before = node.calls();
        tokio::time::sleep(Duration::from_millis(1_500)).await;
        if node.calls() == before {
            return;
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn deposit_made_without_a_websocket_shows_when_it_is_back() {
    let (_app, node, agent) = account("confirmed").await;
    let first = deposits(&agent, "5").await;
    shows(&agent, 1, &first).await;
    // A look that is still due would find the next deposit, too.
    nothing_is_asked(&node).await;
    node.leaves_out(1_000);
    let second = deposits(&agent, "1").await;
    node.cuts_websockets();
    shows(&agent, 2, &second).await;
    // From here on notices arrive again.
    node.leaves_out(0);
    let third = deposits(&agent, "1").await;
    shows(&agent, 3, &third).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn deposit_to_an_account_of_an_earlier_process_shows() {
    let (app, _node, mut agent) = account("confirmed").await;
    assert!(app.stops(Duration::from_secs(60)).await);
    let signature = deposits(&agent, "1").await;
    app.starts();
    agent.operator = agent.operator.reconnected();
    shows(&agent, 1, &signature).await;
    let signature = deposits(&agent, "2").await;
    shows(&agent, 2, &signature).await;
}
