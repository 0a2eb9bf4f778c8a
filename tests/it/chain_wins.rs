//! What stands on the chain is what counts: a transfer that was given up and is paid after all, one whose payment a fork drops, and
//! nodes of which one says what is not so, or keeps to itself what it is sent.

use std::sync::Arc;
use std::time::Duration;

use purser_tests::agent::unique_key;
use purser_tests::proxy::lies::WrongHeight;
use purser_tests::proxy::outcomes::Outcome;
use purser_tests::{Agent, Answer, AppSettings, Operator, Proxy, TestApp, TestNetwork, until};
use serde_json::{Value, json};

const FURTHER_NODES: &str = "PURSER__NETWORKS__TEST__RPC_URLS";
const SHORTEST_SLOT: &str = "PURSER__NETWORKS__TEST__SHORTEST_SLOT_MS";
const FAR_AHEAD: WrongHeight = WrongHeight { blocks: 1_000, slots_too: false };

/// Two nodes of a network, a relayer that uses the first of them or both, and an agent with 100 USDC.
struct Scene {
    nodes: [Proxy; 2],
    operator: Operator,
    agent: Agent,
}

impl Scene {
    /// Only the agreement of nodes keeps a transfer from expiring here: the shortest slot is next to nothing.
    async fn of(network: Arc<TestNetwork>, nodes_used: usize) -> Scene {
        let first = Proxy::to(&network.rpc_url);
        let nodes = [first.beside(), first];
        let mut environment = vec![(SHORTEST_SLOT, "1".to_owned())];
        if nodes_used > 1 {
            environment.push((FURTHER_NODES, nodes[1].url()));
        }
        let settings = AppSettings {
            rpc_url: Some(nodes[0].url()),
            environment,
            indexer_interval_ms: 200,
            deadline_seconds: 20,
            ..AppSettings::default()
        };
        let operator = TestApp::start(network, &settings).await.new_operator().await;
        let agent = operator.creates_account_with("Ada", "100").await;
        Scene { nodes, operator, agent }
    }

    async fn reads(&self, transfer: &str) -> Answer {
        self.operator.client.get(&format!("/v1/transfers/{transfer}")).await.has_status(200)
    }

    /// The types of a transfer's events, oldest first.
    async fn told(&self, transfer: &str) -> Vec<Value> {
        let listed = self.operator.client.get("/v1/events?limit=100").await.has_status(200);
        let events = listed["data"].as_array().expect("a list").iter().rev();
        let of_it = events.filter(|event| event["data"]["transfer_id"] == transfer);
        of_it
            .map(|event| event["type"].clone())
            .filter(|kind| kind.as_str().is_some_and(|kind| kind.starts_with("transfer.")))
            .collect()
    }

    async fn settled_lines(&self) -> usize {
        let path = self.agent.path("/transactions?status=settled&limit=100");
        let history = self.operator.client.get(&path).await.has_status(200);
        history["data"].as_array().expect("a list").iter().filter(|entry| entry["type"] == "transfer").count()
    }
}

#[tokio::test]
async fn a_height_that_one_of_two_nodes_claims_gives_up_no_payment_that_is_late() {
    let scene = Scene::of(TestNetwork::shared().await, 2).await;
    scene.nodes[0].lies().shows_height(Some(FAR_AHEAD));
    let (payee, _) = scene.operator.chain.new_payee().await;
    let mark = unique_key();
    scene.nodes[0].outcomes().orders(&mark, [Outcome::Late(Duration::from_millis(4_500))]);
    let paid = scene.agent.pays("10").to(&payee).memo(&mark).await.is_settled();
    assert_eq!(scene.told(paid.text_of("transfer_id")).await.last(), Some(&json!("transfer.settled")));
    assert_eq!(scene.operator.chain.usdc_micros(&payee).await, 10_000_000);
}

