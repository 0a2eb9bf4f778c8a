//! Payments that the chain or our records already know, before another one is signed.

use std::time::Duration;

use axum::http::StatusCode;
use purser_policy::RecentTags;
use serde_json::json;

use super::faults::{end_of, status_of};
use super::scripted_chain::NOW;
use super::{Answer, Relayer};
use crate::chain::{Outcome, Refusal};
use crate::domain::{
    Address, Counterparty, EntryKind, EntryOutcome, HistoryEntry, IdempotencyKey, Network, PaymentNumber,
    Timestamp, TransferId, UsdcAmount, entry_id, transfer_tag,
};
use crate::service::Ambient;
use crate::store::Readings;

/// A payment of the only agent to the first payee.
#[derive(Clone)]
struct Landed {
    signature: String,
    tag: u64,
    amount: u64,
    number: u64,
    agent: Address,
    recipient: Address,
}

fn landed(relayer: &Relayer, key: &str, amount: u64, number: u64) -> Landed {
    let agent = relayer.chain.script().agents.values().next().expect("one agent").clone();
    let tag = transfer_tag(&agent.operator, &agent.address, &IdempotencyKey::parse(key).expect("valid"));
    let recipient = relayer.chain.payee(1);
    Landed { signature: format!("landed-{key}"), tag, amount, number, agent: agent.address, recipient }
}

/// The payment lands: the only agent remembers its tag.
fn lands(relayer: &Relayer, landed: &Landed) {
    let mut script = relayer.chain.script();
    let now = script.now;
    let agent = script.agents.values_mut().next().expect("one agent");
    agent.tags.record(landed.tag, now);
    assert_eq!(agent.tags.recorded(), landed.number);
}

/// The indexer reads it.
async fn reads_payment(relayer: &Relayer, landed: &Landed) {
    let parties = relayer.store.index.find_parties(Network::Test, &[landed.agent]).await.expect("found");
    let (_, party) = parties[0];
    let signature = landed.signature.clone();
    let mut id = [1; 16];
    id[8..].copy_from_slice(&landed.tag.to_le_bytes());
    let entry = HistoryEntry {
        id: entry_id(&signature, party.account_id, 0),
        operator_id: party.operator_id,
        account_id: party.account_id,
        network: Network::Test,
        kind: EntryKind::Transfer,
        amount: UsdcAmount::from_micros(landed.amount),
        counterparty: Some(Counterparty::TokenAccount(landed.recipient)),
        memo: None,
        transfer_id: Some(TransferId::from_bytes(id)),
        number: Some(PaymentNumber::Is(landed.number)),
        spent: None,
        outcome: EntryOutcome::Settled { signature, slot: 5 },
        created_at: Timestamp::from_unix_seconds(NOW - 100),
    };
    let readings = Readings { entries: vec![entry], are_final: true, ..Readings::default() };
    relayer.store.index.insert_readings(Network::Test, &readings, None).await.expect("written");
}

/// A relayer that sent a transfer with the key `order` and then stopped, two days ago.
async fn stopped_two_days_ago() -> (Relayer, Answer) {
    let relayer = Relayer::start().await;
    let account = relayer.account().await;
    let order = relayer.order(&account, "order");
    relayer.chain.script().now = Ambient::SYSTEM.now().unix_seconds();
    relayer.chain.script().held = true;
    let (answer, ()) = tokio::join!(relayer.post("/v1/transfers", &order), async {
        relayer.chain.comes_to(|script| !script.sent.is_empty()).await;
        relayer.tasks.stop.cancel();
    });
    assert_eq!(answer.status, StatusCode::ACCEPTED, "{}", answer.body);
    relayer.tasks.tracker.close();
    relayer.tasks.tracker.wait().await;
    relayer.chain.release();
    was_two_days_ago(&relayer);
    (relayer, answer)
}

fn database(relayer: &Relayer) -> rusqlite::Connection {
    rusqlite::Connection::open(relayer.folder.path().join("purser.db")).expect("a database")
}

/// A copy of the database was restored that holds the claims alone.
fn claims_are_restored(relayer: &Relayer) {
    const SQL: &str = "UPDATE transfers SET state = 'claimed', signed_bytes = NULL, tx_signature = NULL,
        last_valid_block_height = NULL, sent_at = NULL";
    database(relayer).execute(SQL, []).expect("written");
}

/// What the database holds of transfers and payments happened, and was read, two days ago.
fn was_two_days_ago(relayer: &Relayer) {
    const TRANSFERS: &str = "UPDATE transfers SET created_at = $1, updated_at = $1,
        ended_at = CASE WHEN ended_at IS NULL THEN NULL ELSE $1 END, key_expires_unix = key_expires_unix - 172800";
    const HISTORY: &str = "UPDATE history SET created_at = $1, read_at = $1";
    let then = Ambient::SYSTEM.now().before(Duration::from_secs(2 * 86_400)).to_string();
    for sql in [TRANSFERS, HISTORY] {
        database(relayer).execute(sql, [&then]).expect("written");
    }
}

