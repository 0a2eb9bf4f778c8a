//! Unknown, malformed, oversized and hostile input on every route of this build: an error of the table, never a 500, and nothing changes.

use std::num::NonZeroU32;

use axum::body::Body;
use axum::http::{Method, Request, header};
use purser_api::http;
use purser_api::http::testing::{Answer, Relayer, settings};
use purser_api::web::HttpSettings;
use purser_cli::Extensions as _;
use purser_model::Rule;
use purser_relayer::app::{ExtensionParts, Extensions as _};
use serde_json::{Value, json};

use super::super::{Extensions, Sections};
use super::hostile_bodies::hostile_bodies;

/// Statuses and codes that invalid input gets.
const REFUSALS: [(u16, &str); 8] = [
    (400, "invalid_request"),
    (401, "unauthorized"),
    (403, "forbidden"),
    (404, "not_found"),
    (405, "method_not_allowed"),
    (413, "payload_too_large"),
    (415, "unsupported_media_type"),
    (422, "invalid_recipient"),
];

/// A route that needs an operator's key.
struct Route {
    method: String,
    path: String,
}

impl Route {
    fn takes_body(&self) -> bool {
        ["POST", "PUT", "PATCH"].contains(&self.method.as_str())
    }

    fn of(&self, id: &str) -> String {
        self.path.replace("{id}", id)
    }
}

fn routes() -> Vec<Route> {
    let document = serde_json::to_value(http::document(Extensions.described())).expect("JSON");
    let mut routes = Vec::new();
    for (path, operations) in document["paths"].as_object().expect("paths") {
        for (method, operation) in operations.as_object().expect("operations") {
            let keys = operation["security"].as_array().expect("which keys");
            if keys.iter().any(|key| key.get("operator_key").is_some()) {
                routes.push(Route { method: method.to_uppercase(), path: path.clone() });
            }
        }
    }
    assert!(routes.len() >= 50, "{}", routes.len());
    routes
}

/// A relayer with all extensions and one account with money, and the state that must not change.
struct Target {
    relayer: Relayer,
    account: String,
    before: State,
}

#[derive(Debug, PartialEq)]
struct State {
    accounts: Value,
    keys: Value,
    policy: Value,
    signed: usize,
    halts: usize,
}

impl State {
    async fn of(relayer: &Relayer, account: &str) -> Self {
        let read = async |path: String| relayer.get(&path).await.body;
        let (signed, halts) = {
            let script = relayer.chain.script();
            (script.orders.len(), script.halts)
        };
        let mut accounts = read("/v1/accounts".to_owned()).await;
        accounts["data"][0]["balance_as_of"] = Value::Null;
        Self {
            accounts,
            keys: read(format!("/v1/accounts/{account}/keys")).await,
            policy: read(format!("/v1/accounts/{account}/policy")).await,
            signed,
            halts,
        }
    }
}

impl Target {
    async fn set() -> Self {
        let mut relayer = Relayer::with(|setup| setup.quotas.actions_daily = 1_000_000).await;
        let (sections, services) = (Sections::default(), relayer.services.clone());
        let parts = ExtensionParts { refusals: None, sealing: None, public_url: None };
        let extensions = sections.build(&services, parts);
        let settings =
            HttpSettings { requests_per_second: NonZeroU32::MAX, burst: NonZeroU32::MAX, ..settings() };
        relayer.router = http::router(&services, settings, &extensions);
        let account = relayer.account().await;
        relayer.agent_key(&account).await;
        let before = State::of(&relayer, &account).await;
        assert_eq!(before.keys["data"].as_array().map(Vec::len), Some(1), "{before:?}");
        Self { relayer, account, before }
    }

    async fn is_unchanged(&self) {
        assert_eq!(State::of(&self.relayer, &self.account).await, self.before);
    }

    async fn sends(&self, method: &str, path: &str, content_type: &str, body: impl Into<Body>) -> Answer {
        let request = Request::builder()
            .method(Method::from_bytes(method.as_bytes()).expect("a method's name"))
            .uri(path)
            .header(header::AUTHORIZATION, format!("Bearer {}", self.relayer.key))
            .header(header::CONTENT_TYPE, content_type);
        self.relayer.answer(request.body(body.into()).expect("a request")).await
    }

