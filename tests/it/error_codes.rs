//! Error codes by name that need a socket, another server, an extension or a real chain. The others are in
//! `relayer/api/src/http/tests/error_codes.rs`; a code without a test fails the last test.

use std::collections::BTreeSet;
use std::fs;
use std::time::Duration;

use purser_tests::agent::unique_key;
use purser_tests::binaries::workspace;
use purser_tests::clock::unix_of;
use purser_tests::keeper::{Kind, Mood};
use purser_tests::settings::Webhooks;
use purser_tests::{
    Agent, Answer, AppSettings, Client, Keeper, Operator, Proxy, TestApp, TestNetwork, until,
};
use reqwest::Method;
use serde_json::{Value, json};
use solana_sdk::pubkey::Pubkey;
use solana_sdk::signer::Signer;
use tokio::io::{AsyncReadExt, AsyncWriteExt};

use crate::x402::road::Road;

async fn agent_and_payee() -> (Agent, Pubkey) {
    let operator = Operator::shared().await;
    let agent = operator.creates_account_with("Ada", "10").await;
    let (payee, _) = operator.chain.new_payee().await;
    (agent, payee)
}

/// The answer to a request that asks for a person, whom policy leaves the decision.
async fn asks(agent: &Agent, payee: &Pubkey, key: &str) -> Answer {
    agent.sets_policy(json!({ "max_single_transfer": 2 })).await;
    agent.pays("3").to(payee).key(key).field("approval", json!("request")).await
}

#[tokio::test]
async fn error_approval_void_is_402_and_the_same_request_is_decided_anew() {
    let (agent, payee) = agent_and_payee().await;
    let key = unique_key();
    let asked = asks(&agent, &payee, &key).await.has_status(202);
    agent.sets_policy(json!({ "max_single_transfer": 5 })).await;
    let path = format!("/v1/transfers/{}", asked.text_of("transfer_id"));
    until("it is void", async || agent.operator.client.get(&path).await["error"] == "approval_void").await;
    agent.pays("3").to(&payee).key(&key).await.is_settled();
}

#[tokio::test]
async fn error_account_frozen_is_402_before_anything_is_signed_and_by_preview() {
    let (agent, payee) = agent_and_payee().await;
    let chain = &agent.operator.chain;
    let payment = agent.pays("1").to(&payee);
    chain.freezes(&agent.address, true).await;
    let preview = agent.previews("1").to(&payee).await.has_status(200);
    assert_eq!((&preview["allowed"], &preview["error"]), (&json!(false), &json!("account_frozen")));
    let before = chain.transactions_of(&agent.address).await;
    let refused = payment.clone().await.is_error(402, "account_frozen");
    assert_eq!((&refused["status"], &refused["retryable"]), (&json!("failed"), &json!(false)));
    assert_eq!(refused.failed_checks(), ["balance"], "nothing can be spent while it is frozen");
    assert_eq!(preview.check("balance"), refused.check("balance"));
    assert_eq!(chain.transactions_of(&agent.address).await, before, "nothing was sent");
    let read = agent.operator.client.get(&format!("/v1/transfers/{}", refused.text_of("transfer_id"))).await;
    assert_eq!(read["error"], "account_frozen");
    chain.freezes(&agent.address, false).await;
    payment.await.is_settled();
}

fn purchase(agent: &Agent, url: &str) -> Value {
    json!({ "from": agent.id, "url": url, "max_amount": "1", "idempotency_key": unique_key() })
}

#[tokio::test]
async fn error_offer_refused_is_422() {
    let (agent, _) = agent_and_payee().await;
    let road = Road::to("http://127.0.0.1:1").await;
    let body = purchase(&agent, &format!("{}/offer", road.url));
    let refused = agent.operator.client.post("/v1/x402/payments", &body).await;
    assert_eq!(refused.is_error(422, "offer_refused")["retryable"], false);
}

