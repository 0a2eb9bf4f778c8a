//! The relayer dies without warning and comes back: it has forgotten nothing and pays nothing twice.

use std::future::IntoFuture;
use std::sync::Arc;
use std::time::{Duration, Instant};

use futures::{StreamExt, stream};

use purser_tests::agent::Payment;
use purser_tests::{AppSettings, Receiver, TestApp, TestDatabase, TestNetwork, until, wallet};
use serde_json::{Value, json};

use crate::admin::with_admin;
use crate::authorities::rpc_calls;
use crate::webhooks::{TRANSFERS, registers};

#[tokio::test]
async fn killed_relayer_comes_back_with_everything() {
    comes_back_with_everything(&AppSettings::default()).await;
}

#[tokio::test]
async fn restart_after_a_kill_with_nothing_in_flight_warns_of_nothing() {
    let app = TestApp::start(TestNetwork::shared().await, &AppSettings::default()).await;
    let operator = app.new_operator().await;
    let receiver = Receiver::start();
    registers(&operator, &receiver.url("/all"), &TRANSFERS).await;
    let agent = operator.creates_account("Ada").await;
    wallet::mints(&operator.chain, "10", &agent.token_account).await;
    let (payee, _) = operator.chain.new_payee().await;
    for _ in 0..3 {
        agent.pays("1").to(&payee).await.is_settled();
    }
    receiver.waits_for("/all", 6).await;
    let before = app.log().len();
    app.crashes();
    app.starts();
    let operator = operator.reconnected();
    agent.pays("1").to(&payee).by(&operator.client).await.is_settled();
    receiver.waits_for("/all", 8).await;
    // The indexer has had its turn when it shows what nobody asked this relayer for.
    wallet::mints(&operator.chain, "1", &agent.token_account).await;
    until("the deposit is in the history", async || {
        let deposits = operator.client.get(&agent.path("/transactions?type=deposit")).await;
        deposits["data"].as_array().is_some_and(|entries| entries.len() == 2)
    })
    .await;
    let log = app.log();
    let warnings: Vec<&str> =
        log[before..].lines().filter(|line| line.contains("WARN") || line.contains("ERROR")).collect();
    assert!(warnings.is_empty(), "{warnings:#?}");
}

#[tokio::test]
async fn killed_relayer_on_postgres_comes_back_with_everything() {
    let Some(database) = TestDatabase::create().await else { return };
    let app =
        comes_back_with_everything(&AppSettings { database: Some(database), ..AppSettings::default() }).await;
    assert_eq!(app.runs(&["migrate"])["database"], "postgres");
}

async fn comes_back_with_everything(settings: &AppSettings) -> Arc<TestApp> {
    let app = TestApp::start(TestNetwork::shared().await, settings).await;
    let operator = app.new_operator().await;
    let agent = operator.creates_account_with("Ada", "10").await;
    for name in ["Ben", "Cyd", "Dan"] {
        operator.creates_account(name).await;
    }
    let (payee, _) = operator.chain.new_payee().await;
    agent
        .sets_policy(json!({ "max_single_transfer": 4, "allowed_counterparties": [payee.to_string()] }))
        .await;
    let agent_key = agent.new_key().await;
    let revoked = operator.client.post(&agent.path("/keys"), &json!({})).await.has_status(201);
    operator.client.delete(&format!("/v1/keys/{}", revoked.text_of("id"))).await;
    let (paying, refusing) =
        (agent.pays("3").to(&payee).memo("r\u{e9}nt \u{1F600}"), agent.pays("5").to(&payee));
    let settled = paying.clone().await.is_settled();
    let rejected = refusing.clone().await.is_error(402, "policy_violation");
    let paths = [
        agent.path(""),
        agent.path("/policy"),
        agent.path("/keys"),
        agent.path("/limits"),
        "/v1/accounts".to_owned(),
        "/v1/accounts?limit=2".to_owned(),
        format!("/v1/transfers/{}", settled.text_of("transfer_id")),
        format!("/v1/transfers/{}", rejected.text_of("transfer_id")),
    ];
    let mut before = Vec::new();
    for path in &paths {
        before.push(operator.client.get(path).await.has_status(200).without_moments());
    }

    app.crashes();
    app.starts();

    let operator = operator.reconnected();
    for (path, before) in paths.iter().zip(before) {
        assert_eq!(operator.client.get(path).await.has_status(200).without_moments(), before, "{path}");
    }
    let again = paying.by(&operator.client).await.is_settled();
    assert_eq!(again.body, settled.body);
    let again = refusing.by(&operator.client).await.is_error(402, "policy_violation");
    assert_eq!(again.without_request_id(), rejected.without_request_id());
    operator.client.with_key(agent_key.key()).get(&agent.path("")).await.has_status(200);
    operator.client.with_key(revoked.text_of("key")).get(&agent.path("")).await.is_error(401, "unauthorized");
    assert_eq!(operator.chain.usdc_micros(&payee).await, 3_000_000);
    app
}

