//! Agent keys: POST and GET /v1/accounts/:id/keys, DELETE /v1/keys/:id and /v1/keys/self.

use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use purser_tests::clock::{HostClock, iso_of};
use purser_tests::{AppSettings, Browser, Operator, TestApp, TestDatabase, TestNetwork};
use reqwest::Method;
use serde_json::json;

#[tokio::test]
async fn new_key_is_shown_once_and_works_for_its_account() {
    let operator = Operator::shared().await;
    let agent = operator.creates_account_with("Ada", "5").await;
    let created =
        operator.client.post(&agent.path("/keys"), &json!({ "name": "laptop" })).await.has_status(201);
    let key = created.text_of("key");
    assert!(key.starts_with("psr_ag_test_") && key.len() > 40);
    assert_eq!((&created["account_id"], &created["name"]), (&json!(agent.id), &json!("laptop")));
    assert!(created.text_of("id").starts_with("key_"));
    let listed = operator.client.get(&agent.path("/keys")).await.has_status(200);
    assert_eq!(listed["data"].as_array().map(Vec::len), Some(1));
    assert_eq!(listed["data"][0]["id"], created["id"]);
    assert!(!listed.text.contains(key), "a key is never shown again");
    let by_agent = operator.client.with_key(key);
    by_agent.get(&agent.path("")).await.has_status(200);
    by_agent.get(&agent.path("/balance")).await.has_status(200);
    by_agent.get(&agent.path("/limits")).await.has_status(200);
}

#[tokio::test]
async fn operator_key_says_its_kind_and_network() {
    let operator = Operator::shared().await;
    assert!(operator.client.key().starts_with("psr_op_test_"));
}

#[tokio::test]
async fn revoked_key_opens_nothing_from_then_on() {
    let operator = Operator::shared().await;
    let agent = operator.creates_account("Ada").await;
    let created = operator.client.post(&agent.path("/keys"), &json!({})).await.has_status(201);
    let by_agent = operator.client.with_key(created.text_of("key"));
    by_agent.get(&agent.path("")).await.has_status(200);
    let path = format!("/v1/keys/{}", created.text_of("id"));
    let deleted = operator.client.delete(&path).await;
    assert!(matches!(deleted.status, 200 | 204), "{}", deleted.text);
    by_agent.get(&agent.path("")).await.is_error(401, "unauthorized");
}

#[tokio::test]
async fn revoking_one_key_leaves_the_others() {
    let operator = Operator::shared().await;
    let agent = operator.creates_account("Ada").await;
    let kept = agent.new_key().await;
    let created = operator.client.post(&agent.path("/keys"), &json!({})).await.has_status(201);
    operator.client.delete(&format!("/v1/keys/{}", created.text_of("id"))).await;
    kept.get(&agent.path("")).await.has_status(200);
}

const HOUR: i64 = 3_600;

/// A relayer of the test's own, whose clock the test moves.
async fn on_a_movable_clock() -> (Arc<TestApp>, Operator) {
    let settings = AppSettings { host_clock: Some(HostClock::new()), ..AppSettings::default() };
    let app = TestApp::start(TestNetwork::shared().await, &settings).await;
    let operator = app.new_operator().await;
    (app, operator)
}

#[tokio::test]
async fn key_stops_at_its_expiry() {
    let (app, operator) = on_a_movable_clock().await;
    let agent = operator.creates_account("Ada").await;
    let body = json!({ "expires_at": seconds_from_now(HOUR) });
    let created = operator.client.post(&agent.path("/keys"), &body).await.has_status(201);
    let by_agent = operator.client.with_key(created.text_of("key"));
    by_agent.get(&agent.path("")).await.has_status(200);
    app.host_stands_at(unix_seconds() + HOUR + 1);
    by_agent.get(&agent.path("")).await.is_error(401, "unauthorized");
}

#[tokio::test]
async fn expiry_in_the_past_or_without_form_is_invalid() {
    let operator = Operator::shared().await;
    let agent = operator.creates_account("Ada").await;
    for expires_at in
        [json!(seconds_from_now(-60)), json!("tomorrow"), json!(""), json!(7), json!("2026-13-01T00:00:00Z")]
    {
        let body = json!({ "expires_at": expires_at });
        operator.client.post(&agent.path("/keys"), &body).await.blames("expires_at");
    }
    let listed = operator.client.get(&agent.path("/keys")).await.has_status(200);
    assert_eq!(listed["data"], json!([]));
}

