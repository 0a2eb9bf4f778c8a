//! 409 `likely_duplicate`: what another idempotency key seems to be for is paid only where that is said to be meant.

use purser_tests::agent::all_at_once;
use purser_tests::{Agent, Answer, Operator};
use serde_json::json;
use solana_sdk::pubkey::Pubkey;

use crate::window::{agent_on_a_standing_clock, stands_at};

async fn account_and_payee(operator: &Operator, duplicates: &str) -> (Agent, Pubkey) {
    let agent = operator.creates_account_with("Ada", "20").await;
    let changed = operator.client.patch(&agent.path(""), &json!({ "duplicates": duplicates })).await;
    assert_eq!(changed.has_status(200)["duplicates"], duplicates);
    (agent, operator.chain.new_payee().await.0)
}

#[track_caller]
fn is_duplicate_of(answer: Answer, earlier: &str) {
    let refused = answer.is_error(409, "likely_duplicate");
    assert_eq!((refused.text_of("transfer_id"), &refused["retryable"]), (earlier, &json!(false)));
    let message = refused.text_of("message");
    assert!(message.contains(earlier) && message.contains("duplicate_of"), "{message}");
}

#[tokio::test]
async fn payment_that_another_key_just_made_is_paid_only_where_it_is_said_to_be_meant() {
    let operator = Operator::shared().await;
    let (agent, payee) = account_and_payee(&operator, "refused").await;
    let first = agent.pays("1").to(&payee).memo("tea");
    let paid = first.clone().await.is_settled();
    let paid_id = paid.text_of("transfer_id");
    let again = agent.pays("1.0").to(&payee).memo("tea");
    for _ in 0..2 {
        is_duplicate_of(again.clone().await, paid_id);
    }
    // Nothing was claimed: neither a transfer nor the key.
    let path = format!("/v1/transfers?account_id={}", agent.id);
    let listed = operator.client.get(&path).await.has_status(200);
    assert_eq!(listed["data"].as_array().map(Vec::len), Some(1), "{}", listed.text);
    let meant = again.clone().field("duplicate_of", json!(paid_id));
    let second = meant.clone().await.is_settled();
    // Who names the first does not know of the second.
    let third = agent.pays("1").to(&payee).memo("tea").field("duplicate_of", json!(paid_id));
    is_duplicate_of(third.await, second.text_of("transfer_id"));
    // Whether it is said is no part of what the key stands for.
    for same in [meant, again] {
        let replayed = same.await.is_settled();
        assert_eq!(replayed.body, second.body);
        assert_eq!(replayed.header("idempotent-replayed"), Some("true"));
    }
    assert_eq!(first.await.is_settled().body, paid.body);
    assert_eq!(operator.chain.usdc_micros(&payee).await, 2_000_000);
    agent.pays("1").to(&payee).field("duplicate_of", json!("txn_1")).await.blames("duplicate_of");
    operator.client.patch(&agent.path(""), &json!({ "duplicates": "never" })).await.blames("duplicates");
}

#[tokio::test]
async fn of_many_duplicates_at_once_one_is_paid() {
    let operator = Operator::shared().await;
    let (agent, payee) = account_and_payee(&operator, "as_asked").await;
    let payments =
        (0..30).map(|_| agent.pays("1").to(&payee).memo("tea").field("refuse_duplicate", json!(true)));
    let (paid, refused): (Vec<_>, Vec<_>) =
        all_at_once(payments).await.into_iter().partition(|answer| answer.status == 200);
    assert_eq!((paid.len(), refused.len()), (1, 29));
    for answer in refused {
        is_duplicate_of(answer, paid[0].text_of("transfer_id"));
    }
    assert_eq!(operator.chain.usdc_micros(&payee).await, 1_000_000);
}

#[tokio::test]
async fn another_amount_memo_payee_or_account_is_paid_and_a_payee_is_one_by_either_name() {
    let operator = Operator::shared().await;
    let (agent, payee) = account_and_payee(&operator, "refused").await;
    let (ben, other) = account_and_payee(&operator, "refused").await;
    agent.pays("1").to(&payee).memo("tea").await.is_settled();
    agent.pays("2").to(&payee).memo("tea").await.is_settled();
    agent.pays("1").to(&payee).memo("coffee").await.is_settled();
    agent.pays("1").to(&payee).await.is_settled();
    agent.pays("1").to(&other).memo("tea").await.is_settled();
    ben.pays("1").to(&payee).memo("tea").await.is_settled();
    let by_id = agent.pays("3").to(&ben).await.is_settled();
    is_duplicate_of(agent.pays("3").to(&ben.token_account).await, by_id.text_of("transfer_id"));
}

#[tokio::test]
async fn what_was_not_paid_is_repeated_by_no_other_key_and_a_retry_by_its_own_is_made() {
    let operator = Operator::shared().await;
    let (agent, payee) = account_and_payee(&operator, "refused").await;
    agent.sets_policy(json!({ "max_single_transfer": 1 })).await;
    agent.pays("2").to(&payee).await.is_error(402, "policy_violation");
    agent.sets_policy(json!({})).await;
    agent.pays("2").to(&payee).await.is_settled();
    // It fails for lack of money, another key pays, and a retry under the first one pays as ever.
    agent.holds("0.5").await;
    let poor = agent.pays("3").to(&payee);
    poor.clone().await.is_error(402, "insufficient_balance");
    agent.holds("10").await;
    agent.pays("3").to(&payee).await.is_settled();
    poor.await.is_settled();
    assert_eq!(operator.chain.usdc_micros(&payee).await, 8_000_000);
}

#[tokio::test]
async fn duplicates_are_paid_unless_account_or_request_refuses_them_and_the_account_has_the_last_word() {
    let operator = Operator::shared().await;
    let (agent, payee) = account_and_payee(&operator, "as_asked").await;
    let refusing = || agent.pays("1").to(&payee).field("refuse_duplicate", json!(true));
    let created = operator.client.get(&operator.creates_account("New").await.path("")).await;
    assert_eq!(created["duplicates"], "as_asked");
    agent.pays("1").to(&payee).await.is_settled();
    let second = agent.pays("1").to(&payee).await.is_settled();
    is_duplicate_of(refusing().await, second.text_of("transfer_id"));
    operator.client.patch(&agent.path(""), &json!({ "duplicates": "paid" })).await.has_status(200);
    refusing().await.is_settled();
    // An agent cannot change it.
    let key = agent.new_key().await;
    key.patch(&agent.path(""), &json!({ "duplicates": "paid" })).await.is_error(403, "forbidden");
    assert_eq!(operator.chain.usdc_micros(&payee).await, 3_000_000);
}

#[tokio::test]
async fn after_ten_minutes_the_same_is_paid_again() {
    let (agent, payee, start) = agent_on_a_standing_clock().await;
    let refused = json!({ "duplicates": "refused" });
    agent.operator.client.patch(&agent.path(""), &refused).await.has_status(200);
    let first = agent.pays("1").to(&payee).await.is_settled();
    stands_at(&agent, start + 580).await;
    is_duplicate_of(agent.pays("1").to(&payee).await, first.text_of("transfer_id"));
    stands_at(&agent, start + 660).await;
    agent.pays("1").to(&payee).await.is_settled();
    assert_eq!(agent.operator.chain.usdc_micros(&payee).await, 2_000_000);
}
