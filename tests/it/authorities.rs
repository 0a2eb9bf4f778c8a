//! Keys that the operator's account lists or no longer lists, and the SOL for their fees.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use purser::OperatorUpdate;
use purser_tests::agent::unique_key;
use purser_tests::{Agent, Answer, AppSettings, Operator, TestApp, TestNetwork, until};
use serde_json::{Value, json};
use solana_sdk::pubkey::Pubkey;
use solana_sdk::signature::Keypair;
use solana_sdk::signer::Signer;

use crate::admin::{metrics, with_admin};

const SOL: u64 = 1_000_000_000;

/// A relayer without a websocket, which asks its node each time, and an agent that holds 100.
async fn asking(settings: AppSettings) -> (Agent, Pubkey) {
    let network = TestNetwork::shared().await;
    let settings = AppSettings { rpc_url: Some(network.rpc_url.clone()), deadline_seconds: 5, ..settings };
    with_payee(TestApp::start(network, &settings).await).await
}

/// The same with a websocket, so that payments need no call to a node.
async fn told(settings: AppSettings) -> (Agent, Pubkey) {
    with_payee(TestApp::start(TestNetwork::shared().await, &settings).await).await
}

async fn with_payee(app: Arc<TestApp>) -> (Agent, Pubkey) {
    let agent = app.new_operator().await.creates_account_with("Ada", "100").await;
    let (payee, _) = agent.operator.chain.new_payee().await;
    (agent, payee)
}

/// A 503 that asks for a retry, and says that nothing was done.
#[track_caller]
fn is_refused(answer: Answer, code: &str) -> Answer {
    let answer = answer.is_error(503, code);
    assert_eq!(answer["retryable"], true, "{}", answer.text);
    assert!(answer.header("retry-after").is_some_and(|seconds| seconds.parse::<u64>().is_ok()));
    answer
}

async fn updates(operator: &Operator, update: OperatorUpdate) {
    operator.chain.updates_operator(operator.address, update, operator.app().admin()).await;
}

async fn names_for_transfers(operator: &Operator, keys: &[Pubkey]) {
    updates(operator, OperatorUpdate { transfer_authorities: Some(keys.to_vec()), ..Default::default() })
        .await;
}

async fn names_for_policies(operator: &Operator, key: Pubkey) {
    updates(operator, OperatorUpdate { policy_authority: Some(key), ..Default::default() }).await;
}

/// The problem codes of `GET /healthz`.
async fn problems(operator: &Operator) -> Vec<String> {
    let health = operator.app().client().get("/healthz").await.has_status(200);
    let listed = health["problems"].as_array().cloned().unwrap_or_default();
    assert_eq!(health["status"], if listed.is_empty() { "ok" } else { "degraded" }, "{}", health.text);
    let code = |problem: &Value| {
        let text = problem.as_str().expect("a problem is told in words");
        assert!(text.starts_with("network test: ") && !text.contains(&operator.id), "{text}");
        text.split(": ").nth(1).expect("a problem has a code").to_owned()
    };
    listed.iter().map(code).collect()
}

async fn until_problems_are(operator: &Operator, codes: &[&str]) {
    until(&format!("the problems are {codes:?}"), async || problems(operator).await == codes).await;
}

#[tokio::test]
async fn transfer_of_a_fee_payer_without_sol_is_refused_unsigned_and_settles_once_there_is_some() {
    let (agent, payee) = asking(AppSettings::default()).await;
    let (operator, chain) = (&agent.operator, &agent.operator.chain);
    let payer = operator.app().transfer_authority().pubkey();
    let payment = agent.pays("1").to(&payee);
    // First nothing at all; then an amount that would leave less than the rent minimum.
    for lamports in [0, 890_880 + 4_999] {
        chain.sets_lamports(&payer, lamports).await;
        let refused = is_refused(payment.clone().await, "fee_payer_empty");
        let path = format!("/v1/transfers/{}", refused.text_of("transfer_id"));
        let read = operator.client.get(&path).await.has_status(200);
        assert_eq!((read["status"].as_str(), read["tx_signature"].is_null()), (Some("failed"), true));
    }
    // What the policy refuses, it still refuses.
    agent.pays("101").to(&payee).await.is_error(402, "insufficient_balance");
    chain.sets_lamports(&payer, SOL).await;
    payment.await.is_settled();
    assert_eq!(chain.usdc_micros(&payee).await, 1_000_000);
}

