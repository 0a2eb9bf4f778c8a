//! The relayer on a node that confirms everything at once: counts the relayer's calls.

use std::sync::Arc;

use purser_tests::agent::all_at_once;
use purser_tests::{AppSettings, Client, Node, Payment, TestApp, TestNetwork};
use tokio::runtime::Handle;

// The node answers while this waits for the relayer to start.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn transfer_is_signed_and_sent_once_when_the_node_takes_it_at_once() {
    let network = TestNetwork::shared().await;
    let app = TestApp::start(Arc::clone(&network), &AppSettings::default()).await;
    let operator = app.new_operator().await;
    let agent = operator.creates_account_with("Ada", "1000").await;
    let (payee, _) = operator.chain.new_payee().await;
    let node = Node::before(&network.rpc_url, &network.ws_url, &Handle::current());
    let settings = AppSettings {
        rpc_url: Some(node.rpc_url.clone()),
        ws_url: Some(node.ws_url.clone()),
        ..AppSettings::default()
    };
    app.crashes();
    let beside = app.twin(&settings);
    let client = Client::new(&beside.base_url(), Some(operator.client.key()));

    node.follows_the_script(true).await.expect("the network reports its slot");

    const TRANSFERS: u64 = 60;
    let pays = |_| agent.pays("0.5").to(&payee).by(&client);
    for answer in all_at_once((0..TRANSFERS).map(pays).collect::<Vec<Payment>>()).await {
        answer.is_settled();
    }
    assert_eq!(node.sends(), (TRANSFERS, TRANSFERS as usize));
    assert_eq!(operator.chain.usdc_micros(&payee).await, 0, "nothing was executed");
}
