//! Every error code once, by name: status, body, and any headers. A code without a test fails the last test.

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
use solana_sdk::signature::Keypair;
use solana_sdk::signer::Signer;
use tokio::io::{AsyncReadExt, AsyncWriteExt};

use crate::x402::road::Road;

async fn agent_and_payee() -> (Agent, Pubkey) {
    let operator = Operator::shared().await;
    let agent = operator.creates_account_with("Ada", "10").await;
    let (payee, _) = operator.chain.new_payee().await;
    (agent, payee)
}

#[tokio::test]
async fn error_policy_violation_is_402_with_the_rejected_transfer_and_its_checks() {
    let (agent, payee) = agent_and_payee().await;
    agent.sets_policy(json!({ "max_single_transfer": 2 })).await;
    let refused = agent.pays("3").to(&payee).await.is_error(402, "policy_violation");
    assert_eq!(refused["status"], "rejected");
    assert!(refused.text_of("transfer_id").starts_with("txn_"));
    let message = refused.text_of("message");
    assert!(message.contains('2'), "the message names the violated limit: {message}");
    assert_eq!(refused["checks"].as_array().map(Vec::len), Some(6));
    for header in ["www-authenticate", "payment-required", "x-payment", "x-payment-response"] {
        assert_eq!(refused.header(header), None, "a 402 of ours asks nobody to pay");
    }
}

/// The answer to a request that asks for a person, whom policy leaves the decision.
async fn asks(agent: &Agent, payee: &Pubkey, key: &str) -> Answer {
    agent.sets_policy(json!({ "max_single_transfer": 2 })).await;
    agent.pays("3").to(payee).key(key).field("approval", json!("request")).await
}

