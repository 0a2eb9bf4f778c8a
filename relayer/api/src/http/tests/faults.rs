//! What happens when the chain is absent, slow or contradicts us, and when a process or a client goes away.

use purser_service::accounts;
use std::time::Duration;

use axum::http::{StatusCode, header};
use purser_core::{Beyond, BudgetState};
use serde_json::json;

use super::{Answer, Relayer, comes_about};
use purser_chain::{Outcome, Refusal};
use purser_model::{Address, EventId, PageRequest, RejectionReason, Timestamp, UsdcAmount};

pub(super) async fn status_of(relayer: &Relayer, answer: &Answer) -> String {
    let id = answer.body["transfer_id"].as_str().expect("text");
    let stored = relayer.get(&format!("/v1/transfers/{id}")).await;
    stored.body["status"].as_str().expect("text").to_owned()
}

/// Waits until the transfer is no longer `submitted`.
pub(super) async fn end_of(relayer: &Relayer, answer: &Answer) -> String {
    for _ in 0..1_000 {
        let status = status_of(relayer, answer).await;
        if status != "submitted" {
            return status;
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    panic!("the transfer never ended");
}

/// Waits until all tasks of a relayer that stops have ended.
async fn drains(relayer: &Relayer) {
    relayer.tasks.tracker.close();
    let ended = tokio::time::timeout(Duration::from_secs(20), relayer.tasks.tracker.wait()).await;
    ended.expect("its tasks end");
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
    ];
    for tail in ["", "/balance", "/limits", "/policy"] {
        answers.push(relayer.get(&format!("/v1/accounts/{account}{tail}")).await);
    }
    for answer in &answers {
        assert_eq!(answer.error(), (503, "solana_unavailable"), "{}", answer.body);
        assert_eq!(answer.body["retryable"], true);
        assert!(answer.headers.contains_key(header::RETRY_AFTER));
    }
    assert!(answers[0].body.get("transfer_id").is_none(), "nothing was claimed: {}", answers[0].body);
    let known = relayer.get("/v1/accounts").await;
    assert_eq!(known.status, StatusCode::OK, "a list shows what was last seen");
    assert_eq!(known.body["data"][0]["balance_as_of"], known.body["data"][0]["created_at"]);

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
    relayer.chain.script().now = purser_service::SystemClock::SYSTEM.now().unix_seconds();
    let first = relayer.post("/v1/transfers", &order).await;
    relayer.chain.script().unreachable = true;
    let again = relayer.post("/v1/transfers", &order).await;
    assert_eq!((again.status, again.body), (StatusCode::OK, first.body));
}

#[tokio::test]
async fn past_the_deadline_the_answer_is_submitted_and_the_work_goes_on() {
    // Long enough to be signed.
    let relayer = Relayer::with_deadline(Duration::from_secs(2)).await;
    let account = relayer.account().await;
    let order = relayer.order(&account, "order-1");
    relayer.chain.script().held = true;
    let answer = relayer.post("/v1/transfers", &order).await;
    assert_eq!(answer.status, StatusCode::ACCEPTED, "{}", answer.body);
    assert_eq!(answer.body["status"], "submitted");
    assert_eq!(answer.body["tx_signature"], relayer.chain.script().sent[0].signature);
    assert!(answer.body.get("settled_at").is_none());
    let again = relayer.post("/v1/transfers", &order).await;
    assert_eq!((again.status, &again.body), (StatusCode::ACCEPTED, &answer.body));
    relayer.chain.release();
    assert_eq!(end_of(&relayer, &answer).await, "settled");
    assert_eq!(relayer.chain.script().orders.len(), 1);
}

#[tokio::test]
async fn what_the_chain_does_not_serve_by_the_deadline_leaves_nothing_and_is_paid_when_it_is_asked_again() {
    let relayer = Relayer::with_deadline(Duration::from_secs(1)).await;
    let account = relayer.account().await;
    let order = relayer.order(&account, "order-1");
    relayer.chain.script().reads_held = true;
    let answer = relayer.post("/v1/transfers", &order).await;
    assert_eq!(answer.error(), (503, "solana_unavailable"), "{}", answer.body);
    assert!(answer.body.get("transfer_id").is_none(), "nothing was claimed: {}", answer.body);
    relayer.chain.release();
    let again = relayer.post("/v1/transfers", &order).await;
    assert_eq!(again.status, StatusCode::OK, "{}", again.body);
    assert!(!again.headers.contains_key("idempotent-replayed"));
    assert_eq!(relayer.chain.script().sent.len(), 1);
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
        relayer.chain.comes_to(|script| !script.sent.is_empty()).await;
        relayer.chain.release();
    };
    let (answers, ()) = tokio::join!(futures::future::join_all(asked), release);
    let first = &answers[0];
    assert!(answers.iter().all(|answer| answer.status == StatusCode::OK && answer.body == first.body));
    let replayed = answers.iter().filter(|answer| answer.headers.contains_key("idempotent-replayed"));
    assert_eq!(replayed.count(), 11);
    let script = relayer.chain.script();
    assert!(script.orders.len() <= 2, "each process signs once");
    assert!(script.sent.iter().all(|sent| sent.bytes == script.sent[0].bytes), "and one of them sends");
    drop(script);
}