#[tokio::test]
async fn a_payment_that_was_given_up_and_lands_all_the_same_settles_its_transfer_and_is_announced() {
    // A blockhash lives for half a minute there.
    let scene = Scene::of(TestNetwork::slow(), 1).await;
    // Nobody contradicts a node that is alone.
    scene.nodes[0].lies().shows_height(Some(FAR_AHEAD));
    let (payee, _) = scene.operator.chain.new_payee().await;
    let mark = unique_key();
    let late = Outcome::Late(Duration::from_secs(14));
    scene.nodes[0].outcomes().orders(&mark, [late, Outcome::Dropped { sends: u32::MAX }]);
    let payment = scene.agent.pays("10").to(&payee).memo(&mark).key(&mark);
    let given_up = payment.clone().await.is_error(503, "solana_unavailable");
    let transfer = given_up.text_of("transfer_id");
    assert_eq!(scene.reads(transfer).await["status"], "failed");
    until("the late payment settles its transfer", async || {
        scene.reads(transfer).await["status"] == "settled"
    })
    .await;
    assert_eq!(scene.operator.chain.usdc_micros(&payee).await, 10_000_000);
    assert_eq!(scene.told(transfer).await.last(), Some(&json!("transfer.settled")));
    assert_eq!(scene.settled_lines().await, 1);
    scene.nodes[0].lies().clears();
    let again = payment.await.is_settled();
    assert_eq!(again["transfer_id"], given_up["transfer_id"], "the key stands for what was paid");
    assert_eq!(scene.operator.chain.usdc_micros(&payee).await, 10_000_000);
}

#[tokio::test]
async fn tries_after_a_payment_that_was_given_up_give_way_to_it_when_it_lands() {
    let scene = Scene::of(TestNetwork::slow(), 1).await;
    scene.nodes[0].lies().shows_height(Some(FAR_AHEAD));
    let (payee, _) = scene.operator.chain.new_payee().await;
    let mark = unique_key();
    let (late, lost) = (Outcome::Late(Duration::from_secs(14)), Outcome::Dropped { sends: u32::MAX });
    scene.nodes[0].outcomes().orders(&mark, std::iter::once(late).chain([lost; 40]));
    let payment = scene.agent.pays("10").to(&payee).memo(&mark).key(&mark);
    let given_up = payment.clone().await.is_error(503, "solana_unavailable");
    let paid = payment.insists().await;
    assert_eq!(
        paid["transfer_id"], given_up["transfer_id"],
        "one payment settles one transfer: {}",
        paid.text
    );
    let listed = format!("/v1/transfers?idempotency_key={mark}&status=settled");
    let settled = scene.operator.client.get(&listed).await.has_status(200);
    assert_eq!(settled["data"].as_array().expect("a list").len(), 1, "{}", settled.text);
    assert_eq!(scene.operator.chain.usdc_micros(&payee).await, 10_000_000);
    assert_eq!(scene.settled_lines().await, 1);
}

#[tokio::test]
async fn a_fork_that_drops_a_payment_opens_its_transfer_again_until_it_is_paid() {
    let scene = Scene::of(TestNetwork::shared().await, 1).await;
    let (payee, _) = scene.operator.chain.new_payee().await;
    let mark = unique_key();
    scene.nodes[0].outcomes().orders(&mark, [Outcome::DroppedByFork(Duration::from_millis(1_500))]);
    let dropped = scene.agent.pays("10").to(&payee).memo(&mark).await.is_settled();
    let transfer = dropped.text_of("transfer_id");
    assert_eq!(scene.operator.chain.usdc_micros(&payee).await, 0);
    until("the transfer is open again", async || {
        scene.told(transfer).await.contains(&json!("transfer.reopened"))
    })
    .await;
    until("the transfer is paid", async || {
        let read = scene.reads(transfer).await;
        read["status"] == "settled" && scene.operator.chain.has_settled(read.text_of("tx_signature")).await
    })
    .await;
    let told = scene.told(transfer).await;
    assert_eq!(told.last(), Some(&json!("transfer.settled")), "{told:?}");
    assert_eq!(told.iter().filter(|kind| **kind == "transfer.settled").count(), 2, "{told:?}");
    assert_eq!(scene.operator.chain.usdc_micros(&payee).await, 10_000_000);
    assert_eq!(scene.settled_lines().await, 1);
}

#[tokio::test]
async fn a_deaf_node_stops_no_payments_beside_one_that_hears() {
    let scene = Scene::of(TestNetwork::shared().await, 2).await;
    scene.nodes[0].lies().drops_transactions(true);
    let (payee, _) = scene.operator.chain.new_payee().await;
    for _ in 0..6 {
        scene.agent.pays("1").to(&payee).await.is_settled();
    }
    assert_eq!(scene.operator.chain.usdc_micros(&payee).await, 6_000_000);
}
