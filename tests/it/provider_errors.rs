//! Providers refuse calls with codes of their own: a limit, a bill, a key, a method that they do not have. Another node serves them.

use std::sync::Arc;

use purser_tests::proxy::faults::Fault;
use purser_tests::{AppSettings, Operator, Proxy, TestApp, TestNetwork, until};
use serde_json::json;
use solana_sdk::pubkey::Pubkey;

const FURTHER_NODES: &str = "PURSER__NETWORKS__TEST__RPC_URLS";
/// HTTP statuses and JSON-RPC codes as providers give them, and an answer that says nothing.
const ANSWERS: [Fault; 8] = [
    Fault::Code(429, -32007),
    Fault::Code(401, -32401),
    Fault::Code(402, -32000),
    Fault::Code(200, -32007),
    Fault::Code(403, -32602),
    Fault::Code(413, -32600),
    Fault::Code(200, -32601),
    Fault::Nothing,
];

/// A relayer over a provider that may refuse every call, and over this further node. The provider's websocket goes on.
async fn relayer(further: Option<String>) -> (Arc<TestApp>, Proxy) {
    let network = TestNetwork::shared().await;
    let provider = Proxy::to(&network.rpc_url);
    let environment = further.map(|url| (FURTHER_NODES, url)).into_iter().collect();
    let settings = AppSettings {
        rpc_url: Some(provider.url()),
        ws_url: Some(network.ws_url.clone()),
        environment,
        deadline_seconds: 20,
        ..AppSettings::default()
    };
    (TestApp::start(network, &settings).await, provider)
}

async fn payee(operator: &Operator) -> Pubkey {
    operator.chain.new_payee().await.0
}

#[tokio::test]
async fn another_node_serves_what_a_provider_refuses_by_any_code() {
    let network = TestNetwork::shared().await;
    let (app, provider) = relayer(Some(network.rpc_url.clone())).await;
    let operator = app.new_operator().await;
    let agent = operator.creates_account_with("Ada", "20").await;
    for fault in ANSWERS {
        provider.faults().rains(1, 1_000, vec![fault]);
        let payee = payee(&operator).await;
        agent.pays("1").to(&payee).await.is_settled();
        assert_eq!(operator.chain.usdc_micros(&payee).await, 1_000_000, "{fault:?}");
        operator.client.get(&agent.path("/balance")).await.has_status(200);
        operator.creates_account("Ben").await;
        app.client().get("/healthz").await.has_status(200);
        provider.faults().clears();
    }
}

#[tokio::test]
async fn provider_alone_that_refuses_every_call_is_unavailable_and_says_nothing_of_the_account() {
    let (app, provider) = relayer(None).await;
    let operator = app.new_operator().await;
    let agent = operator.creates_account_with("Ada", "20").await;
    for fault in ANSWERS {
        let payee = payee(&operator).await;
        provider.faults().rains(1, 1_000, vec![fault]);
        let unserved = operator.client.get(&agent.path("/balance")).await;
        unserved.is_error(503, "solana_unavailable");
        let body = json!({ "name": "Ben" });
        operator.client.post("/v1/accounts", &body).await.is_error(503, "solana_unavailable");
        let unpaid = agent.pays("1").to(&payee).key(&format!("{fault:?}")).await;
        assert_eq!(unpaid.status, 503, "{fault:?}: {}", unpaid.text);
        unpaid.is_error(503, "solana_unavailable");
        until("health says that no node answers", async || {
            app.client().get("/healthz").await.text.contains("no node answers")
        })
        .await;
        provider.faults().clears();
        until("health is well", async || app.client().get("/healthz").await.status == 200).await;
        agent.pays("1").to(&payee).key(&format!("{fault:?}")).await.is_settled();
        assert_eq!(operator.chain.usdc_micros(&payee).await, 1_000_000, "{fault:?}");
    }
}