#[tokio::test]
async fn transfer_cut_off_by_a_crash_is_paid_exactly_once() {
    let app = TestApp::start(TestNetwork::shared().await, &AppSettings::default()).await;
    let mut operator = app.new_operator().await;
    let agent = operator.creates_account_with("Ada", "100").await;
    let (payee, _) = operator.chain.new_payee().await;
    let moments_ms = [0, 5, 15, 30, 45, 60, 90, 150];
    for moment_ms in moments_ms {
        let payment = agent.pays("1").to(&payee);
        let (client, body) = (operator.client.clone(), payment.body().clone());
        let sending = tokio::spawn(async move {
            let request = client.request(reqwest::Method::POST, "/v1/transfers").json(&body);
            client.tries(request).await
        });
        tokio::time::sleep(Duration::from_millis(moment_ms)).await;
        app.crashes();
        let _ = sending.await.expect("the request ends");
        app.starts();
        operator = operator.reconnected();
        payment.by(&operator.client).insists().await;
    }
    let paid = moments_ms.len() as u64;
    assert_eq!(operator.chain.usdc_micros(&payee).await, paid * 1_000_000);
    assert_eq!(operator.chain.usdc_micros(&agent.token_account).await, (100 - paid) * 1_000_000);
}

#[tokio::test]
async fn transfer_nobody_asks_about_after_a_crash_is_finished_all_the_same() {
    let settings = AppSettings { deadline_seconds: 1, commitment: "finalized", ..AppSettings::default() };
    let app = TestApp::start(TestNetwork::slow(), &settings).await;
    let operator = app.new_operator().await;
    let agent = operator.creates_account_with("Ada", "5").await;
    let (payee, _) = operator.chain.new_payee().await;
    let submitted = agent.pays("1").to(&payee).await.has_status(202);
    app.crashes();
    app.starts();
    let mut agent = agent;
    agent.operator = operator.reconnected();
    let settled = crate::transfers::settles(&agent, submitted.text_of("transfer_id")).await;
    assert_eq!(settled["tx_signature"], submitted["tx_signature"]);
    assert_eq!(agent.operator.chain.usdc_micros(&payee).await, 1_000_000);
}

#[tokio::test]
async fn database_restored_from_before_a_payment_does_not_pay_it_again() {
    let app = TestApp::start(TestNetwork::shared().await, &AppSettings::default()).await;
    let operator = app.new_operator().await;
    let agent = operator.creates_account_with("Ada", "10").await;
    let (payee, _) = operator.chain.new_payee().await;
    app.crashes();
    let saved = app.saved_database();
    app.starts();
    let payment = agent.pays("4").to(&payee).memo("rent");
    let settled = payment.clone().by(&operator.reconnected().client).await.is_settled();
    app.crashes();
    app.restores_database(&saved);
    app.starts();
    let operator = operator.reconnected();
    let again = payment.clone().by(&operator.client).await.is_settled();
    assert_eq!(again["tx_signature"], settled["tx_signature"]);
    assert_eq!(again["amount_usdc"], "4.000000");
    payment.by(&operator.client).await.is_settled();
    assert_eq!(operator.chain.usdc_micros(&payee).await, 4_000_000);
}

/// More payments than the chain remembers tags.
const MANY: usize = 20;
/// Logged when the relayer reads an account's whole past before it pays.
const READS_HISTORY: &str = "payments are missing in an account's history";