/// How often a relayer has called its nodes, and how often to send a transaction.
pub async fn rpc_calls(operator: &Operator) -> (u64, u64) {
    let text = metrics(operator.app()).await;
    let mut calls = (0, 0);
    for line in text.lines().filter(|line| line.starts_with("purser_rpc_calls_total{")) {
        let count: u64 = line.rsplit(' ').next().and_then(|count| count.parse().ok()).expect("a number");
        calls.0 += count;
        calls.1 += if line.contains(r#"method="sendTransaction""#) { count } else { 0 };
    }
    calls
}

#[tokio::test]
async fn what_nobody_can_sign_or_pay_for_is_refused_without_a_send_and_without_waiting_for_one() {
    const PAYMENTS: u64 = 10;
    let settings = with_admin(AppSettings { indexer_interval_ms: 3_600_000, ..AppSettings::default() });
    let (agent, payee) = asking(settings).await;
    let (operator, chain) = (&agent.operator, &agent.operator.chain);
    let payer = operator.app().transfer_authority().pubkey();
    let are_refused = async |code: &str| {
        let before = rpc_calls(operator).await;
        for _ in 0..PAYMENTS {
            is_refused(agent.pays("1").to(&payee).await, code);
        }
        let after = rpc_calls(operator).await;
        assert_eq!(after.1 - before.1, 0, "{code}: something was sent");
        // Each reads what it needs once. Whoever waits for the deadline asks many times.
        assert!(after.0 - before.0 < 8 * PAYMENTS, "{code}: {} calls", after.0 - before.0);
    };
    agent.pays("1").to(&payee).await.is_settled();
    let paid = rpc_calls(operator).await;
    assert!(paid.1 > 0, "sends are counted");
    chain.sets_lamports(&payer, 0).await;
    are_refused("fee_payer_empty").await;
    chain.sets_lamports(&payer, SOL).await;
    names_for_transfers(operator, &[Keypair::new().pubkey()]).await;
    are_refused("authority_rotated").await;
    assert_eq!(chain.usdc_micros(&payee).await, 1_000_000);
}

#[tokio::test]
async fn fee_payer_that_runs_dry_is_noticed_where_payments_ask_nobody() {
    let (agent, payee) = told(AppSettings::default()).await;
    let (operator, chain) = (&agent.operator, &agent.operator.chain);
    for _ in 0..4 {
        agent.pays("1").to(&payee).await.is_settled();
    }
    assert_eq!(problems(operator).await, [""; 0]);
    chain.sets_lamports(&operator.app().transfer_authority().pubkey(), 0).await;
    until_problems_are(operator, &["fee_payer_empty"]).await;
    for _ in 0..40 {
        is_refused(agent.pays("1").to(&payee).await, "fee_payer_empty");
    }
    let warnings = operator.app().log().lines().filter(|line| line.contains("WARN")).count();
    assert!(warnings < 10, "{warnings} warnings{}", operator.app().log_tail());
    chain.sets_lamports(&operator.app().transfer_authority().pubkey(), SOL).await;
    agent.pays("1").to(&payee).await.is_settled();
    until_problems_are(operator, &[]).await;
}

/// SOL for six payments is left; payments in flight count.
#[tokio::test]
async fn payments_at_once_beyond_what_the_fee_payer_has_are_refused_unsigned() {
    let (agent, payee) = told(AppSettings { deadline_seconds: 5, ..AppSettings::default() }).await;
    for _ in 0..4 {
        agent.pays("1").to(&payee).await.is_settled();
    }
    let (operator, chain) = (&agent.operator, &agent.operator.chain);
    let payer = operator.app().transfer_authority().pubkey();
    chain.sets_lamports(&payer, 890_880 + 6 * 5_000).await;
    until_problems_are(operator, &[]).await;
    tokio::time::sleep(Duration::from_secs(11)).await;
    let answers = purser_tests::agent::all_at_once((0..20).map(|_| agent.pays("1").to(&payee))).await;
    let settled = answers.iter().filter(|answer| answer.status == 200).count();
    for answer in answers.into_iter().filter(|answer| answer.status != 200) {
        is_refused(answer, "fee_payer_empty");
    }
    assert!((1..=6).contains(&settled), "{settled} settled");
}

#[tokio::test]
async fn transfers_skip_a_fee_payer_without_sol_and_one_that_was_rotated_out() {
    let (agent, payee) = asking(AppSettings { second_keys: true, ..AppSettings::default() }).await;
    let (operator, chain) = (&agent.operator, &agent.operator.chain);
    let first = operator.app().transfer_authority().pubkey();
    let second = operator.app().second_keys()[1].pubkey();
    chain.sets_lamports(&first, 0).await;
    for _ in 0..4 {
        agent.pays("1").to(&payee).await.is_settled();
    }
    chain.sets_lamports(&first, SOL).await;
    names_for_transfers(operator, &[first]).await;
    for _ in 0..4 {
        agent.pays("1").to(&payee).await.is_settled();
    }
    names_for_transfers(operator, &[second, Keypair::new().pubkey()]).await;
    for _ in 0..4 {
        agent.pays("1").to(&payee).await.is_settled();
    }
    chain.sets_lamports(&second, 0).await;
    is_refused(agent.pays("1").to(&payee).await, "fee_payer_empty");
}

#[tokio::test]
async fn policy_authority_without_sol_stops_changes_at_once_but_no_pause_and_no_halt() {
    let (agent, payee) = asking(AppSettings::default()).await;
    let (operator, chain) = (&agent.operator, &agent.operator.chain);
    let authority = operator.app().policy_authority().pubkey();
    let long: Value = (0..40).map(|_| json!({ "wallet": Keypair::new().pubkey().to_string() })).collect();
    chain.sets_lamports(&authority, 0).await;
    let name = json!({ "name": "Ben" });
    is_refused(operator.client.post("/v1/accounts", &name).await, "fee_payer_empty");
    let path = agent.path("/policy");
    for body in [
        json!({ "max_single_transfer": 3 }),
        json!({ "allowed_counterparties": long }),
        json!({ "paused": false }),
    ] {
        is_refused(operator.client.put(&path, &body).await, "fee_payer_empty");
    }
    agent.sets_policy(json!({ "paused": true })).await;
    agent.pays("1").to(&payee).await.is_error(402, "account_paused");
    let halted = operator.client.post("/v1/halt", &json!({})).await.has_status(200);
    assert_eq!(halted["halted_by"], "policy_authority");
    until_problems_are(operator, &["fee_payer_empty"]).await;
    // Enough for a fee, but not for an account or a list.
    chain.sets_lamports(&authority, 2_000_000).await;
    is_refused(operator.client.post("/v1/accounts", &name).await, "fee_payer_empty");
    is_refused(
        operator.client.patch(&path, &json!({ "allowed_counterparties": long })).await,
        "fee_payer_empty",
    );
    operator.client.patch(&path, &json!({ "max_single_transfer": 3 })).await.has_status(200);
    let draft = chain.program().draft_address(&agent.address);
    assert_eq!(chain.lamports(&draft).await, 0, "nothing was begun");
    chain.sets_lamports(&authority, SOL).await;
    operator.client.patch(&path, &json!({ "allowed_counterparties": long })).await.has_status(200);
    let listed = operator.client.get("/v1/accounts").await.has_status(200);
    assert_eq!(listed["data"].as_array().map(Vec::len), Some(1), "nothing is left of what was refused");
}

#[tokio::test]
async fn transfer_authority_that_was_rotated_out_is_said_at_once_and_after_a_restart() {
    let (mut agent, payee) = told(AppSettings { deadline_seconds: 5, ..AppSettings::default() }).await;
    for _ in 0..3 {
        agent.pays("1").to(&payee).await.is_settled();
    }
    let ours = agent.operator.app().transfer_authority().pubkey();
    names_for_transfers(&agent.operator, &[Keypair::new().pubkey()]).await;
    let payment = agent.pays("1").to(&payee).key(&unique_key());
    is_refused(payment.clone().await, "authority_rotated");
    until_problems_are(&agent.operator, &["authority_rotated"]).await;
    let app = Arc::clone(agent.operator.app());
    app.crashes();
    app.starts();
    agent.operator = agent.operator.reconnected();
    until_problems_are(&agent.operator, &["authority_rotated"]).await;
    let warned = |line: &&str| line.contains("WARN") && line.contains(&agent.operator.id);
    assert!(app.log().lines().filter(warned).count() >= 1, "{}", app.log_tail());
    is_refused(payment.clone().by(&agent.operator.client).await, "authority_rotated");
    names_for_transfers(&agent.operator, &[ours]).await;
    payment.by(&agent.operator.client).await.is_settled();
    assert_eq!(agent.operator.chain.usdc_micros(&payee).await, 4_000_000);
    until_problems_are(&agent.operator, &[]).await;
}

#[tokio::test]
async fn policy_authority_that_was_rotated_out_is_said_at_once_and_transfers_go_on() {
    let (agent, payee) = asking(AppSettings::default()).await;
    let operator = &agent.operator;
    let ours = operator.app().policy_authority().pubkey();
    names_for_policies(operator, Keypair::new().pubkey()).await;
    let path = agent.path("/policy");
    for body in [json!({ "max_single_transfer": 3 }), json!({ "paused": true })] {
        is_refused(operator.client.put(&path, &body).await, "authority_rotated");
    }
    is_refused(operator.client.post("/v1/halt", &json!({})).await, "authority_rotated");
    is_refused(operator.client.post("/v1/accounts", &json!({ "name": "Ben" })).await, "authority_rotated");
    agent.pays("1").to(&payee).await.is_settled();
    until_problems_are(operator, &["authority_rotated"]).await;
    names_for_policies(operator, ours).await;
    agent.sets_policy(json!({ "max_single_transfer": 3 })).await;
    operator.creates_account("Ben").await;
}

#[tokio::test]
async fn policy_key_is_the_one_that_the_operators_account_names() {
    let settings = AppSettings { second_keys: true, ..AppSettings::default() };
    let (agent, payee) = told(settings).await;
    let operator = &agent.operator;
    let [second, _] = operator.app().second_keys();
    let other = operator.app().new_operator().await.creates_account_with("Eve", "10").await;
    names_for_policies(operator, second.pubkey()).await;
    for agent in [&agent, &other] {
        let long: Value = (0..30).map(|_| json!({ "wallet": Keypair::new().pubkey().to_string() })).collect();
        agent.sets_policy(json!({ "allowed_counterparties": long })).await;
        agent.sets_policy(json!({ "paused": true })).await;
        agent.sets_policy(json!({ "paused": false })).await;
        agent.sets_policy(json!({})).await;
        let made = agent.operator.creates_account("Ben").await;
        let paid_by = operator.chain.agent(&made.address).await.agent.rent_refund;
        let named =
            if agent.id == other.id { operator.app().policy_authority().pubkey() } else { second.pubkey() };
        assert_eq!(paid_by, named);
        agent.pays("1").to(&payee).await.is_settled();
        agent.operator.client.post("/v1/halt", &json!({})).await.has_status(200);
    }
    assert_eq!(problems(operator).await, [""; 0]);
}

/// Pays without a pause while the admin swaps the one key for the other, back and forth.
#[tokio::test]
async fn rotation_of_the_transfer_key_refuses_loses_and_doubles_no_payment() {
    const PAYERS: usize = 4;
    let settings = AppSettings { second_keys: true, ..AppSettings::default() };
    let (agent, payee) = with_payee(TestApp::start(TestNetwork::own(), &settings).await).await;
    let operator = &agent.operator;
    let first = operator.app().transfer_authority().pubkey();
    let second = operator.app().second_keys()[1].pubkey();
    agent.holds("100000").await;
    let (done, settled) = (AtomicBool::new(false), AtomicU64::new(0));
    let pays = async || {
        while !done.load(Ordering::SeqCst) {
            agent.pays("1").to(&payee).await.is_settled();
            settled.fetch_add(1, Ordering::SeqCst);
        }
    };
    let rotates = async {
        for _ in 0..6 {
            for keys in [&[first][..], &[second]] {
                let before = settled.load(Ordering::SeqCst);
                names_for_transfers(operator, keys).await;
                // A good number of payments with each key.
                while settled.load(Ordering::SeqCst) < before + 10 {
                    tokio::time::sleep(Duration::from_millis(20)).await;
                }
            }
        }
        done.store(true, Ordering::SeqCst);
    };
    tokio::join!(futures::future::join_all((0..PAYERS).map(|_| pays())), rotates);
    let settled = settled.into_inner();
    assert_eq!(operator.chain.usdc_micros(&payee).await, settled * 1_000_000);
}
