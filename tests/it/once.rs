//! `Idempotency-Key` on requests other than transfers.

use purser_tests::clock::HostClock;
use purser_tests::{Answer, AppSettings, Client, Operator, Proxy, TestApp, TestDatabase, TestNetwork, until};
use reqwest::Method;
use serde_json::{Value, json};

use crate::routes::ROUTES;

async fn asks(client: &Client, name: &str, path: &str, body: &Value) -> Answer {
    client.sends(client.request(Method::POST, path).header("idempotency-key", name).json(body)).await
}

fn is_replayed(answer: &Answer) -> bool {
    answer.header("idempotent-replayed") == Some("true")
}

#[tokio::test]
async fn everything_that_is_made_under_a_name_is_made_once() {
    let operator = Operator::shared().await;
    let client = &operator.client;
    let account = asks(client, "account", "/v1/accounts", &json!({ "name": "Ada" })).await.has_status(201);
    let hook = json!({ "url": "http://127.0.0.1:9/a", "events": ["transfer.settled"] });
    let webhook = asks(client, "hook", "/v1/webhooks", &hook).await.has_status(201);
    let keys = format!("/v1/accounts/{}/keys", account.text_of("account_id"));
    let rotate = format!("/v1/webhooks/{}/rotate_secret", webhook.text_of("id"));
    let test = format!("/v1/webhooks/{}/test", webhook.text_of("id"));
    let replay = format!("/v1/webhooks/{}/replay", webhook.text_of("id"));
    let span = json!({ "since": "2026-01-01T00:00:00Z", "status": "all" });
    let nothing = json!({});
    for (name, path, body) in [
        ("account", "/v1/accounts", &json!({ "name": "Ada" })),
        ("hook", "/v1/webhooks", &hook),
        ("key", &keys, &nothing),
        ("rotate", &rotate, &nothing),
        ("test", &test, &nothing),
        ("replay", &replay, &span),
        ("halt", "/v1/halt", &nothing),
    ] {
        let first = asks(client, name, path, body).await;
        assert!((200..300).contains(&first.status), "{path}: {}", first.text);
        let again = asks(client, name, path, body).await;
        assert_eq!((again.status, &again.text), (first.status, &first.text), "{path}");
        assert!(is_replayed(&again), "{path}");
        asks(client, name, path, &json!({ "name": "else" })).await.is_error(409, "idempotency_conflict");
    }
    for (path, count) in [("/v1/accounts", 1), ("/v1/webhooks", 1), (&keys, 1)] {
        assert_eq!(client.get(path).await["data"].as_array().map(Vec::len), Some(count), "{path}");
    }
}

#[tokio::test]
async fn every_post_takes_a_name() {
    let operator = Operator::shared().await;
    let client = &operator.client;
    let id = "01ARZ3NDEKTSV4RRFFQ69G5FAV";
    let mut posts = 0;
    // Transfers and purchases have their own key; a preview does nothing.
    let is_payment = |path: &str| path.contains("/transfers") || path.contains("/x402");
    let posted = ROUTES.iter().filter(|route| route.method == "POST" && !is_payment(route.path));
    for route in posted {
        let kind = if route.path.contains("accounts") { "acct" } else { "whk" };
        let path = route.path.replace("{id}", &format!("{kind}_{id}"));
        asks(client, &"x".repeat(129), &path, &json!({})).await.blames("idempotency_key");
        posts += 1;
    }
    assert!(posts >= 7, "{posts}");
}