#[tokio::test]
async fn keys_of_another_operator_cannot_be_made_listed_or_revoked() {
    let operator = Operator::shared().await;
    let theirs = operator.app().new_operator().await.creates_account("Theirs").await;
    let created = theirs.operator.client.post(&theirs.path("/keys"), &json!({})).await.has_status(201);
    operator.client.post(&theirs.path("/keys"), &json!({})).await.is_error(404, "not_found");
    operator.client.get(&theirs.path("/keys")).await.is_error(404, "not_found");
    let foreign = operator.client.delete(&format!("/v1/keys/{}", created.text_of("id"))).await;
    let foreign = foreign.is_error(404, "not_found");
    let unknown =
        operator.client.delete("/v1/keys/key_01ARZ3NDEKTSV4RRFFQ69G5FAV").await.is_error(404, "not_found");
    assert_eq!(foreign.without_request_id(), unknown.without_request_id());
    let by_agent = theirs.operator.client.with_key(created.text_of("key"));
    by_agent.get(&theirs.path("")).await.has_status(200);
}

#[tokio::test]
async fn thief_of_an_operator_key_cannot_revoke_the_others_and_an_operator_key_revokes_itself() {
    let operator = Operator::shared().await.app().new_operator().await;
    let agent = operator.creates_account("Ada").await;
    let made = operator.app().runs(&["key", "create", "--operator", &operator.id]);
    let stolen = operator.client.with_key(made["key"].as_str().expect("a key"));
    // Ids of operator keys stand in the versions of a policy.
    let listed = operator.app().runs(&["key", "list", "--operator", &operator.id]);
    let ids = listed.as_array().expect("a list").iter().map(|key| key["id"].as_str().expect("an id"));
    let owners: Vec<&str> = ids.filter(|id| made["id"] != *id).collect();
    assert_eq!(owners.len(), 1, "{listed}");
    for _ in 0..2 {
        let refused = stolen.delete(&format!("/v1/keys/{}", owners[0])).await.is_error(403, "forbidden");
        assert!(refused.text_of("message").contains("purser key revoke"), "{}", refused.text);
    }
    let browser = Browser::signed_in(&operator.app().base_url(), stolen.key()).await;
    let form = format!("/dashboard/accounts/{}/keys/revoke", agent.id);
    browser.sends_form(&form, &[("key", owners[0])]).await.has_status(403);
    operator.client.post(&agent.path("/halt"), &json!({})).await.has_status(200);
    // Its own key goes, and what it could do with it.
    let own = made["id"].as_str().expect("an id");
    stolen.delete(&format!("/v1/keys/{own}")).await.has_status(204);
    stolen.get("/v1/accounts").await.is_error(401, "unauthorized");
    browser.reads("/dashboard").await.has_status(303);
    let of_another = Operator::shared().await;
    of_another.client.delete(&format!("/v1/keys/{}", owners[0])).await.is_error(404, "not_found");
    operator.app().runs(&["key", "revoke", owners[0]]);
    operator.client.get("/v1/accounts").await.is_error(401, "unauthorized");
}

#[tokio::test]
async fn key_gives_itself_back_and_no_other_key_ends_with_it() {
    let operator = Operator::shared().await.app().new_operator().await;
    let agent = operator.creates_account_with("Ada", "2").await;
    let (payee, _) = operator.chain.new_payee().await;
    let (given_back, kept) = (agent.new_key().await, agent.new_key().await);
    let paid = agent.pays("1").to(&payee);
    paid.clone().by(&given_back).await.is_settled();
    // Nothing but DELETE, and nothing that a body says.
    given_back.get("/v1/keys/self").await.is_error(405, "method_not_allowed");
    given_back.delete("/v1/keys/self").await.has_status(204);
    // It is unknown from then on, to this route too, and so are the requests that it made.
    given_back.delete("/v1/keys/self").await.is_error(401, "unauthorized");
    given_back.get(&agent.path("")).await.is_error(401, "unauthorized");
    paid.clone().by(&given_back).await.is_error(401, "unauthorized");
    paid.by(&kept).await.is_settled();
    assert_eq!(operator.chain.usdc_micros(&payee).await, 1_000_000);
    let listed = operator.client.get(&agent.path("/keys")).await.has_status(200);
    let revoked: Vec<bool> =
        listed["data"].as_array().expect("keys").iter().map(|key| key["revoked_at"].is_string()).collect();
    assert_eq!(revoked, [false, true], "newest first: {}", listed.text);

    let made = operator.app().runs(&["key", "create", "--operator", &operator.id]);
    let second = operator.client.with_key(made["key"].as_str().expect("a key"));
    let browser = Browser::signed_in(&operator.app().base_url(), second.key()).await;
    second.delete("/v1/keys/self").await.has_status(204);
    second.get("/v1/accounts").await.is_error(401, "unauthorized");
    browser.reads("/dashboard").await.has_status(303);
    operator.client.get("/v1/accounts").await.has_status(200);
    operator.client.without_key().delete("/v1/keys/self").await.is_error(401, "unauthorized");
}

