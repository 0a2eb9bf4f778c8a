//! A policy that a client reads, edits and writes back.

use purser_tests::Operator;
use serde_json::json;
use solana_sdk::signature::Keypair;
use solana_sdk::signer::Signer;

#[tokio::test]
async fn policy_that_was_read_can_be_edited_and_put_back() {
    let operator = Operator::shared().await;
    let agent = operator.creates_account("Ada").await;
    let friend = operator.creates_account("Friend").await;
    let (client, path) = (&operator.client, agent.path("/policy"));
    let wallet = Keypair::new().pubkey().to_string();
    let entries = json!([friend.id, wallet]);
    agent.sets_policy(json!({ "max_daily_spend": "0.1", "allowed_counterparties": entries })).await;

    let mut policy = client.get(&path).await.has_status(200).body;
    let unchanged = client.put(&path, &policy).await.has_status(200);
    for field in
        ["max_single_transfer", "max_daily_spend", "allowed_counterparties", "counterparty_kinds", "paused"]
    {
        assert_eq!(unchanged[field], policy[field], "{field}");
    }
    policy = client.get(&path).await.has_status(200).body;
    policy["max_single_transfer"] = json!(5);
    policy["allowed_counterparties"] = json!([wallet]);
    policy["require_memo"] = json!(true);
    let put = client.put(&path, &policy).await.has_status(200);
    assert_eq!((&put["max_single_transfer"], &put["require_memo"]), (&json!(5), &json!(true)));
    assert_eq!((&put["max_daily_spend"], &put["allowed_counterparties"]), (&json!(0.1), &json!([wallet])));
    assert_eq!(put["counterparty_kinds"], json!(["wallet"]));
    let patched = client.get(&path).await.has_status(200).body;
    assert_eq!(client.patch(&path, &patched).await.has_status(200)["require_memo"], true);
}

#[tokio::test]
async fn policy_that_was_changed_since_it_was_read_is_not_overwritten() {
    let operator = Operator::shared().await;
    let agent = operator.creates_account("Ada").await;
    let (client, path) = (&operator.client, agent.path("/policy"));
    let mut read = client.get(&path).await.has_status(200).body;
    agent.sets_policy(json!({ "max_daily_spend": 7 })).await;
    read["require_memo"] = json!(true);
    client.put(&path, &read).await.is_error(409, "policy_changed");
    client.patch(&path, &read).await.is_error(409, "policy_changed");
    let only_time = json!({ "require_memo": true, "updated_at": "2001-01-01T00:00:00.000000Z" });
    client.put(&path, &only_time).await.is_error(409, "policy_changed");
    let stands = client.get(&path).await.has_status(200);
    assert_eq!((&stands["max_daily_spend"], &stands["require_memo"]), (&json!(7), &json!(false)));
}

#[tokio::test]
async fn read_only_field_that_was_changed_is_refused() {
    let operator = Operator::shared().await;
    let agent = operator.creates_account("Ada").await;
    let (client, path) = (&operator.client, agent.path("/policy"));
    let read = client.get(&path).await.has_status(200).body;
    for (field, value) in [
        ("account_id", json!("acct_01ARZ3NDEKTSV4RRFFQ69G5FAV")),
        ("account_id", json!(null)),
        ("counterparty_kinds", json!(["wallet"])),
        ("pending", json!({})),
        ("version", json!("1")),
        ("version", json!(-1)),
        ("version", json!(null)),
        ("updated_at", json!(5)),
        ("tx_signature", json!("x")),
        ("status", json!("active")),
    ] {
        let mut edited = read.clone();
        edited[field] = value;
        client.put(&path, &edited).await.blames(field);
        client.patch(&path, &edited).await.blames(field);
    }
    assert_eq!(client.get(&path).await.has_status(200).body, read);
    // A new account has no version that the client could have read.
    let body = json!({ "name": "Ben", "policy": { "version": 1 } });
    client.post("/v1/accounts", &body).await.blames("policy.version");
}

#[tokio::test]
async fn pause_in_a_policy_that_was_read_holds_though_it_was_changed_since() {
    let operator = Operator::shared().await;
    for method in [reqwest::Method::PUT, reqwest::Method::PATCH] {
        let agent = operator.creates_account("Ada").await;
        let (client, path) = (&operator.client, agent.path("/policy"));
        let mut read = client.get(&path).await.has_status(200).body;
        agent.sets_policy(json!({ "max_daily_spend": 7 })).await;
        read["paused"] = json!(true);
        let refused = client.sends(client.request(method, &path).json(&read)).await;
        let refused = refused.is_error(409, "policy_changed");
        assert!(refused.text_of("message").starts_with("The pause holds."), "{}", refused.text);
        let stands = client.get(&path).await.has_status(200);
        assert_eq!((&stands["max_daily_spend"], &stands["paused"]), (&json!(7), &json!(true)));
    }
}

#[tokio::test]
async fn halting_by_a_policy_that_was_read_waits_for_no_version() {
    let operator = Operator::shared().await;
    let agent = operator.creates_account("Ada").await;
    let path = agent.path("/policy");
    let body = json!({ "account_id": agent.id, "paused": true });
    assert_eq!(operator.client.put(&path, &body).await.has_status(200)["paused"], true);
}
