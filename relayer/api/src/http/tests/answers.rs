//! The shape of every answer: error bodies, headers, authorisation.

use std::num::NonZeroU32;
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::http::{Request, StatusCode, header};
use axum::routing::get;
use serde_json::json;
use tower::ServiceExt;

use super::{Answer, Described, NoExtensions, Relayer, described_routes, operator_key, settings};
use crate::http::{HttpSettings, dress, router};
use purser_service::{SystemClock, health};

fn assert_error(answer: &Answer, status: u16, code: &str) {
    assert_eq!(answer.error(), (status, code), "{}", answer.body);
    assert!(answer.body["message"].as_str().is_some_and(|message| !message.is_empty()));
    assert_eq!(answer.body["request_id"], answer.headers["x-request-id"].to_str().expect("text"));
    assert_eq!(answer.headers[header::CONTENT_TYPE], "application/json");
    assert_eq!(answer.headers[header::X_CONTENT_TYPE_OPTIONS], "nosniff");
}

#[tokio::test]
async fn clock_that_is_off_the_chains_is_said_and_stops_nothing() {
    let here = SystemClock::SYSTEM.now().unix_seconds();
    for (chain, side) in
        [(here - 90_000, Some("ahead of")), (here + 90_000, Some("behind")), (here - 30, None)]
    {
        let relayer = Relayer::start().await;
        relayer.chain.script().now = chain;
        let health = relayer.send("GET", "/healthz", "", None).await;
        assert_eq!(health.status, StatusCode::OK, "{}", health.body);
        let Some(side) = side else {
            assert_eq!(health.body, json!({ "status": "ok" }));
            continue;
        };
        let problem = health.body["problems"][0].as_str().expect("a problem");
        assert!(problem.contains(&format!("clock is more than 60 s {side} the chain's")), "{problem}");
        let report = health::report(&relayer.services.inside).await;
        assert!(report.ready && !report.unwell, "{report:?}");
    }
}

#[tokio::test]
async fn byte_order_mark_before_json_is_refused_with_its_own_sentence() {
    let relayer = Relayer::start().await;
    let account = relayer.account().await;
    let policy = format!("/v1/accounts/{account}/policy");
    let halt = format!("/v1/accounts/{account}/halt");
    let order = relayer.order(&account, "marked").to_string();
    for (method, path, body) in
        [("POST", "/v1/transfers", order.as_str()), ("PUT", &policy, "{}"), ("POST", &halt, "{}")]
    {
        let answer = relayer.send(method, path, &relayer.key, Some(&format!("\u{feff}{body}"))).await;
        assert_error(&answer, 400, "invalid_request");
        assert_eq!(answer.body["param"], "body", "{method} {path}");
        let message = answer.body["message"].as_str().expect("text");
        assert!(message.contains("byte order mark"), "{message}");
    }
    assert_eq!(relayer.get("/v1/transfers").await.body["data"], json!([]));
}

#[tokio::test]
async fn no_route_opens_without_a_good_key() {
    let relayer = Relayer::start().await;
    let account = relayer.account().await;
    let unknown = format!("psr_op_test_{}", "A".repeat(43));
    for Described { method, path, .. } in described_routes() {
        let path = path.replace("{id}", &account);
        for key in ["", "nonsense", &unknown, &relayer.key.replace("_test_", "_live_")] {
            let answer = relayer.send(&method, &path, key, Some("{")).await;
            assert_error(&answer, 401, "unauthorized");
            assert_eq!(answer.headers[header::WWW_AUTHENTICATE], "Bearer");
        }
    }
}

#[tokio::test]
async fn agent_keys_open_their_own_account_and_never_its_policy() {
    let relayer = Relayer::start().await;
    let (own, other) = (relayer.account().await, relayer.account().await);
    let key = relayer.agent_key(&own).await;
    for Described { method, path, is_for_agents, .. } in described_routes() {
        if path == "/v1/keys/self" {
            continue;
        }
        let of_account = path.starts_with("/v1/accounts/");
        let named = |id: &str| path.replace("{id}", if of_account { id } else { "none" });
        let answer = relayer.send(&method, &named(&own), &key, Some("{}")).await;
        assert_eq!(
            answer.status == StatusCode::FORBIDDEN,
            !is_for_agents,
            "{method} {path}: {}",
            answer.body
        );
        if of_account {
            let answer = relayer.send(&method, &named(&other), &key, Some("{}")).await;
            assert_error(&answer, 403, "forbidden");
        }
    }
    let seen = relayer.send("GET", &format!("/v1/accounts/{own}"), &key, None).await;
    assert_eq!(seen.status, StatusCode::OK);
    assert!(seen.body.get("policy").is_none());
    let order = relayer.order(&other, "k").to_string();
    assert_error(&relayer.send("POST", "/v1/transfers", &key, Some(&order)).await, 403, "forbidden");
}