/// Twenty payments of others. The account shows the latest 16; of the rest, a node leaves one out, which is returned.
async fn nineteen_of_twenty_are_read(relayer: &Relayer) -> Landed {
    let payments: Vec<Landed> =
        (1..=20).map(|number| landed(relayer, &format!("foreign-{number}"), 1, number)).collect();
    payments.iter().for_each(|payment| lands(relayer, payment));
    for payment in payments.iter().filter(|payment| payment.number != 3) {
        reads_payment(relayer, payment).await;
    }
    payments[2].clone()
}

#[tokio::test]
async fn a_payment_that_the_chain_knows_is_the_answer_and_another_is_a_conflict() {
    let relayer = Relayer::start().await;
    let account = relayer.account().await;
    for (key, amount, number) in [("order-1", 1_500_000, 1), ("order-2", 1_500_001, 2)] {
        let landed = landed(&relayer, key, amount, number);
        lands(&relayer, &landed);
        reads_payment(&relayer, &landed).await;
        let answer = relayer.post("/v1/transfers", &relayer.order(&account, key)).await;
        if key == "order-1" {
            let signature = &answer.body["tx_signature"];
            assert_eq!((answer.status, signature), (StatusCode::OK, &json!("landed-order-1")));
        } else {
            assert_eq!(answer.error(), (409, "idempotency_conflict"), "{}", answer.body);
        }
    }
    assert!(relayer.chain.script().orders.is_empty(), "nothing was signed");
}

#[tokio::test]
async fn a_payment_that_only_the_history_still_knows_is_found_before_another_is_signed() {
    let relayer = Relayer::start().await;
    let account = relayer.account().await;
    // 16 others come after it, so the account forgets its tag.
    for number in 1..=17 {
        let key = if number == 1 { "lost".to_owned() } else { format!("foreign-{number}") };
        let payment = landed(&relayer, &key, 1_500_000, number);
        lands(&relayer, &payment);
        reads_payment(&relayer, &payment).await;
    }
    let pause = |paused| {
        relayer.chain.script().agents.values_mut().for_each(|agent| agent.policy.paused = paused);
    };
    // A pause does not refuse it, since it was already paid.
    pause(true);
    let answer = relayer.post("/v1/transfers", &relayer.order(&account, "lost")).await;
    assert_eq!((answer.status, &answer.body["tx_signature"]), (StatusCode::OK, &json!("landed-lost")));
    pause(false);
    assert!(relayer.chain.script().orders.is_empty(), "nothing was signed");
    let other = relayer.post("/v1/transfers", &relayer.order(&account, "another")).await;
    assert_eq!(other.status, StatusCode::OK, "{}", other.text);
    assert_eq!(relayer.chain.script().orders.len(), 1);
    assert_eq!(relayer.chain.script().wanted, 0, "nothing was missing");
}

#[tokio::test]
async fn a_settled_key_stays_paid_when_18_payments_came_after_it_and_a_nodes_clock_moves_by_25_hours() {
    let relayer = Relayer::start().await;
    let account = relayer.account().await;
    relayer.chain.script().now = Ambient::SYSTEM.now().unix_seconds();
    let pays = async |number: u64| {
        let mut order = relayer.order(&account, &format!("order-{number}"));
        if number == 1 {
            order["amount"] = json!("10");
        }
        relayer.post("/v1/transfers", &order).await
    };
    let mut answers = Vec::new();
    for number in 1..=19 {
        let answer = pays(number).await;
        assert_eq!(answer.status, StatusCode::OK, "{}", answer.body);
        let amount = if number == 1 { 10_000_000 } else { 1_500_000 };
        let signature = answer.body["tx_signature"].as_str().expect("text").to_owned();
        let payment = Landed { signature, ..landed(&relayer, &format!("order-{number}"), amount, number) };
        lands(&relayer, &payment);
        reads_payment(&relayer, &payment).await;
        answers.push((answer, payment));
    }
    let (first, payment) = &answers[0];
    let now = relayer.chain.script().now;
    let remembers = relayer.chain.script().agents.values().any(|agent| agent.tags.contains(payment.tag, now));
    assert!(!remembers, "the account has forgotten it");
    relayer.chain.script().now += 25 * 3_600;
    let again = pays(1).await;
    assert_eq!((again.status, &again.body), (StatusCode::OK, &first.body));
    assert!(again.headers.contains_key("idempotent-replayed"));
    assert_eq!(relayer.chain.script().orders.len(), 19, "nothing was signed again");
}

