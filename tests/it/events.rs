//! Events, as webhooks get them and as the API lists them: the real relayer, the real network, a real receiver.

use purser_tests::binaries::workspace;
use purser_tests::receiver::Delivery;
use purser_tests::wallet::{mints, withdraws};
use purser_tests::{Agent, AppSettings, Operator, Receiver, TestApp, TestNetwork, until};
use rusqlite::OptionalExtension;
use serde_json::{Value, json};

use crate::history::entries_once;
use crate::webhooks::{TRANSFERS, registers, signature};

fn of_type<'a>(received: &'a [Delivery], event_type: &str) -> Vec<&'a Delivery> {
    received.iter().filter(|delivery| delivery.event_type() == event_type).collect()
}

#[tokio::test]
async fn transfer_is_announced_when_it_is_submitted_and_when_it_is_settled() {
    let (operator, receiver) = (Operator::shared().await, Receiver::start());
    let agent = operator.creates_account_with("Ada", "10").await;
    let (payee, _) = operator.chain.new_payee().await;
    let webhook = registers(&operator, &receiver.url("/a"), &TRANSFERS).await;
    let paid = agent.pays("1.5").to(&payee).memo("caf\u{e9} \u{1F600}").await.is_settled();
    let received = receiver.waits_for("/a", 2).await;
    let [initiated] = of_type(&received, "transfer.initiated")[..] else { panic!("one is initiated") };
    let [settled] = of_type(&received, "transfer.settled")[..] else { panic!("one is settled") };
    assert_eq!(
        initiated.event()["data"],
        json!({
            "transfer_id": paid["transfer_id"],
            "account_id": agent.id,
            "to": payee.to_string(),
            "to_wallet": null,
            "amount_usdc": "1.500000",
            "memo": "caf\u{e9} \u{1F600}",
            "idempotency_key": paid["idempotency_key"],
            "tx_signature": paid["tx_signature"],
        })
    );
    assert_eq!(
        settled.event()["data"],
        json!({
            "transfer_id": paid["transfer_id"],
            "account_id": agent.id,
            "to": payee.to_string(),
            "to_wallet": null,
            "amount_usdc": "1.500000",
            "memo": "caf\u{e9} \u{1F600}",
            "idempotency_key": paid["idempotency_key"],
            "tx_signature": paid["tx_signature"],
            "settled_at": paid["settled_at"],
        })
    );
    for delivery in &received {
        let event = delivery.event();
        let fields: Vec<_> = event.as_object().expect("an object").keys().map(String::as_str).collect();
        assert_eq!(fields, ["created_at", "data", "id", "type"]);
        assert_eq!(delivery.header("content-type"), "application/json");
        assert_eq!(delivery.header("webhook-id"), delivery.event_id());
        let expected = signature(webhook.text_of("secret"), &delivery.body);
        assert_eq!(delivery.header("x-service-signature"), expected);
        assert!(delivery.header("webhook-signature").starts_with("v1,"));
        let read = operator.client.get(&format!("/v1/events/{}", delivery.event_id())).await.has_status(200);
        assert_eq!(read.text.as_bytes(), delivery.body, "an event is read as it is delivered");
    }
}

#[tokio::test]
async fn transfer_that_policy_refuses_is_announced_as_rejected() {
    let (operator, receiver) = (Operator::shared().await, Receiver::start());
    let agent = operator.creates_account_with("Ada", "10").await;
    let (payee, _) = operator.chain.new_payee().await;
    agent.sets_policy(json!({ "max_single_transfer": 1 })).await;
    registers(&operator, &receiver.url("/a"), &TRANSFERS).await;
    let refused = agent.pays("2").to(&payee).await.is_error(402, "policy_violation");
    agent.pays("0.5").to(&payee).key("again").await.is_settled();
    // A failure for a reason other than policy is no rejection.
    agent.sets_policy(json!({})).await;
    agent.pays("100").to(&payee).await.is_error(402, "insufficient_balance");
    let received = receiver.waits_for("/a", 3).await;
    let [rejected] = of_type(&received, "transfer.rejected")[..] else { panic!("one is rejected") };
    let data = &rejected.event()["data"];
    assert_eq!(data["account_id"], agent.id);
    assert_eq!(data["rejection_reason"], "single_limit_exceeded");
    assert_eq!(data["transfer_id"], refused["transfer_id"]);
    assert_eq!(data["message"], refused["message"]);
}

