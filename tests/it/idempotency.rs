//! The idempotency key of POST /v1/transfers: all four rules of the spec.

use std::collections::HashSet;

use purser_tests::agent::unique_key;
use purser_tests::{Operator, Payment};
use reqwest::Method;
use serde_json::json;
use solana_sdk::signature::Keypair;
use solana_sdk::signer::Signer;

#[tokio::test]
async fn same_request_again_answers_the_settled_transfer_and_pays_once() {
    let operator = Operator::shared().await;
    let agent = operator.creates_account_with("Ada", "10").await;
    let (payee, _) = operator.chain.new_payee().await;
    let payment = agent.pays("4").to(&payee).memo("once");
    let first = payment.clone().await.is_settled();
    assert_eq!(first.header("idempotent-replayed"), None);
    for _ in 0..3 {
        let again = payment.clone().await.is_settled();
        assert_eq!(again.header("idempotent-replayed"), Some("true"));
        assert_eq!(again.body, first.body);
    }
    assert_eq!(operator.chain.usdc_micros(&payee).await, 4_000_000);
}

#[tokio::test]
async fn amounts_and_memos_that_mean_the_same_are_the_same_request() {
    let operator = Operator::shared().await;
    let agent = operator.creates_account_with("Ada", "10").await;
    let (payee, _) = operator.chain.new_payee().await;
    let key = unique_key();
    let first = agent.pays("1.5").to(&payee).key(&key).await.is_settled();
    for same in
        [agent.pays("1.500000"), agent.pays("1.50").memo(""), agent.pays("1.5").field("memo", json!(null))]
    {
        assert_eq!(same.to(&payee).key(&key).await.is_settled()["transfer_id"], first["transfer_id"]);
    }
    assert_eq!(agent.balance_micros().await, 8_500_000);
}

#[tokio::test]
async fn same_key_for_anything_else_is_a_conflict() {
    let operator = Operator::shared().await;
    let agent = operator.creates_account_with("Ada", "10").await;
    let other = operator.creates_account_with("Ben", "10").await;
    let (payee, _) = operator.chain.new_payee().await;
    let key = unique_key();
    agent.pays("1").to(&payee).memo("m").key(&key).await.is_settled();
    let changed = [
        agent.pays("1.000001").to(&payee).memo("m"),
        agent.pays("1").to(&other).memo("m"),
        agent.pays("1").to(&payee).memo("M"),
        agent.pays("1").to(&payee),
        other.pays("1").to(&payee).memo("m"),
    ];
    for payment in changed {
        payment.key(&key).await.is_error(409, "idempotency_conflict");
    }
    assert_eq!(operator.chain.usdc_micros(&payee).await, 1_000_000);
}

#[tokio::test]
async fn keys_of_two_operators_do_not_meet() {
    let operator = Operator::shared().await;
    let stranger = operator.app().new_operator().await;
    let (payee, _) = operator.chain.new_payee().await;
    let key = unique_key();
    let mut ids = HashSet::new();
    for (owner, usdc) in [(&operator, "1"), (&stranger, "2")] {
        let agent = owner.creates_account_with("Ada", "10").await;
        let settled = agent.pays(usdc).to(&payee).key(&key).await.is_settled();
        ids.insert(settled.text_of("transfer_id").to_owned());
    }
    assert_eq!(ids.len(), 2);
    assert_eq!(operator.chain.usdc_micros(&payee).await, 3_000_000);
}

#[tokio::test]
async fn operator_and_agent_keys_share_one_scope() {
    let operator = Operator::shared().await;
    let agent = operator.creates_account_with("Ada", "10").await;
    let (payee, _) = operator.chain.new_payee().await;
    let agent_key = agent.new_key().await;
    let payment = agent.pays("1").to(&payee);
    let first = payment.clone().by(&agent_key).await.is_settled();
    assert_eq!(payment.await.is_settled()["transfer_id"], first["transfer_id"]);
}

#[tokio::test]
async fn policy_rejection_is_answered_again_even_after_the_policy_changed() {
    let operator = Operator::shared().await;
    let agent = operator.creates_account_with("Ada", "10").await;
    agent.sets_policy(json!({ "max_single_transfer": 1 })).await;
    let (payee, _) = operator.chain.new_payee().await;
    let payment = agent.pays("2").to(&payee);
    let first = payment.clone().await.is_error(402, "policy_violation");
    agent.sets_policy(json!({})).await;
    let again = payment.await.is_error(402, "policy_violation");
    assert_eq!(again.without_request_id(), first.without_request_id());
    assert_eq!(again.header("idempotent-replayed"), Some("true"));
    assert_eq!(agent.balance_micros().await, 10_000_000);
}