#[tokio::test]
async fn agent_can_make_list_and_revoke_no_keys() {
    let operator = Operator::shared().await;
    let agent = operator.creates_account("Ada").await;
    let created = operator.client.post(&agent.path("/keys"), &json!({})).await.has_status(201);
    let by_agent = operator.client.with_key(created.text_of("key"));
    by_agent.post(&agent.path("/keys"), &json!({})).await.is_error(403, "forbidden");
    by_agent.get(&agent.path("/keys")).await.is_error(403, "forbidden");
    let path = format!("/v1/keys/{}", created.text_of("id"));
    by_agent.delete(&path).await.is_error(403, "forbidden");
    by_agent.get(&agent.path("")).await.has_status(200);
}

fn unix_seconds() -> i64 {
    SystemTime::now().duration_since(UNIX_EPOCH).expect("the clock is past 1970").as_secs() as i64
}

fn seconds_from_now(seconds: i64) -> String {
    iso_of(unix_seconds() + seconds)
}

const PING: &str = r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#;

#[tokio::test]
async fn key_for_other_addresses_opens_neither_rest_nor_mcp_whatever_is_forwarded() {
    let operator = Operator::shared().await;
    let agent = operator.creates_account("Ada").await;
    let makes = async |range: &str| {
        let made = operator.client.post(&agent.path("/keys"), &json!({ "allowed_cidrs": [range] })).await;
        operator.client.with_key(made.has_status(201).text_of("key"))
    };
    let (ours, theirs) = (makes("127.0.0.0/8").await, makes("198.51.100.0/24").await);
    ours.get(&agent.path("")).await.has_status(200);
    for forwarded in ["198.51.100.7", "198.51.100.7, 198.51.100.7", "::ffff:198.51.100.7"] {
        let read = theirs.request(Method::GET, &agent.path("")).header("x-forwarded-for", forwarded);
        theirs.sends(read).await.is_error(403, "forbidden");
        let call = theirs.request(Method::POST, "/mcp").header("x-forwarded-for", forwarded);
        let call = call.header("content-type", "application/json").body(PING);
        theirs.sends(call).await.is_error(403, "forbidden");
    }
    let refused = operator.client.post(&agent.path("/keys"), &json!({ "allowed_cidrs": ["::1", "x"] })).await;
    refused.blames("allowed_cidrs[1]");
}

#[tokio::test]
async fn client_address_comes_from_the_trusted_proxy_and_not_from_the_client() {
    let settings = AppSettings { server: "trusted_proxies = [\"127.0.0.1\"]", ..AppSettings::default() };
    let app = TestApp::start(TestNetwork::shared().await, &settings).await;
    let operator = app.new_operator().await;
    let agent = operator.creates_account("Ada").await;
    let body = json!({ "allowed_cidrs": ["198.51.100.0/24"] });
    let made = operator.client.post(&agent.path("/keys"), &body).await.has_status(201);
    let client = operator.client.with_key(made.text_of("key"));
    for (forwarded, status) in [
        ("198.51.100.7", 200),
        ("203.0.113.1, 198.51.100.7", 200),
        ("198.51.100.7, 127.0.0.1", 200),
        ("198.51.100.7, 203.0.113.1", 403),
        ("127.0.0.1", 403),
        ("198.51.100.7, unknown", 403),
    ] {
        let request = client.request(Method::GET, &agent.path("")).header("x-forwarded-for", forwarded);
        assert_eq!(client.sends(request).await.status, status, "{forwarded}");
    }
    client.get(&agent.path("")).await.is_error(403, "forbidden");
}

