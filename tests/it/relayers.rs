//! Several relayers: on one Postgres, and on databases that share nothing.

use std::sync::Arc;
use std::time::{Duration, UNIX_EPOCH};

use purser_tests::agent::all_at_once;
use purser_tests::clock::{HostClock, unix_of};
use purser_tests::network::{path_text, temp_folder};
use purser_tests::wallet::mints;
use purser_tests::{Answer, AppSettings, Client, TestApp, TestDatabase, TestNetwork, until};
use serde_json::{Value, json};

use crate::webhooks::registers;

/// Two relayers that share one Postgres; `None` when there is no Postgres.
async fn two_on_one_postgres(
    network: Arc<TestNetwork>,
    settings: AppSettings,
) -> Option<(Arc<TestApp>, Arc<TestApp>)> {
    let settings = AppSettings { database: Some(TestDatabase::create().await?), ..settings };
    let first = TestApp::start(network, &settings).await;
    let second = first.twin(&settings);
    Some((first, second))
}

#[tokio::test]
async fn two_relayers_on_one_postgres_pay_once_for_a_key_and_answer_the_same() {
    let network = TestNetwork::shared().await;
    let Some((first, second)) = two_on_one_postgres(network, AppSettings::default()).await else { return };
    let operator = first.new_operator().await;
    let beside = Client::new(&second.base_url(), Some(operator.client.key()));
    let agent = operator.creates_account_with("Ada", "100").await;
    let (payee, _) = operator.chain.new_payee().await;
    const KEYS: u64 = 12;
    for _ in 0..KEYS {
        let payment = agent.pays("1").to(&payee).memo("race");
        let askers = (0..10).map(|number| match number % 2 {
            0 => payment.clone(),
            _ => payment.clone().by(&beside),
        });
        let answers = all_at_once(askers).await;
        let bodies: Vec<_> = answers.into_iter().map(|answer| answer.is_settled().body).collect();
        assert!(bodies.iter().all(|body| *body == bodies[0]), "{bodies:?}");
        let changed = payment.field("amount", json!("2")).by(&beside);
        changed.await.is_error(409, "idempotency_conflict");
    }
    assert_eq!(operator.chain.usdc_micros(&payee).await, KEYS * 1_000_000);
    assert_eq!(agent.balance_micros().await, (100 - KEYS) * 1_000_000);
}

#[tokio::test]
async fn transfer_of_a_relayer_that_died_is_finished_by_the_other() {
    let Some((first, second)) = two_on_one_postgres(TestNetwork::slow(), slow_settings()).await else {
        return;
    };
    is_followed_by(&first, &second).await;
}

#[tokio::test]
async fn relayer_that_died_with_its_clock_ahead_keeps_nothing_from_the_other() {
    let clock = HostClock::new();
    clock.is_ahead(600);
    let Some(database) = TestDatabase::create().await else { return };
    let settings = AppSettings { database: Some(database), ..slow_settings() };
    let skewed = AppSettings { host_clock: Some(clock), ..settings.clone() };
    let first = TestApp::start(TestNetwork::slow(), &skewed).await;
    let second = first.twin(&settings);
    is_followed_by(&first, &second).await;
}

/// The embedded network shows a balance before its transaction is final: the indexer looks often enough to find that out, and not so
/// often that it gives up before.
fn slow_settings() -> AppSettings {
    AppSettings {
        deadline_seconds: 2,
        commitment: "finalized",
        indexer_interval_ms: 4_000,
        ..AppSettings::default()
    }
}

