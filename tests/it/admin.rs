//! The admin listener: `/readyz`, `/metrics` and `/healthz` on their own address, and logs as JSON.

use std::collections::BTreeSet;
use std::process::Command;
use std::time::Duration;

use purser::OperatorUpdate;
use purser_tests::{
    Answer, AppSettings, Operator, Proxy, TestApp, TestDatabase, TestNetwork, Wire, awaited, binaries, until,
};
use reqwest::Method;
use serde_json::{Value, json};
use solana_sdk::pubkey::Pubkey;
use solana_sdk::signature::Keypair;
use solana_sdk::signer::Signer;

use crate::webhooks::registers;

pub const ADMIN: &str = "admin_listen = \"127.0.0.1:0\"";

pub fn with_admin(settings: AppSettings) -> AppSettings {
    AppSettings { server: ADMIN, ..settings }
}

pub async fn metrics(app: &TestApp) -> String {
    app.admin_client().get("/metrics").await.has_status(200).text
}

/// The value of a series; 0 if it does not exist.
fn value(text: &str, series: &str) -> u64 {
    let found = text.lines().find_map(|line| line.strip_prefix(series)?.trim().parse().ok());
    found.unwrap_or(0)
}

/// Status and problems of one part of `/readyz`.
#[track_caller]
fn part(answer: &Answer, name: &str) -> (String, Vec<String>) {
    let parts = answer["parts"].as_array().expect("parts");
    let found = parts.iter().find(|part| part["part"] == name);
    let found = found.unwrap_or_else(|| panic!("no part {name} in {}", answer.text));
    let texts = |problem: &Value| problem.as_str().expect("words").to_owned();
    let problems = found["problems"].as_array().into_iter().flatten().map(texts).collect();
    (found["status"].as_str().expect("a status").to_owned(), problems)
}

/// Polls until readiness has this status, and the part this state.
async fn comes_to(app: &TestApp, status: u16, name: &str, standing: &str) -> Answer {
    let is_so = |answer: &Answer| answer.status == status && part(answer, name).0 == standing;
    let what = format!("{name} comes to {standing}");
    awaited(&what, async || Some(app.admin_client().get("/readyz").await).filter(is_so)).await
}

#[tokio::test]
async fn ready_relayer_names_each_part_and_only_the_second_listener_shows_figures() {
    let settings = with_admin(AppSettings::default());
    let app = TestApp::start(TestNetwork::shared().await, &settings).await;
    let answer = comes_to(&app, 200, "nodes", "ok").await;
    let names: Vec<_> = answer["parts"].as_array().expect("parts").iter().map(|part| &part["part"]).collect();
    assert_eq!(
        names,
        ["database", "tasks", "nodes", "clock", "websocket", "authorities", "sol", "signers"],
        "{}",
        answer.text
    );
    assert_eq!((&answer["ready"], &answer["parts"][2]["network"]), (&json!(true), &json!("test")));
    let printed = Command::new(binaries::relayer()).arg("--version").output().expect("it runs").stdout;
    let (version, commit) = (answer.text_of("version"), answer.text_of("commit"));
    assert_eq!(String::from_utf8_lossy(&printed), format!("purser {version} ({commit})\n"));
    let is_commit = |text: &str| text.len() == 12 && text.bytes().all(|byte| byte.is_ascii_hexdigit());
    assert!(commit == "unknown" || is_commit(commit), "{commit}");
    let figures = app.admin_client().get("/metrics").await.has_status(200);
    let build = format!("purser_build_info{{version=\"{version}\",commit=\"{commit}\"}} 1");
    assert!(figures.text.lines().any(|line| line == build), "{}", figures.text);
    app.admin_client().get("/healthz").await.has_status(200);
    app.admin_client().get("/v1/accounts").await.is_error(404, "not_found");
    for path in ["/readyz", "/metrics"] {
        app.client().get(path).await.is_error(404, "not_found");
    }
}