#[tokio::test]
async fn error_payment_refused_is_422_and_says_that_it_may_still_be_paid() {
    let (agent, _) = agent_and_payee().await;
    let (_, seller) = agent.operator.chain.new_payee().await;
    let road = Road::to("http://127.0.0.1:1").await;
    road.offers(json!({
        "scheme": "exact", "network": "solana:EtWTRABZaYq6iMfeYKouRu166VU2xqa1", "amount": "1",
        "asset": agent.operator.network().usdc_mint.to_string(), "payTo": seller.pubkey().to_string(),
        "maxTimeoutSeconds": 60, "extra": { "feePayer": Pubkey::new_unique().to_string() },
    }));
    let body = purchase(&agent, &format!("{}/offer", road.url));
    let refused = agent.operator.client.post("/v1/x402/payments", &body).await;
    let refused = refused.is_error(422, "payment_refused");
    assert_eq!((&refused["status"], &refused["retryable"]), (&json!("submitted"), &json!(false)));
    assert!(refused.text_of("message").contains("may still be paid"), "{}", refused.text);
}

#[tokio::test]
async fn error_server_unreachable_is_502() {
    let (agent, _) = agent_and_payee().await;
    let body = purchase(&agent, "http://127.0.0.1:1/");
    let refused = agent.operator.client.post("/v1/x402/payments", &body).await;
    assert_eq!(refused.is_error(502, "server_unreachable")["retryable"], true);
}

#[tokio::test]
async fn error_solana_unavailable_is_503_and_retryable_when_nothing_was_signed() {
    let network = TestNetwork::shared().await;
    let proxy = Proxy::to(&network.rpc_url);
    let settings = AppSettings { rpc_url: Some(proxy.url()), ..AppSettings::default() };
    let app = TestApp::start(network, &settings).await;
    let operator = app.new_operator().await;
    let agent = operator.creates_account_with("Ada", "10").await;
    let (payee, _) = operator.chain.new_payee().await;
    proxy.cuts();
    let payment = agent.pays("1").to(&payee);
    for answer in [
        payment.clone().await,
        agent.previews("1").to(&payee).await,
        operator.client.get(&agent.path("/balance")).await,
        operator.client.get(&agent.path("/limits")).await,
        operator.client.get(&agent.path("/policy")).await,
        operator.reads_account(&agent.id).await,
        operator.client.patch(&agent.path(""), &json!({ "name": "Ben" })).await,
    ] {
        let refused = answer.is_error(503, "solana_unavailable");
        assert_eq!(refused["retryable"], true, "{}", refused.text);
        assert!(refused.header("retry-after").is_some_and(|seconds| seconds.parse::<u64>().is_ok()));
    }
    // A change of the chain may have been sent before the line was cut.
    let refused = operator.client.put(&agent.path("/policy"), &json!({ "paused": false })).await;
    assert!(refused.is_error(503, "solana_unavailable")["retryable"].is_boolean());
    proxy.mends();
    let mut answer = payment.clone().await;
    for _ in 0..300 {
        if answer.status != 503 {
            break;
        }
        tokio::time::sleep(Duration::from_millis(200)).await;
        answer = payment.clone().await;
    }
    answer.is_settled();
    assert_eq!(operator.chain.usdc_micros(&payee).await, 1_000_000);
}

#[tokio::test]
async fn error_signer_unavailable_is_503_and_retryable() {
    let first = TestApp::start(TestNetwork::shared().await, &AppSettings::default()).await;
    let operator = first.new_operator().await;
    first.crashes();
    let keeper = Keeper::start(Kind::Vault, first.policy_authority());
    keeper.is(Mood::Fails);
    let environment = keeper.environment("POLICY_AUTHORITY_KEYPAIR");
    let second = first.twin(&AppSettings { environment, ..AppSettings::default() });
    let client = Client::new(&second.base_url(), Some(operator.client.key()));
    let refused = client.post("/v1/accounts", &json!({ "name": "Ada" })).await;
    let refused = refused.is_error(503, "signer_unavailable");
    assert_eq!(refused["retryable"], true, "{}", refused.text);
    assert!(refused.header("retry-after").is_some_and(|seconds| seconds.parse::<u64>().is_ok()));
}

