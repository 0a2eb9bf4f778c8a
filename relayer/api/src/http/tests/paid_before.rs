//! Payments that the chain or our records already know, before another one is signed.

use std::time::Duration;

use axum::http::StatusCode;
use purser_policy::{PaidTags, TagBucket, grow, record};
use serde_json::json;

use super::faults::{end_of, status_of};
use super::{Answer, Relayer};
use purser_chain::scripted::NOW;
use purser_chain::{Outcome, Refusal};
use purser_model::{
    Address, Counterparty, EntryKind, EntryOutcome, HistoryEntry, IdempotencyKey, Network, PaymentNumber,
    Timestamp, TransferId, UsdcAmount, entry_id, transfer_tag,
};
use purser_service::SystemClock;
use purser_store::Readings;

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
    let mut buckets = agent.tags.to_vec();
    let place = loop {
        if let Some(place) = PaidTags(&buckets).place(landed.tag, now) {
            break place;
        }
        let had = buckets.len();
        buckets.push(TagBucket::EMPTY);
        grow(&mut buckets, had);
    };
    record(&mut buckets, place, landed.tag, now);
    agent.tags = buckets.into();
    agent.payments += 1;
    assert_eq!(agent.payments, landed.number);
}

/// Others pay out of the account until it has no room for the tag.
fn fills_up(relayer: &Relayer, tag: u64) {
    let mut script = relayer.chain.script();
    let now = script.now;
    let agent = script.agents.values_mut().next().expect("one agent");
    let mut buckets = agent.tags.to_vec();
    for other in 1.. {
        if PaidTags(&buckets).place(tag, now).is_none() {
            break;
        }
        if let Some(place) = PaidTags(&buckets).place(other, now) {
            record(&mut buckets, place, other, now);
        }
    }
    agent.tags = buckets.into();
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
        asked_at: Some(NOW - 100),
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
    relayer.chain.script().now = SystemClock::SYSTEM.now().unix_seconds();
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
    const TRANSFERS: &str = "UPDATE transfers SET created_at = $1, updated_at = $1, asked_at = asked_at - 172800,
        ended_at = CASE WHEN ended_at IS NULL THEN NULL ELSE $1 END, key_expires_unix = key_expires_unix - 172800";
    const HISTORY: &str =
        "UPDATE history SET created_at = $1, asked_at = (SELECT MAX(asked_at) FROM transfers)";
    let then = SystemClock::SYSTEM.now().before(Duration::from_secs(2 * 86_400)).to_string();
    for sql in [TRANSFERS, HISTORY] {
        database(relayer).execute(sql, [&then]).expect("written");
    }
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
    assert!(relayer.chain.script().sent.is_empty(), "nothing was sent");
}

#[tokio::test]
async fn a_payment_that_stands_in_the_history_is_found_before_another_is_signed_and_no_pause_refuses_it() {
    let relayer = Relayer::start().await;
    let account = relayer.account().await;
    let payment = landed(&relayer, "lost", 1_500_000, 1);
    lands(&relayer, &payment);
    reads_payment(&relayer, &payment).await;
    let pause = |paused| {
        relayer.chain.script().agents.values_mut().for_each(|agent| agent.policy.paused = paused);
    };
    pause(true);
    let wanted = relayer.chain.script().wanted;
    let answer = relayer.post("/v1/transfers", &relayer.order(&account, "lost")).await;
    assert_eq!((answer.status, &answer.body["tx_signature"]), (StatusCode::OK, &json!("landed-lost")));
    pause(false);
    assert!(relayer.chain.script().sent.is_empty(), "nothing was sent");
    let other = relayer.post("/v1/transfers", &relayer.order(&account, "another")).await;
    assert_eq!(other.status, StatusCode::OK, "{}", other.text);
    assert_eq!(relayer.chain.script().sent.len(), 1);
    assert_eq!(relayer.chain.script().wanted, wanted, "nothing was missing");
}

#[tokio::test]
async fn a_payment_of_more_than_a_day_before_its_request_is_not_the_answer() {
    // 24 hours less the five minutes that a payment may be older than the second it names, and one second less: from then on the
    // account alone decides.
    for (seconds, is_answer) in [(86_000, false), (85_999, true)] {
        let relayer = Relayer::start().await;
        let account = relayer.account().await;
        reads_payment(&relayer, &landed(&relayer, "order", 1_500_000, 1)).await;
        relayer.chain.script().now = NOW + seconds;
        let answer = relayer.post("/v1/transfers", &relayer.order(&account, "order")).await;
        assert_eq!(answer.status, StatusCode::OK, "{}", answer.body);
        assert_eq!(answer.body["tx_signature"] == "landed-order", is_answer, "{seconds}");
        assert_eq!(relayer.chain.script().sent.len(), usize::from(!is_answer));
    }
}