#[tokio::test]
async fn a_relayer_that_does_not_know_the_time_leaves_a_key_that_was_begun_anew_to_one_that_does() {
    let relayer = Relayer::start().await;
    let account = relayer.account().await;
    let order = relayer.order(&account, "order");
    let now = Ambient::SYSTEM.now().unix_seconds();
    relayer.chain.script().now = now - 2 * 86_400;
    let first = relayer.post("/v1/transfers", &order).await;
    assert_eq!(first.status, StatusCode::OK, "{}", first.body);
    let signature = first.body["tx_signature"].as_str().expect("text").to_owned();
    let payment = Landed { signature, ..landed(&relayer, "order", 1_500_000, 1) };
    lands(&relayer, &payment);
    reads_payment(&relayer, &payment).await;
    was_two_days_ago(&relayer);

    // The key is free. The relayer that took it stops before anything is signed.
    relayer.chain.script().now = now;
    relayer.chain.script().held = true;
    let (again, ()) = tokio::join!(relayer.post("/v1/transfers", &order), async {
        relayer.chain.comes_to(|script| script.sent.len() > 1).await;
        relayer.tasks.stop.cancel();
    });
    assert_eq!(again.status, StatusCode::ACCEPTED, "{}", again.body);
    assert_ne!(again.body["transfer_id"], first.body["transfer_id"]);
    relayer.tasks.tracker.close();
    relayer.tasks.tracker.wait().await;
    relayer.chain.release();
    const CLAIMED: &str = "UPDATE transfers SET state = 'claimed', signed_bytes = NULL, tx_signature = NULL,
        last_valid_block_height = NULL, sent_at = NULL WHERE state <> 'settled'";
    database(&relayer).execute(CLAIMED, []).expect("written");

    relayer.chain.script().now = now - 3_600;
    let before = relayer.chain.script().reads;
    let second = relayer.beside().await;
    second.services.reconcile();
    relayer.chain.comes_to(|script| script.reads >= before + 3).await;
    assert_eq!(
        status_of(&second, &again).await,
        "submitted",
        "the payment of two days ago is not taken for it"
    );
    relayer.chain.script().now = now;
    assert_eq!(end_of(&second, &again).await, "settled");
    assert_eq!(relayer.chain.script().orders.len(), 3, "signed anew, and paid");
    let answer = second.post("/v1/transfers", &order).await;
    assert_eq!(answer.body["transfer_id"], again.body["transfer_id"], "the key stands for it");
}

#[tokio::test]
async fn nothing_is_signed_while_a_payment_is_missing_in_our_records() {
    let relayer = Relayer::with_deadline(Duration::from_secs(2)).await;
    let account = relayer.account().await;
    let left_out = nineteen_of_twenty_are_read(&relayer).await;
    let order = relayer.order(&account, "order");
    let answer = relayer.post("/v1/transfers", &order).await;
    assert_eq!(answer.error(), (503, "solana_unavailable"), "{}", answer.body);
    assert!(!answer.body["message"].as_str().expect("text").contains("nothing was paid"), "{}", answer.body);
    assert!(relayer.chain.script().orders.is_empty());
    assert_eq!(relayer.chain.script().wanted, 1);
    let missing = relayer.store.index.list_missing_payments(Network::Test, None, 10).await.expect("listed");
    assert_eq!(missing.len(), 1, "the indexer looks for it");
    reads_payment(&relayer, &left_out).await;
    let answer = relayer.post("/v1/transfers", &order).await;
    assert_eq!(answer.status, StatusCode::OK, "{}", answer.body);
    assert_eq!(relayer.chain.script().orders.len(), 1);
}

#[tokio::test]
async fn accepted_transfer_waits_for_the_chain_and_for_missing_payments_and_is_then_paid() {
    let relayer = Relayer::start().await;
    let account = relayer.account().await;
    let missing = nineteen_of_twenty_are_read(&relayer).await;
    let order = relayer.order(&account, "order");
    let (accepted, ()) = tokio::join!(relayer.post("/v1/transfers", &order), async {
        relayer.chain.comes_to(|script| script.wanted > 0).await;
        relayer.tasks.stop.cancel();
    });
    assert_eq!(accepted.status, StatusCode::ACCEPTED, "{}", accepted.body);
    relayer.tasks.tracker.close();
    relayer.tasks.tracker.wait().await;

    let reads = || relayer.chain.script().reads;
    let before = reads();
    relayer.chain.script().unreachable = true;
    let second = relayer.beside().await;
    second.services.reconcile();
    relayer.chain.comes_to(|script| script.reads >= before + 2).await;
    assert_eq!(status_of(&second, &accepted).await, "submitted");
    relayer.chain.script().unreachable = false;
    let before = reads();
    relayer.chain.comes_to(|script| script.reads >= before + 3).await;
    assert_eq!(status_of(&second, &accepted).await, "submitted");
    reads_payment(&relayer, &missing).await;
    assert_eq!(end_of(&second, &accepted).await, "settled");
    assert_eq!(relayer.chain.script().orders.len(), 1);
}