#[tokio::test]
async fn error_unsupported_media_type_is_415_for_an_encoding_that_is_not_understood() {
    let operator = Operator::shared().await;
    let agent = operator.creates_account_with("Ada", "10").await;
    let key = agent.new_key().await;
    let (payee, _) = operator.chain.new_payee().await;
    let payment = |encoding: Option<&'static str>| {
        let body =
            json!({ "from": agent.id, "to": payee.to_string(), "amount": "1", "idempotency_key": "k" });
        let request = key.request(Method::POST, "/v1/transfers").json(&body);
        match encoding {
            Some(encoding) => request.header("content-encoding", encoding),
            None => request,
        }
    };
    for encoding in ["gzip", "br", "deflate, gzip", "x"] {
        let refused = key.sends(payment(Some(encoding))).await.is_error(415, "unsupported_media_type");
        assert!(refused.text_of("message").contains("Content-Encoding"), "{}", refused.text);
        let message = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/list" });
        let at_mcp = key.request(Method::POST, "/mcp").header("content-encoding", encoding).json(&message);
        key.sends(at_mcp).await.is_error(415, "unsupported_media_type");
    }
    assert_eq!(agent.balance_micros().await, 10_000_000);
    // The key is not used up, and what says that nothing is encoded is understood.
    key.sends(payment(Some("identity"))).await.is_settled();
    key.sends(payment(None)).await.is_settled();
    assert_eq!(agent.balance_micros().await, 9_000_000);
}