#[tokio::test]
async fn a_settled_key_stays_paid_when_a_nodes_clock_moves_by_25_hours() {
    let relayer = Relayer::start().await;
    let account = relayer.account().await;
    relayer.chain.script().now = SystemClock::SYSTEM.now().unix_seconds();
    let order = relayer.order(&account, "order");
    let first = relayer.post("/v1/transfers", &order).await;
    assert_eq!(first.status, StatusCode::OK, "{}", first.body);
    relayer.chain.script().now += 25 * 3_600;
    let again = relayer.post("/v1/transfers", &order).await;
    assert_eq!((again.status, &again.body), (StatusCode::OK, &first.body));
    assert!(again.headers.contains_key("idempotent-replayed"));
    assert_eq!(relayer.chain.script().orders.len(), 1, "nothing was signed again");
}

#[tokio::test]
async fn a_key_is_answered_from_its_row_while_no_node_can_be_asked_and_a_new_one_leaves_none() {
    let relayer = Relayer::start().await;
    let account = relayer.account().await;
    let order = relayer.order(&account, "order");
    let first = relayer.post("/v1/transfers", &order).await;
    assert_eq!(first.status, StatusCode::OK, "{}", first.body);
    relayer.chain.script().unreachable = true;
    let again = relayer.post("/v1/transfers", &order).await;
    assert_eq!((again.status, &again.body), (StatusCode::OK, &first.body));
    let other =
        json!({ "amount": "7", "from": order["from"], "to": order["to"], "idempotency_key": "order" });
    assert_eq!(relayer.post("/v1/transfers", &other).await.error(), (409, "idempotency_conflict"));
    let new = relayer.order(&account, "new");
    assert_eq!(relayer.post("/v1/transfers", &new).await.error(), (503, "solana_unavailable"));
    let rows = "SELECT COUNT(*) FROM transfers WHERE idempotency_key = 'new'";
    let rows: i64 = database(&relayer).query_row(rows, [], |row| row.get(0)).expect("read");
    assert_eq!(rows, 0);
}

#[tokio::test]
async fn a_duplicate_is_never_answered_as_unpaid_and_settles_once_its_payment_is_read() {
    let relayer = Relayer::with_deadline(Duration::from_secs(2)).await;
    let account = relayer.account().await;
    let payment = landed(&relayer, "order", 1_500_000, 1);
    relayer.chain.script().outcomes.push_back(Outcome::Refused(Refusal::DuplicateTransfer));
    relayer.chain.script().held = true;
    let order = relayer.order(&account, "order");
    let mut wanted = 0;
    let (accepted, ()) = tokio::join!(relayer.post("/v1/transfers", &order), async {
        relayer.chain.comes_to(|script| !script.sent.is_empty()).await;
        wanted = relayer.chain.script().wanted;
        lands(&relayer, &payment);
        for _ in 0..100 {
            relayer.chain.script().outcomes.push_back(Outcome::Refused(Refusal::DuplicateTransfer));
        }
        relayer.chain.release();
    });
    assert_eq!(accepted.status, StatusCode::ACCEPTED, "{}", accepted.body);
    assert_eq!(status_of(&relayer, &accepted).await, "submitted");
    assert!(relayer.chain.script().wanted > wanted, "the indexer is asked to look");
    reads_payment(&relayer, &payment).await;
    assert_eq!(end_of(&relayer, &accepted).await, "settled");
    assert_eq!(relayer.chain.script().orders.len(), 1);
}

#[tokio::test]
async fn what_the_program_takes_for_too_old_is_not_signed_again_and_its_retry_is_asked_for_anew() {
    let relayer = Relayer::start().await;
    let account = relayer.account().await;
    relayer.chain.script().outcomes.push_back(Outcome::Refused(Refusal::TooOld));
    let order = relayer.order(&account, "order");
    assert_eq!(relayer.post("/v1/transfers", &order).await.error(), (503, "solana_unavailable"));
    assert_eq!(relayer.chain.script().orders.len(), 1);
    relayer.chain.script().now += 10;
    assert_eq!(relayer.post("/v1/transfers", &order).await.status, StatusCode::OK);
    let seconds: Vec<i64> = relayer.chain.script().orders.iter().map(|order| order.asked_at).collect();
    assert_eq!(seconds, [NOW, NOW + 10]);
}

