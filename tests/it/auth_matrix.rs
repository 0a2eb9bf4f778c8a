//! Every route against every kind of key, good and bad. `routes` holds the list and proves that it is complete.

use purser_tests::agent::unique_key;
use purser_tests::clock::{HostClock, iso_of};
use purser_tests::{Agent, Answer, AppSettings, Client, Operator, TestApp, TestNetwork};
use serde_json::{Value, json};
use solana_sdk::pubkey::Pubkey;

use crate::routes::{Opens, ROUTES, Route, SCOPES};
use crate::x402::road::Road;

const UNKNOWN_ACCOUNT: &str = "acct_01ARZ3NDEKTSV4RRFFQ69G5FAV";

/// An operator with two accounts, and one of everything that a path can name.
struct Scene {
    operator: Operator,
    ada: Agent,
    ben: Agent,
    transfer_id: String,
    /// A transfer about which a person was asked, who said no.
    approval_id: String,
    event_id: String,
    webhook_id: String,
    budget_id: String,
    payee: Pubkey,
    road: Road,
}

/// Nothing listens there, and nothing needs to.
const NOWHERE: &str = "http://127.0.0.1:9/hook";

impl Scene {
    async fn set() -> Scene {
        Scene::set_for(Operator::shared().await).await
    }

    async fn set_for(operator: Operator) -> Scene {
        let ada = operator.creates_account_with("Ada", "10").await;
        let ben = operator.creates_account_with("Ben", "10").await;
        let (payee, _) = operator.chain.new_payee().await;
        let transfer_id = ada.pays("1").to(&payee).await.is_settled().text_of("transfer_id").to_owned();
        ada.sets_policy(json!({ "max_single_transfer": 5 })).await;
        let asked = ada.pays("6").to(&payee).field("approval", json!("request")).await.has_status(202);
        let approval_id = asked.text_of("transfer_id").to_owned();
        operator.client.delete(&format!("/v1/approvals/{approval_id}")).await.has_status(204);
        let events = operator.client.get("/v1/events?type=transfer.settled").await.has_status(200);
        let event_id = events["data"][0]["id"].as_str().expect("a payment is an event").to_owned();
        let road = Road::to(NOWHERE).await;
        let webhook_id = String::new();
        let budget_id = operator.makes_budget(1, "10", None).await;
        let mut scene = Scene {
            operator,
            ada,
            ben,
            transfer_id,
            approval_id,
            event_id,
            webhook_id,
            budget_id,
            payee,
            road,
        };
        scene.webhook_id = scene.new_webhook().await;
        scene
    }

    /// Calls a route for Ada's things, with a request that is valid for any permitted key.
    async fn asks(&self, route: &Route, client: &Client) -> Answer {
        let id = match route.path {
            "/v1/transfers/{id}" => self.transfer_id.clone(),
            path if path.starts_with("/v1/approvals/") => self.approval_id.clone(),
            // A new key for each call, because the route revokes it.
            "/v1/keys/{id}" => self.new_key().await.text_of("id").to_owned(),
            "/v1/events/{id}" => self.event_id.clone(),
            // A new webhook for each call, because the route deletes it.
            "/v1/webhooks/{id}" if route.method == "DELETE" => self.new_webhook().await,
            path if path.starts_with("/v1/webhooks/") => self.webhook_id.clone(),
            "/v1/budgets/{id}" => self.budget_id.clone(),
            _ => self.ada.id.clone(),
        };
        let mut path = route.path.replace("{id}", &id) + &self.query_of(route);
        if path.contains("{grant_id}") {
            // A new grant for each call, because the route closes it.
            path = path.replace("{grant_id}", &self.ada.opens_grant("1", &self.payee).await);
        }
        let request = client.request(route.method(), &path);
        let request = match self.body_of(route) {
            Some(body) => request.json(&body),
            None => request,
        };
        client.sends(request).await
    }

