//! Unknown, malformed, oversized and hostile input on every route: an error of the table, never a 500, and nothing changes.

use purser_policy::Rule;
use purser_tests::{Agent, Answer, Operator};
use reqwest::Method;
use serde_json::{Value, json};

use crate::hostile_bodies::hostile_bodies;
use crate::routes::{ROUTES, Route};

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

/// An operator with one funded account, and the state that must not change.
pub struct Target {
    pub operator: Operator,
    agent: Agent,
    before: State,
}

#[derive(Debug, PartialEq)]
struct State {
    accounts: Value,
    keys: Value,
    balance_micros: u64,
    on_chain: purser::state::AgentView,
    transactions: usize,
}

impl Target {
    pub async fn set() -> Target {
        let operator = Operator::shared().await;
        let agent = operator.creates_account_with("Ada", "10").await;
        let before = State::of(&operator, &agent).await;
        Target { operator, agent, before }
    }

    pub async fn is_unchanged(&self) {
        assert_eq!(State::of(&self.operator, &self.agent).await, self.before);
    }

    fn path_of(&self, route: &Route) -> String {
        route.path.replace("{id}", &self.agent.id)
    }
}

impl State {
    async fn of(operator: &Operator, agent: &Agent) -> State {
        State {
            accounts: operator.client.get("/v1/accounts").await.has_status(200).without_moments(),
            keys: operator.client.get(&agent.path("/keys")).await.has_status(200).body,
            balance_micros: agent.balance_micros().await,
            on_chain: operator.chain.agent(&agent.address).await,
            transactions: operator.chain.transactions_of(&agent.address).await,
        }
    }
}

#[track_caller]
fn is_refused(answer: Answer, what: &str) {
    let code = answer.body["error"].as_str().unwrap_or_default();
    assert!(REFUSALS.contains(&(answer.status, code)), "{what}: {} {}", answer.status, answer.text);
    answer.has_error_shape();
}

#[tokio::test]
async fn hostile_body_is_refused_on_every_route_and_changes_nothing() {
    let target = Target::set().await;
    // Here an empty body halts, as it should; other tests cover the other bodies.
    for route in ROUTES.iter().filter(|route| route.takes_body() && !route.path.ends_with("/halt")) {
        let path = target.path_of(route);
        for (what, body) in hostile_bodies() {
            let request = target.operator.client.request(route.method(), &path);
            // A new connection for each request: the server may close one whose body it did not read.
            let request =
                request.header("connection", "close").header("content-type", "application/json").body(body);
            let what = format!("{} {} with {what}", route.method, route.path);
            match target.operator.client.tries(request).await {
                Ok(answer) => is_refused(answer, &what),
                // The server may cut off a body that is far too large while it is being sent.
                Err(error) => assert!(what.contains("too large"), "{what}: {error:?}"),
            }
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
    for route in ROUTES.iter().filter(|route| route.takes_body()) {
        for content_type in types {
            let request = target.operator.client.request(route.method(), &target.path_of(route));
            let request = request.header("content-type", content_type).body("{\"name\":\"x\"}");
            let answer = target.operator.client.sends(request).await;
            is_refused(answer, &format!("{} {} as {content_type}", route.method, route.path));
        }
    }
    target.is_unchanged().await;
}

#[tokio::test]
async fn wrong_method_is_refused_on_every_route_and_changes_nothing() {
    let target = Target::set().await;
    let methods = ["GET", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "PROPFIND", "X"];
    for path in ROUTES.iter().map(|route| route.path) {
        let taken = |method: &str| ROUTES.iter().any(|route| route.path == path && route.method == method);
        for name in methods.into_iter().filter(|method| !taken(method)) {
            let method = Method::from_bytes(name.as_bytes()).expect("a method's name");
            // Any word in an id's place counts as an id, so GET /v1/transfers/preview asks for a transfer.
            let request = target.operator.client.request(method, &path.replace("{id}", &target.agent.id));
            let request = request.header("content-type", "application/json").body("{}");
            is_refused(target.operator.client.sends(request).await, &format!("{name} {path}"));
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
    for route in ROUTES.iter().filter(|route| route.path.contains("{id}")) {
        for id in ids {
            let request = target.operator.client.request(route.method(), &route.path.replace("{id}", id));
            let request = if route.takes_body() { request.json(&json!({})) } else { request };
            let answer = target.operator.client.sends(request).await;
            let what = format!("{} {} with {}", route.method, route.path, &id[..id.len().min(40)]);
            assert_eq!(answer.status, 404, "{what}: {}", answer.text);
            is_refused(answer, &what);
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
    for path in ["/v1/accounts".to_owned(), "/v1/transfers".to_owned(), target.agent.path("/keys")] {
        for query in queries {
            let answer = target.operator.client.get(&format!("{path}?{query}")).await;
            assert_eq!(answer.status, 400, "{path}?{query}: {}", answer.text);
            is_refused(answer, query);
        }
    }
    for query in ["status=closed", "status=active&status=paused"] {
        target.operator.client.get(&format!("/v1/accounts?{query}")).await.blames("status");
    }
    for (query, param) in [
        ("status=active", "status"),
        ("status=", "status"),
        ("account_id=me", "account_id"),
        ("account_id=txn_01ARZ3NDEKTSV4RRFFQ69G5FAV", "account_id"),
        ("idempotency_key=", "idempotency_key"),
        ("idempotency_key=a%00b", "idempotency_key"),
        ("since=yesterday", "since"),
        ("since=2026-13-01T00:00:00Z", "since"),
        ("until=0", "until"),
        ("until=99999-01-01T00:00:00Z", "until"),
    ] {
        target.operator.client.get(&format!("/v1/transfers?{query}")).await.blames(param);
    }
    let long = "x".repeat(129);
    let query = format!("/v1/transfers?idempotency_key={long}");
    target.operator.client.get(&query).await.blames("idempotency_key");
}

#[tokio::test]
async fn every_field_of_a_transfer_is_checked_and_nothing_is_paid() {
    let target = Target::set().await;
    let (payee, _) = target.operator.chain.new_payee().await;
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
        for value in &values {
            for payment in [target.agent.pays("1"), target.agent.previews("1")] {
                // The memo may be missing, and a preview needs no idempotency key.
                if value.is_null()
                    && (field == "memo" || (field == "idempotency_key" && payment.is_preview()))
                {
                    continue;
                }
                let answer = payment.to(&payee).field(field, value.clone()).await;
                let what = format!("{field} {}", &value.to_string()[..value.to_string().len().min(40)]);
                assert!(matches!(answer.status, 400 | 404 | 422), "{what}: {}", answer.text);
                is_refused(answer, &what);
            }
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
    for field in Rule::ALL.map(Rule::name) {
        for value in &values {
            let body = json!({ field: value });
            let path = target.agent.path("/policy");
            for answer in [
                target.operator.client.put(&path, &body).await,
                target.operator.client.patch(&path, &body).await,
            ] {
                let answer = answer.is_error(400, "invalid_request");
                assert!(answer.text_of("param").starts_with(field), "{}", answer.text);
            }
        }
    }
    target.is_unchanged().await;
}