#[tokio::test]
async fn relayer_whose_database_is_whole_reads_no_history_before_it_pays() {
    let app = TestApp::start(TestNetwork::shared().await, &AppSettings::default()).await;
    let operator = app.new_operator().await;
    let agent = operator.creates_account_with("Ada", "100").await;
    let (payee, _) = operator.chain.new_payee().await;
    for _ in 0..MANY {
        agent.pays("1").to(&payee).await.is_settled();
    }
    app.crashes();
    app.starts();
    agent.pays("1").to(&payee).by(&operator.reconnected().client).await.is_settled();
    assert!(!app.log_tail().contains(READS_HISTORY), "{}", app.log_tail());
}

#[tokio::test]
async fn payments_of_a_lost_database_are_not_made_again_in_whatever_order_they_are_asked_for() {
    let app = TestApp::start(TestNetwork::shared().await, &AppSettings::default()).await;
    let operator = app.new_operator().await;
    let agent = operator.creates_account_with("Ada", "100").await;
    let (payee, _) = operator.chain.new_payee().await;
    // The limit is exactly what they spend: refusing a payment that was made would be a lie.
    agent.sets_policy(json!({ "max_daily_spend": MANY })).await;
    app.crashes();
    let saved = app.saved_database();
    app.starts();
    let client = operator.reconnected().client;
    let mut paid = Vec::new();
    for _ in 0..MANY {
        let payment = agent.pays("1").to(&payee).by(&client);
        let settled = payment.clone().await.is_settled();
        paid.push((payment, settled.text_of("tx_signature").to_owned()));
    }
    app.crashes();
    app.restores_database(&saved);
    app.starts();
    let client = operator.reconnected().client;
    // The newest first: once these are known again, the chain's memory holds no tag that the database lacks.
    for (payment, signature) in paid.into_iter().rev() {
        let again = payment.by(&client).await.is_settled();
        assert_eq!(again["tx_signature"], signature);
    }
    assert_eq!(operator.chain.usdc_micros(&payee).await, MANY as u64 * 1_000_000);
}

#[tokio::test]
async fn payment_of_a_lost_database_is_not_made_again_after_the_chain_and_the_process_forgot_it() {
    let app = TestApp::start(TestNetwork::shared().await, &AppSettings::default()).await;
    let operator = app.new_operator().await;
    let agent = operator.creates_account_with("Ada", "100").await;
    let (payee, _) = operator.chain.new_payee().await;
    app.crashes();
    let saved = app.saved_database();
    app.starts();
    let payment = agent.pays("1").to(&payee);
    let settled = payment.clone().by(&operator.reconnected().client).await.is_settled();
    app.crashes();
    app.restores_database(&saved);
    app.starts();
    let client = operator.reconnected().client;
    for _ in 0..MANY {
        agent.pays("1").to(&payee).by(&client).await.is_settled();
    }
    app.crashes();
    app.starts();
    let again = payment.by(&operator.reconnected().client).await.is_settled();
    assert_eq!(again["tx_signature"], settled["tx_signature"]);
    assert_eq!(operator.chain.usdc_micros(&payee).await, (MANY as u64 + 1) * 1_000_000);
}