#[tokio::test]
async fn operator_key_has_a_name_an_end_and_ranges_and_last_used_outlives_a_stop() {
    let (app, operator) = on_a_movable_clock().await;
    let agent = operator.creates_account("Ada").await;
    let ends = seconds_from_now(HOUR);
    let create = ["key", "create", "--operator", &operator.id, "--name", "CI", "--expires-at", &ends];
    let made = app.runs(&[&create[..], &["--allowed-cidr", "127.0.0.1"]].concat());
    let client = operator.client.with_key(made["key"].as_str().expect("a key"));
    client.get("/v1/accounts").await.has_status(200);
    let elsewhere =
        app.runs(&["key", "create", "--operator", &operator.id, "--allowed-cidr", "198.51.100.0/24"]);
    let elsewhere = operator.client.with_key(elsewhere["key"].as_str().expect("a key"));
    elsewhere.get("/v1/accounts").await.is_error(403, "forbidden");
    let agents_end = json!({ "expires_at": seconds_from_now(HOUR) });
    let agents = operator.client.post(&agent.path("/keys"), &agents_end).await.has_status(201);
    let agents = operator.client.with_key(agents.text_of("key"));
    agents.get(&agent.path("")).await.has_status(200);
    app.host_stands_at(unix_seconds() + HOUR + 1);
    client.get("/v1/accounts").await.is_error(401, "unauthorized");
    let call = agents.request(Method::POST, "/mcp").header("content-type", "application/json");
    agents.sends(call.body(PING)).await.is_error(401, "unauthorized");
    let unused = operator.client.post(&agent.path("/keys"), &json!({})).await.has_status(201);

    assert!(app.stops(Duration::from_secs(60)).await);
    app.starts();
    let listed = app.runs(&["key", "list", "--operator", &operator.id]);
    let find = |id: &serde_json::Value| {
        let keys = listed.as_array().expect("a list");
        keys.iter().find(|key| key["id"] == *id).expect("listed").clone()
    };
    let key = find(&made["id"]);
    assert_eq!((&key["name"], &key["allowed_cidrs"]), (&json!("CI"), &json!(["127.0.0.1/32"])));
    assert!(key["expires_at"].is_string() && key["last_used_at"].is_string(), "{key}");
    assert_eq!(find(&unused["id"])["last_used_at"], json!(null));
}

#[tokio::test]
async fn operator_has_at_most_so_many_keys_and_a_revoked_one_makes_room() {
    let settings = AppSettings { sections: "[keys]\nper_operator_max = 5", ..AppSettings::default() };
    let app = TestApp::start(TestNetwork::shared().await, &settings).await;
    let operator = app.new_operator().await;
    let agent = operator.creates_account("Ada").await;
    let path = agent.path("/keys");
    let asked = (0..12).map(|_| async { operator.client.post(&path, &json!({})).await });
    let answers = futures::future::join_all(asked).await;
    let (made, refused): (Vec<_>, Vec<_>) = answers.into_iter().partition(|answer| answer.status == 201);
    // The operator's own key counts, too.
    assert_eq!(made.len(), 4);
    for answer in refused {
        let message = answer.blames("body").text_of("message").to_owned();
        assert!(message.contains("5 keys") && message.contains("revoke"), "{message}");
    }
    operator.client.delete(&format!("/v1/keys/{}", made[0].text_of("id"))).await;
    operator.client.post(&path, &json!({})).await.has_status(201);
    // Whoever runs the server can still make a key.
    app.new_operator_key(&operator.id);
}

#[tokio::test]
async fn flood_of_unknown_keys_costs_no_query_and_blocks_no_known_key() {
    let settings = AppSettings { sections: "[keys]\nunknown_per_second = 20", ..AppSettings::default() };
    let app = TestApp::start(TestNetwork::shared().await, &settings).await;
    let operator = app.new_operator().await;
    operator.client.get("/v1/accounts").await.has_status(200);
    let (mut refused, mut unknown) = (0, 0);
    for round in 0..40 {
        for number in 0..20 {
            let key = format!("psr_op_test_{}{:04}", "z".repeat(36), round * 20 + number);
            let answer = operator.client.with_key(&key).get("/v1/accounts").await;
            match answer.status {
                401 => unknown += 1,
                429 => {
                    assert!(answer.header("retry-after").is_some());
                    answer.is_error(429, "rate_limited");
                    refused += 1;
                }
                other => panic!("{other}: {}", answer.text),
            }
        }
        operator.client.get("/v1/accounts").await.has_status(200);
    }
    assert!(refused > 0 && unknown >= 20, "{refused} refused, {unknown} unknown");
}

async fn webhooks_are_registered_all_at_once(settings: &AppSettings) {
    let app = TestApp::start(TestNetwork::shared().await, settings).await;
    let operator = app.new_operator().await;
    let body = json!({ "url": "http://127.0.0.1:9/a", "events": ["transfer.settled"] });
    let asked = (0..130).map(|_| async { operator.client.post("/v1/webhooks", &body).await });
    let answers = futures::future::join_all(asked).await;
    let made = answers.iter().filter(|answer| answer.status == 201).count();
    let refused = answers.iter().filter(|answer| answer.status == 400).count();
    assert_eq!((made, refused), (100, 30));
}

#[tokio::test]
async fn operator_has_at_most_a_hundred_webhooks_however_many_are_asked_for_at_once() {
    webhooks_are_registered_all_at_once(&AppSettings::default()).await;
    if let Some(database) = TestDatabase::create().await {
        let settings = AppSettings { database: Some(database), ..AppSettings::default() };
        webhooks_are_registered_all_at_once(&settings).await;
    }
}