#[tokio::test]
async fn name_whose_request_is_under_way_is_in_progress_until_it_is_answered() {
    let network = TestNetwork::shared().await;
    let proxy = Proxy::to(&network.rpc_url);
    let settings = AppSettings { rpc_url: Some(proxy.url()), ..AppSettings::default() };
    let operator = TestApp::start(network, &settings).await.new_operator().await;
    let client = &operator.client;
    let body = json!({ "name": "Ada" });
    proxy.gate().closes_after(0);
    let second = async {
        proxy.gate().holds_one().await;
        let second = asks(client, "a", "/v1/accounts", &body).await;
        proxy.gate().opens();
        second
    };
    let (first, second) = tokio::join!(asks(client, "a", "/v1/accounts", &body), second);
    let first = first.has_status(201);
    second.is_error(409, "idempotency_in_progress");
    let again = asks(client, "a", "/v1/accounts", &body).await.has_status(201);
    assert_eq!(again.text, first.text);
}

/// The relayer dies at `point` of creating an account, restarts, and gets the request again.
async fn account_is_one_after_a_death(point: &str, settings: AppSettings) {
    let clock = HostClock::new();
    let sound = AppSettings { host_clock: Some(clock.clone()), ..settings };
    let environment = vec![("PURSER_CRASH_AT", format!("{point}:1"))];
    let mortal = AppSettings { environment, ..sound.clone() };
    let app = TestApp::start(TestNetwork::shared().await, &mortal).await;
    let operator = app.new_operator().await;
    let body = json!({ "name": "Ada" });
    let request = operator.client.request(Method::POST, "/v1/accounts").header("idempotency-key", "a");
    assert!(operator.client.tries(request.json(&body)).await.is_err(), "it was to die at {point}");
    let landed = operator.chain.transactions_of(&operator.address).await;
    app.crashes();
    let risen = app.twin(&sound);
    let client = risen.client().with_key(operator.client.key());
    let other = asks(&client, "a", "/v1/accounts", &json!({ "name": "Bob" })).await;
    other.is_error(409, "idempotency_conflict");
    asks(&client, "a", "/v1/accounts", &body).await.is_error(409, "idempotency_in_progress");
    // The lease of the dead ends by the database's clock; only a file's is the host's.
    clock.is_ahead(31);
    let mut made = asks(&client, "a", "/v1/accounts", &body).await;
    until("another goes on", async || {
        if made.status == 409 {
            made = asks(&client, "a", "/v1/accounts", &body).await;
        }
        made.status != 409
    })
    .await;
    let made = made.has_status(201);
    assert!(!is_replayed(&made));
    let again = asks(&client, "a", "/v1/accounts", &body).await.has_status(201);
    assert!(is_replayed(&again));
    assert_eq!(again.text, made.text);
    let listed = client.get("/v1/accounts").await;
    assert_eq!(listed["data"].as_array().map(Vec::len), Some(1), "{}", listed.text);
    let after = operator.chain.transactions_of(&operator.address).await;
    assert_eq!(after, landed, "nothing more landed: it was on the chain before the death");
}

#[tokio::test]
async fn account_that_reached_the_chain_before_a_death_is_the_one_that_is_answered_with() {
    for point in ["account.created", "request.done"] {
        account_is_one_after_a_death(point, AppSettings::default()).await;
        if let Some(database) = TestDatabase::create().await {
            let settings = AppSettings { database: Some(database), ..AppSettings::default() };
            account_is_one_after_a_death(point, settings).await;
        }
    }
}

#[tokio::test]
async fn name_is_not_forgotten_by_a_clock_that_is_a_day_ahead() {
    let clock = HostClock::new();
    let settings = AppSettings { host_clock: Some(clock.clone()), ..AppSettings::default() };
    let operator = TestApp::start(TestNetwork::shared().await, &settings).await.new_operator().await;
    let (client, body) = (&operator.client, json!({ "name": "Ada" }));
    let made = asks(client, "a", "/v1/accounts", &body).await.has_status(201);
    clock.is_ahead(25 * 3_600);
    let again = asks(client, "a", "/v1/accounts", &body).await.has_status(201);
    assert!(is_replayed(&again));
    assert_eq!(again.text, made.text);
    let listed = client.get("/v1/accounts").await;
    assert_eq!(listed["data"].as_array().map(Vec::len), Some(1), "{}", listed.text);
}