/// The first dies with a transfer on its way: the second finishes it, and shows what is paid in from then on.
async fn is_followed_by(first: &Arc<TestApp>, second: &TestApp) {
    let operator = first.new_operator().await;
    let beside = Client::new(&second.base_url(), Some(operator.client.key()));
    let agent = operator.creates_account_with("Ada", "5").await;
    let (payee, _) = operator.chain.new_payee().await;
    // Nobody listens there, so its delivery fails and waits half a minute.
    let hook = registers(&operator, "http://127.0.0.1:9/a", &["transfer.initiated"]).await;
    let submitted = agent.pays("1").to(&payee).await.has_status(202);
    let deliveries = format!("/v1/webhooks/{}/deliveries", hook.text_of("id"));
    let mut retry_at = Value::Null;
    until("an attempt has failed", async || {
        let listed = beside.get(&deliveries).await.has_status(200);
        retry_at = listed["data"][0]["next_attempt_at"].clone();
        listed["data"][0]["attempts"].as_array().is_some_and(|attempts| !attempts.is_empty())
    })
    .await;
    let now = i64::try_from(UNIX_EPOCH.elapsed().expect("it is after 1970").as_secs()).expect("a time");
    let wait = unix_of(retry_at.as_str().expect("it is pending")) - now;
    assert!((0..=31).contains(&wait), "in {wait} s, by the time that everybody shares");
    first.crashes();
    let path = format!("/v1/transfers/{}", submitted.text_of("transfer_id"));
    let mut read = beside.get(&path).await.has_status(200);
    for _ in 0..300 {
        if read["status"] != "submitted" {
            break;
        }
        tokio::time::sleep(Duration::from_millis(200)).await;
        read = beside.get(&path).await.has_status(200);
    }
    assert_eq!(read["status"], "settled", "{}{}", read.text, second.log_tail());
    assert_eq!(read["tx_signature"], submitted["tx_signature"]);
    assert_eq!(operator.chain.usdc_micros(&payee).await, 1_000_000);
    let deposit = mints(&operator.chain, "7", &agent.token_account).await;
    for _ in 0..300 {
        let history = beside.get(&agent.path("/transactions?limit=100")).await.has_status(200);
        let all = history["data"].as_array().expect("a list");
        if all.iter().any(|entry| entry["tx_signature"] == *deposit) {
            return;
        }
        tokio::time::sleep(Duration::from_millis(200)).await;
    }
    panic!("the deposit is not shown: {}", second.log_tail());
}

#[tokio::test]
async fn relayer_that_stops_leaves_its_transfers_to_whoever_comes_first() {
    const UNFINISHED: &str = "state IN ('claimed', 'signed', 'sent')";
    const HELD: &str =
        "lease_expires_at > to_char(now() AT TIME ZONE 'UTC', 'YYYY-MM-DD\"T\"HH24:MI:SS.US\"Z\"')";
    let Some(database) = TestDatabase::create().await else { return };
    let settings = AppSettings { deadline_seconds: 2, commitment: "finalized", ..AppSettings::default() };
    let settings = AppSettings { database: Some(database.clone()), ..settings };
    let app = TestApp::start(TestNetwork::slow(), &settings).await;
    let mut agent = app.new_operator().await.creates_account_with("Ada", "5").await;
    let (payee, _) = agent.operator.chain.new_payee().await;
    let submitted = agent.pays("1").to(&payee).await.has_status(202);
    let (unfinished, held) = (UNFINISHED.to_owned(), format!("{UNFINISHED} AND {HELD}"));
    assert_eq!(database.counts("transfers", &held).await, 1);
    assert!(app.stops(Duration::from_secs(60)).await, "it ends by itself");
    assert_eq!(database.counts("transfers", &unfinished).await, 1);
    assert_eq!(database.counts("transfers", &held).await, 0);
    app.starts();
    agent.operator = agent.operator.reconnected();
    crate::transfers::settles(&agent, submitted.text_of("transfer_id")).await;
    assert_eq!(agent.operator.chain.usdc_micros(&payee).await, 1_000_000);
}