#[tokio::test]
async fn a_transfer_waits_for_a_payment_that_the_indexer_is_about_to_read() {
    let relayer = Relayer::start().await;
    let account = relayer.account().await;
    let payment = landed(&relayer, "order", 1_500_000, 1);
    lands(&relayer, &payment);
    let order = relayer.order(&account, "order");
    let (answer, ()) = tokio::join!(relayer.post("/v1/transfers", &order), async {
        relayer.chain.comes_to(|script| script.wanted > 0).await;
        reads_payment(&relayer, &payment).await;
    });
    assert_eq!((answer.status, &answer.body["tx_signature"]), (StatusCode::OK, &json!("landed-order")));
    assert!(relayer.chain.script().orders.is_empty());
}

#[tokio::test]
async fn expired_transfer_is_signed_anew_unless_its_tag_was_paid() {
    let relayer = Relayer::start().await;
    let account = relayer.account().await;
    relayer.chain.script().outcomes.push_back(Outcome::Expired);
    let answer = relayer.post("/v1/transfers", &relayer.order(&account, "unpaid")).await;
    assert_eq!(answer.status, StatusCode::OK, "{}", answer.body);
    assert_eq!(relayer.chain.script().orders.len(), 2);
    relayer.chain.script().held = true;
    relayer.chain.script().outcomes.push_back(Outcome::Expired);
    let order = relayer.order(&account, "paid");
    let (answer, ()) = tokio::join!(relayer.post("/v1/transfers", &order), async {
        relayer.chain.comes_to(|script| script.orders.len() >= 3).await;
        let payment = landed(&relayer, "paid", 1_500_000, 1);
        lands(&relayer, &payment);
        relayer.chain.release();
        reads_payment(&relayer, &payment).await;
    });
    assert_eq!((answer.status, &answer.body["tx_signature"]), (StatusCode::OK, &json!("landed-paid")));
    assert_eq!(relayer.chain.script().orders.len(), 3);
}

#[tokio::test]
async fn transfer_with_a_stale_sequence_is_signed_anew_from_present_records() {
    let relayer = Relayer::start().await;
    let account = relayer.account().await;
    relayer.chain.script().outcomes.push_back(Outcome::Refused(Refusal::StaleSequence));
    relayer.chain.script().held = true;
    let order = relayer.order(&account, "order");
    let (answer, ()) = tokio::join!(relayer.post("/v1/transfers", &order), async {
        relayer.chain.comes_to(|script| !script.orders.is_empty()).await;
        for number in 1..=20 {
            let payment = landed(&relayer, &format!("other-{number}"), 1, number);
            lands(&relayer, &payment);
            reads_payment(&relayer, &payment).await;
        }
        relayer.chain.release();
    });
    assert_eq!(answer.status, StatusCode::OK, "{}", answer.body);
    let signed: Vec<_> =
        relayer.chain.script().orders.iter().map(|order| (order.tag(), order.sequence())).collect();
    assert_eq!(signed, [(signed[0].0, 0), (signed[0].0, 20)]);
    // When the indexer never catches up, nothing is paid.
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
async fn what_was_paid_two_days_ago_is_never_answered_as_unpaid_nor_paid_again() {
    for is_restored in [false, true] {
        let (relayer, accepted) = stopped_two_days_ago().await;
        if is_restored {
            claims_are_restored(&relayer);
        }
        let payment = landed(&relayer, "order", 1_500_000, 1);
        lands(&relayer, &payment);
        reads_payment(&relayer, &payment).await;
        was_two_days_ago(&relayer);
        // The account has forgotten the tag.
        {
            let mut script = relayer.chain.script();
            script.agents.values_mut().for_each(|agent| agent.tags = RecentTags::EMPTY);
            script.outcomes.push_back(Outcome::Expired);
        }
        let second = relayer.beside().await;
        second.services.reconcile();
        assert_eq!(end_of(&second, &accepted).await, "settled");
        let path = format!("/v1/transfers/{}", accepted.body["transfer_id"].as_str().expect("an id"));
        assert_eq!(second.get(&path).await.body["tx_signature"], "landed-order");
        assert_eq!(relayer.chain.script().orders.len(), 1, "nothing was signed again");
    }
}

#[tokio::test]
async fn what_was_signed_two_days_ago_and_never_landed_is_not_signed_anew() {
    let (relayer, accepted) = stopped_two_days_ago().await;
    relayer.chain.script().outcomes.push_back(Outcome::Expired);
    let second = relayer.beside().await;
    second.services.reconcile();
    assert_eq!(end_of(&second, &accepted).await, "failed");
    assert_eq!(relayer.chain.script().orders.len(), 1);
}
