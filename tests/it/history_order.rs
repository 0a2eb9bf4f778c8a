//! The order of a history: entries are in the order in which they became visible, and a client that polls misses none.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, Ordering};

use purser_tests::wallet::mints;
use purser_tests::{Agent, AppSettings, Operator, TestApp, TestDatabase, TestNetwork};
use serde_json::{Value, json};

use crate::history::{entries, entries_once};

fn text<'a>(entry: &'a Value, field: &str) -> &'a str {
    entry[field].as_str().unwrap_or_else(|| panic!("no {field} in {entry}"))
}

fn ids(entries: &[Value]) -> BTreeSet<String> {
    entries.iter().map(|entry| text(entry, "id").to_owned()).collect()
}

/// The newest time that entries have in this field.
fn newest(entries: &[Value], field: &str) -> String {
    entries.iter().map(|entry| text(entry, field).to_owned()).max().expect("an entry")
}

#[tokio::test]
async fn payments_within_a_second_all_come_after_the_newest_time_seen() {
    let operator = Operator::shared().await;
    let agent = operator.creates_account_with("Polled", "100").await;
    agent.sets_policy(json!({ "max_single_transfer": 1 })).await;
    let (payee, _) = operator.chain.new_payee().await;
    let mut all = BTreeSet::new();
    let mut times = Vec::new();
    for round in 0..12 {
        if round % 3 == 0 {
            agent.pays("2").to(&payee).await.is_error(402, "policy_violation");
        }
        agent.pays("1").to(&payee).await.is_settled();
        let seen = entries(&agent, "?limit=100").await;
        all = ids(&seen);
        times.push((all.clone(), newest(&seen, "created_at")));
    }
    for (seen, time) in times {
        let later = ids(&entries(&agent, &format!("?limit=100&since={time}")).await);
        let missed: Vec<_> = all.difference(&seen).filter(|id| !later.contains(*id)).collect();
        assert!(missed.is_empty(), "{missed:?} are not after {time}");
    }
}

#[tokio::test]
async fn polling_by_visible_at_gets_each_entry_once_and_in_order() {
    let operator = Operator::shared().await;
    let agent = operator.creates_account_with("Polled", "100").await;
    agent.sets_policy(json!({ "max_single_transfer": 1 })).await;
    let (payee, _) = operator.chain.new_payee().await;
    let (mut got, mut since) = (Vec::new(), "2020-01-01T00:00:00Z".to_owned());
    for round in 0..10 {
        match round % 2 {
            0 => drop(agent.pays("1").to(&payee).await.is_settled()),
            _ => drop(agent.pays("2").to(&payee).await.is_error(402, "policy_violation")),
        }
        let later = entries(&agent, &format!("?limit=100&since={since}")).await;
        since = newest(&later, "visible_at");
        got.extend(later.into_iter().rev());
    }
    let mut listed = entries(&agent, "?limit=100").await;
    listed.reverse();
    assert_eq!((got.len(), got), (10, listed));
    assert!(entries(&agent, &format!("?since={since}")).await.is_empty());
}

#[tokio::test]
async fn newer_payment_stands_above_an_older_refusal() {
    let operator = Operator::shared().await;
    let agent = operator.creates_account_with("Ordered", "100").await;
    agent.sets_policy(json!({ "max_single_transfer": 1 })).await;
    let (payee, _) = operator.chain.new_payee().await;
    for _ in 0..8 {
        let refused = agent.pays("2").to(&payee).await.is_error(402, "policy_violation");
        let paid = agent.pays("1").to(&payee).await.is_settled();
        let shown = entries(&agent, "?limit=2").await;
        let shown: Vec<_> = shown.iter().map(|entry| text(entry, "transfer_id")).collect();
        assert_eq!(shown, [paid.text_of("transfer_id"), refused.text_of("transfer_id")]);
    }
}

#[tokio::test]
async fn transfer_never_settles_before_it_was_created() {
    let operator = Operator::shared().await;
    let agent = operator.creates_account_with("Timed", "100").await;
    let (payee, _) = operator.chain.new_payee().await;
    for _ in 0..6 {
        let paid = agent.pays("1").to(&payee).await.is_settled();
        let path = format!("/v1/transfers/{}", paid.text_of("transfer_id"));
        let transfer = operator.client.get(&path).await.has_status(200);
        let [entry] = &entries(&agent, "?limit=1").await[..] else { panic!("one entry") };
        let (created, settled) = (transfer.text_of("created_at"), transfer.text_of("settled_at"));
        assert!(created <= settled, "created at {created}, settled at {settled}");
        assert_eq!(text(entry, "created_at"), settled);
        assert!(text(entry, "visible_at") >= settled, "{entry}");
    }
}

