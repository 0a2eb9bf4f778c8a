//! Many requests at the same time: the promises for one request hold for all of them together.

use std::collections::HashSet;

use purser_tests::agent::{all_at_once, unique_key};
use purser_tests::money::micros_of;
use purser_tests::{Operator, Payment};
use serde_json::json;

#[tokio::test]
async fn fifty_identical_requests_at_once_are_one_transaction_and_one_answer() {
    let operator = Operator::shared().await;
    let agent = operator.creates_account_with("Ada", "100").await;
    let (payee, _) = operator.chain.new_payee().await;
    let before = operator.chain.transactions_of(&agent.address).await;
    let payment = agent.pays("1").to(&payee);
    let answers = all_at_once((0..50).map(|_| payment.clone())).await;
    let first = answers[0].without_request_id();
    for answer in answers {
        assert_eq!(answer.is_settled().without_request_id(), first);
    }
    assert_eq!(operator.chain.transactions_of(&agent.address).await, before + 1);
    assert_eq!(operator.chain.usdc_micros(&payee).await, 1_000_000);
}

#[tokio::test]
async fn fifty_requests_at_once_that_differ_under_one_key_pay_at_most_one_of_them() {
    let operator = Operator::shared().await;
    let agent = operator.creates_account_with("Ada", "1000").await;
    let (payee, _) = operator.chain.new_payee().await;
    let key = unique_key();
    let payments: Vec<Payment> = (1..=50).map(|n| agent.pays(&n.to_string()).to(&payee).key(&key)).collect();
    let answers = all_at_once(payments).await;
    let settled: Vec<_> = answers.iter().filter(|answer| answer.status == 200).collect();
    assert_eq!(settled.len(), 1);
    for answer in answers.iter().filter(|answer| answer.status != 200) {
        answer.clone().is_error(409, "idempotency_conflict");
    }
    let paid = micros_of(&settled[0]["amount_usdc"]);
    assert_eq!(operator.chain.usdc_micros(&payee).await, paid);
}

#[tokio::test]
async fn twenty_different_requests_at_once_all_settle() {
    let operator = Operator::shared().await;
    let agent = operator.creates_account_with("Ada", "100").await;
    let (payee, _) = operator.chain.new_payee().await;
    let answers = all_at_once((0..20).map(|_| agent.pays("1").to(&payee))).await;
    let ids: HashSet<String> =
        answers.into_iter().map(|answer| answer.is_settled().text_of("transfer_id").to_owned()).collect();
    assert_eq!(ids.len(), 20);
    assert_eq!(operator.chain.usdc_micros(&payee).await, 20_000_000);
}

#[tokio::test]
async fn many_requests_at_once_never_pay_more_than_the_daily_limit() {
    let operator = Operator::shared().await;
    let agent = operator.creates_account_with("Ada", "100").await;
    agent.sets_policy(json!({ "max_daily_spend": 5 })).await;
    let (payee, _) = operator.chain.new_payee().await;
    let answers = all_at_once((0..12).map(|_| agent.pays("1").to(&payee))).await;
    let settled = answers.iter().filter(|answer| answer.status == 200).count();
    for answer in answers.iter().filter(|answer| answer.status != 200) {
        let refused = answer.clone().is_error(402, "policy_violation");
        assert_eq!(refused.failed_checks(), ["max_daily_spend"]);
    }
    assert_eq!(settled, 5);
    assert_eq!(operator.chain.usdc_micros(&payee).await, 5_000_000);
}

#[tokio::test]
async fn many_requests_at_once_never_pay_more_than_the_balance() {
    let operator = Operator::shared().await;
    let agent = operator.creates_account_with("Ada", "5").await;
    let (payee, _) = operator.chain.new_payee().await;
    let answers = all_at_once((0..12).map(|_| agent.pays("1").to(&payee))).await;
    let settled = answers.iter().filter(|answer| answer.status == 200).count();
    for answer in answers.iter().filter(|answer| answer.status != 200) {
        answer.clone().is_error(402, "insufficient_balance");
    }
    assert_eq!(settled, 5);
    assert_eq!(operator.chain.usdc_micros(&payee).await, 5_000_000);
}

#[tokio::test]
async fn pause_among_many_transfers_leaves_each_of_them_settled_or_refused() {
    let operator = Operator::shared().await;
    let agent = operator.creates_account_with("Ada", "100").await;
    let (payee, _) = operator.chain.new_payee().await;
    let path = agent.path("/policy");
    let pause = json!({ "paused": true });
    let pausing = operator.client.put(&path, &pause);
    let paying = all_at_once((0..20).map(|_| agent.pays("1").to(&payee)));
    let (paused, answers) = futures::join!(pausing, paying);
    paused.has_status(200);
    let settled = answers.iter().filter(|answer| answer.status == 200).count() as u64;
    for answer in answers.iter().filter(|answer| answer.status != 200) {
        let refused = answer.clone().is_error(402, "account_paused");
        assert_eq!(refused["status"], "rejected");
    }
    assert_eq!(operator.chain.usdc_micros(&payee).await, settled * 1_000_000);
    agent.pays("1").to(&payee).await.is_error(402, "account_paused");
}

#[tokio::test]
async fn accounts_pay_each_other_in_a_circle_at_once_and_nothing_is_lost() {
    let operator = Operator::shared().await;
    let (ada, ben) =
        (operator.creates_account_with("Ada", "10").await, operator.creates_account_with("Ben", "10").await);
    let payments =
        (0..10).map(|turn| if turn % 2 == 0 { ada.pays("1").to(&ben) } else { ben.pays("1").to(&ada) });
    for answer in all_at_once(payments).await {
        answer.is_settled();
    }
    assert_eq!((ada.balance_micros().await, ben.balance_micros().await), (10_000_000, 10_000_000));
}