#[tokio::test]
async fn two_relayers_on_one_sqlite_file_pay_once_for_a_key() {
    let folder = temp_folder();
    let url = format!("sqlite://{}/purser.db", path_text(folder.path()));
    let settings = AppSettings { database_url: Some(url), ..AppSettings::default() };
    let first = TestApp::start(TestNetwork::shared().await, &settings).await;
    let second = first.twin(&settings);
    let operator = first.new_operator().await;
    let beside = Client::new(&second.base_url(), Some(operator.client.key()));
    let agent = operator.creates_account_with("Ada", "100").await;
    let (payee, _) = operator.chain.new_payee().await;
    const KEYS: u64 = 8;
    for _ in 0..KEYS {
        let payment = agent.pays("1").to(&payee);
        let askers = (0..6).map(|number| match number % 2 {
            0 => payment.clone().insists(),
            _ => payment.clone().by(&beside).insists(),
        });
        let answers = futures::future::join_all(askers).await;
        assert!(answers.iter().all(|answer| answer["tx_signature"] == answers[0]["tx_signature"]));
    }
    assert_eq!(operator.chain.usdc_micros(&payee).await, KEYS * 1_000_000);
}

#[tokio::test]
async fn two_relayers_with_databases_of_their_own_pay_once_for_a_key() {
    let settings = AppSettings::default();
    let first = TestApp::start(TestNetwork::shared().await, &settings).await;
    let agent = first.new_operator().await.creates_account_with("Ada", "100").await;
    // Both know the account; neither will know the other's transfers.
    first.crashes();
    let second = first.twin(&settings);
    first.starts();
    let operator = agent.operator.reconnected();
    let beside = Client::new(&second.base_url(), Some(operator.client.key()));
    let (payee, _) = operator.chain.new_payee().await;
    let asks_both = async || {
        let payment = agent.pays("1").to(&payee).memo("race");
        let (one, other) =
            tokio::join!(payment.clone().by(&operator.client).insists(), payment.by(&beside).insists());
        assert_eq!(one["tx_signature"], other["tx_signature"], "one payment, known to both");
        assert_ne!(one["transfer_id"], other["transfer_id"], "two databases");
    };
    // One after another, and then many more at once than the chain remembers.
    const KEYS: u64 = 12 + 60;
    for _ in 0..12 {
        asks_both().await;
    }
    futures::future::join_all((0..60).map(|_| asks_both())).await;
    assert_eq!(operator.chain.usdc_micros(&payee).await, KEYS * 1_000_000);
    assert_eq!(agent.balance_micros().await, (100 - KEYS) * 1_000_000);
}

#[tokio::test]
async fn text_that_postgres_cannot_hold_is_a_bad_request() {
    let Some(database) = TestDatabase::create().await else { return };
    let settings = AppSettings { database: Some(database), ..AppSettings::default() };
    let app = TestApp::start(TestNetwork::shared().await, &settings).await;
    let operator = app.new_operator().await;
    let agent = operator.creates_account_with("Ada", "10").await;
    let (payee, _) = operator.chain.new_payee().await;
    let client = &operator.client;
    let is_bad = |answer: Answer| answer.is_error(400, "invalid_request");
    is_bad(client.post("/v1/accounts", &json!({ "name": "A\0" })).await);
    is_bad(client.post(&agent.path("/keys"), &json!({ "name": "A\0" })).await);
    is_bad(agent.pays("1").to(&payee).memo("A\0").await);
    is_bad(agent.pays("1").to(&payee).key("A\0").await);
    is_bad(agent.pays("1").to(&"A\0").await);
    is_bad(client.put(&agent.path("/policy"), &json!({ "allowed_counterparties": ["A\0"] })).await);
    for path in ["/v1/transfers/txn_%00", "/v1/accounts/%00"] {
        client.get(path).await.is_error(404, "not_found");
    }
    is_bad(client.get("/v1/accounts?cursor=%00").await);
    let metadata = json!({ "name": "Ben", "metadata": { "k\0": "v\0" } });
    let created = client.post("/v1/accounts", &metadata).await;
    assert!(matches!(created.status, 201 | 400), "{}", created.text);
    if created.status == 201 {
        let read =
            client.get(&format!("/v1/accounts/{}", created.text_of("account_id"))).await.has_status(200);
        assert_eq!(read["metadata"], metadata["metadata"]);
    }
}