    async fn sends_json(&self, method: &str, path: &str, body: &Value) -> Answer {
        self.sends(method, path, "application/json", body.to_string()).await
    }
}

#[track_caller]
fn is_refused(answer: &Answer, what: &str) {
    assert!(REFUSALS.contains(&answer.error()), "{what}: {} {}", answer.status, answer.text);
    assert!(answer.body["message"].as_str().is_some_and(|message| !message.is_empty()), "{what}");
    assert_eq!(answer.body["request_id"], answer.headers["x-request-id"].to_str().expect("text"));
}

#[track_caller]
fn blames(answer: &Answer, param: &str) {
    assert_eq!(answer.error(), (400, "invalid_request"), "{}", answer.text);
    assert_eq!(answer.body["param"], param, "{}", answer.text);
}

#[tokio::test]
async fn hostile_body_is_refused_on_every_route_and_changes_nothing() {
    let target = Target::set().await;
    // Here an empty body halts, as it should; other tests cover the other bodies.
    for route in routes().iter().filter(|route| route.takes_body() && !route.path.ends_with("/halt")) {
        for (what, body) in hostile_bodies() {
            let path = route.of(&target.account);
            let answer = target.sends(&route.method, &path, "application/json", body).await;
            is_refused(&answer, &format!("{} {} with {what}", route.method, route.path));
        }
    }
    target.is_unchanged().await;
}

#[tokio::test]
async fn wrong_content_type_is_refused_on_every_route_and_changes_nothing() {
    let target = Target::set().await;
    let types = [
        "text/plain",
        "application/x-www-form-urlencoded",
        "multipart/form-data; boundary=x",
        "application/xml",
        "application/jsonx",
        "",
        "application/octet-stream",
    ];
    for route in routes().iter().filter(|route| route.takes_body()) {
        for content_type in types {
            let path = route.of(&target.account);
            let answer = target.sends(&route.method, &path, content_type, "{\"name\":\"x\"}").await;
            is_refused(&answer, &format!("{} {} as {content_type}", route.method, route.path));
        }
    }
    target.is_unchanged().await;
}

#[tokio::test]
async fn wrong_method_is_refused_on_every_route_and_changes_nothing() {
    let target = Target::set().await;
    let methods = ["GET", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "PROPFIND", "X"];
    let routes = routes();
    for path in routes.iter().map(|route| &route.path) {
        let taken = |method: &str| routes.iter().any(|route| route.path == *path && route.method == method);
        for name in methods.into_iter().filter(|method| !taken(method)) {
            // Any word in an id's place counts as an id, so GET /v1/transfers/preview asks for a transfer.
            let answer = target.sends_json(name, &path.replace("{id}", &target.account), &json!({})).await;
            is_refused(&answer, &format!("{name} {path}"));
        }
    }
    target.is_unchanged().await;
}

#[tokio::test]
async fn hostile_id_in_a_path_is_not_found_on_every_route() {
    let target = Target::set().await;
    let long = "A".repeat(10_000);
    let ids = [
        "x",
        "%00",
        "%ff%fe",
        "%2e%2e%2f",
        "acct_%0a",
        "acct_01ARZ3NDEKTSV4RRFFQ69G5FAV%00",
        "0",
        "-1",
        "null",
        "acct_81ARZ3NDEKTSV4RRFFQ69G5FAV",
        "acct_ZZZZZZZZZZZZZZZZZZZZZZZZZZ",
        "acct_01arz3ndektsv4rrffq69g5fav",
        "%27%3B%20DROP%20TABLE%20accounts%3B--",
        "%F0%9F%98%80",
        long.as_str(),
    ];
    for route in routes().iter().filter(|route| route.path.contains("{id}")) {
        for id in ids {
            let answer = target.sends_json(&route.method, &route.of(id), &json!({})).await;
            let what = format!("{} {} with {}", route.method, route.path, &id[..id.len().min(40)]);
            assert_eq!(answer.error(), (404, "not_found"), "{what}: {}", answer.text);
            is_refused(&answer, &what);
        }
    }
    target.is_unchanged().await;
}