    fn body_of(&self, route: &Route) -> Option<Value> {
        route.takes_body().then(|| match route.path {
            "/v1/accounts" => json!({ "name": "Another" }),
            "/v1/accounts/{id}" => json!({ "name": "Renamed" }),
            "/v1/budgets/{id}" => json!({ "max_daily_spend": 10 }),
            "/v1/accounts/{id}/policy" => json!({ "max_single_transfer": 5 }),
            "/v1/accounts/{id}/keys" | "/v1/keys" => json!({}),
            // No such account: nothing is changed.
            "/v1/bulk/policy" => {
                json!({ "accounts": { "ids": [UNKNOWN_ACCOUNT] }, "policy": { "paused": true } })
            }
            "/v1/bulk/halt" => json!({ "accounts": { "ids": [UNKNOWN_ACCOUNT] } }),
            // Permitted, then refused as invalid: nothing in this suite could resume what it halts.
            "/v1/halt" | "/v1/accounts/{id}/halt" => json!({ "unknown": true }),
            "/v1/transfers" | "/v1/transfers/preview" => {
                self.ada.pays("0.000001").to(&self.payee).body().clone()
            }
            // A purchase that is free.
            "/v1/x402/payments" => json!({
                "from": self.ada.id, "url": format!("{}/free", self.road.url), "max_amount": "1",
                "idempotency_key": unique_key(),
            }),
            "/v1/webhooks" => json!({ "url": NOWHERE, "events": ["transfer.settled"] }),
            "/v1/webhooks/{id}" => json!({ "events": ["transfer.settled", "transfer.rejected"] }),
            "/v1/webhooks/{id}/rotate_secret" | "/v1/webhooks/{id}/test" | "/v1/approvals/{id}/reject" => {
                json!({})
            }
            "/v1/webhooks/{id}/replay" => json!({ "event_id": self.event_id }),
            path => panic!("{path} has no body here: add one"),
        })
    }

    /// Limits a list to Ada's things, if it has that filter.
    fn query_of(&self, route: &Route) -> String {
        match (route.method, route.path) {
            ("GET", "/v1/transfers" | "/v1/approvals") => format!("?account_id={}", self.ada.id),
            _ => String::new(),
        }
    }

    async fn new_webhook(&self) -> String {
        let body = json!({ "url": NOWHERE, "events": ["transfer.settled"] });
        let created = self.operator.client.post("/v1/webhooks", &body).await.has_status(201);
        created.text_of("id").to_owned()
    }

    async fn new_key(&self) -> Answer {
        self.operator.client.post(&self.ada.path("/keys"), &json!({})).await.has_status(201)
    }
}

/// Routes of an approval that has ended already: 409 `approval_closed` for those whom it concerns.
fn ends_an_approval(route: &Route) -> bool {
    route.path.starts_with("/v1/approvals/") && route.method != "GET"
}

/// Those that a key can ask again and again.
fn lasting_routes() -> impl Iterator<Item = &'static Route> {
    ROUTES.iter().filter(|route| route.opens != Opens::Once)
}

fn is_unauthorized(answer: Answer, route: &Route, key: &str) {
    assert_eq!(answer.status, 401, "{} {} with {key}: {}", route.method, route.path, answer.text);
    assert_eq!(answer.header("www-authenticate"), Some("Bearer"));
    answer.is_error(401, "unauthorized");
}

#[tokio::test]
async fn route_without_a_key_is_closed() {
    let scene = Scene::set().await;
    for route in ROUTES {
        is_unauthorized(scene.asks(route, &scene.operator.client.without_key()).await, route, "no key");
    }
}

#[tokio::test]
async fn route_with_a_bad_key_is_closed() {
    let scene = Scene::set().await;
    let good = scene.operator.client.key().to_owned();
    let mut last_changed = good.clone();
    let last = last_changed.pop().expect("a key is not empty");
    last_changed.push(if last == 'x' { 'y' } else { 'x' });
    let bad = [
        last_changed,
        good.to_uppercase(),
        good.replace("_op_", "_ag_"),
        good[..good.len() - 1].to_owned(),
        format!("{good}A"),
        "psr_op_test_".to_owned(),
        "x".to_owned(),
        "'; DROP TABLE keys; --".to_owned(),
        "9".repeat(8_000),
    ];
    for route in ROUTES {
        for key in &bad {
            is_unauthorized(scene.asks(route, &scene.operator.client.with_key(key)).await, route, key);
        }
    }
}

