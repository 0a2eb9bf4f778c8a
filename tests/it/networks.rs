//! Two networks in one relayer: the key selects one.

use purser_tests::agent::unique_key;
use purser_tests::{AppSettings, Operator, TestApp, TestNetwork};

async fn operators_on_test_and_live() -> (Operator, Operator) {
    let settings = AppSettings { live: Some(TestNetwork::own()), ..AppSettings::default() };
    let app = TestApp::start(TestNetwork::shared().await, &settings).await;
    (app.new_operator_on("test").await, app.new_operator_on("live").await)
}

#[tokio::test]
async fn key_picks_the_network_that_is_paid_on() {
    let (test, live) = operators_on_test_and_live().await;
    assert_ne!(test.network().genesis_hash, live.network().genesis_hash);
    for (operator, name) in [(&test, "test"), (&live, "live")] {
        assert!(operator.client.key().starts_with(&format!("psr_op_{name}_")));
        let agent = operator.creates_account_with("Ada", "5").await;
        assert!(agent.new_key().await.key().starts_with(&format!("psr_ag_{name}_")));
        let (payee, _) = operator.chain.new_payee().await;
        let settled = agent.pays("2").to(&payee).await.is_settled();
        assert_eq!(operator.chain.usdc_micros(&payee).await, 2_000_000);
        assert!(operator.chain.has_settled(settled.text_of("tx_signature")).await);
        assert!(settled.text_of("solana_explorer_url").contains(&format!("/{name}/")));
    }
}

#[tokio::test]
async fn account_exists_only_on_its_own_network() {
    let (test, live) = operators_on_test_and_live().await;
    let agent = live.creates_account_with("Ada", "5").await;
    assert!(live.chain.data(&agent.address).await.is_some());
    assert!(test.chain.data(&agent.address).await.is_none());
    test.reads_account(&agent.id).await.is_error(404, "not_found");
    let (payee, _) = live.chain.new_payee().await;
    agent.pays("1").to(&payee).by(&test.client).await.is_error(404, "not_found");
    let listed = test.client.get("/v1/accounts").await.has_status(200);
    assert!(!listed.text.contains(&agent.id));
}

#[tokio::test]
async fn account_of_one_network_is_no_recipient_on_the_other() {
    let (test, live) = operators_on_test_and_live().await;
    let (payer, payee) = (test.creates_account_with("Ada", "5").await, live.creates_account("Ben").await);
    let refused = payer.pays("1").to(&payee).await.is_error(422, "invalid_recipient");
    let unknown = payer.pays("1").to(&"acct_01ARZ3NDEKTSV4RRFFQ69G5FAV").await;
    assert_eq!(refused["message"], unknown["message"]);
    payer.pays("1").to(&payee.token_account).await.is_error(422, "invalid_recipient");
    assert_eq!(payer.balance_micros().await, 5_000_000);
}

#[tokio::test]
async fn same_idempotency_key_on_both_networks_is_two_payments() {
    let (test, live) = operators_on_test_and_live().await;
    let key = unique_key();
    for operator in [&test, &live] {
        let agent = operator.creates_account_with("Ada", "5").await;
        let (payee, _) = operator.chain.new_payee().await;
        let settled = agent.pays("1").to(&payee).key(&key).await.is_settled();
        assert_eq!(settled.header("idempotent-replayed"), None);
        assert_eq!(operator.chain.usdc_micros(&payee).await, 1_000_000);
    }
}

#[tokio::test]
async fn key_whose_network_was_rewritten_opens_nothing() {
    let (test, live) = operators_on_test_and_live().await;
    for (operator, from, to) in [(&test, "_test_", "_live_"), (&live, "_live_", "_test_")] {
        let forged = operator.client.key().replace(from, to);
        operator.client.with_key(&forged).get("/v1/accounts").await.is_error(401, "unauthorized");
    }
}
