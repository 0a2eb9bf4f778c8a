//! Very many identical requests at once, for each of several keys. `PURSER_TEST_LONG=1` sends 1,000 for each of 100 keys.

use std::future::IntoFuture;

use futures::StreamExt;
use purser_tests::agent::unique_key;
use purser_tests::clock::{HostClock, unix_of};
use purser_tests::{Agent, Answer, AppSettings, Operator, Payment, TestApp, TestNetwork};

/// Requests in flight: each takes a socket on both sides.
const AT_ONCE: usize = 400;

fn keys_and_requests() -> (usize, usize) {
    if std::env::var_os("PURSER_TEST_LONG").is_some() { (100, 1_000) } else { (10, 200) }
}

async fn all_of(payment: &Payment, requests: usize) -> Vec<Answer> {
    let sending = (0..requests).map(|_| payment.clone().into_future());
    futures::stream::iter(sending).buffer_unordered(AT_ONCE).collect().await
}

#[tokio::test]
async fn identical_requests_at_once_are_one_transaction_and_one_answer_to_the_byte() {
    let operator = Operator::shared().await;
    let (payee, _) = operator.chain.new_payee().await;
    let (keys, requests) = keys_and_requests();
    let agent = operator.creates_account_with("Ada", "1000").await;
    for paid in 1..=keys {
        let before = operator.chain.transactions_of(&agent.address).await;
        let payment = agent.pays("1").to(&payee).memo("all at once");
        let answers = all_of(&payment, requests).await;
        assert_eq!(answers.len(), requests);
        let first = answers[0].text.clone();
        for answer in answers {
            assert_eq!(answer.text, first, "byte-identical: a settled transfer has no request_id");
            answer.is_settled();
        }
        let changed = payment.field("amount", serde_json::json!("1.000001"));
        changed.await.is_error(409, "idempotency_conflict");
        assert_eq!(operator.chain.transactions_of(&agent.address).await, before + 1);
        assert_eq!(operator.chain.usdc_micros(&payee).await, paid as u64 * 1_000_000);
    }
}

#[tokio::test]
async fn identical_requests_after_a_failure_that_is_not_policy_run_again_once() {
    let operator = Operator::shared().await;
    let (payee, _) = operator.chain.new_payee().await;
    let agent = operator.creates_account_with("Ada", "0.5").await;
    let payment = agent.pays("1").to(&payee);
    for refused in all_of(&payment, 50).await {
        refused.is_error(402, "insufficient_balance");
    }
    agent.holds("10").await;
    let before = operator.chain.transactions_of(&agent.address).await;
    let answers = all_of(&payment, 50).await;
    for answer in &answers {
        assert_eq!(answer.text, answers[0].text);
        answer.clone().is_settled();
    }
    assert_eq!(operator.chain.transactions_of(&agent.address).await, before + 1);
    assert_eq!(operator.chain.usdc_micros(&payee).await, 1_000_000);
}

async fn agent_on_a_clock_of_its_own(host_clock: &HostClock) -> Agent {
    let settings = AppSettings { host_clock: Some(host_clock.clone()), ..AppSettings::default() };
    let app = TestApp::start(TestNetwork::own(), &settings).await;
    let operator = app.new_operator().await;
    operator.creates_account_with("Ada", "100").await
}

#[tokio::test]
async fn key_is_free_again_after_24_hours_and_not_a_second_sooner() {
    const DAY: i64 = 86_400;
    let host_clock = HostClock::new();
    let agent = agent_on_a_clock_of_its_own(&host_clock).await;
    let chain = agent.operator.chain.clone();
    let (payee, _) = chain.new_payee().await;
    let key = unique_key();
    chain.stands_at(chain.now().await + 60).await;
    let first = agent.pays("1").to(&payee).key(&key).await.is_settled();
    let settled_at = unix_of(first.text_of("settled_at"));

    chain.stands_at(settled_at + DAY - 1).await;
    host_clock.stands_at(settled_at + DAY - 1);
    agent.lets_the_relayer_read(&agent.operator.client, &payee).await;
    let replayed = agent.pays("1").to(&payee).key(&key).await.is_settled();
    assert_eq!(replayed.text, first.text);
    agent.pays("2").to(&payee).key(&key).await.is_error(409, "idempotency_conflict");

    chain.stands_at(settled_at + DAY).await;
    host_clock.stands_at(settled_at + DAY);
    agent.lets_the_relayer_read(&agent.operator.client, &payee).await;
    let anew = agent.pays("2").to(&payee).key(&key).await.is_settled();
    assert_ne!(anew["transfer_id"], first["transfer_id"]);
    assert_eq!(chain.usdc_micros(&payee).await, 3_000_000);
    let replayed = agent.pays("2").to(&payee).key(&key).await.is_settled();
    assert_eq!(replayed.text, anew.text);
}
