//! The rolling 24 hours, to the second: each test has its own network, and stops and moves its clock.

use std::sync::Arc;

use purser::error::PurserError;
use purser_tests::agent::unique_key;
use purser_tests::chain::DirectOutcome;
use purser_tests::clock::{HostClock, unix_of};
use purser_tests::{Agent, Answer, AppSettings, TestApp, TestNetwork};
use serde_json::json;
use solana_sdk::pubkey::Pubkey;

pub(crate) const DAY: i64 = 86_400;
/// A spend counts for a day inclusively. Seconds are rounded down, so this is how any 86,400 s of real time stay within it.
const FREES: i64 = DAY + 1;

/// An agent with 1,000 USDC and a daily limit of 10 on its own network, a payee, and the second at which the clock is stopped.
pub(crate) async fn agent_on_a_standing_clock() -> (Agent, Pubkey, i64) {
    agent_on_a_standing_clock_of(TestNetwork::own(), AppSettings::default()).await
}

async fn agent_on_a_standing_clock_of(
    network: Arc<TestNetwork>,
    settings: AppSettings,
) -> (Agent, Pubkey, i64) {
    let settings = AppSettings { host_clock: Some(HostClock::new()), ..settings };
    let app = TestApp::start(Arc::clone(&network), &settings).await;
    let operator = app.new_operator().await;
    let agent = operator.creates_account_with("Ada", "1000").await;
    agent.sets_policy(json!({ "max_daily_spend": 10 })).await;
    let (payee, _) = operator.chain.new_payee().await;
    let start = operator.chain.now().await + 60;
    stands_at(&agent, start).await;
    (agent, payee, start)
}

#[tokio::test]
async fn daily_limit_frees_after_86_401_seconds_and_not_at_86_400() {
    let (agent, payee, start) = agent_on_a_standing_clock().await;
    agent.pays("10").to(&payee).await.is_settled();
    assert_eq!(retry_at(&refused(&agent, "0.000001", &payee).await), start + FREES);

    stands_at(&agent, start + DAY).await;
    let refusal = refused(&agent, "0.000001", &payee).await;
    assert_eq!(retry_at(&refusal), start + FREES);
    assert_eq!(refusal.check("max_daily_spend")["used"], "10.000000");
    let direct = agent.pays_directly("0.000001", &payee, "").await;
    assert_eq!(direct, DirectOutcome::Refused(u32::from(PurserError::DailyLimitExceeded)));
    assert_eq!(used_and_remaining(&agent).await, ("10.000000".to_owned(), "0.000000".to_owned()));
    let limits = agent.operator.client.get(&agent.path("/limits")).await.has_status(200);
    assert_eq!(limits["max_daily_spend"]["frees_at"].as_str().map(unix_of), Some(start + FREES));

    stands_at(&agent, start + FREES).await;
    assert_eq!(used_and_remaining(&agent).await, ("0.000000".to_owned(), "10.000000".to_owned()));
    agent.pays("10").to(&payee).await.is_settled();
    assert_eq!(agent.operator.chain.usdc_micros(&payee).await, 20_000_000);
}

#[tokio::test]
async fn spends_leave_the_window_one_by_one() {
    let (agent, payee, start) = agent_on_a_standing_clock().await;
    agent.pays("4").to(&payee).await.is_settled();
    stands_at(&agent, start + 1_000).await;
    agent.pays("5").to(&payee).await.is_settled();
    assert_eq!(retry_at(&refused(&agent, "5", &payee).await), start + FREES);
    assert_eq!(retry_at(&refused(&agent, "5.000001", &payee).await), start + 1_000 + FREES);
    stands_at(&agent, start + FREES).await;
    assert_eq!(used_and_remaining(&agent).await, ("5.000000".to_owned(), "5.000000".to_owned()));
    refused(&agent, "5.000001", &payee).await;
    agent.pays("5").to(&payee).await.is_settled();
    stands_at(&agent, start + 1_000 + FREES).await;
    assert_eq!(used_and_remaining(&agent).await, ("5.000000".to_owned(), "5.000000".to_owned()));
}