#[tokio::test]
async fn a_client_that_leaves_does_not_stop_its_transfer() {
    let relayer = Relayer::start().await;
    let account = relayer.account().await;
    let order = relayer.order(&account, "order-1");
    relayer.chain.script().held = true;
    tokio::select! {
        answer = relayer.post("/v1/transfers", &order) => panic!("answered before it was let go: {}", answer.body),
        () = relayer.chain.comes_to(|script| !script.sent.is_empty()) => {}
    }
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
        relayer.chain.comes_to(|script| !script.sent.is_empty()).await;
        relayer.tasks.stop.cancel();
    };
    let (answer, ()) = tokio::join!(relayer.post("/v1/transfers", &order), stop);
    assert_eq!(answer.status, StatusCode::ACCEPTED, "a stop answers with what is known");
    drains(&relayer).await;

    let second = relayer.beside().await;
    second.services.reconcile();
    relayer.chain.release();
    assert_eq!(end_of(&second, &answer).await, "settled");
    let script = relayer.chain.script();
    assert_eq!(script.orders.len(), 1);
    assert!(script.sent.len() >= 2 && script.sent.iter().all(|sent| sent.bytes == script.sent[0].bytes));
}

#[tokio::test]
async fn expired_transfer_is_signed_anew_once_under_the_same_tag_and_then_fails() {
    let relayer = Relayer::with_deadline(Duration::from_secs(15)).await;
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
        (Refusal::Rule(RejectionReason::Paused), 402, "account_paused", "rejected"),
        (Refusal::Rule(RejectionReason::MemoRequired), 402, "policy_violation", "rejected"),
        (Refusal::Rule(RejectionReason::RecipientNotAllowed), 402, "policy_violation", "rejected"),
        (Refusal::Rule(RejectionReason::SingleLimitExceeded), 402, "policy_violation", "rejected"),
        (Refusal::Rule(RejectionReason::DailyLimitExceeded), 402, "policy_violation", "rejected"),
        (Refusal::Rule(RejectionReason::MonthLimitExceeded), 402, "policy_violation", "rejected"),
        (Refusal::Rule(RejectionReason::BudgetExceeded), 402, "policy_violation", "rejected"),
        (Refusal::InsufficientBalance, 402, "insufficient_balance", "failed"),
        (Refusal::SourceFrozen, 402, "account_frozen", "failed"),
        (Refusal::InvalidRecipient, 422, "invalid_recipient", "failed"),
        // It names no budget that could be closed.
        (Refusal::AccountGone, 502, "transfer_failed", "failed"),
    ];
    for (number, (refusal, status, code, state)) in cases.into_iter().enumerate() {
        relayer.chain.script().outcomes.push_back(Outcome::Refused(refusal));
        let answer =
            relayer.post("/v1/transfers", &relayer.order(&account, &format!("order-{number}"))).await;
        assert_eq!(answer.error(), (status, code), "{}", answer.body);
        assert_eq!(answer.body["status"], state);
        assert_eq!(answer.body["checks"].is_array(), status == 402, "{}", answer.body);
        if state == "failed" && status == 402 {
            let last = answer.body["checks"].as_array().and_then(|checks| checks.last());
            assert_eq!(last, Some(&json!({ "rule": "balance", "ok": false })));
        }
    }
    let failed = Outcome::Failed { code: Some(18), message: "the node's own words".into() };
    relayer.chain.script().outcomes.push_back(failed);
    let answer = relayer.post("/v1/transfers", &relayer.order(&account, "last")).await;
    assert_eq!(answer.error(), (502, "transfer_failed"));
    assert!(!answer.body["message"].as_str().expect("text").contains("own words"));
}