#[tokio::test]
async fn low_balance_is_announced_once_per_crossing() {
    let (operator, receiver) = (Operator::shared().await, Receiver::start());
    let agent = operator.creates_account_with("Ada", "100").await;
    let (payee, _) = operator.chain.new_payee().await;
    let body = json!({
        "url": receiver.url("/low"), "events": ["balance.low_threshold"], "low_balance_threshold_usdc": 50.5,
    });
    let webhook = operator.client.post("/v1/webhooks", &body).await.has_status(201);
    assert!(webhook.text.contains("\"low_balance_threshold_usdc\":50.5,"), "{}", webhook.text);
    agent.pays("49.500000").to(&payee).await.is_settled();
    agent.pays("0.5").to(&payee).await.is_settled();
    let [first] = &receiver.waits_for("/low", 1).await[..] else { panic!("one crossing") };
    agent.pays("5").to(&payee).await.is_settled();
    agent.holds("80").await;
    // If nobody sees the balance rise before the next payment, that payment crosses nothing.
    waits_until_known(&agent, "80.000000").await;
    agent.pays("70").to(&payee).await.is_settled();
    receiver.waits_for("/low", 2).await;
    assert_eq!(announced(&agent, &receiver).await, ["50.000000", "10.000000"]);
    assert_eq!(
        first.event()["data"],
        json!({
            "account_id": agent.id,
            "balance_usdc": "50.000000",
            "usdc_token_account": agent.token_account.to_string(),
            "threshold_usdc": "50.500000",
        })
    );
}

/// An account with this much, and a webhook at `/low` that fires when less than 50 USDC are left.
async fn watched(operator: &Operator, receiver: &Receiver, usdc: &str) -> Agent {
    let agent = operator.creates_account("Watched").await;
    mints(&operator.chain, usdc, &agent.token_account).await;
    entries_once(&agent, 1).await;
    let body = json!({
        "url": receiver.url("/low"), "events": ["balance.low_threshold"], "low_balance_threshold_usdc": 50,
    });
    operator.client.post("/v1/webhooks", &body).await.has_status(201);
    waits_until_known(&agent, &format!("{usdc}.000000")).await;
    agent
}

/// Waits until the relayer has seen this balance. It writes the resulting announcements in the same transaction, so by then
/// they are complete.
async fn waits_until_known(agent: &Agent, usdc: &str) {
    const KNOWN: &str = "SELECT watched_usdc FROM accounts WHERE account_id = $1 AND watched_at IS NOT NULL";
    let file = agent.operator.app().folder().join("purser.db");
    let database = rusqlite::Connection::open(file).expect("opened");
    until(&format!("the known balance is {usdc}"), async || {
        let known: Option<String> =
            database.query_row(KNOWN, [&agent.id], |row| row.get(0)).optional().expect("read");
        known.as_deref() == Some(usdc)
    })
    .await;
}

/// The balances that were announced as low, oldest first, each delivered once.
async fn announced(agent: &Agent, receiver: &Receiver) -> Vec<String> {
    let path = format!("/v1/events?type=balance.low_threshold&account_id={}&limit=100", agent.id);
    let listed = agent.operator.client.get(&path).await.has_status(200);
    let events = listed["data"].as_array().expect("a list");
    let balance = |event: &Value| event["data"]["balance_usdc"].as_str().expect("a text").to_owned();
    assert_eq!(receiver.waits_for("/low", events.len()).await.len(), events.len());
    events.iter().rev().map(balance).collect()
}

#[tokio::test]
async fn low_balance_is_announced_for_a_withdrawal_by_wallet_once_and_again_after_it_was_back() {
    let (operator, receiver) = (Operator::shared().await, Receiver::start());
    let agent = watched(&operator, &receiver, "100").await;
    let (payee, _) = operator.chain.new_payee().await;
    let takes = async |usdc: &str| withdraws(&agent, usdc, &payee, operator.app().admin()).await;
    takes("49.999999").await;
    takes("0.000001").await;
    waits_until_known(&agent, "50.000000").await;
    assert!(announced(&agent, &receiver).await.is_empty(), "50 are not less than 50");
    takes("0.000001").await;
    waits_until_known(&agent, "49.999999").await;
    assert_eq!(announced(&agent, &receiver).await, ["49.999999"]);
    // Further down, by wallet and through the relayer: no crossing.
    takes("9.999999").await;
    agent.pays("5").to(&payee).await.is_settled();
    waits_until_known(&agent, "35.000000").await;
    assert_eq!(announced(&agent, &receiver).await, ["49.999999"]);
    mints(&operator.chain, "15", &agent.token_account).await;
    waits_until_known(&agent, "50.000000").await;
    assert_eq!(announced(&agent, &receiver).await, ["49.999999"], "being back is no crossing");
    takes("20").await;
    waits_until_known(&agent, "30.000000").await;
    assert_eq!(announced(&agent, &receiver).await, ["49.999999", "30.000000"]);
}