#[tokio::test]
async fn ids_that_are_unknown_malformed_or_foreign_are_answered_alike() {
    let relayer = Relayer::start().await;
    let account = relayer.account().await;
    let order = relayer.order(&account, "k");
    let transfer = relayer.post("/v1/transfers", &order).await;
    let transfer = transfer.body["transfer_id"].as_str().expect("text").to_owned();
    let foreign = operator_key(&relayer.store, 8).await;
    let long = format!("acct_{}", "A".repeat(8_000));
    let ids = [account.as_str(), "acct_01ARZ3NDEKTSV4RRFFQ69G5FAV", "acct_x", "x", "%00", "%ff", &long];
    for id in ids {
        for tail in ["", "/balance", "/limits", "/policy", "/keys"] {
            let path = format!("/v1/accounts/{id}{tail}");
            let answer = relayer.send("GET", &path, &foreign, None).await;
            assert_error(&answer, 404, "not_found");
            assert_eq!(answer.body["message"], "There is no such account.");
        }
    }
    for id in [transfer.as_str(), "txn_01ARZ3NDEKTSV4RRFFQ69G5FAV", "txn_x"] {
        let answer = relayer.send("GET", &format!("/v1/transfers/{id}"), &foreign, None).await;
        assert_error(&answer, 404, "not_found");
    }
    let answer = relayer.send("POST", "/v1/transfers", &foreign, Some(&order.to_string())).await;
    assert_error(&answer, 404, "not_found");
}

#[tokio::test]
async fn unknown_paths_and_methods_have_our_body() {
    let relayer = Relayer::start().await;
    assert_error(&relayer.get("/v2").await, 404, "not_found");
    let answer = relayer.send("DELETE", "/v1/accounts", &relayer.key, None).await;
    assert_error(&answer, 405, "method_not_allowed");
    let allowed = answer.headers[header::ALLOW].to_str().expect("text").to_owned();
    assert!(allowed.contains("GET") && allowed.contains("POST"), "{allowed}");
    assert_error(&relayer.send("POST", "/healthz", "", None).await, 405, "method_not_allowed");
    relayer.chain.script().now = SystemClock::SYSTEM.now().unix_seconds();
    assert_eq!(relayer.send("GET", "/healthz", "", None).await.body, json!({ "status": "ok" }));
}

#[tokio::test]
async fn key_that_asks_too_fast_gets_retry_after() {
    let relayer = Relayer::start().await;
    let one = NonZeroU32::new(1).expect("positive");
    let settings = HttpSettings { requests_per_second: one, burst: one, ..settings() };
    let relayer = Relayer { router: router(&relayer.services, settings, &NoExtensions), ..relayer };
    let first = relayer.get("/v1/accounts").await;
    assert_eq!(
        (first.status, &first.headers["ratelimit-limit"]),
        (StatusCode::OK, &"1".parse().expect("a value"))
    );
    assert_eq!(first.headers["ratelimit-remaining"], "0");
    let second = relayer.get("/v1/accounts").await;
    assert_error(&second, 429, "rate_limited");
    assert_eq!(second.headers[header::RETRY_AFTER], "1");
    let other = operator_key(&relayer.store, 8).await;
    assert_eq!(relayer.send("GET", "/v1/accounts", &other, None).await.status, StatusCode::OK);
}

#[tokio::test]
async fn a_panic_and_a_late_answer_have_our_body() {
    async fn panics() -> &'static str {
        panic!("as the test wants it")
    }
    async fn sleeps() {
        std::future::pending().await
    }
    let routes = Router::new().route("/panics", get(panics)).route("/sleeps", get(sleeps));
    let router = dress(routes, Duration::from_millis(50), purser_base::metrics::Metrics::default());
    for (path, status, code) in [("/panics", 500, "internal_error"), ("/sleeps", 504, "timeout")] {
        let request = Request::get(path).body(Body::empty()).expect("a request");
        let response = router.clone().oneshot(request).await.expect("infallible");
        assert_eq!(response.status().as_u16(), status);
        let bytes = axum::body::to_bytes(response.into_body(), 10_000).await.expect("a body");
        let body: serde_json::Value = serde_json::from_slice(&bytes).expect("JSON");
        assert_eq!(body["error"], code);
        assert!(!body["message"].as_str().expect("text").contains("test wants"));
    }
}