#[tokio::test]
async fn error_request_timeout_is_408_for_a_body_that_does_not_come() {
    let operator = Operator::shared().await;
    let address = operator.app().base_url().trim_start_matches("http://").to_owned();
    let mut stream = tokio::net::TcpStream::connect(&address).await.expect("the relayer listens");
    let head = format!(
        "POST /v1/accounts HTTP/1.1\r\nhost: {address}\r\nauthorization: Bearer {}\r\n\
         content-type: application/json\r\ncontent-length: 100\r\nconnection: close\r\n\r\n{{\"na",
        operator.client.key()
    );
    stream.write_all(head.as_bytes()).await.expect("the relayer reads");
    let mut answer = Vec::new();
    let reading = stream.read_to_end(&mut answer);
    tokio::time::timeout(Duration::from_secs(60), reading)
        .await
        .expect("the relayer gives up")
        .expect("and answers");
    let answer = String::from_utf8_lossy(&answer);
    assert!(answer.starts_with("HTTP/1.1 408 "), "{answer}");
    assert!(
        answer.contains(r#""error":"request_timeout""#) && answer.contains(r#""request_id":"#),
        "{answer}"
    );
}

#[tokio::test]
async fn error_idempotency_in_progress_is_409_and_says_when_to_come_back() {
    let operator = Operator::shared().await;
    let client = &operator.client;
    let ask = || {
        let request = client.request(Method::POST, "/v1/accounts").header("idempotency-key", "one");
        client.sends(request.json(&json!({ "name": "Ada" })))
    };
    let answers = futures::future::join_all((0..5).map(|_| ask())).await;
    let (made, refused): (Vec<_>, Vec<_>) = answers.into_iter().partition(|answer| answer.status == 201);
    for answer in refused {
        let answer = answer.is_error(409, "idempotency_in_progress");
        assert_eq!((&answer["retryable"], answer.header("retry-after")), (&json!(true), Some("2")));
    }
    assert_eq!(made.iter().filter(|answer| answer.header("idempotent-replayed").is_none()).count(), 1);
    assert!(made.len() < 5, "none came while the first was under way");
}

#[tokio::test]
async fn error_not_configured_is_501_where_webhook_secrets_have_no_key() {
    let settings = AppSettings { webhooks: Webhooks::NotConfigured, ..AppSettings::default() };
    let app = TestApp::start(TestNetwork::shared().await, &settings).await;
    let operator = app.new_operator().await;
    let body = json!({ "url": "https://8.8.8.8/", "events": ["transfer.settled"] });
    operator.client.post("/v1/webhooks", &body).await.is_error(501, "not_configured");
    operator.client.get("/v1/webhooks").await.has_status(200);
}

#[tokio::test]
async fn error_too_many_pending_is_429_and_claims_nothing() {
    let settings = AppSettings { pending_per_account: 1, commitment: "finalized", ..AppSettings::default() };
    let app = TestApp::start(TestNetwork::slow(), &settings).await;
    let operator = app.new_operator().await;
    let agent = operator.creates_account_with("Ada", "10").await;
    let (payee, _) = operator.chain.new_payee().await;
    let payments = [agent.pays("1").to(&payee), agent.pays("1").to(&payee)];
    let [one, other] = payments.clone().map(std::future::IntoFuture::into_future);
    let (one, other) = tokio::join!(one, other);
    let (refused, payment) =
        if one.status == 429 { (one, payments[0].clone()) } else { (other, payments[1].clone()) };
    let refused = refused.is_error(429, "too_many_pending");
    assert_eq!(refused["retryable"], true);
    assert!(refused.header("retry-after").is_some());
    let settled = payment.await.is_settled();
    assert_eq!(settled.header("idempotent-replayed"), None, "nothing was claimed before");
    assert_eq!(operator.chain.usdc_micros(&payee).await, 2_000_000);
}

#[tokio::test]
async fn error_account_full_is_429_until_a_payment_is_a_day_old() {
    let sections = "[quotas]\ntag_buckets_per_account = 1\n";
    let settings = AppSettings { sections, ..AppSettings::default() };
    let app = TestApp::start(TestNetwork::shared().await, &settings).await;
    let operator = app.new_operator().await;
    let agent = operator.creates_account_with("Ada", "20").await;
    let (payee, _) = operator.chain.new_payee().await;
    let first = agent.pays("0.1").to(&payee);
    first.clone().await.is_settled();
    for tenths in 2..=16 {
        agent.pays(&format!("0.{tenths:02}")).to(&payee).await.is_settled();
    }
    let refused = agent.pays("5").to(&payee).await.is_error(429, "account_full");
    let seconds = unix_of(refused.text_of("retry_at")) - operator.chain.now().await;
    assert!((89_000..=90_000).contains(&seconds), "in {seconds} s");
    let again = first.await.is_settled();
    assert_eq!(again.header("idempotent-replayed"), Some("true"));
    // 0.1 and 0.02 to 0.16.
    assert_eq!(operator.chain.usdc_micros(&payee).await, 1_450_000);
}

/// Codes that nobody can provoke from outside on a sound network, and why.
const NOT_PROVOKED: [(&str, &str); 5] = [
    ("approval_expired", "needs a day: the simulated worlds have it"),
    ("internal_error", "a fault of ours: tests of `purser-main` show that nothing sent causes it"),
    (
        "transfer_failed",
        "needs a transaction that lands and fails although everything was right a moment before",
    ),
    ("service_unavailable", "needs a database that is away: database_outage has them"),
    ("timeout", "needs a node that takes a request and never answers"),
];

#[test]
fn every_error_code_has_a_named_test() {
    let document = crate::routes::document();
    let listed =
        document["components"]["schemas"]["ErrorCode"]["anyOf"][0]["enum"].as_array().expect("the codes");
    let codes: BTreeSet<&str> = listed.iter().filter_map(|code| code.as_str()).collect();
    assert!(codes.len() >= 14, "{codes:?}");
    let of_router = include_str!("../../relayer/api/src/http/tests/error_codes.rs");
    let of_approvals = include_str!("../../extensions/approvals/src/tests.rs");
    let tests = [include_str!("error_codes.rs"), of_router, of_approvals].concat();
    let page = fs::read_to_string(workspace().join("docs/build/errors.md"))
        .expect("docs/build/errors.md lists the errors");
    for code in codes {
        assert!(
            page.contains(&format!("\n### `{code}`\n")),
            "docs/build/errors.md has no heading for {code}"
        );
        let tested = tests.contains(&format!("async fn error_{code}_is_"));
        let excused = NOT_PROVOKED.iter().any(|(known, _)| *known == code);
        assert!(tested != excused, "{code}: tested {tested}, excused {excused}");
    }
}