#[tokio::test]
async fn pause_rejection_is_answered_again_after_the_pause() {
    let operator = Operator::shared().await;
    let agent = operator.creates_account_with("Ada", "10").await;
    agent.sets_policy(json!({ "paused": true })).await;
    let (payee, _) = operator.chain.new_payee().await;
    let payment = agent.pays("2").to(&payee);
    let first = payment.clone().await.is_error(402, "account_paused");
    agent.sets_policy(json!({ "paused": false })).await;
    let again = payment.await.is_error(402, "account_paused");
    assert_eq!(again["transfer_id"], first["transfer_id"]);
}

#[tokio::test]
async fn transfer_refused_for_its_balance_is_tried_again_under_the_same_key() {
    let operator = Operator::shared().await;
    let agent = operator.creates_account_with("Ada", "1").await;
    let (payee, _) = operator.chain.new_payee().await;
    let payment = agent.pays("2").to(&payee);
    payment.clone().await.is_error(402, "insufficient_balance");
    payment.clone().await.is_error(402, "insufficient_balance");
    agent.holds("5").await;
    let settled = payment.clone().await.is_settled();
    assert_eq!(settled.header("idempotent-replayed"), None);
    assert_eq!(payment.await.is_settled()["transfer_id"], settled["transfer_id"]);
    assert_eq!(agent.balance_micros().await, 3_000_000);
}

#[tokio::test]
async fn transfer_refused_for_its_recipient_is_tried_again_under_the_same_key() {
    let operator = Operator::shared().await;
    let agent = operator.creates_account_with("Ada", "5").await;
    let owner = Keypair::new().pubkey();
    let payment = agent.pays("2").to(&operator.chain.usdc_account_of(&owner));
    payment.clone().await.is_error(422, "invalid_recipient");
    let (corrected, _) = operator.chain.new_payee().await;
    payment.clone().to(&corrected).await.is_error(409, "idempotency_conflict");
    operator.chain.sets_usdc(&owner, 0).await;
    payment.await.is_settled();
    assert_eq!(agent.balance_micros().await, 3_000_000);
}

#[tokio::test]
async fn invalid_request_does_not_use_up_its_key() {
    let operator = Operator::shared().await;
    let agent = operator.creates_account_with("Ada", "5").await;
    let (payee, _) = operator.chain.new_payee().await;
    let key = unique_key();
    agent.pays("0").to(&payee).key(&key).await.blames("amount");
    agent.pays("1").to(&payee).key(&key).memo(&"a".repeat(201)).await.blames("memo");
    agent.pays("1").to(&payee).key(&key).field("extra", json!(1)).await.blames("extra");
    let unknown = json!("acct_01ARZ3NDEKTSV4RRFFQ69G5FAV");
    agent.pays("1").to(&payee).key(&key).field("from", unknown).await.is_error(404, "not_found");
    let other = operator.creates_account("Ben").await.new_key().await;
    agent.pays("1").to(&payee).key(&key).by(&other).await.is_error(403, "forbidden");
    agent.pays("3").to(&payee).key(&key).await.is_settled();
}

#[tokio::test]
async fn key_has_at_most_128_characters() {
    let operator = Operator::shared().await;
    let agent = operator.creates_account_with("Ada", "5").await;
    let (payee, _) = operator.chain.new_payee().await;
    let prefix = unique_key();
    let longest = format!("{prefix}{}", "ü".repeat(128 - prefix.len()));
    let settled = agent.pays("1").to(&payee).key(&longest).await.is_settled();
    assert_eq!(settled["idempotency_key"], longest);
    for key in [format!("{longest}a"), String::new(), "a\0".to_owned()] {
        agent.pays("1").to(&payee).key(&key).await.blames("idempotency_key");
    }
    agent.pays("1").to(&payee).without("idempotency_key").await.blames("idempotency_key");
}

#[tokio::test]
async fn header_names_the_key_as_well_and_must_not_contradict_the_body() {
    let operator = Operator::shared().await;
    let agent = operator.creates_account_with("Ada", "5").await;
    let (payee, _) = operator.chain.new_payee().await;
    let key = unique_key();
    let sends = |payment: Payment, header: &str| {
        let request = operator.client.request(Method::POST, "/v1/transfers");
        operator.client.sends(request.header("idempotency-key", header.to_owned()).json(payment.body()))
    };
    let payment = agent.pays("1").to(&payee);
    let first = sends(payment.clone().without("idempotency_key"), &key).await.is_settled();
    assert_eq!(first["idempotency_key"], key);
    let both = sends(payment.clone().key(&key), &key).await.is_settled();
    assert_eq!(both["transfer_id"], first["transfer_id"]);
    sends(payment.key("another"), &key).await.blames("idempotency_key");
    assert_eq!(agent.balance_micros().await, 4_000_000);
}
