//! The relayer over a node that confirms everything at once: what it asks of a node, counted.

use std::sync::Arc;

use purser_tests::agent::all_at_once;
use purser_tests::{AppSettings, Client, Payment, ScriptedRpc, TestApp, TestNetwork};
use solana_sdk::signer::Signer;

#[tokio::test]
async fn transfer_is_signed_and_sent_once_when_the_node_takes_it_at_once() {
    let network = TestNetwork::shared().await;
    let app = TestApp::start(Arc::clone(&network), &AppSettings::default()).await;
    let operator = app.new_operator().await;
    let agent = operator.creates_account_with("Ada", "1000").await;
    let (payee, _) = operator.chain.new_payee().await;
    let known = [
        network.program_id,
        network.usdc_mint,
        app.policy_authority().pubkey(),
        app.transfer_authority().pubkey(),
        operator.address,
        agent.address,
        agent.token_account,
        payee,
    ];
    let node = ScriptedRpc::copies(&network.rpc_url, &known).await;
    let settings = AppSettings { rpc_url: Some(node.url()), ..AppSettings::default() };
    app.crashes();
    let beside = app.twin(&settings);
    let client = Client::new(&beside.base_url(), Some(operator.client.key()));

    const TRANSFERS: u64 = 60;
    let pays = |_| agent.pays("0.5").to(&payee).by(&client);
    for answer in all_at_once((0..TRANSFERS).map(pays).collect::<Vec<Payment>>()).await {
        answer.is_settled();
    }
    assert_eq!(node.calls()["sendTransaction"], TRANSFERS);
    assert_eq!(node.transactions() as u64, TRANSFERS);
    assert_eq!(node.calls()["other"], 0, "nothing is asked that the node does not know: {:?}", node.calls());
    assert_eq!(operator.chain.usdc_micros(&payee).await, 0, "nothing was executed");
}