#[tokio::test]
async fn route_with_a_malformed_authorization_header_is_closed() {
    let scene = Scene::set().await;
    let key = scene.operator.client.key();
    let anonymous = scene.operator.client.without_key();
    for route in ROUTES {
        for header in [
            key.to_owned(),
            format!("Basic {key}"),
            "Bearer".to_owned(),
            "Bearer ".to_owned(),
            String::new(),
            format!("Bearer {key} {key}"),
            format!("Bearer {key},Bearer {key}"),
            format!("Token {key}"),
        ] {
            let path = route.path.replace("{id}", &scene.ada.id);
            let request = anonymous.request(route.method(), &path).header("authorization", &header);
            is_unauthorized(anonymous.sends(request).await, route, &header);
        }
    }
}

#[tokio::test]
async fn route_with_a_revoked_key_is_closed() {
    let scene = Scene::set().await;
    let created = scene.new_key().await;
    let agent_key = scene.operator.client.with_key(created.text_of("key"));
    agent_key.get(&scene.ada.path("")).await.has_status(200);
    scene.operator.client.delete(&format!("/v1/keys/{}", created.text_of("id"))).await;
    let app = scene.operator.app();
    let second = app.runs(&["key", "create", "--operator", &scene.operator.id]);
    let operator_key =
        scene.operator.client.with_key(second["key"].as_str().expect("key create prints the key"));
    operator_key.get("/v1/accounts").await.has_status(200);
    app.runs(&["key", "revoke", second["id"].as_str().expect("key create prints its id")]);
    for route in ROUTES {
        is_unauthorized(scene.asks(route, &agent_key).await, route, "a revoked agent key");
        is_unauthorized(scene.asks(route, &operator_key).await, route, "a revoked operator key");
    }
}

#[tokio::test]
async fn route_with_an_expired_key_is_closed() {
    let settings = AppSettings { host_clock: Some(HostClock::new()), ..AppSettings::default() };
    let app = TestApp::start(TestNetwork::shared().await, &settings).await;
    let scene = Scene::set_for(app.new_operator().await).await;
    let now = std::time::UNIX_EPOCH.elapsed().expect("the clock is past 1970").as_secs() as i64;
    let body = json!({ "expires_at": iso_of(now + 3_600) });
    let created = scene.operator.client.post(&scene.ada.path("/keys"), &body).await.has_status(201);
    let expiring = scene.operator.client.with_key(created.text_of("key"));
    expiring.get(&scene.ada.path("")).await.has_status(200);
    app.host_stands_at(now + 3_601);
    for route in ROUTES {
        is_unauthorized(scene.asks(route, &expiring).await, route, "an expired key");
    }
}

#[tokio::test]
async fn operator_key_opens_every_route() {
    let scene = Scene::set().await;
    for route in lasting_routes() {
        let answer = scene.asks(route, &scene.operator.client).await;
        let expected = match (route.method, route.path) {
            ("POST", "/v1/halt" | "/v1/accounts/{id}/halt") => 400..401,
            // Nothing is pending.
            ("DELETE", "/v1/accounts/{id}/policy/pending") => 404..405,
            _ if ends_an_approval(route) => 409..410,
            _ => 200..300,
        };
        assert!(expected.contains(&answer.status), "{} {}: {}", route.method, route.path, answer.text);
    }
}

