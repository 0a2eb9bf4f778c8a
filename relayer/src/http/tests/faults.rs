//! What happens when the chain is absent, slow or contradicts us, and when a process or a client goes away.

use std::time::Duration;

use axum::http::{StatusCode, header};
use serde_json::json;

use super::scripted_chain::NOW;
use super::{Answer, Relayer};
use crate::chain::{LandedTransfer, Outcome, Refusal};
use crate::domain::{Address, IdempotencyKey, UsdcAmount, transfer_tag};

async fn status_of(relayer: &Relayer, answer: &Answer) -> String {
    let id = answer.body["transfer_id"].as_str().expect("text");
    let stored = relayer.get(&format!("/v1/transfers/{id}")).await;
    stored.body["status"].as_str().expect("text").to_owned()
}

/// Waits until the transfer is no longer `submitted`.
async fn end_of(relayer: &Relayer, answer: &Answer) -> String {
    for _ in 0..200 {
        let status = status_of(relayer, answer).await;
        if status != "submitted" {
            return status;
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    panic!("the transfer never ended");
}

#[tokio::test]
async fn while_the_chain_is_away_everything_that_needs_it_is_503() {
    let relayer = Relayer::start().await;
    let account = relayer.account().await;
    let order = relayer.order(&account, "order-1");
    relayer.chain.script().unreachable = true;
    let mut answers = vec![
        relayer.post("/v1/transfers", &order).await,
        relayer.post("/v1/transfers/preview", &order).await,
        relayer.post("/v1/accounts", &json!({ "name": "a" })).await,
        relayer.put(&format!("/v1/accounts/{account}/policy"), &json!({})).await,
        relayer.get("/v1/accounts").await,
    ];
    for tail in ["", "/balance", "/limits", "/policy"] {
        answers.push(relayer.get(&format!("/v1/accounts/{account}{tail}")).await);
    }
    for answer in &answers {
        assert_eq!(answer.error(), (503, "solana_unavailable"), "{}", answer.body);
        assert_eq!(answer.body["retryable"], true);
        assert!(answer.headers.contains_key(header::RETRY_AFTER));
    }
    assert_eq!(status_of(&relayer, &answers[0]).await, "failed");

    relayer.chain.script().unreachable = false;
    let again = relayer.post("/v1/transfers", &order).await;
    assert_eq!(again.status, StatusCode::OK, "{}", again.body);
    assert!(!again.headers.contains_key("idempotent-replayed"));
    assert_eq!(relayer.get("/v1/accounts").await.body["data"].as_array().map(Vec::len), Some(1));
}

#[tokio::test]
async fn a_settled_transfer_is_replayed_while_the_chain_is_away() {
    let relayer = Relayer::start().await;
    let account = relayer.account().await;
    let order = relayer.order(&account, "order-1");
    relayer.chain.script().now = crate::service::Ambient::SYSTEM.now().unix_seconds();
    let first = relayer.post("/v1/transfers", &order).await;
    relayer.chain.script().unreachable = true;
    let again = relayer.post("/v1/transfers", &order).await;
    assert_eq!((again.status, again.body), (StatusCode::OK, first.body));
}

#[tokio::test]
async fn past_the_deadline_the_answer_is_submitted_and_the_work_goes_on() {
    let relayer = Relayer::with_deadline(Duration::from_millis(100)).await;
    let account = relayer.account().await;
    let order = relayer.order(&account, "order-1");
    relayer.chain.script().held = true;
    let answer = relayer.post("/v1/transfers", &order).await;
    assert_eq!(answer.status, StatusCode::ACCEPTED, "{}", answer.body);
    assert_eq!(answer.body["status"], "submitted");
    assert_eq!(answer.body["tx_signature"], "signature-1");
    assert!(answer.body.get("settled_at").is_none());
    let again = relayer.post("/v1/transfers", &order).await;
    assert_eq!((again.status, &again.body), (StatusCode::ACCEPTED, &answer.body));
    relayer.chain.release();
    assert_eq!(end_of(&relayer, &answer).await, "settled");
    assert_eq!(relayer.chain.script().orders.len(), 1);
}

#[tokio::test]
async fn requests_at_the_same_time_make_one_payment_and_get_one_answer() {
    let relayer = Relayer::start().await;
    let beside = relayer.beside().await;
    let account = relayer.account().await;
    let order = relayer.order(&account, "order-1");
    relayer.chain.script().held = true;
    let asked = (0..12).map(|number| {
        let (relayer, order) = (if number % 3 == 0 { &beside } else { &relayer }, &order);
        async move { relayer.post("/v1/transfers", order).await }
    });
    let release = async {
        tokio::time::sleep(Duration::from_millis(200)).await;
        relayer.chain.release();
    };
    let (answers, ()) = tokio::join!(futures::future::join_all(asked), release);
    let first = &answers[0];
    assert!(answers.iter().all(|answer| answer.status == StatusCode::OK && answer.body == first.body));
    let replayed = answers.iter().filter(|answer| answer.headers.contains_key("idempotent-replayed"));
    assert_eq!(replayed.count(), 11);
    assert_eq!(relayer.chain.script().orders.len(), 1);
}

#[tokio::test]
async fn a_client_that_leaves_does_not_stop_its_transfer() {
    let relayer = Relayer::start().await;
    let account = relayer.account().await;
    let order = relayer.order(&account, "order-1");
    relayer.chain.script().held = true;
    let left = tokio::time::timeout(Duration::from_millis(150), relayer.post("/v1/transfers", &order)).await;
    assert!(left.is_err(), "the client is gone before there is an answer");
    relayer.chain.release();
    let again = relayer.post("/v1/transfers", &order).await;
    assert_eq!((again.status, &again.body["status"]), (StatusCode::OK, &json!("settled")));
    assert_eq!(relayer.chain.script().orders.len(), 1);
}

#[tokio::test]
async fn a_second_process_finishes_what_the_first_signed_with_the_same_bytes() {
    let relayer = Relayer::start().await;
    let account = relayer.account().await;
    let order = relayer.order(&account, "order-1");
    relayer.chain.script().held = true;
    let stop = async {
        tokio::time::sleep(Duration::from_millis(150)).await;
        relayer.tasks.stop.cancel();
    };
    let (answer, ()) = tokio::join!(relayer.post("/v1/transfers", &order), stop);
    assert_eq!(answer.status, StatusCode::ACCEPTED, "a stop answers with what is known");
    relayer.tasks.tracker.close();
    tokio::time::timeout(Duration::from_secs(2), relayer.tasks.tracker.wait())
        .await
        .expect("the first is drained");

    let second = relayer.beside().await;
    second.services.reconcile();
    relayer.chain.release();
    assert_eq!(end_of(&second, &answer).await, "settled");
    let script = relayer.chain.script();
    assert_eq!(script.orders.len(), 1);
    assert!(script.sent.len() >= 2 && script.sent.iter().all(|sent| sent.bytes == script.sent[0].bytes));
}

#[tokio::test]
async fn what_expires_is_signed_anew_once_under_the_same_tag_and_then_fails() {
    let relayer = Relayer::start().await;
    let account = relayer.account().await;
    let order = relayer.order(&account, "order-1");
    relayer.chain.script().outcomes.extend([Outcome::Expired, Outcome::Expired]);
    let answer = relayer.post("/v1/transfers", &order).await;
    assert_eq!(answer.error(), (503, "solana_unavailable"), "{}", answer.body);
    assert_eq!((&answer.body["status"], &answer.body["retryable"]), (&json!("failed"), &json!(true)));
    let again = relayer.post("/v1/transfers", &order).await;
    assert_eq!(again.status, StatusCode::OK);
    let script = relayer.chain.script();
    assert_eq!(script.orders.len(), 3);
    assert!(script.orders.iter().all(|order| order.tag() == script.orders[0].tag()));
}

#[tokio::test]
async fn the_chains_refusal_is_answered_as_ours_would_be() {
    let relayer = Relayer::start().await;
    let account = relayer.account().await;
    let cases = [
        (Refusal::Paused, 402, "account_paused", "rejected"),
        (Refusal::MemoRequired, 402, "policy_violation", "rejected"),
        (Refusal::RecipientNotAllowed, 402, "policy_violation", "rejected"),
        (Refusal::SingleLimitExceeded, 402, "policy_violation", "rejected"),
        (Refusal::DailyLimitExceeded, 402, "policy_violation", "rejected"),
        (Refusal::InsufficientBalance, 402, "insufficient_balance", "failed"),
        (Refusal::InvalidRecipient, 422, "invalid_recipient", "failed"),
    ];
    for (number, (refusal, status, code, state)) in cases.into_iter().enumerate() {
        relayer.chain.script().outcomes.push_back(Outcome::Refused(refusal));
        let answer =
            relayer.post("/v1/transfers", &relayer.order(&account, &format!("order-{number}"))).await;
        assert_eq!(answer.error(), (status, code), "{}", answer.body);
        assert_eq!(answer.body["status"], state);
        assert_eq!(answer.body["checks"].is_array(), status == 402, "{}", answer.body);
    }
    let failed = Outcome::Failed { code: Some(1), message: "the node's own words".into() };
    relayer.chain.script().outcomes.push_back(failed);
    let answer = relayer.post("/v1/transfers", &relayer.order(&account, "last")).await;
    assert_eq!(answer.error(), (502, "transfer_failed"));
    assert!(!answer.body["message"].as_str().expect("text").contains("own words"));
}

/// A payment of the only agent to the first payee, `seconds` ago, as the chain tells of it.
fn landed(relayer: &Relayer, key: &str, amount: u64, seconds: i64) -> LandedTransfer {
    let (operator, agent) = relayer
        .chain
        .script()
        .agents
        .values()
        .map(|agent| (agent.operator, agent.address))
        .next()
        .expect("one agent");
    let key_of_it = IdempotencyKey::parse(key).expect("valid");
    LandedTransfer {
        signature: format!("landed-{key}"),
        slot: 5,
        block_time: Some(NOW - seconds),
        transfer_id: [1; 16],
        tag: transfer_tag(&operator, &agent, &key_of_it),
        amount: UsdcAmount::from_micros(amount),
        recipient: relayer.chain.payee(1),
        recipient_owner: Address::from_bytes([2; 32]),
        memo: String::new(),
        policy_version: 0,
        number: 1,
    }
}

/// The only agent remembers what landed, and its history shows it.
fn lands(relayer: &Relayer, landed: LandedTransfer) {
    let mut script = relayer.chain.script();
    let agent = script.agents.values_mut().next().expect("one agent");
    agent.tags.record(landed.tag, landed.block_time.expect("a time"));
    script.landed.insert(0, landed);
}

#[tokio::test]
async fn a_payment_that_the_chain_knows_is_the_answer_and_another_is_a_conflict() {
    let relayer = Relayer::start().await;
    let account = relayer.account().await;
    for (key, amount) in [("order-1", 1_500_000), ("order-2", 1_500_001)] {
        let landed = landed(&relayer, key, amount, 1_000);
        relayer.chain.script().outcomes.push_back(Outcome::Refused(Refusal::DuplicateTransfer));
        relayer.chain.script().landed.push(landed);
        let answer = relayer.post("/v1/transfers", &relayer.order(&account, key)).await;
        if key == "order-1" {
            let signature = &answer.body["tx_signature"];
            assert_eq!((answer.status, signature), (StatusCode::OK, &json!("landed-order-1")));
        } else {
            assert_eq!(answer.error(), (409, "idempotency_conflict"), "{}", answer.body);
        }
    }
}

#[tokio::test]
async fn a_payment_that_only_the_chain_still_knows_is_found_before_another_is_signed() {
    let relayer = Relayer::start().await;
    let account = relayer.account().await;
    // Its tag is forgotten; a later one, that is not ours either, is not.
    let lost = landed(&relayer, "lost", 1_500_000, 100);
    relayer.chain.script().landed.push(lost);
    lands(&relayer, landed(&relayer, "foreign", 1, 10));
    let pause = |paused| {
        relayer.chain.script().agents.values_mut().for_each(|agent| agent.policy.paused = paused);
    };
    // Nor is it refused: it was paid.
    pause(true);
    let answer = relayer.post("/v1/transfers", &relayer.order(&account, "lost")).await;
    assert_eq!((answer.status, &answer.body["tx_signature"]), (StatusCode::OK, &json!("landed-lost")));
    pause(false);
    assert!(relayer.chain.script().orders.is_empty(), "nothing was signed");
    let other = relayer.post("/v1/transfers", &relayer.order(&account, "another")).await;
    assert_eq!(other.status, StatusCode::OK, "{}", other.text);
    assert_eq!(relayer.chain.script().orders.len(), 1);
    assert_eq!(relayer.chain.script().walks, 1, "once is enough");
}

#[tokio::test]
async fn a_payment_that_was_made_and_is_not_shown_yet_is_not_made_again_when_the_chain_forgets_it() {
    let relayer = Relayer::start().await;
    let account = relayer.account().await;
    let order = relayer.order(&account, "order");
    relayer.chain.script().outcomes.push_back(Outcome::Refused(Refusal::DuplicateTransfer));
    let answer = relayer.post("/v1/transfers", &order).await;
    assert_eq!(answer.error(), (503, "solana_unavailable"), "{}", answer.body);
    assert_eq!(relayer.chain.script().orders.len(), 1);
    let answer = relayer.post("/v1/transfers", &order).await;
    assert_eq!(answer.error(), (503, "solana_unavailable"), "{}", answer.body);
    let landed = landed(&relayer, "order", 1_500_000, 10);
    relayer.chain.script().landed.push(landed);
    let answer = relayer.post("/v1/transfers", &order).await;
    assert_eq!((answer.status, &answer.body["tx_signature"]), (StatusCode::OK, &json!("landed-order")));
    assert_eq!(relayer.chain.script().orders.len(), 1, "signed once");
}

#[tokio::test]
async fn nothing_is_signed_while_the_history_does_not_show_what_the_account_remembers() {
    let relayer = Relayer::start().await;
    let account = relayer.account().await;
    lands(&relayer, landed(&relayer, "foreign", 1, 10));
    let hidden = std::mem::take(&mut relayer.chain.script().landed);
    let order = relayer.order(&account, "order");
    let answer = relayer.post("/v1/transfers", &order).await;
    assert_eq!(answer.error(), (503, "solana_unavailable"), "{}", answer.body);
    assert!(!answer.body["message"].as_str().expect("text").contains("nothing was paid"), "{}", answer.body);
    assert!(relayer.chain.script().orders.is_empty());
    relayer.chain.script().landed = hidden;
    let answer = relayer.post("/v1/transfers", &order).await;
    assert_eq!(answer.status, StatusCode::OK, "{}", answer.body);
    assert_eq!(relayer.chain.script().orders.len(), 1);
}

#[tokio::test]
async fn what_expired_is_signed_anew_unless_it_was_paid_under_the_same_tag() {
    let relayer = Relayer::start().await;
    let account = relayer.account().await;
    relayer.chain.script().outcomes.push_back(Outcome::Expired);
    let answer = relayer.post("/v1/transfers", &relayer.order(&account, "unpaid")).await;
    assert_eq!(answer.status, StatusCode::OK, "{}", answer.body);
    assert_eq!(relayer.chain.script().orders.len(), 2);
    // The account still remembers one of them; the other only its history shows.
    for (orders, key, is_remembered) in [(3, "remembered", true), (4, "forgotten", false)] {
        relayer.chain.script().held = true;
        relayer.chain.script().outcomes.push_back(Outcome::Expired);
        let order = relayer.order(&account, key);
        let (answer, ()) = tokio::join!(relayer.post("/v1/transfers", &order), async {
            while relayer.chain.script().orders.len() < orders {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
            let landed = landed(&relayer, key, 1_500_000, 0);
            if is_remembered {
                lands(&relayer, landed);
            } else {
                relayer.chain.script().landed.insert(0, landed);
            }
            relayer.chain.release();
        });
        let signature = &answer.body["tx_signature"];
        assert_eq!((answer.status, signature), (StatusCode::OK, &json!(format!("landed-{key}"))));
        assert_eq!(relayer.chain.script().orders.len(), orders);
    }
}

#[tokio::test]
async fn what_was_signed_too_long_ago_to_tell_is_signed_anew_by_what_is_known_now() {
    let relayer = Relayer::start().await;
    let account = relayer.account().await;
    relayer.chain.script().outcomes.push_back(Outcome::Refused(Refusal::StaleSequence));
    relayer.chain.script().held = true;
    let order = relayer.order(&account, "order");
    let (answer, ()) = tokio::join!(relayer.post("/v1/transfers", &order), async {
        while relayer.chain.script().orders.is_empty() {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        for number in 0..20 {
            lands(&relayer, landed(&relayer, &format!("other-{number}"), 1, 0));
        }
        relayer.chain.release();
    });
    assert_eq!(answer.status, StatusCode::OK, "{}", answer.body);
    let signed: Vec<_> =
        relayer.chain.script().orders.iter().map(|order| (order.tag(), order.sequence)).collect();
    assert_eq!(signed, [(signed[0].0, 0), (signed[0].0, 20)]);
    // Where it never catches up, nothing was paid.
    for _ in 0..10 {
        relayer.chain.script().outcomes.push_back(Outcome::Refused(Refusal::StaleSequence));
    }
    let order = relayer.order(&account, "another");
    let answer = relayer.post("/v1/transfers", &order).await;
    assert_eq!(answer.error(), (503, "solana_unavailable"), "{}", answer.body);
    assert_eq!(answer.body["retryable"], true);
    assert_eq!(relayer.chain.script().orders.len(), 12);
    assert_eq!(relayer.post("/v1/transfers", &order).await.status, StatusCode::OK);
}

#[tokio::test]
async fn no_more_payments_of_an_account_are_on_their_way_than_the_chain_can_tell_apart() {
    let relayer = Relayer::start().await;
    let account = relayer.account().await;
    relayer.chain.script().held = true;
    let orders: Vec<_> = (0..20).map(|number| relayer.order(&account, &format!("order-{number}"))).collect();
    let posted = futures::future::join_all(orders.iter().map(|order| relayer.post("/v1/transfers", order)));
    let (answers, ()) = tokio::join!(posted, async {
        while relayer.chain.script().orders.len() < 8 {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
        assert_eq!(relayer.chain.script().orders.len(), 8, "the others wait");
        relayer.chain.release();
    });
    assert!(answers.iter().all(|answer| answer.status == StatusCode::OK));
    assert_eq!(relayer.chain.script().orders.len(), 20);
}