/// A relayer that compares balances so rarely, and without a websocket, that a deposit shows seconds after it was made.
async fn late() -> (Operator, Agent) {
    let network = TestNetwork::shared().await;
    let rpc_url = Some(network.rpc_url.clone());
    let settings = AppSettings { indexer_interval_ms: 8_000, rpc_url, ..AppSettings::default() };
    let app = TestApp::start(network, &settings).await;
    let operator = app.new_operator().await;
    let agent = operator.creates_account_with("Late", "100").await;
    (operator, agent)
}

#[tokio::test]
async fn deposit_that_is_booked_late_comes_after_the_newest_time_seen_before_it() {
    let (operator, agent) = late().await;
    let (payee, _) = operator.chain.new_payee().await;
    for round in 1..=3 {
        let deposit = mints(&operator.chain, "5", &agent.token_account).await;
        // In a later second than the deposit.
        tokio::time::sleep(std::time::Duration::from_millis(1_100)).await;
        agent.pays("1").to(&payee).await.is_settled();
        let seen = entries(&agent, "?limit=100").await;
        let is_deposit = |entry: &&Value| entry["tx_signature"] == json!(deposit);
        if seen.iter().any(|entry| is_deposit(&entry)) {
            continue;
        }
        let all = entries_once(&agent, 2 * round).await;
        let booked = all.iter().find(is_deposit).expect("booked");
        for field in ["created_at", "visible_at"] {
            let since = newest(&seen, field);
            let later = entries(&agent, &format!("?limit=100&since={since}")).await;
            assert!(ids(&later).contains(text(booked, "id")), "after {field} {since}: {later:#?}");
        }
        assert_eq!(text(&all[0], "id"), text(booked, "id"), "what became visible last is first");
        return;
    }
    panic!("every deposit was there before the payment after it");
}

#[tokio::test]
async fn polling_two_relayers_on_one_postgres_misses_no_entry() {
    let Some(database) = TestDatabase::create().await else { return };
    let settings = AppSettings { database: Some(database), ..AppSettings::default() };
    let first = TestApp::start(TestNetwork::shared().await, &settings).await;
    let second = first.twin(&settings);
    let operator = first.new_operator().await;
    let agent = operator.creates_account_with("Busy", "100").await;
    agent.sets_policy(json!({ "max_single_transfer": 1 })).await;
    let (payee, _) = operator.chain.new_payee().await;
    let beside = purser_tests::Client::new(&second.base_url(), Some(operator.client.key()));
    // True if the payment ended in a way that the history shows: on a busy machine some expire.
    let pays = async |number: usize| {
        let client = if number.is_multiple_of(2) { &operator.client } else { &beside };
        let usdc = if number.is_multiple_of(3) { "2" } else { "1" };
        matches!(agent.pays(usdc).to(&payee).by(client).await.status, 200 | 402)
    };
    let is_over = AtomicBool::new(false);
    let payments = async {
        let shown = futures::future::join_all((0..45).map(pays)).await;
        is_over.store(true, Ordering::SeqCst);
        shown.into_iter().filter(|is_shown| *is_shown).count()
    };
    let polls = async {
        let (mut got, mut since) = (Vec::new(), "2020-01-01T00:00:00Z".to_owned());
        loop {
            let was_over = is_over.load(Ordering::SeqCst);
            let later = entries(&agent, &format!("?limit=100&since={since}")).await;
            if !later.is_empty() {
                since = newest(&later, "visible_at");
            }
            got.extend(later.into_iter().rev());
            if was_over {
                return got;
            }
        }
    };
    let (shown, got) = tokio::join!(payments, polls);
    let mut listed = entries(&agent, "?limit=100").await;
    listed.reverse();
    assert!(shown > 0 && got.len() >= shown, "{} of {shown}", got.len());
    assert_eq!(got, listed[..got.len()]);
}