#[tokio::test]
async fn hostile_query_is_refused_on_every_list() {
    let target = Target::set().await;
    let queries = [
        "limit=0",
        "limit=-1",
        "limit=1e1",
        "limit=%00",
        "limit=1&limit=2",
        "limit=18446744073709551616",
        "cursor=%ff",
        "cursor=%00",
        "cursor=../../x",
        "cursor=e30",
        "unknown=1",
        "__proto__=1",
        "%ff=%ff",
    ];
    let keys = format!("/v1/accounts/{}/keys", target.account);
    for path in ["/v1/accounts", "/v1/transfers", &keys] {
        for query in queries {
            let answer = target.relayer.get(&format!("{path}?{query}")).await;
            assert_eq!(answer.status, 400, "{path}?{query}: {}", answer.text);
            is_refused(&answer, query);
        }
    }
    for query in ["status=closed", "status=active&status=paused"] {
        blames(&target.relayer.get(&format!("/v1/accounts?{query}")).await, "status");
    }
    let long = format!("idempotency_key={}", "x".repeat(129));
    for query in [
        "status=active",
        "status=",
        "account_id=me",
        "account_id=txn_01ARZ3NDEKTSV4RRFFQ69G5FAV",
        "idempotency_key=",
        "idempotency_key=a%00b",
        &long,
        "since=yesterday",
        "since=2026-13-01T00:00:00Z",
        "until=0",
        "until=99999-01-01T00:00:00Z",
    ] {
        let param = query.split('=').next().expect("a name");
        blames(&target.relayer.get(&format!("/v1/transfers?{query}")).await, param);
    }
}

#[tokio::test]
async fn every_field_of_a_transfer_is_checked_and_nothing_is_paid() {
    let target = Target::set().await;
    let values = [
        json!(null),
        json!(0),
        json!(-1),
        json!(1.5),
        json!(true),
        json!([]),
        json!({}),
        json!(["x"]),
        json!("a\u{0}b"),
        json!("x".repeat(10_000)),
    ];
    for field in ["from", "to", "amount", "idempotency_key", "memo"] {
        for (value, path) in values
            .iter()
            .flat_map(|value| ["/v1/transfers", "/v1/transfers/preview"].map(|path| (value, path)))
        {
            // The memo may be missing, and a preview needs no idempotency key.
            let is_preview = path.ends_with("preview");
            if value.is_null() && (field == "memo" || (field == "idempotency_key" && is_preview)) {
                continue;
            }
            let mut order = target.relayer.order(&target.account, "hostile");
            order[field] = value.clone();
            let answer = target.sends_json("POST", path, &order).await;
            let text = value.to_string();
            let what = format!("{field} {}", &text[..text.len().min(40)]);
            assert!(matches!(answer.status.as_u16(), 400 | 404 | 422), "{what}: {}", answer.text);
            is_refused(&answer, &what);
        }
    }
    target.is_unchanged().await;
}

#[tokio::test]
async fn every_field_of_a_policy_is_checked_and_nothing_is_set() {
    let target = Target::set().await;
    let values = [
        json!(-1),
        json!("x"),
        json!([[]]),
        json!({}),
        json!("a\u{0}b"),
        json!("9".repeat(400)),
        json!([0]),
        json!(["x".repeat(10_000)]),
    ];
    let path = format!("/v1/accounts/{}/policy", target.account);
    for field in Rule::ALL.map(Rule::name) {
        for (value, method) in values.iter().flat_map(|value| ["PUT", "PATCH"].map(|method| (value, method)))
        {
            let answer = target.sends_json(method, &path, &json!({ field: value })).await;
            assert_eq!(answer.error(), (400, "invalid_request"), "{}", answer.text);
            let param = answer.body["param"].as_str().unwrap_or_default();
            assert!(param.starts_with(field), "{}", answer.text);
        }
    }
    target.is_unchanged().await;
}