#[tokio::test]
async fn a_full_account_is_given_room_and_without_leave_answers_when_to_come_back() {
    let relayer = Relayer::start().await;
    let account = relayer.account().await;
    for number in 1..=16 {
        lands(&relayer, &landed(&relayer, &format!("other-{number}"), 1, number));
    }
    let rent_goes_to = |wallet: Address| {
        relayer.chain.script().agents.values_mut().for_each(|agent| agent.rent_refund = wallet);
    };
    rent_goes_to(Address::from_bytes([66; 32]));
    let order = relayer.order(&account, "order");
    let full = relayer.post("/v1/transfers", &order).await;
    assert_eq!(full.error(), (429, "account_full"), "{}", full.body);
    let frees_at = Timestamp::from_unix_seconds(NOW + 25 * 3_600).to_string();
    assert_eq!(full.body["retry_at"], frees_at, "{}", full.body);
    assert!(relayer.chain.script().orders.is_empty(), "no fee is spent on it");
    rent_goes_to(relayer.chain.policy_authority());
    assert_eq!(relayer.post("/v1/transfers", &order).await.status, StatusCode::OK);
    // Of what fills up meanwhile the program tells.
    relayer.chain.script().outcomes.push_back(Outcome::Refused(Refusal::TagsFull));
    relayer.chain.script().held = true;
    let rooms = relayer.chain.script().rooms;
    let sent = relayer.chain.script().sent.len();
    let next = relayer.order(&account, "next");
    let (answer, ()) = tokio::join!(relayer.post("/v1/transfers", &next), async {
        relayer.chain.comes_to(|script| script.sent.len() > sent).await;
        fills_up(&relayer, landed(&relayer, "next", 1, 1).tag);
        relayer.chain.release();
    });
    assert_eq!(answer.status, StatusCode::OK, "{}", answer.body);
    assert!(relayer.chain.script().rooms > rooms);
    let orders: Vec<(u64, i64)> =
        relayer.chain.script().orders.iter().map(|order| (order.tag(), order.asked_at)).collect();
    assert_eq!(orders[1], orders[2], "signed again with the second of its claim");
}

#[tokio::test]
async fn accepted_transfer_waits_for_the_chain_and_for_the_payment_that_was_made_of_it() {
    let relayer = Relayer::start().await;
    let account = relayer.account().await;
    let payment = landed(&relayer, "order", 1_500_000, 1);
    lands(&relayer, &payment);
    let order = relayer.order(&account, "order");
    let wanted = relayer.chain.script().wanted;
    let (accepted, ()) = tokio::join!(relayer.post("/v1/transfers", &order), async {
        relayer.chain.comes_to(|script| script.wanted > wanted).await;
        relayer.tasks.stop.cancel();
    });
    assert_eq!(accepted.status, StatusCode::ACCEPTED, "{}", accepted.body);
    relayer.tasks.tracker.close();
    relayer.tasks.tracker.wait().await;

    // Its bytes are stored, and the program refuses them.
    let refused = Outcome::Refused(Refusal::DuplicateTransfer);
    relayer.chain.script().outcomes.extend(std::iter::repeat_n(refused, 100));
    relayer.chain.script().unreachable = true;
    let second = relayer.beside().await;
    second.services.reconcile();
    tokio::time::sleep(Duration::from_millis(200)).await;
    assert_eq!(status_of(&second, &accepted).await, "submitted");
    relayer.chain.script().unreachable = false;
    let before = relayer.chain.script().reads;
    relayer.chain.comes_to(|script| script.reads >= before + 3).await;
    assert_eq!(status_of(&second, &accepted).await, "submitted");
    reads_payment(&relayer, &payment).await;
    assert_eq!(end_of(&second, &accepted).await, "settled");
    assert_eq!(relayer.chain.script().orders.len(), 1, "nothing was signed again");
}

#[tokio::test]
async fn a_transfer_waits_for_a_payment_that_the_indexer_is_about_to_read() {
    let relayer = Relayer::start().await;
    let account = relayer.account().await;
    let payment = landed(&relayer, "order", 1_500_000, 1);
    lands(&relayer, &payment);
    let order = relayer.order(&account, "order");
    let wanted = relayer.chain.script().wanted;
    let (answer, ()) = tokio::join!(relayer.post("/v1/transfers", &order), async {
        relayer.chain.comes_to(|script| script.wanted > wanted).await;
        reads_payment(&relayer, &payment).await;
    });
    assert_eq!((answer.status, &answer.body["tx_signature"]), (StatusCode::OK, &json!("landed-order")));
    assert!(relayer.chain.script().sent.is_empty());
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
            script.agents.values_mut().for_each(|agent| agent.tags = [TagBucket::EMPTY].into());
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