/// The operations that change something, each by the id that the document gives it. A payment's record is its transfer.
#[tokio::test]
async fn every_route_that_changes_something_leaves_a_record_of_it_and_no_refusal_does() {
    let scene = Scene::set_for(Operator::shared().await.app().new_operator().await).await;
    let (client, document) = (&scene.operator.client, crate::routes::document());
    let is_payment = |route: &&Route| route.path.starts_with("/v1/transfers") || route.path.contains("x402");
    for route in lasting_routes().filter(|route| route.method != "GET").filter(|route| !is_payment(route)) {
        let answer = scene.asks(route, client).await;
        let newest = client.get("/v1/actions?limit=1").await.has_status(200)["data"][0].clone();
        let is_on_record = newest["request_id"].as_str() == answer.header("x-request-id");
        let (method, path) = (route.method, route.path);
        assert_eq!(is_on_record, (200..300).contains(&answer.status), "{method} {path}: {newest}");
        if is_on_record {
            let operation = &document["paths"][path][method.to_lowercase()]["operationId"];
            assert_eq!(
                (&newest["action"], &newest["outcome"]),
                (operation, &json!("done")),
                "{method} {path}"
            );
        }
    }
}

/// Whether an answer says that a scope is missing, and which.
fn lacks_a_scope(answer: &Answer, route: &Route) -> bool {
    let says = answer["message"].as_str().is_some_and(|message| message.starts_with("This needs"));
    let lacks = answer.status == 403 && answer["error"] == "forbidden" && says;
    let named = route.scopes.iter().all(|scope| answer.text.contains(&format!("`{scope}`")));
    assert!(!lacks || named, "{} {}: {}", route.method, route.path, answer.text);
    lacks
}

#[tokio::test]
async fn key_with_one_scope_opens_the_routes_that_need_it_and_no_other() {
    let scene = Scene::set().await;
    for scope in SCOPES {
        let made = scene.operator.client.post("/v1/keys", &json!({ "scopes": [scope] })).await;
        let key = scene.operator.client.with_key(made.has_status(201).text_of("key"));
        for route in lasting_routes() {
            let answer = scene.asks(route, &key).await;
            let is_open = scope == "admin" || route.scopes.contains(&scope);
            let place = format!("{scope}: {} {}: {}", route.method, route.path, answer.text);
            assert_eq!(lacks_a_scope(&answer, route), !is_open, "{place}");
            let expected = match (route.method, route.path) {
                _ if !is_open => 403..404,
                ("POST", "/v1/halt" | "/v1/accounts/{id}/halt") => 400..401,
                ("DELETE", "/v1/accounts/{id}/policy/pending") => 404..405,
                _ if ends_an_approval(route) => 409..410,
                // It did not make the agent's key, and an agent does nothing else than read and pay.
                ("DELETE", "/v1/keys/{id}") if scope != "admin" => 403..404,
                ("POST", "/v1/accounts/{id}/keys") if !matches!(scope, "pay" | "admin") => 403..404,
                _ => 200..300,
            };
            assert!(expected.contains(&answer.status), "{place}");
        }
        key.delete("/v1/keys/self").await.has_status(204);
        key.get("/v1/accounts").await.is_error(401, "unauthorized");
    }
}

#[tokio::test]
async fn agent_key_with_one_scope_opens_no_more_of_its_account() {
    let scene = Scene::set().await;
    for scope in ["read", "pay"] {
        let body = json!({ "scopes": [scope] });
        let made = scene.operator.client.post(&scene.ada.path("/keys"), &body).await.has_status(201);
        assert_eq!(made["scopes"], json!([scope]));
        let key = scene.operator.client.with_key(made.text_of("key"));
        for route in lasting_routes().filter(|route| route.opens == Opens::OperatorAndAgent) {
            let answer = scene.asks(route, &key).await;
            let is_open = route.scopes.contains(&scope);
            assert_eq!(lacks_a_scope(&answer, route), !is_open, "{scope}: {}", answer.text);
            let opened = if ends_an_approval(route) { 409 } else { 200 };
            assert_eq!(answer.status, if is_open { opened } else { 403 }, "{scope}: {}", answer.text);
        }
        key.delete("/v1/keys/self").await.has_status(204);
    }
}