#[tokio::test]
async fn a_payment_on_its_way_while_its_budget_changes_is_signed_anew_and_refused_where_that_is_closed() {
    let relayer = Relayer::start().await;
    let account = relayer.account().await;
    let budget = Address::from_bytes([19; 32]);
    let beyond = Some(Beyond { budget: Some(budget), ..Beyond::default() });
    let bind = |beyond| relayer.chain.script().agents.values_mut().for_each(|agent| agent.beyond = beyond);
    // Bound while its plain form was on its way: the program takes the extended one alone.
    let open = BudgetState {
        is_closed: false,
        daily_cap: UsdcAmount::from_micros(100_000_000),
        ..BudgetState::closed(budget)
    };
    relayer.chain.script().budgets.insert(budget, open);
    relayer.chain.script().outcomes.push_back(Outcome::Refused(Refusal::BoundsChanged));
    bind(beyond);
    let paid = relayer.post("/v1/transfers", &relayer.order(&account, "bound")).await;
    assert_eq!(paid.status, StatusCode::OK, "{}", paid.body);
    let orders = relayer.chain.script().orders.clone();
    assert_eq!(orders.len(), 2);
    assert!(orders.iter().all(|order| order.tag() == orders[0].tag()));
    assert_eq!(orders[1].beyond.and_then(|beyond| beyond.budget), Some(budget));

    // Closed while it was on its way.
    let order = relayer.order(&account, "closed");
    relayer.chain.script().outcomes.push_back(Outcome::Refused(Refusal::AccountGone));
    relayer.chain.script().held = true;
    let closes = async {
        relayer.chain.comes_to(|script| script.sent.len() == 3).await;
        relayer.chain.script().budgets.clear();
        relayer.chain.release();
    };
    let (refused, ()) = tokio::join!(relayer.post("/v1/transfers", &order), closes);
    assert_eq!(refused.error(), (402, "policy_violation"), "{}", refused.body);
    assert!(refused.body["message"].as_str().is_some_and(|said| said.contains("closed")), "{}", refused.body);
    // For good.
    let again = relayer.post("/v1/transfers", &order).await;
    assert_eq!(again.error(), (402, "policy_violation"));
    assert_eq!(relayer.chain.script().orders.len(), 3);
}

#[tokio::test]
async fn a_clock_that_one_node_moves_frees_no_key() {
    let relayer = Relayer::start().await;
    let account = relayer.account().await;
    relayer.chain.script().now = purser_service::SystemClock::SYSTEM.now().unix_seconds();
    let order = relayer.order(&account, "order");
    let first = relayer.post("/v1/transfers", &order).await;
    for hours in [25, -25, 10_000] {
        relayer.chain.script().now += hours * 3_600;
        let again = relayer.post("/v1/transfers", &order).await;
        assert_eq!((again.status, &again.body), (StatusCode::OK, &first.body), "{hours}");
        assert!(again.headers.contains_key("idempotent-replayed"));
    }
    assert_eq!(relayer.chain.script().orders.len(), 1);
}