#[tokio::test]
async fn metrics_count_what_was_done_and_name_no_operator_account_or_key() {
    let settings = with_admin(AppSettings::default());
    let app = TestApp::start(TestNetwork::shared().await, &settings).await;
    let agent = app.new_operator().await.creates_account_with("Ada", "10").await;
    let (payee, _) = agent.operator.chain.new_payee().await;
    agent.pays("1").to(&payee).await.is_settled();
    agent.pays("1").to(&payee).await.is_settled();
    agent.pays("100").to(&payee).await.is_error(402, "insufficient_balance");
    let text = metrics(&app).await;
    for (series, expected) in [
        // What is refused is not submitted.
        (r#"purser_transfers_total{network="test",state="submitted"}"#, 2),
        (r#"purser_transfers_total{network="test",state="failed"}"#, 1),
        (r#"purser_transfer_failures_total{network="test",reason="insufficient_balance"}"#, 1),
        (r#"purser_transfer_failures_total{network="test",reason="solana_unavailable"}"#, 0),
        (r#"purser_websocket_connected{network="test"}"#, 1),
        (r#"purser_transfers_total{network="test",state="settled"}"#, 2),
        (r#"purser_settlement_seconds_count{network="test"}"#, 2),
        (r#"purser_requests_total{method="POST",route="/v1/transfers",status="200"}"#, 2),
        (r#"purser_requests_total{method="POST",route="/v1/transfers",status="402"}"#, 1),
        (r#"purser_transfers_pending"#, 0),
        (r#"purser_tasks{task="sweeper"}"#, 1),
        (r#"purser_operators_rotated{network="test"}"#, 0),
    ] {
        assert_eq!(value(&text, series), expected, "{series} in {text}");
    }
    assert!(value(&text, r#"purser_clock_skew_seconds{network="test"}"#) <= 60, "{text}");
    let sent = r#"purser_rpc_calls_total{network="test",node="0",method="sendTransaction"}"#;
    assert!(value(&text, sent) >= 2, "{text}");
    assert!(text.contains(r#"purser_database_wait_seconds_count{pool="writer"}"#), "{text}");
    let payer = app.transfer_authority().pubkey();
    let series = format!(
        "purser_fee_payer_spendable_lamports{{network=\"test\",address=\"{payer}\",role=\"transfer authority\"}}"
    );
    assert!(value(&text, &series) > 0, "{text}");
    for secret in
        [agent.operator.id.as_str(), &agent.id, agent.operator.client.key(), "acct_", "op_0", "127.0.0.1"]
    {
        assert!(!text.contains(secret), "{secret} is in {text}");
    }
}

fn counted(condition: &str) -> String {
    format!("purser_conditions{{condition=\"{condition}\",network=\"test\"}}")
}

async fn comes_to_count(app: &TestApp, condition: &str, count: u64) {
    let what = format!("{condition} comes to {count}");
    until(&what, async || {
        let text = metrics(app).await;
        text.contains(&counted(condition)) && value(&text, &counted(condition)) == count
    })
    .await;
}

#[tokio::test]
async fn halts_and_used_up_budgets_are_counted_although_nobody_opens_a_page() {
    let app = TestApp::start(TestNetwork::own(), &with_admin(AppSettings::default())).await;
    let operator = app.new_operator().await;
    let ada = operator.creates_account_with("Ada", "20").await;
    let ben = operator.creates_account("Ben").await;
    let budget = operator.makes_budget(1, "10", None).await;
    ada.sets_policy(json!({ "max_single_transfer": 20, "budget_id": budget })).await;
    for condition in
        ["operator_halted", "account_halted", "budget_used_up", "webhook_failing", "approval_old"]
    {
        comes_to_count(&app, condition, 0).await;
    }
    ada.pays("10").to(&ben).await.is_settled();
    comes_to_count(&app, "budget_used_up", 1).await;
    // Wallets that this service does not have.
    let chain = &operator.chain;
    let agent: Pubkey = ben.address.to_string().parse().expect("an address");
    chain.halts(operator.address, Some(agent), app.admin()).await;
    comes_to_count(&app, "account_halted", 1).await;
    chain.halts(operator.address, None, app.admin()).await;
    comes_to_count(&app, "operator_halted", 1).await;
    chain.resumes(operator.address, None, app.admin()).await;
    chain.resumes(operator.address, Some(agent), app.admin()).await;
    comes_to_count(&app, "operator_halted", 0).await;
    comes_to_count(&app, "account_halted", 0).await;
    let nobody = std::net::TcpListener::bind("127.0.0.1:0").expect("a port").local_addr().expect("bound");
    registers(&operator, &format!("http://{nobody}/silent"), &["policy.changed"]).await;
    ada.sets_policy(json!({ "require_memo": true })).await;
    comes_to_count(&app, "webhook_failing", 1).await;
}

#[tokio::test]
async fn halt_that_was_counted_stays_counted_while_no_node_answers() {
    let network = TestNetwork::shared().await;
    let proxy = Proxy::to(&network.rpc_url);
    let settings = AppSettings { rpc_url: Some(proxy.url()), ..AppSettings::default() };
    let app = TestApp::start(network, &with_admin(settings)).await;
    let operator = app.new_operator().await;
    let agent = operator.creates_account("Ada").await;
    operator.client.post(&format!("/v1/accounts/{}/halt", agent.id), &json!({})).await.has_status(200);
    comes_to_count(&app, "account_halted", 1).await;
    comes_to_count(&app, "accounts_unread", 0).await;
    proxy.cuts();
    comes_to_count(&app, "accounts_unread", 1).await;
    comes_to_count(&app, "nodes_unwell", 1).await;
    comes_to_count(&app, "account_halted", 1).await;
    proxy.mends();
    comes_to_count(&app, "accounts_unread", 0).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn websocket_that_does_not_connect_is_seen_and_payments_go_on() {
    let network = TestNetwork::shared().await;
    let nobody = std::net::TcpListener::bind("127.0.0.1:0").expect("a port").local_addr().expect("bound");
    let settings = AppSettings {
        rpc_url: Some(network.rpc_url.clone()),
        ws_url: Some(format!("ws://{nobody}")),
        ..AppSettings::default()
    };
    let app = TestApp::start(network, &with_admin(settings)).await;
    assert_eq!(value(&metrics(&app).await, r#"purser_websocket_connected{network="test"}"#), 0);
    let agent = app.new_operator().await.creates_account_with("Ada", "10").await;
    let (payee, _) = agent.operator.chain.new_payee().await;
    agent.pays("1").to(&payee).await.is_settled();
    let mut answer = comes_to(&app, 200, "nodes", "ok").await;
    for _ in 0..600 {
        answer = app.admin_client().get("/readyz").await;
        if part(&answer, "websocket").0 == "degraded" {
            break;
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    let (standing, problems) = part(&answer, "websocket");
    assert!(standing == "degraded" && problems[0].contains("no websocket connects"), "{}", answer.text);
    assert_eq!((answer.status, &answer["ready"]), (200, &json!(true)), "{}", answer.text);
    until("the log says it", async || app.log_tail().contains("no websocket connects; polling")).await;
}

/// Made-up client input creates no new series.
#[tokio::test]
async fn labels_do_not_grow_with_what_clients_send() {
    let app = TestApp::start(TestNetwork::shared().await, &with_admin(AppSettings::default())).await;
    let key = app.new_operator().await.client.key().to_owned();
    let client = app.client().with_key(&key);
    let series = |text: &str| -> BTreeSet<String> {
        let names = text.lines().filter(|line| line.starts_with("purser_requests_total"));
        names.filter_map(|line| Some(line.rsplit_once(' ')?.0.to_owned())).collect()
    };
    let asks = async |number: usize| {
        let unknown = format!("acct_01ARZ3NDEKTSV4RRFFQ69G{number:04}");
        client.get(&format!("/v1/accounts/{unknown}")).await;
        client.get(&format!("/nowhere/{number}")).await;
        let method = Method::from_bytes(format!("MAKE{number}").as_bytes()).expect("a token");
        client.sends(client.request(method, "/v1/accounts")).await;
        client.with_key(&format!("psk_test_{number}")).get("/v1/accounts").await;
    };
    asks(0).await;
    let first = series(&metrics(&app).await);
    for number in 1..20 {
        asks(number).await;
    }
    let text = metrics(&app).await;
    assert_eq!(series(&text), first, "{text}");
    assert!(first.iter().any(|one| one.contains(r#"route="/v1/accounts/{id}""#)), "{first:?}");
}

async fn names_other_keys(operator: &Operator, keys: &[Pubkey]) {
    let update = OperatorUpdate { transfer_authorities: Some(keys.to_vec()), ..Default::default() };
    operator.chain.updates_operator(operator.address, update, operator.app().admin()).await;
}

/// A tenant must not degrade the service for others by what it does to its own account.
#[tokio::test]
async fn tenant_that_rotates_our_key_away_leaves_the_relayer_ready_and_all_of_them_do_not() {
    let app = TestApp::start(TestNetwork::shared().await, &with_admin(AppSettings::default())).await;
    let (one, other) = (app.new_operator().await, app.new_operator().await);
    comes_to(&app, 200, "authorities", "ok").await;
    names_other_keys(&one, &[Keypair::new().pubkey()]).await;
    let answer = comes_to(&app, 200, "authorities", "degraded").await;
    assert!(!answer.text.contains(&one.id) && !answer.text.contains(&one.address.to_string()));
    assert_eq!(value(&metrics(&app).await, r#"purser_operators_rotated{network="test"}"#), 1);
    names_other_keys(&other, &[Keypair::new().pubkey()]).await;
    let answer = comes_to(&app, 503, "authorities", "failed").await;
    assert_eq!(answer["ready"], false);
    // A restart would not help.
    app.admin_client().get("/healthz").await.has_status(200);
    names_other_keys(&one, &[app.transfer_authority().pubkey()]).await;
    comes_to(&app, 200, "authorities", "degraded").await;
}

#[tokio::test]
async fn relayer_whose_wallets_are_all_empty_is_not_ready() {
    let settings = with_admin(AppSettings { second_keys: true, ..AppSettings::default() });
    let app = TestApp::start(TestNetwork::shared().await, &settings).await;
    let chain = app.new_operator().await.chain.clone();
    let wallets = [app.transfer_authority().pubkey(), app.second_keys()[1].pubkey()];
    comes_to(&app, 200, "sol", "ok").await;
    chain.sets_lamports(&wallets[0], 0).await;
    comes_to(&app, 200, "sol", "degraded").await;
    chain.sets_lamports(&wallets[1], 0).await;
    let answer = comes_to(&app, 503, "sol", "failed").await;
    assert_eq!(part(&answer, "sol").1.len(), 2, "{}", answer.text);
}

#[tokio::test]
async fn node_that_is_gone_is_named_and_its_faults_are_counted_without_its_url() {
    let network = TestNetwork::shared().await;
    let proxy = Proxy::to(&network.rpc_url);
    let url = format!("{}/?api-key=hush-hush", proxy.url());
    let app =
        TestApp::start(network, &with_admin(AppSettings { rpc_url: Some(url), ..AppSettings::default() }))
            .await;
    comes_to(&app, 200, "nodes", "ok").await;
    proxy.cuts();
    let answer = comes_to(&app, 503, "nodes", "failed").await;
    let text = metrics(&app).await;
    let faults = text.lines().filter(|line| line.starts_with("purser_rpc_faults_total{"));
    let faults: u64 = faults.filter_map(|line| line.rsplit_once(' ')?.1.parse::<u64>().ok()).sum();
    assert!(faults > 0 && value(&text, r#"purser_node_resting{network="test",node="0"}"#) == 1, "{text}");
    for shown in [&answer.text, &text] {
        assert!(!shown.contains("hush") && !shown.contains("127.0.0.1"), "{shown}");
    }
}

/// A request that needs the database fails after 10 s; a health check must not wait that long.
#[tokio::test]
async fn silent_database_keeps_neither_readiness_nor_metrics_from_answering() {
    let Some(database) = TestDatabase::create().await else { return };
    let line = Wire::to_postgres(&database.url());
    let settings = AppSettings {
        database_url: Some(line.postgres_url(&database.url())),
        database: Some(database),
        ..AppSettings::default()
    };
    let app = TestApp::start(TestNetwork::shared().await, &with_admin(settings)).await;
    let operator = app.new_operator().await;
    comes_to(&app, 200, "database", "ok").await;
    line.swallows();
    // Waits until the connections in use have timed out, too.
    comes_to(&app, 503, "database", "failed").await;
    let client = operator.client.clone();
    let listing = tokio::spawn(async move { client.get("/v1/accounts").await });
    // Each uses its own connection.
    app.client().get("/healthz").await.has_status(503);
    let answer = app.admin_client().get("/readyz").await.has_status(503);
    let text = metrics(&app).await;
    assert!(!listing.is_finished(), "the list was answered first: is the database silent?");
    assert_eq!(part(&answer, "database").0, "failed", "{}", answer.text);
    assert!(text.contains(r#"purser_database_waiting{pool="payments"}"#), "{text}");
    line.mends();
    listing.await.expect("answered");
    comes_to(&app, 200, "database", "ok").await;
}

#[tokio::test]
async fn logs_are_json_where_the_environment_says_so() {
    let environment = vec![("PURSER_LOG_FORMAT", "json".to_owned())];
    let settings = with_admin(AppSettings { environment, ..AppSettings::default() });
    let app = TestApp::start(TestNetwork::shared().await, &settings).await;
    let operator = app.new_operator().await;
    let answer = operator.client.get("/v1/accounts").await.has_status(200);
    let request_id = answer.header("x-request-id").expect("every answer has one");
    let log = app.log();
    let lines: Vec<Value> = log
        .lines()
        .map(|line| serde_json::from_str(line).unwrap_or_else(|_| panic!("not JSON: {line}")))
        .collect();
    let answered =
        lines.iter().find(|line| line["span"]["request_id"] == request_id && line["status"] == 200);
    let answered = answered.unwrap_or_else(|| panic!("no line of the request: {log}"));
    assert_eq!((&answered["message"], &answered["level"]), (&json!("answered"), &json!("INFO")));
    assert!(answered["span"]["key_id"].as_str().is_some_and(|key| key.starts_with("key_")), "{answered}");
}