#[tokio::test]
async fn error_approval_rejected_is_402_and_stays_with_the_key() {
    let (agent, payee) = agent_and_payee().await;
    let key = unique_key();
    let asked = asks(&agent, &payee, &key).await.has_status(202);
    let reject = format!("/v1/approvals/{}/reject", asked.text_of("transfer_id"));
    agent.operator.client.post(&reject, &json!({})).await.has_status(200);
    for _ in 0..2 {
        let again = agent.pays("3").to(&payee).key(&key).await.is_error(402, "approval_rejected");
        assert_eq!((&again["status"], &again["transfer_id"]), (&json!("failed"), &asked["transfer_id"]));
    }
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
async fn error_approval_closed_is_409_with_the_status() {
    let (agent, payee) = agent_and_payee().await;
    let asked = asks(&agent, &payee, &unique_key()).await.has_status(202);
    let path = format!("/v1/approvals/{}", asked.text_of("transfer_id"));
    agent.operator.client.delete(&path).await.has_status(204);
    let closed = agent.operator.client.delete(&path).await.is_error(409, "approval_closed");
    assert_eq!(closed["status"], "failed");
}

#[tokio::test]
async fn error_account_paused_is_402_with_the_rejected_transfer_and_its_checks() {
    let (agent, payee) = agent_and_payee().await;
    agent.sets_policy(json!({ "paused": true })).await;
    let refused = agent.pays("3").to(&payee).await.is_error(402, "account_paused");
    assert_eq!(refused["status"], "rejected");
    assert!(refused.text_of("transfer_id").starts_with("txn_"));
    assert_eq!(refused.failed_checks(), ["paused"]);
}

#[tokio::test]
async fn error_insufficient_balance_is_402() {
    let (agent, payee) = agent_and_payee().await;
    let refused = agent.pays("10.000001").to(&payee).await.is_error(402, "insufficient_balance");
    assert_eq!(refused.failed_checks(), ["balance"], "no rule of the policy is broken");
    let balance = json!({ "rule": "balance", "ok": false, "limit": "10.000000", "used": "0.000000",
        "remaining": "10.000000" });
    assert_eq!(refused.check("balance"), &balance);
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

#[tokio::test]
async fn error_idempotency_conflict_is_409() {
    let (agent, payee) = agent_and_payee().await;
    let payment = agent.pays("1").to(&payee);
    payment.clone().await.is_settled();
    payment.field("amount", json!("2")).await.is_error(409, "idempotency_conflict");
}

#[tokio::test]
async fn error_invalid_recipient_is_422() {
    let (agent, _) = agent_and_payee().await;
    agent.pays("1").to(&"nobody").await.is_error(422, "invalid_recipient");
}

#[tokio::test]
async fn error_recipient_has_no_token_account_is_422_with_the_rent_and_the_same_request_pays_later() {
    let (agent, _) = agent_and_payee().await;
    let wallet = Keypair::new().pubkey();
    let payment = agent.pays("1").field("to", json!({ "wallet": wallet.to_string() }));
    let refused = payment.clone().await.is_error(422, "recipient_has_no_token_account");
    assert_eq!((&refused["rent_lamports"], &refused["approvable"]), (&json!(2_039_280), &json!(false)));
    assert_eq!((&refused["status"], &refused["retryable"]), (&json!("failed"), &json!(false)));
    let token_account = agent.operator.chain.sets_usdc(&wallet, 0).await;
    assert!(refused.text_of("message").contains(&token_account.to_string()), "{}", refused.text);
    assert_eq!(payment.await.is_settled()["to"], token_account.to_string());
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
async fn error_policy_changed_is_409() {
    let (agent, _) = agent_and_payee().await;
    let path = agent.path("/policy");
    let client = &agent.operator.client;
    let version = client.get(&path).await.has_status(200)["version"].clone();
    let body = json!({ "max_single_transfer": 5, "expected_version": version });
    client.put(&path, &body).await.has_status(200);
    client.put(&path, &body).await.is_error(409, "policy_changed");
    client.patch(&path, &body).await.is_error(409, "policy_changed");
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
async fn error_fee_payer_empty_is_503_and_retryable() {
    let app = TestApp::start(TestNetwork::shared().await, &AppSettings::default()).await;
    let operator = app.new_operator().await;
    operator.chain.sets_lamports(&app.policy_authority().pubkey(), 0).await;
    let refused = operator.client.post("/v1/accounts", &json!({ "name": "Ada" })).await;
    let refused = refused.is_error(503, "fee_payer_empty");
    assert_eq!((&refused["retryable"], refused.header("retry-after")), (&json!(true), Some("30")));
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
async fn error_authority_rotated_is_503_and_retryable() {
    let app = TestApp::start(TestNetwork::shared().await, &AppSettings::default()).await;
    let operator = app.new_operator().await;
    let update =
        purser::OperatorUpdate { policy_authority: Some(Pubkey::new_unique()), ..Default::default() };
    operator.chain.updates_operator(operator.address, update, app.admin()).await;
    let refused = operator.client.post("/v1/accounts", &json!({ "name": "Ada" })).await;
    let refused = refused.is_error(503, "authority_rotated");
    assert_eq!((&refused["retryable"], refused.header("retry-after")), (&json!(true), Some("30")));
}

#[tokio::test]
async fn error_quota_exceeded_is_400_for_accounts_and_entries() {
    let settings = AppSettings { quotas: Some((1, 1)), ..AppSettings::default() };
    let app = TestApp::start(TestNetwork::shared().await, &settings).await;
    let agent = app.new_operator().await.creates_account("Ada").await;
    let refused = agent.operator.client.post("/v1/accounts", &json!({ "name": "Ben" })).await;
    assert_eq!(refused.is_error(400, "quota_exceeded")["param"], "body");
    let entries = json!([{ "wallet": Pubkey::new_unique().to_string() }, { "wallet": Pubkey::new_unique().to_string() }]);
    let body = json!({ "allowed_counterparties": entries });
    let refused = agent.operator.client.put(&agent.path("/policy"), &body).await;
    assert_eq!(refused.is_error(400, "quota_exceeded")["param"], "allowed_counterparties");
}

#[tokio::test]
async fn error_unauthorized_is_401_with_a_challenge() {
    let operator = Operator::shared().await;
    let refused = operator.client.without_key().get("/v1/accounts").await.is_error(401, "unauthorized");
    assert_eq!(refused.header("www-authenticate"), Some("Bearer"));
}

#[tokio::test]
async fn error_forbidden_is_403_for_an_agent_on_policy_and_for_another_accounts_money() {
    let (agent, payee) = agent_and_payee().await;
    let key = agent.new_key().await;
    key.get(&agent.path("/policy")).await.is_error(403, "forbidden");
    key.put(&agent.path("/policy"), &json!({ "paused": false })).await.is_error(403, "forbidden");
    let other = agent.operator.creates_account_with("Ben", "10").await;
    other.pays("1").to(&payee).by(&key).await.is_error(403, "forbidden");
}

#[tokio::test]
async fn error_likely_duplicate_is_409_and_names_the_earlier_transfer() {
    let (agent, payee) = agent_and_payee().await;
    let paid = agent.pays("1").to(&payee).await.is_settled();
    let again = agent.pays("1").to(&payee).field("refuse_duplicate", json!(true));
    let refused = again.await.is_error(409, "likely_duplicate");
    assert_eq!((&refused["transfer_id"], &refused["status"]), (&paid["transfer_id"], &Value::Null));
}

#[tokio::test]
async fn error_not_found_is_404_for_ids_and_paths() {
    let operator = Operator::shared().await;
    for path in [
        "/v1/accounts/acct_01ARZ3NDEKTSV4RRFFQ69G5FAV",
        "/v1/transfers/txn_01ARZ3NDEKTSV4RRFFQ69G5FAV",
        "/v1/x",
    ] {
        operator.client.get(path).await.is_error(404, "not_found");
    }
    operator.client.delete("/v1/keys/key_01ARZ3NDEKTSV4RRFFQ69G5FAV").await.is_error(404, "not_found");
}

#[tokio::test]
async fn error_invalid_request_is_400_and_names_the_parameter() {
    let (agent, payee) = agent_and_payee().await;
    agent.pays("x").to(&payee).await.blames("amount");
    agent.pays("1").to(&payee).field("nickname", json!("x")).await.blames("nickname");
    agent.pays("1").to(&payee).without("from").await.blames("from");
    agent.pays("1").await.blames("to");
}

#[tokio::test]
async fn error_method_not_allowed_is_405_and_names_the_methods() {
    let operator = Operator::shared().await;
    let refused = operator.client.delete("/v1/accounts").await.is_error(405, "method_not_allowed");
    let allowed = refused.header("allow").expect("405 has Allow");
    assert!(allowed.contains("GET") && allowed.contains("POST"), "{allowed}");
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
async fn error_unsupported_media_type_is_415() {
    let operator = Operator::shared().await;
    let request = operator.client.request(Method::POST, "/v1/accounts").body(r#"{"name":"Ada"}"#);
    operator.client.sends(request).await.is_error(415, "unsupported_media_type");
}

#[tokio::test]
async fn error_payload_too_large_is_413() {
    let operator = Operator::shared().await;
    let body = json!({ "name": "x".repeat(100_000) }).to_string();
    let refused = operator.client.sends_bytes(Method::POST, "/v1/accounts", body).await;
    refused.is_error(413, "payload_too_large");
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
    tokio::time::timeout(Duration::from_secs(20), reading)
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
async fn error_not_configured_is_501_where_refusals_have_no_key() {
    let settings = AppSettings { denials: None, ..AppSettings::default() };
    let app = TestApp::start(TestNetwork::shared().await, &settings).await;
    let operator = app.new_operator().await;
    operator.client.get("/v1/denials").await.is_error(501, "not_configured");
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
async fn error_too_many_refusals_is_429_and_claims_nothing() {
    let environment = vec![("PURSER__TRANSFERS__REFUSALS_PER_ACCOUNT_DAILY", "2".to_owned())];
    let settings = AppSettings { environment, ..AppSettings::default() };
    let app = TestApp::start(TestNetwork::shared().await, &settings).await;
    let operator = app.new_operator().await;
    let agent = operator.creates_account_with("Ada", "10").await;
    let (payee, _) = operator.chain.new_payee().await;
    for _ in 0..2 {
        agent.pays("11").to(&payee).await.is_error(402, "insufficient_balance");
    }
    let more = agent.pays("11").to(&payee);
    let refused = more.clone().await.is_error(429, "too_many_refusals");
    assert_eq!(refused["retryable"], true);
    let wait = refused.header("retry-after").and_then(|text| text.parse::<u64>().ok());
    assert!(wait.is_some_and(|seconds| (86_000..=86_401).contains(&seconds)), "{wait:?}");
    let paid = agent.pays("9").to(&payee).await.is_settled();
    assert_eq!(paid["status"], "settled");
    assert_eq!(operator.chain.usdc_micros(&payee).await, 9_000_000);
    let listed = operator.client.get("/v1/transfers").await.has_status(200);
    assert_eq!(listed["data"].as_array().map(Vec::len), Some(3), "{}", listed.text);
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

#[tokio::test]
async fn error_rate_limited_is_429_per_key_and_says_when_to_come_back() {
    let settings = AppSettings { requests_per_second: 1, burst: 3, ..AppSettings::default() };
    let app = TestApp::start(TestNetwork::shared().await, &settings).await;
    let (operator, other) = (app.new_operator().await, app.new_operator().await);
    let passed = operator.client.get("/v1/accounts").await.has_status(200);
    for header in ["ratelimit-limit", "ratelimit-remaining", "ratelimit-reset"] {
        let value = passed.header(header).unwrap_or_else(|| panic!("no {header}"));
        assert!(value.parse::<u64>().is_ok(), "{header}: {value}");
    }
    let mut refused = operator.client.get("/v1/accounts").await;
    for _ in 0..10 {
        if refused.status != 200 {
            break;
        }
        refused = operator.client.get("/v1/accounts").await;
    }
    let refused = refused.is_error(429, "rate_limited");
    assert_eq!(refused.header("ratelimit-remaining"), Some("0"));
    let seconds = refused.header("retry-after").and_then(|text| text.parse::<u64>().ok());
    let seconds = seconds.expect("429 has Retry-After in seconds");
    other.client.get("/v1/accounts").await.has_status(200);
    tokio::time::sleep(Duration::from_secs(seconds)).await;
    operator.client.get("/v1/accounts").await.has_status(200);
}

#[tokio::test]
async fn every_error_body_carries_the_id_of_its_request() {
    let (agent, payee) = agent_and_payee().await;
    let client = &agent.operator.client;
    let answers = [
        client.without_key().get("/v1/accounts").await,
        client.get("/v1/nothing").await,
        client.delete("/v1/accounts").await,
        agent.pays("x").to(&payee).await,
        agent.pays("99").to(&payee).await,
    ];
    let mut ids = BTreeSet::new();
    for answer in answers {
        assert_eq!(answer.header("x-request-id"), Some(answer.text_of("request_id")));
        ids.insert(answer.text_of("request_id").to_owned());
    }
    assert_eq!(ids.len(), 5);
    let good = client.get("/v1/accounts").await.has_status(200);
    assert!(good.header("x-request-id").is_some());
}

/// Codes that nobody can provoke from outside on a sound network, and why.
const NOT_PROVOKED: [(&str, &str); 5] = [
    ("approval_expired", "needs a day: the simulated worlds have it"),
    ("internal_error", "a fault of ours: hostile_input shows that nothing sent causes it"),
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
    let tests = include_str!("error_codes.rs");
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