#[tokio::test]
async fn a_clock_that_one_node_moves_frees_nothing_that_was_spent() {
    let relayer = Relayer::start().await;
    let account = relayer.account().await;
    let now = purser_service::SystemClock::SYSTEM.now().unix_seconds();
    let spent = UsdcAmount::from_micros(7_000_000);
    for agent in relayer.chain.script().agents.values_mut() {
        agent.window.record(now - 3_600, spent);
    }
    let operator = relayer.store.operators.list_operators().await.expect("read").remove(0);
    for hours in [0, 25, -25, 10_000] {
        relayer.chain.script().now = now + hours * 3_600;
        let limits = relayer.get(&format!("/v1/accounts/{account}/limits")).await;
        assert_eq!(limits.body["max_daily_spend"]["used"], "7.000000", "{hours}: {}", limits.body);
        let listed = accounts::list(&relayer.services.inside, &operator, None, PageRequest::first(20))
            .await
            .expect("listed");
        assert_eq!(listed.items[0].spent, Some(spent), "{hours}");
    }
}

#[tokio::test]
async fn events_get_their_places_at_once_and_without_any_webhook() {
    let relayer = Relayer::start().await;
    let account = relayer.account().await;
    purser_service::events::place_until_stopped(&relayer.services.inside);
    assert_eq!(relayer.post("/v1/transfers", &relayer.order(&account, "order")).await.status, StatusCode::OK);
    let operator = relayer.store.operators.list_operators().await.expect("read").remove(0);
    let mut placed = Vec::new();
    for _ in 0..1_000 {
        placed = relayer.store.events.list_stream(operator.id, 0, 9).await.expect("listed");
        let of_transfer =
            placed.iter().filter(|(_, event)| event.event_type.as_str().starts_with("transfer."));
        if of_transfer.count() == 2 {
            return;
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    panic!("the events never got their places: {placed:?}");
}

#[tokio::test]
async fn what_is_old_by_one_clock_is_deleted_only_while_host_and_chain_agree() {
    let relayer = Relayer::start().await;
    let account = relayer.account().await;
    assert_eq!(relayer.post("/v1/transfers", &relayer.order(&account, "order")).await.status, StatusCode::OK);
    let in_2020 = EventId::new(Timestamp::from_unix_seconds(1_577_836_800), 0);
    relayer
        .runs_sql(&format!("UPDATE events SET event_id = '{in_2020}' WHERE event_type = 'transfer.settled'"));
    relayer.store.events.place_waiting(Timestamp::from_unix_seconds(0)).await.expect("placed");
    let is_kept = async || {
        relayer.services.clean_up().await.expect("a database that answers");
        relayer.get(&format!("/v1/events/{in_2020}")).await.status == StatusCode::OK
    };
    let now = purser_service::SystemClock::SYSTEM.now().unix_seconds();
    for hours in [25, -25, 10_000] {
        relayer.chain.script().now = now + hours * 3_600;
        assert!(is_kept().await, "{hours}");
    }
    relayer.chain.script().now = now;
    relayer.chain.script().unreachable = true;
    assert!(is_kept().await, "no clock");
    relayer.chain.script().unreachable = false;
    assert!(!is_kept().await, "they agree");
}

#[tokio::test]
async fn a_second_process_carries_on_all_that_the_first_had_claimed() {
    let relayer = Relayer::start().await;
    let account = relayer.account().await;
    relayer.chain.script().held = true;
    let orders: Vec<_> = (0..20).map(|number| relayer.order(&account, &format!("order-{number}"))).collect();
    let posted = futures::future::join_all(orders.iter().map(|order| relayer.post("/v1/transfers", order)));
    let (answers, ()) = tokio::join!(posted, async {
        relayer.chain.comes_to(|script| script.orders.len() >= 12).await;
        relayer.tasks.stop.cancel();
    });
    drains(&relayer).await;
    let second = relayer.beside().await;
    second.services.reconcile();
    relayer.chain.release();
    for answer in answers.iter().filter(|answer| answer.status == StatusCode::ACCEPTED) {
        assert_eq!(end_of(&second, answer).await, "settled");
    }
    assert!(answers.iter().all(|answer| answer.status == StatusCode::ACCEPTED));
    assert_eq!(relayer.chain.script().orders.len(), 20, "each signed once");
}

#[tokio::test]
async fn too_many_pending_transfers_are_refused_before_anything_is_claimed() {
    let relayer = Relayer::start().await;
    let account = relayer.account().await;
    relayer.chain.script().held = true;
    let orders: Vec<_> = (0..20).map(|number| relayer.order(&account, &format!("order-{number}"))).collect();
    let posted = futures::future::join_all(orders.iter().map(|order| relayer.post("/v1/transfers", order)));
    let more = relayer.order(&account, "one-more");
    let (answers, ()) = tokio::join!(posted, async {
        comes_about(|| relayer.services.transfers.pending() >= 20).await;
        let refused = relayer.post("/v1/transfers", &more).await;
        assert_eq!(refused.error(), (429, "too_many_pending"), "{}", refused.body);
        assert_eq!(refused.body["retryable"], true);
        assert!(refused.headers.contains_key(header::RETRY_AFTER));
        relayer.chain.release();
    });
    assert!(answers.iter().all(|answer| answer.status == StatusCode::OK));
    // Nothing was claimed, so the same request counts as new.
    let answer = relayer.post("/v1/transfers", &more).await;
    assert_eq!(answer.status, StatusCode::OK);
    assert!(!answer.headers.contains_key("idempotent-replayed"));
}

#[tokio::test]
async fn a_failed_key_needs_a_free_place_and_one_that_has_its_answer_does_not() {
    let relayer = Relayer::start().await;
    let account = relayer.account().await;
    let [settled, failed] = ["settled", "failed"].map(|key| relayer.order(&account, key));
    assert_eq!(relayer.post("/v1/transfers", &settled).await.status, StatusCode::OK);
    relayer.chain.script().unreachable = true;
    assert_eq!(relayer.post("/v1/transfers", &failed).await.error(), (503, "solana_unavailable"));
    relayer.chain.script().unreachable = false;
    relayer.chain.script().held = true;
    let orders: Vec<_> = (0..20).map(|number| relayer.order(&account, &format!("order-{number}"))).collect();
    let posted = futures::future::join_all(orders.iter().map(|order| relayer.post("/v1/transfers", order)));
    let (answers, ()) = tokio::join!(posted, async {
        while relayer.services.transfers.pending() < 20 {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        let refused = relayer.post("/v1/transfers", &failed).await;
        assert_eq!(refused.error(), (429, "too_many_pending"), "{}", refused.body);
        let replayed = relayer.post("/v1/transfers", &settled).await;
        assert_eq!(replayed.status, StatusCode::OK, "{}", replayed.body);
        assert!(replayed.headers.contains_key("idempotent-replayed"));
        let mut other = settled.clone();
        other["amount"] = json!("2");
        let conflict = relayer.post("/v1/transfers", &other).await;
        assert_eq!(conflict.error(), (409, "idempotency_conflict"), "{}", conflict.body);
        relayer.chain.release();
    });
    assert!(answers.iter().all(|answer| answer.status == StatusCode::OK));
    let retried = relayer.post("/v1/transfers", &failed).await;
    assert_eq!(retried.status, StatusCode::OK, "{}", retried.body);
    assert!(!retried.headers.contains_key("idempotent-replayed"));
}

#[tokio::test]
async fn payments_of_an_account_are_all_on_their_way_at_once() {
    let relayer = Relayer::start().await;
    let account = relayer.account().await;
    relayer.chain.script().held = true;
    let orders: Vec<_> = (0..20).map(|number| relayer.order(&account, &format!("order-{number}"))).collect();
    let posted = futures::future::join_all(orders.iter().map(|order| relayer.post("/v1/transfers", order)));
    let (answers, ()) = tokio::join!(posted, async {
        relayer.chain.comes_to(|script| script.sent.len() >= 20).await;
        relayer.chain.release();
    });
    assert!(answers.iter().all(|answer| answer.status == StatusCode::OK));
    assert_eq!(relayer.chain.script().orders.len(), 20);
}
