//! A build without extensions on the data of a build with all: it pays and refuses, and the extensions lose nothing of it.

use std::sync::Arc;
use std::time::Duration;

use purser_tests::clock::{HostClock, unix_of};
use purser_tests::{AppSettings, Client, TestApp, TestDatabase, TestNetwork, until};
use serde_json::json;
use solana_sdk::signer::Signer;

use crate::denials::{audits, bounded, file_of};

/// Routes of extensions.
const ROUTES: [(&str, &str); 6] = [
    ("GET", "/v1/approvals"),
    ("GET", "/v1/denials"),
    ("POST", "/v1/bulk/policy"),
    ("POST", "/v1/x402/payments"),
    ("POST", "/mcp"),
    ("GET", "/dashboard"),
];

async fn statuses(client: &Client) -> [u16; ROUTES.len()] {
    let asks = ROUTES.map(async |(method, path)| {
        let request = client.request(method.parse().expect("a method"), path);
        client.sends(if method == "POST" { request.json(&json!({})) } else { request }).await.status
    });
    futures::future::join_all(asks).await.try_into().expect("as many")
}

fn client_of(app: &TestApp, key: &str) -> Client {
    Client::new(&app.base_url(), Some(key))
}

/// Extensions on, off, and on again, on this database, or each time on a copy of one file.
async fn on_off_on(database: Option<Arc<TestDatabase>>) {
    let on = AppSettings { database, ..AppSettings::default() };
    let off = AppSettings { denials: None, without_extensions: true, ..on.clone() };
    let first = TestApp::start(TestNetwork::shared().await, &on).await;
    let operator = first.new_operator().await;
    let key = operator.client.key().to_owned();
    let (agent, payee) = bounded(&operator).await;
    agent.pays("2").to(&payee).await.is_error(402, "policy_violation");
    file_of(&operator.client, 1).await;
    let many = json!({ "accounts": { "ids": [agent.id] }, "policy": { "require_memo": true } });
    let changed = operator.client.post("/v1/bulk/policy", &many).await.has_status(200);
    assert_eq!(changed["failed"], 0, "{}", changed.text);
    let pays = |usdc: &str, by: &Client| agent.pays(usdc).to(&payee).memo("for bread").by(by);
    let asks =
        |usdc: &str, key: &str, by: &Client| pays(usdc, by).key(key).field("approval", json!("request"));
    let asked = asks("2", "asked before", &operator.client).await.has_status(202);
    let waits = format!("/v1/transfers/{}", asked.text_of("transfer_id"));
    let there = statuses(&operator.client).await;
    assert!(!there.contains(&404), "{there:?}");
    assert!(first.stops(Duration::from_secs(60)).await);

    let without = first.twin(&off);
    let plain = client_of(&without, &key);
    assert_eq!(statuses(&plain).await, [404; ROUTES.len()]);
    pays("2", &plain).await.is_error(402, "policy_violation");
    asks("2", "asked now", &plain).await.blames("approval");
    let repeated = asks("2", "asked before", &plain).await.has_status(202);
    assert_eq!(repeated["transfer_id"], asked["transfer_id"], "{}", repeated.text);
    assert_eq!(plain.get(&waits).await.has_status(200)["status"], "pending_approval");
    pays("1", &plain).await.is_settled();
    let acts = plain.get("/v1/actions").await.has_status(200);
    assert!(acts.text.contains("change_policies"), "what was done in bulk is on record: {}", acts.text);
    assert!(without.stops(Duration::from_secs(60)).await);

    let again = without.twin(&on);
    let client = client_of(&again, &key);
    assert_eq!(statuses(&client).await, there);
    let approvals = client.get("/v1/approvals?state=pending").await.has_status(200);
    assert_eq!(approvals["data"][0]["transfer_id"], asked["transfer_id"], "{}", approvals.text);
    pays("2", &client).await.is_error(402, "policy_violation");
    let file = file_of(&client, 3).await;
    let denials_key = first.denials_key().pubkey().to_string();
    assert_eq!(audits(&file, &["--denials-key", &denials_key]).0, 0, "{file}");
    if on.database.is_some() {
        let beside = again.twin(&off);
        let plain = client_of(&beside, &key);
        pays("2", &plain).await.is_error(402, "policy_violation");
        pays("1", &plain).await.is_settled();
        pays("1", &client).await.is_settled();
        let file = file_of(&client, 4).await;
        assert_eq!(audits(&file, &["--denials-key", &denials_key]).0, 0, "{file}");
    }
}

#[tokio::test]
async fn extensions_of_a_file_are_off_and_on_again() {
    on_off_on(None).await;
}

#[tokio::test]
async fn extensions_on_postgres_are_off_and_on_again_and_off_beside_a_relayer_that_has_them() {
    let Some(database) = TestDatabase::create().await else { return };
    on_off_on(Some(database)).await;
}

#[tokio::test]
async fn transfer_that_waits_for_a_person_ends_at_its_time_without_approvals() {
    let on = AppSettings { host_clock: Some(HostClock::new()), ..AppSettings::default() };
    let first = TestApp::start(TestNetwork::own(), &on).await;
    let operator = first.new_operator().await;
    let (agent, payee) = bounded(&operator).await;
    let asked = agent.pays("2").to(&payee).field("approval", json!("request")).await.has_status(202);
    assert!(first.stops(Duration::from_secs(60)).await);

    let without = first.twin(&AppSettings { denials: None, without_extensions: true, ..on });
    let plain = client_of(&without, operator.client.key());
    let ends = unix_of(asked.text_of("approval_expires_at"));
    let transfer = format!("/v1/transfers/{}", asked.text_of("transfer_id"));
    for (second, status) in [(ends - 600, "pending_approval"), (ends + 60, "failed")] {
        first.host_stands_at(second);
        operator.chain.stands_at(second).await;
        agent.lets_the_relayer_read(&plain, &payee).await;
        until(status, async || plain.get(&transfer).await.has_status(200)["status"] == status).await;
    }
    assert_eq!(plain.get(&transfer).await["error"], "approval_expired");
    assert_eq!(operator.chain.usdc_micros(&payee).await, 0);
}