#[tokio::test]
async fn low_balance_is_announced_again_though_nobody_saw_the_deposit_in_between() {
    // The indexer does not look for deposits while this runs.
    let settings = AppSettings { indexer_interval_ms: 600_000, ..AppSettings::default() };
    let app = TestApp::start(TestNetwork::shared().await, &settings).await;
    let (operator, receiver) = (app.new_operator().await, Receiver::start());
    let agent = operator.creates_account_with("Ada", "60").await;
    let (payee, _) = operator.chain.new_payee().await;
    let body = json!({
        "url": receiver.url("/low"), "events": ["balance.low_threshold"], "low_balance_threshold_usdc": 50,
    });
    operator.client.post("/v1/webhooks", &body).await.has_status(201);
    waits_until_known(&agent, "60.000000").await;
    agent.pays("20").to(&payee).await.is_settled();
    receiver.waits_for("/low", 1).await;
    // 40 + 30 - 25, + 15 - 15.5, and + 10.5 - 5.5, which ends at 49.5.
    for (count, deposit, payment) in [(2, "30", "25"), (3, "15", "15.5"), (4, "10.5", "5.5")] {
        mints(&operator.chain, deposit, &agent.token_account).await;
        agent.pays(payment).to(&payee).await.is_settled();
        // A deposit that comes before the look after the answer would hide the crossing.
        receiver.waits_for("/low", count).await;
    }
    waits_until_known(&agent, "49.500000").await;
    assert_eq!(announced(&agent, &receiver).await, ["40.000000", "45.000000", "44.500000", "49.500000"]);
}

#[tokio::test]
async fn events_are_listed_by_type_and_account_and_page() {
    let operator = Operator::shared().await;
    let ada = operator.creates_account_with("Ada", "10").await;
    let ben = operator.creates_account_with("Ben", "10").await;
    for agent in [&ada, &ben] {
        agent.pays("1").to(&agent.operator.chain.new_payee().await.0).await.is_settled();
    }
    let list = async |query: &str| {
        let answer = operator.client.get(&format!("/v1/events{query}")).await.has_status(200);
        answer["data"].as_array().expect("a list").clone()
    };
    let all = list("").await;
    assert_eq!(all.iter().filter(|event| event["type"] != "action.recorded").count(), 4);
    assert_eq!(all.len(), 4 + list("?type=action.recorded").await.len());
    assert_eq!(list("?type=transfer.settled").await.len(), 2);
    let of_ada = list(&format!("?account_id={}", ada.id)).await;
    assert!(of_ada.len() == 2 && of_ada.iter().all(|event| event["data"]["account_id"] == ada.id));
    let count = all.len() - 1;
    let first = operator.client.get(&format!("/v1/events?limit={count}")).await.has_status(200);
    assert_eq!(first["has_more"], true);
    let cursor = first.text_of("cursor");
    ada.pays("1").to(&operator.chain.new_payee().await.0).await.is_settled();
    let second = list(&format!("?limit={count}&cursor={cursor}")).await;
    assert_eq!(second.len(), 1, "new events do not move a page");
    operator.client.get(&format!("/v1/events?type=transfer.settled&cursor={cursor}")).await.blames("cursor");
    operator.client.get("/v1/events?type=transfer.lost").await.blames("type");
}

#[test]
fn every_event_type_is_tested_here_and_explained() {
    let source =
        std::fs::read_to_string(workspace().join("relayer/model/src/event.rs")).expect("events are named");
    let types: Vec<&str> = source
        .lines()
        .skip_while(|line| !line.starts_with("event_types! {"))
        .take_while(|line| *line != "}")
        .filter(|line| line.contains(" = \""))
        .filter_map(|line| line.split('"').nth(1))
        .collect();
    assert!(types.len() > 15, "{types:?}");
    let page =
        std::fs::read_to_string(workspace().join("docs/build/webhooks.md")).expect("webhooks are explained");
    for event_type in types {
        assert!(
            page.contains(&format!("`{event_type}`")),
            "docs/build/webhooks.md does not name {event_type}"
        );
        assert!(
            [
                include_str!("events.rs"),
                include_str!("actions.rs"),
                include_str!("webhooks.rs"),
                include_str!("loosening.rs"),
                include_str!("account_events.rs"),
                include_str!("../../relayer/store/src/tests/cases/chain_wins.rs"),
                include_str!("../../extensions/approvals/src/tests.rs"),
                include_str!("../../relayer/model/src/wire/events/tests.rs")
            ]
            .iter()
            .any(|tests| tests.contains(&format!("\"{event_type}\""))),
            "{event_type} is not tested"
        );
    }
}
