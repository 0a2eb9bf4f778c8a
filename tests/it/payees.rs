//! Accounts of the service as payees, those of other operators included: payers can pay them, but learn nothing else about them.

use purser_tests::agent::unique_key;
use purser_tests::{Agent, Operator};
use serde_json::json;

const UNKNOWN: &str = "acct_01ARZ3NDEKTSV4RRFFQ69G5FAV";

/// A payer with 5 USDC, and an account of another operator.
async fn payer_and_payee() -> (Agent, Agent) {
    let operator = Operator::shared().await;
    let payer = operator.creates_account_with("Ada", "5").await;
    let payee = operator.app().new_operator().await.creates_account("Theirs").await;
    (payer, payee)
}

#[tokio::test]
async fn account_of_another_operator_is_paid_and_its_deposit_is_announced() {
    let (payer, payee) = payer_and_payee().await;
    let preview = payer.previews("2").to(&payee).await.has_status(200);
    assert_eq!(preview["allowed"], true, "{}", preview.text);
    let settled = payer.pays("2").to(&payee).await.is_settled();
    assert_eq!(settled["to"], payee.id);
    assert_eq!((payer.balance_micros().await, payee.balance_micros().await), (3_000_000, 2_000_000));
    let history = payee.operator.client.get(&payee.path("/transactions")).await.has_status(200);
    let entry = &history["data"][0];
    assert_eq!((&entry["type"], &entry["amount_usdc"]), (&json!("deposit"), &json!("2.000000")));
    assert_eq!(entry["tx_signature"], settled["tx_signature"]);
    // An agent's own key can pay it too.
    payer.pays("1").to(&payee).by(&payer.new_key().await).await.is_settled();
    assert_eq!(payee.balance_micros().await, 3_000_000);
}

#[tokio::test]
async fn paying_an_account_of_another_operator_opens_nothing_of_it() {
    let (payer, payee) = payer_and_payee().await;
    let settled = payer.pays("1").to(&payee).await.is_settled();
    let client = &payer.operator.client;
    for below in ["", "/balance", "/limits", "/policy", "/transactions", "/keys"] {
        client.get(&payee.path(below)).await.is_error(404, "not_found");
    }
    for secret in [payee.operator.id.as_str(), payee.operator.address.to_string().as_str(), "Theirs"] {
        assert!(!settled.text.contains(secret), "{}", settled.text);
    }
    let transfer = format!("/v1/transfers/{}", settled.text_of("transfer_id"));
    payee.operator.client.get(&transfer).await.is_error(404, "not_found");
    let history = payee.operator.client.get(&payee.path("/transactions")).await.has_status(200);
    assert!(!history.text.contains(&payer.operator.id), "{}", history.text);
}

#[tokio::test]
async fn account_that_cannot_be_paid_is_answered_like_an_unknown_one() {
    let (payer, payee) = payer_and_payee().await;
    let unknown = payer.pays("1").to(&UNKNOWN).await.is_error(422, "invalid_recipient");
    payee.operator.chain.freezes(&payee.address, true).await;
    let frozen = payer.pays("1").to(&payee).await.is_error(422, "invalid_recipient");
    assert_eq!(frozen["message"], unknown["message"]);
    let (unknown, frozen) = (payer.previews("1").to(&UNKNOWN).await, payer.previews("1").to(&payee).await);
    assert_eq!(frozen.without_request_id(), unknown.without_request_id());
    assert_eq!(payer.balance_micros().await, 5_000_000);
}

#[tokio::test]
async fn payment_to_an_account_of_another_operator_is_made_once() {
    let (payer, payee) = payer_and_payee().await;
    let key = unique_key();
    let payment = payer.pays("1").to(&payee).key(&key);
    let settled = payment.clone().await.is_settled();
    let again = payment.await.is_settled();
    assert_eq!(again.header("idempotent-replayed"), Some("true"));
    assert_eq!(again["tx_signature"], settled["tx_signature"]);
    assert_eq!(payee.balance_micros().await, 1_000_000);
}

#[tokio::test]
async fn allowlist_holds_for_accounts_of_other_operators() {
    let (payer, payee) = payer_and_payee().await;
    payer.sets_policy(json!({ "allowed_counterparties": [] })).await;
    let refused = payer.pays("1").to(&payee).await.is_error(402, "policy_violation");
    assert_eq!(refused.failed_checks(), ["allowed_counterparties"]);
    let wallet = json!([{ "wallet": payee.address.to_string() }]);
    payer.sets_policy(json!({ "allowed_counterparties": wallet })).await;
    payer.pays("1").to(&payee).await.is_settled();
}