#[tokio::test]
async fn no_schedule_around_midnight_gets_twice_the_limit_out() {
    let (agent, payee, start) = agent_on_a_standing_clock().await;
    let midnight = (start / DAY + 1) * DAY;
    stands_at(&agent, midnight - 1).await;
    agent.pays("10").to(&payee).await.is_settled();
    for second in [midnight, midnight + 1, midnight + DAY / 2, midnight + DAY - 1] {
        stands_at(&agent, second).await;
        refused(&agent, "0.000001", &payee).await;
    }
    stands_at(&agent, midnight - 1 + FREES).await;
    agent.pays("10").to(&payee).await.is_settled();
}

#[tokio::test]
async fn amount_above_the_whole_limit_is_never_worth_waiting_for() {
    let (agent, payee, _) = agent_on_a_standing_clock().await;
    let refusal = refused(&agent, "10.000001", &payee).await;
    assert!(refusal["retry_at"].is_null(), "{}", refusal.text);
}

#[tokio::test]
async fn idempotency_key_is_remembered_for_24_hours_and_free_afterwards() {
    let (agent, payee, start) = agent_on_a_standing_clock().await;
    let key = unique_key();
    let first = agent.pays("1").to(&payee).key(&key).await.is_settled();
    stands_at(&agent, start + DAY - 10).await;
    let again = agent.pays("1").to(&payee).key(&key).await.is_settled();
    assert_eq!(again["transfer_id"], first["transfer_id"]);
    agent.pays("2").to(&payee).key(&key).await.is_error(409, "idempotency_conflict");
    // The chain's clock alone frees nothing: a node might lie about it.
    agent.operator.app().host_stands_at(start);
    agent.operator.chain.stands_at(start + DAY + 10).await;
    agent.lets_the_relayer_read(&agent.operator.client, &payee).await;
    agent.pays("2").to(&payee).key(&key).await.is_error(409, "idempotency_conflict");
    stands_at(&agent, start + DAY + 10).await;
    let reused = agent.pays("2").to(&payee).key(&key).await.is_settled();
    assert_ne!(reused["transfer_id"], first["transfer_id"]);
    assert_eq!(agent.operator.chain.usdc_micros(&payee).await, 3_000_000);
}

/// With those before and after, as many payments as an account has room for at first.
const MANY: usize = 13;

#[tokio::test]
async fn account_that_used_a_key_again_without_a_websocket_pays_on_after_a_restart() {
    let network = TestNetwork::own();
    let settings = AppSettings {
        rpc_url: Some(network.rpc_url.clone()),
        indexer_interval_ms: 200,
        ..AppSettings::default()
    };
    let (mut agent, payee, start) = agent_on_a_standing_clock_of(network, settings).await;
    let key = unique_key();
    agent.pays("1").to(&payee).key(&key).await.is_settled();
    stands_at(&agent, start + DAY + 10).await;
    agent.pays("2").to(&payee).key(&key).await.is_settled();
    for _ in 0..MANY {
        let landing = agent.pays_directly("0.01", &payee, "").await;
        assert!(matches!(landing, DirectOutcome::Settled(_)), "{landing:?}");
    }
    agent.operator.app().crashes();
    agent.operator.app().starts();
    agent.operator = agent.operator.reconnected();
    agent.pays("1").to(&payee).insists().await;
    assert_eq!(agent.operator.chain.usdc_micros(&payee).await, 4_130_000);
}

/// Stops the chain's clock and the host's at this second, and lets the relayer know.
pub(crate) async fn stands_at(agent: &Agent, unix_seconds: i64) {
    agent.operator.app().host_stands_at(unix_seconds);
    agent.operator.chain.stands_at(unix_seconds).await;
    let (anyone, _) = agent.operator.chain.new_payee().await;
    agent.lets_the_relayer_read(&agent.operator.client, &anyone).await;
}

async fn refused(agent: &Agent, usdc: &str, payee: &Pubkey) -> Answer {
    let refusal = agent.pays(usdc).to(payee).await.is_error(402, "policy_violation");
    assert_eq!(refusal.failed_checks(), ["max_daily_spend"]);
    refusal
}

fn retry_at(refusal: &Answer) -> i64 {
    unix_of(refusal.text_of("retry_at"))
}

async fn used_and_remaining(agent: &Agent) -> (String, String) {
    let limits = agent.operator.client.get(&agent.path("/limits")).await.has_status(200);
    let text = |field: &str| limits["max_daily_spend"][field].as_str().map(str::to_owned);
    (text("used").expect("used is a text"), text("remaining").expect("remaining is a text"))
}