#[tokio::test]
async fn agent_key_opens_only_what_concerns_its_own_account() {
    let scene = Scene::set().await;
    let agent_key = scene.ada.new_key().await;
    let before = scene.operator.chain.agent(&scene.ada.address).await.policy().max_single_transfer;
    for route in lasting_routes() {
        let answer = scene.asks(route, &agent_key).await;
        match route.opens {
            Opens::OperatorAndAgent => {
                let opened = if ends_an_approval(route) { 409 } else { 200 };
                assert_eq!(answer.status, opened, "{} {}: {}", route.method, route.path, answer.text)
            }
            Opens::Operator | Opens::Once => {
                assert_eq!(answer.status, 403, "{} {}: {}", route.method, route.path, answer.text);
                answer.is_error(403, "forbidden");
            }
        }
    }
    assert_eq!(scene.operator.chain.agent(&scene.ada.address).await.policy().max_single_transfer, before);
    let account = agent_key.get(&scene.ada.path("")).await.has_status(200);
    assert!(account["policy"].is_null(), "an agent reads its limits, not its policy: {}", account.text);
}

#[tokio::test]
async fn key_of_another_agent_opens_nothing_of_this_one() {
    let scene = Scene::set().await;
    let bens_key = scene.ben.new_key().await;
    for route in lasting_routes() {
        let answer = scene.asks(route, &bens_key).await;
        let closed = match route.path {
            // A caller must not learn whether a foreign transfer exists.
            "/v1/transfers/{id}" | "/v1/approvals/{id}" => (404, "not_found"),
            _ => (403, "forbidden"),
        };
        assert_eq!(answer.status, closed.0, "{} {}: {}", route.method, route.path, answer.text);
        answer.is_error(closed.0, closed.1);
    }
    assert_eq!(scene.ada.balance_micros().await, 9_000_000);
}

#[tokio::test]
async fn key_of_another_operator_opens_nothing_of_this_one() {
    let scene = Scene::set().await;
    let stranger = scene.operator.app().new_operator().await;
    for route in lasting_routes() {
        let answer = scene.asks(route, &stranger.client).await;
        let place = format!("{} {}: {}", route.method, route.path, answer.text);
        match (route.method, route.path) {
            ("POST", "/v1/accounts" | "/v1/keys" | "/v1/webhooks") => {
                assert_eq!(answer.status, 201, "{place}")
            }
            // They name no account of this one.
            ("POST", "/v1/bulk/policy" | "/v1/bulk/halt") => assert_eq!(answer.status, 200, "{place}"),
            // It names no account: each operator halts its own.
            ("POST", "/v1/halt" | "/v1/accounts/{id}/halt") => assert_eq!(answer.status, 400, "{place}"),
            (
                "GET",
                "/v1/accounts" | "/v1/actions" | "/v1/budgets" | "/v1/denials" | "/v1/keys" | "/v1/transfers"
                | "/v1/approvals" | "/v1/events" | "/v1/webhooks",
            ) => {
                assert_eq!(answer.status, 200, "{place}");
                assert!(!answer.text.contains(&scene.ada.id), "{place}");
                assert!(!answer.text.contains(&scene.webhook_id), "{place}");
                assert!(!answer.text.contains(&scene.budget_id), "{place}");
            }
            _ => {
                assert_eq!(answer.status, 404, "{place}");
                answer.is_error(404, "not_found");
            }
        }
    }
    assert_eq!(scene.ada.balance_micros().await, 9_000_000);
}

#[tokio::test]
async fn health_needs_no_key_and_unknown_paths_tell_nothing() {
    let operator = Operator::shared().await;
    let anonymous = operator.client.without_key();
    anonymous.get("/healthz").await.has_status(200);
    for path in
        ["/v1", "/v2/accounts", "/v1/account", "/metrics", "/v1/accounts/", "/.env", "/v1/../healthz/x"]
    {
        for client in [&anonymous, &operator.client] {
            let answer = client.get(path).await;
            assert!(matches!(answer.status, 401 | 404), "{path}: {}", answer.text);
            answer.has_error_shape();
        }
    }
}
