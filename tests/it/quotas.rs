//! How many accounts and allowlist entries the service pays for, for one operator.

use futures::future::join_all;
use purser_tests::{Answer, AppSettings, Operator, TestApp, TestDatabase, TestNetwork};
use serde_json::{Value, json};
use solana_sdk::pubkey::Pubkey;

async fn operator_with(accounts: u64, entries: u64) -> Operator {
    let settings = AppSettings { quotas: Some((accounts, entries)), ..AppSettings::default() };
    TestApp::start(TestNetwork::shared().await, &settings).await.new_operator().await
}

fn list(count: usize) -> Value {
    (0..count).map(|_| json!({ "wallet": Pubkey::new_unique().to_string() })).collect()
}

/// How many were accepted; the others were refused because of the quota.
#[track_caller]
fn taken(answers: Vec<Answer>, status: u16) -> usize {
    let (taken, refused): (Vec<_>, Vec<_>) = answers.into_iter().partition(|answer| answer.status == status);
    refused.into_iter().for_each(|answer| drop(answer.is_error(400, "quota_exceeded")));
    taken.len()
}

#[tokio::test]
async fn accounts_asked_for_at_once_stop_at_the_quota_and_other_operators_have_their_own() {
    let operator = operator_with(4, 100).await;
    let asks =
        (0..12).map(|_| async { operator.client.post("/v1/accounts", &json!({ "name": "Ada" })).await });
    assert_eq!(taken(join_all(asks).await, 201), 4);
    let listed = operator.client.get("/v1/accounts").await.has_status(200);
    assert_eq!(listed["data"].as_array().map(Vec::len), Some(4));
    operator.app().new_operator().await.creates_account("Ben").await;
}

#[tokio::test]
async fn accounts_asked_of_two_relayers_at_once_stop_at_the_quota() {
    let Some(database) = TestDatabase::create().await else { return };
    let settings = AppSettings { quotas: Some((5, 100)), database: Some(database), ..AppSettings::default() };
    let first = TestApp::start(TestNetwork::shared().await, &settings).await;
    let second = first.twin(&settings);
    let operator = first.new_operator().await;
    let beside = purser_tests::Client::new(&second.base_url(), Some(operator.client.key()));
    let asks = (0..16).map(|number| {
        let client = if number % 2 == 0 { &operator.client } else { &beside };
        async move { client.post("/v1/accounts", &json!({ "name": "Ada" })).await }
    });
    assert_eq!(taken(join_all(asks).await, 201), 5);
}

#[tokio::test]
async fn entries_of_all_accounts_count_together_and_shorter_lists_make_room() {
    let operator = operator_with(10, 60).await;
    let (ada, ben) = (operator.creates_account("Ada").await, operator.creates_account("Ben").await);
    ada.sets_policy(json!({ "allowed_counterparties": list(40) })).await;
    let long = json!({ "allowed_counterparties": list(30) });
    let refused = operator.client.put(&ben.path("/policy"), &long).await;
    assert_eq!(refused.is_error(400, "quota_exceeded")["param"], "allowed_counterparties");
    let policy = json!({ "allowed_counterparties": list(15) });
    let begun = json!({ "name": "Cyd", "policy": policy });
    operator.client.post("/v1/accounts", &begun).await.has_status(201);
    operator.client.post("/v1/accounts", &begun).await.is_error(400, "quota_exceeded");
    // Neither a pause nor a limit takes any quota.
    ada.sets_policy(json!({ "paused": true })).await;
    operator.client.patch(&ada.path("/policy"), &json!({ "max_single_transfer": 1 })).await.has_status(200);
    ada.sets_policy(json!({ "allowed_counterparties": list(5) })).await;
    ben.sets_policy(long).await;
}

#[tokio::test]
async fn operator_list_shows_holdings_and_rent_of_each_operator() {
    let operator = operator_with(10, 60).await;
    let agent = operator.creates_account("Ada").await;
    agent.sets_policy(json!({ "allowed_counterparties": list(20) })).await;
    let listed = operator.app().runs(&["operator", "list"]);
    let row = listed.as_array().and_then(|rows| rows.iter().find(|row| row["operator_id"] == operator.id));
    let row = row.unwrap_or_else(|| panic!("no {} in {listed}", operator.id));
    assert_eq!((&row["accounts"], &row["allowlist_entries"]), (&json!(1), &json!(20)));
    let chain = &operator.chain;
    let rent = chain.lamports(&agent.address).await + chain.lamports(&agent.token_account).await;
    assert_eq!(row["rent_lamports"], json!(rent));
}