#[tokio::test]
async fn first_payment_after_a_database_is_lost_waits_for_no_history() {
    const ACCOUNTS: u64 = 20;
    const PER_ACCOUNT: u64 = 500;
    if std::env::var_os("PURSER_TEST_LONG").is_none() {
        eprintln!("skipped: PURSER_TEST_LONG=1 makes 10,000 payments first");
        return;
    }
    let settings = with_admin(AppSettings { indexer_interval_ms: 3_600_000, ..AppSettings::default() });
    let app = TestApp::start(TestNetwork::shared().await, &settings).await;
    let operator = app.new_operator().await;
    let mut agents = Vec::new();
    for _ in 0..ACCOUNTS {
        agents.push(operator.creates_account_with("Ada", "100").await);
    }
    let (payee, _) = operator.chain.new_payee().await;
    app.crashes();
    let saved = app.saved_database();
    app.starts();
    let client = operator.reconnected().client;
    let paid = stream::iter((0..PER_ACCOUNT).flat_map(|_| &agents));
    paid.for_each_concurrent(64, async |agent| {
        drop(agent.pays("0.000001").to(&payee).by(&client).await.is_settled());
    })
    .await;
    let calls = async |payment: Payment| {
        let before = rpc_calls(&operator.reconnected()).await.0;
        let begun = Instant::now();
        payment.by(&operator.reconnected().client).await.is_settled();
        (rpc_calls(&operator.reconnected()).await.0 - before, begun.elapsed())
    };
    let known = agents[0].pays("0.000001").to(&payee);
    let usual = calls(known.clone()).await;
    app.crashes();
    app.restores_database(&saved);
    app.starts();
    let first = calls(agents[0].pays("0.000001").to(&payee)).await;
    let again = calls(known).await;
    eprintln!(
        "{} payments in the past; before, after, and one that was paid: {usual:?}, {first:?}, {again:?}",
        ACCOUNTS * PER_ACCOUNT
    );
    for (calls, _) in [first, again] {
        // Background reads count too: of the start, and of each account.
        assert!(calls < 10 * ACCOUNTS, "{calls} calls");
    }
    assert_eq!(operator.chain.usdc_micros(&payee).await, ACCOUNTS * PER_ACCOUNT + 2);
}

#[tokio::test]
async fn relayer_that_begins_to_stop_answers_what_is_under_way_and_ends() {
    let settings = AppSettings { commitment: "finalized", ..AppSettings::default() };
    let app = TestApp::start(TestNetwork::slow(), &settings).await;
    let operator = app.new_operator().await;
    let agent = operator.creates_account_with("Ada", "5").await;
    let (payee, _) = operator.chain.new_payee().await;
    let sending = tokio::spawn(agent.pays("1").to(&payee).into_future());
    until("the transfer is claimed", async || {
        operator.client.get("/v1/transfers").await.has_status(200)["data"] != json!([])
    })
    .await;
    assert!(app.stops(Duration::from_secs(60)).await, "the server ends by itself");
    let answer = sending.await.expect("the request is answered");
    assert!(matches!(answer.status, 200 | 202), "{}", answer.text);
    app.starts();
    let mut agent = agent;
    agent.operator = operator.reconnected();
    crate::transfers::settles(&agent, answer.text_of("transfer_id")).await;
    assert_eq!(agent.operator.chain.usdc_micros(&payee).await, 1_000_000);
}

#[tokio::test]
async fn burst_that_a_stop_cuts_off_is_carried_out_by_the_next_process() {
    let requests = if std::env::var_os("PURSER_TEST_LONG").is_some() { 20_000 } else { 600 };
    let settings = AppSettings {
        deadline_seconds: 3,
        commitment: "finalized",
        pending_per_account: 200,
        ..AppSettings::default()
    };
    let app = TestApp::start(TestNetwork::slow(), &settings).await;
    let operator = app.new_operator().await;
    let mut agent = operator.creates_account_with("Ada", "100").await;
    let (payee, _) = operator.chain.new_payee().await;
    let payments: Vec<_> = (0..requests).map(|_| agent.pays("0.000001").to(&payee)).collect();
    let sending: Vec<_> = payments.into_iter().map(|payment| tokio::spawn(payment.into_future())).collect();
    let mut accepted = Vec::new();
    let mut refused = 0;
    for answer in sending {
        let answer = answer.await.expect("the request is answered");
        match answer.status {
            200 | 202 => accepted.push(answer.text_of("transfer_id").to_owned()),
            // Not signed by the deadline, on a busy machine: nothing was claimed.
            503 => assert_eq!(answer.is_error(503, "solana_unavailable")["transfer_id"], Value::Null),
            _ => {
                answer.is_error(429, "too_many_pending");
                refused += 1;
            }
        }
    }
    assert!(accepted.len() >= 100 && refused > 0, "{} accepted, {refused} refused", accepted.len());
    assert!(app.stops(Duration::from_secs(60)).await, "the server ends by itself");
    app.starts();
    agent.operator = operator.reconnected();
    for transfer in &accepted {
        crate::transfers::settles(&agent, transfer).await;
    }
    assert_eq!(agent.operator.chain.usdc_micros(&payee).await, accepted.len() as u64);
}
