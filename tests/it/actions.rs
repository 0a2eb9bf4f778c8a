//! Who changed what: GET /v1/actions, its file, its events, and the dashboard's page of it. That every route is recorded: auth_matrix.rs.

use std::sync::Arc;

use purser_tests::clock::HostClock;
use purser_tests::{
    Answer, AppSettings, Browser, Client, Operator, Receiver, TestApp, TestDatabase, TestNetwork, until,
};
use reqwest::Method;
use serde_json::{Value, json};

use crate::event_stream::Stream;
use crate::mcp::{calls, is_refused};
use crate::webhooks::registers;

async fn an_operator() -> Operator {
    Operator::shared().await.app().new_operator().await
}

/// The operator's actions, newest first.
async fn actions(client: &Client, query: &str) -> Vec<Value> {
    let listed = client.get(&format!("/v1/actions{query}")).await.has_status(200);
    listed["data"].as_array().expect("a list").clone()
}

async fn names(client: &Client, query: &str) -> Vec<String> {
    let listed = actions(client, query).await;
    listed.iter().map(|action| action["action"].as_str().expect("a name").to_owned()).collect()
}

/// The newest action, which this answer's request was.
#[track_caller]
fn is_of(action: &Value, answer: &Answer) {
    assert_eq!(action["request_id"].as_str(), answer.header("x-request-id"), "{action}");
}

#[tokio::test]
async fn a_change_is_on_record_with_who_what_and_whence() {
    let operator = an_operator().await;
    let client = &operator.client;
    let body = json!({ "name": "ops", "scopes": ["admin"] });
    let made = client.post("/v1/keys", &body).await.has_status(201);
    let by = client.with_key(made.text_of("key"));
    let create = actions(client, "").await[0].clone();
    is_of(&create, &made);
    assert_eq!((&create["action"], &create["made_id"]), (&json!("create_operator_key"), &made["id"]));
    assert_eq!(create["after"], body);
    assert!(!create.to_string().contains(made.text_of("key")), "no secret is on record");

    let account = by.post("/v1/accounts", &json!({ "name": "Ada" })).await.has_status(201);
    let id = account.text_of("account_id");
    let path = format!("/v1/accounts/{id}");
    let renamed = by.patch(&path, &json!({ "name": "Ada <b>2</b>" })).await.has_status(200);
    let limits = by.patch(&format!("{path}/policy"), &json!({ "max_single_transfer": 5.5 })).await;
    let lower =
        by.patch(&format!("{path}/policy"), &json!({ "max_single_transfer": 4 })).await.has_status(200);
    let pause = by.patch(&format!("{path}/policy"), &json!({ "paused": true })).await.has_status(200);
    let again = by.put(&format!("{path}/policy"), &json!({ "paused": true })).await.has_status(200);
    let halt = by.post(&format!("{path}/halt"), &json!({})).await.has_status(200);
    let of_account = actions(client, &format!("?object_id={id}")).await;
    for (action, (answer, name, after)) in of_account.iter().zip([
        (&halt, "halt_account", Value::Null),
        (&again, "replace_policy", json!({ "paused": true })),
        (&pause, "update_policy", json!({ "paused": true })),
        (&lower, "update_policy", json!({ "max_single_transfer": 4 })),
        (&limits, "update_policy", json!({ "max_single_transfer": 5.5 })),
        (&renamed, "update_account", json!({ "name": "Ada <b>2</b>" })),
        (&account, "create_account", json!({ "name": "Ada" })),
    ]) {
        is_of(action, answer);
        assert_eq!((&action["action"], &action["outcome"]), (&json!(name), &json!("done")));
        assert_eq!(action["after"], after, "{action}");
        assert_eq!((&action["key_id"], &action["key_name"]), (&made["id"], &json!("ops")));
        assert_eq!((&action["address"], &action["session_id"]), (&json!("127.0.0.1"), &Value::Null));
    }
    assert_eq!(of_account.len(), 7);
    for (action, answer) in of_account.iter().zip([&halt, &again, &pause, &lower]) {
        assert_eq!(action["tx_signature"], answer["tx_signature"]);
    }
    // A number is kept as it was written.
    let listed = client.get(&format!("/v1/actions?object_id={id}")).await;
    assert!(listed.text.contains(r#""after":{"max_single_transfer":5.5}"#), "{}", listed.text);
    let log = operator.app().log();
    let line = log.lines().find(|line| line.contains("update_account") && line.contains(id));
    assert!(
        line.is_some_and(|line| line.contains("127.0.0.1") && line.contains(made.text_of("id"))),
        "{line:?}"
    );
}

/// The operator's events of this query, newest first.
async fn events(client: &Client, query: &str) -> Vec<Value> {
    let listed = client.get(&format!("/v1/events?limit=100{query}")).await.has_status(200);
    listed["data"].as_array().expect("a list").clone()
}

/// The actions that these events announce, as they say them.
fn announced(events: &[Value]) -> Vec<Value> {
    events.iter().map(|event| event["data"].clone()).collect()
}

/// How many deliveries a webhook has.
async fn deliveries(client: &Client, webhook: &Answer) -> usize {
    let path = format!("/v1/webhooks/{}/deliveries?limit=100", webhook.text_of("id"));
    client.get(&path).await.has_status(200)["data"].as_array().expect("a list").len()
}

#[tokio::test]
async fn a_change_is_an_event_as_it_is_listed_for_webhooks_that_name_it_and_no_account() {
    let (operator, other, receiver) = (an_operator().await, an_operator().await, Receiver::start());
    let client = &operator.client;
    let agent = operator.creates_account("Ada").await;
    let earlier = actions(client, "?limit=100").await.len();
    let webhook = registers(&operator, &receiver.url("/actions"), &["action.recorded"]).await;
    let of_others = registers(&other, &receiver.url("/others"), &["action.recorded"]).await;
    let body = json!({
        "url": receiver.url("/account"), "events": ["action.recorded", "deposit.settled"], "account_ids": [agent.id],
    });
    let of_account = client.post("/v1/webhooks", &body).await.has_status(201);
    let of_deposits = registers(&operator, &receiver.url("/deposits"), &["deposit.settled"]).await;
    let mut stream = Stream::open(client, "?type=action.recorded", None).await;

    for limit in [5.5, 4.0] {
        let body = json!({ "max_single_transfer": limit });
        client.patch(&agent.path("/policy"), &body).await.has_status(200);
    }
    let made = client.post("/v1/keys", &json!({ "name": "ops", "scopes": ["read"] })).await.has_status(201);
    client.post("/v1/keys", &json!({ "scopes": ["everything"] })).await.has_status(400);
    Browser::signed_in(&operator.app().base_url(), client.key()).await;
    operator.app().runs(&["key", "revoke", made.text_of("id")]);
    // A change of the webhook is one event, and the delivery of that none.
    let path = format!("/v1/webhooks/{}", webhook.text_of("id"));
    client.patch(&path, &json!({ "events": ["action.recorded", "deposit.settled"] })).await.has_status(200);

    let on_record = actions(client, "?limit=100").await;
    let listed = events(client, "&type=action.recorded").await;
    assert_eq!(announced(&listed), on_record);
    let recorded = on_record.len() - earlier;
    assert_eq!(recorded, 9, "{on_record:?}");
    let received = receiver.waits_for("/actions", recorded).await;
    assert_eq!(deliveries(client, &webhook).await, recorded);
    for delivery in &received {
        assert!(listed.contains(&delivery.event()), "{}", delivery.event());
        assert!(!String::from_utf8_lossy(&delivery.body).contains(made.text_of("key")), "no secret is sent");
    }
    let bodies: Vec<_> = received.iter().map(|delivery| String::from_utf8_lossy(&delivery.body)).collect();
    let change = r#""after":{"max_single_transfer":4.0}"#;
    assert!(bodies.iter().any(|body| body.contains(change)), "{bodies:?}");
    // Its registration is over when the stream begins.
    for action in on_record[..recorded - 3].iter().rev() {
        assert_eq!(&stream.event().await["data"], action);
    }

    assert_eq!((deliveries(client, &of_account).await, deliveries(client, &of_deposits).await), (0, 0));
    let of_ada = events(client, &format!("&account_id={}", agent.id)).await;
    assert!(of_ada.iter().all(|event| event["type"] != "action.recorded"), "{of_ada:?}");
    let theirs = events(&other.client, "").await;
    assert_eq!(announced(&theirs), actions(&other.client, "?limit=100").await);
    assert_eq!(deliveries(&other.client, &of_others).await, 1, "its own registration");
    let id = listed[0]["id"].as_str().expect("an id");
    other.client.get(&format!("/v1/events/{id}")).await.is_error(404, "not_found");
}

#[tokio::test]
async fn what_was_refused_and_what_was_repeated_is_not_on_record_again() {
    let operator = an_operator().await;
    let client = &operator.client;
    let agent = operator.creates_account("Ada").await;
    let before = names(client, "").await;
    client.post("/v1/accounts", &json!({ "name": "" })).await.has_status(400);
    client.post("/v1/accounts", &json!({ "nam": "Ada" })).await.has_status(400);
    client.patch(&agent.path(""), &json!([])).await.has_status(400);
    client.patch("/v1/accounts/nothing%20here", &json!({ "name": "x" })).await.has_status(404);
    client
        .patch(&agent.path("/policy"), &json!({ "expected_version": 99, "require_memo": true }))
        .await
        .has_status(409);
    client.delete("/v1/keys/key_01ARZ3NDEKTSV4RRFFQ69G5FAV").await.has_status(404);
    client.sends_bytes(Method::POST, "/v1/accounts", vec![b'{'; 70_000]).await.has_status(413);
    let reader = client.post("/v1/keys", &json!({ "scopes": ["read"] })).await.has_status(201);
    let reader = client.with_key(reader.text_of("key"));
    reader.post("/v1/halt", &json!({})).await.has_status(403);
    assert_eq!(names(client, "").await[1..], before);
    for _ in 0..3 {
        let request = client.request(Method::POST, "/v1/accounts").header("idempotency-key", "one");
        client.sends(request.json(&json!({ "name": "Bea" }))).await.has_status(201);
    }
    assert_eq!(names(client, "?action=create_account").await.len(), 2, "Ada and, once, Bea");
}

#[tokio::test]
async fn pause_that_stands_is_on_record_even_where_the_rest_of_its_request_is_refused() {
    let operator = an_operator().await;
    let agent = operator.creates_account("Ada").await;
    let body = json!({ "paused": true, "expected_version": 99, "require_memo": true });
    let refused = operator.client.patch(&agent.path("/policy"), &body).await.has_status(409);
    let account = operator.client.get(&agent.path("")).await;
    let on_record = actions(&operator.client, "?action=update_policy").await;
    assert_eq!(on_record.len() == 1, account["status"] == "paused", "{}", account.text);
    is_of(&on_record[0], &refused);
    assert!(on_record[0]["tx_signature"].is_string(), "{}", on_record[0]);
}

#[tokio::test]
async fn without_a_record_a_pause_holds_and_nothing_else_is_changed() {
    let settings = AppSettings { sections: "[mcp]\noperator_tools = true\n", ..AppSettings::default() };
    let app = TestApp::start(TestNetwork::shared().await, &settings).await;
    let operator = app.new_operator().await;
    let client = &operator.client;
    let browser = Browser::signed_in(&app.base_url(), client.key()).await;
    let mut agents = Vec::new();
    for name in ["Ada", "Ben", "Cid", "Dee", "Eve", "Fay"] {
        let agent = operator.creates_account(name).await;
        agent.sets_policy(json!({ "max_daily_spend": 5 })).await;
        agents.push(agent);
    }
    let recorded = actions(client, "?limit=100").await;
    let database = rusqlite::Connection::open(app.folder().join("purser.db")).expect("opened");
    let trigger = "CREATE TRIGGER full BEFORE INSERT ON actions BEGIN SELECT RAISE(ABORT, 'no room'); END";
    database.execute_batch(trigger).expect("a trigger");

    let policy = json!({ "paused": true, "max_daily_spend": 500, "allowed_counterparties": [agents[1].id] });
    let holds = "The pause holds. The rest of the change failed: ";
    let path = agents[0].path("/policy");
    for answer in [client.patch(&path, &policy).await, client.put(&path, &policy).await] {
        let refused = answer.is_error(503, "service_unavailable");
        assert!(refused.text_of("message").starts_with(holds), "{}", refused.text);
    }
    let body = json!({ "accounts": { "ids": [agents[1].id] }, "policy": policy });
    let many = client.post("/v1/bulk/policy", &body).await.has_status(200);
    let error = &many["accounts"][0]["error"];
    assert!(error["message"].as_str().is_some_and(|text| text.starts_with(holds)), "{}", many.text);
    let mut arguments = policy.clone();
    arguments["account_id"] = json!(agents[2].id);
    let called = calls(client, "update_policy", arguments).await;
    is_refused(&called, "service_unavailable");
    assert!(called.to_string().contains(holds), "{called}");
    // The form that pauses lifts a pause as well, and that needs its record.
    let form = format!("/dashboard/accounts/{}/pause", agents[3].id);
    browser.sends_form(&form, &[("paused", "true")]).await.has_status(303);
    let version = client.get(&agents[3].path("/policy")).await["version"].to_string();
    browser.sends_form(&form, &[("paused", "false"), ("expected_version", &version)]).await.has_status(503);
    // So does the form that pauses many, and what is put beside the pause there.
    for (agent, change) in [(&agents[4], json!({ "paused": true })), (&agents[5], policy.clone())] {
        let version = client.get(&agent.path("/policy")).await["version"].clone();
        let fields = [("accounts", format!("{}-{version}", agent.id)), ("change", change.to_string())];
        let fields = fields.each_ref().map(|(name, value)| (*name, value.as_str()));
        let done = browser.sends_form("/dashboard/accounts/change/policy", &fields).await.has_status(200);
        assert_eq!(
            done.text.contains("The pause holds."),
            change.get("max_daily_spend").is_some(),
            "{}",
            done.text
        );
    }
    let lifted = [("accounts", format!("{}-3", agents[4].id)), ("change", r#"{"paused":false}"#.to_owned())];
    let lifted = lifted.each_ref().map(|(name, value)| (*name, value.as_str()));
    browser.sends_form("/dashboard/accounts/change/policy", &lifted).await.has_status(500);
    for agent in &agents {
        let stands = client.get(&agent.path("/policy")).await.has_status(200);
        assert_eq!(
            (&stands["paused"], &stands["max_daily_spend"]),
            (&json!(true), &json!(5)),
            "{}",
            stands.text
        );
        assert!(stands["allowed_counterparties"].is_null(), "{}", stands.text);
    }
    assert_eq!(actions(client, "?limit=100").await, recorded);
}

#[tokio::test]
async fn an_operator_sees_its_own_actions_and_an_agent_sees_none() {
    let (operator, other) = (an_operator().await, an_operator().await);
    let agent = operator.creates_account("Ada").await;
    let made = operator.client.post(&agent.path("/keys"), &json!({ "name": "bot" })).await.has_status(201);
    let by_agent = operator.client.with_key(made.text_of("key"));
    by_agent.get("/v1/actions").await.is_error(403, "forbidden");
    by_agent.delete("/v1/keys/self").await.has_status(204);
    let given_back = actions(&operator.client, "").await[0].clone();
    assert_eq!((&given_back["action"], &given_back["key_name"]), (&json!("revoke_own_key"), &json!("bot")));
    assert_eq!((&given_back["object_id"], &given_back["key_id"]), (&made["id"], &made["id"]));
    for query in [
        "?action=revoke_own_key".to_owned(),
        format!("?object_id={}", agent.id),
        format!("?key_id={}", made.text_of("id")),
    ] {
        assert_eq!(actions(&other.client, &query).await, [Value::Null; 0], "{query}");
    }
    let theirs = operator.client.get("/v1/actions?limit=1").await;
    let cursor = format!("/v1/actions?cursor={}", theirs.text_of("cursor"));
    operator.client.get(&cursor).await.has_status(200);
    other.client.get(&cursor).await.blames("cursor");
    let pays = operator.client.post("/v1/keys", &json!({ "scopes": ["pay"] })).await.has_status(201);
    operator.client.with_key(pays.text_of("key")).get("/v1/actions").await.is_error(403, "forbidden");
    for (query, param) in [
        ("action=a%20b", "action"),
        ("object_id=%00", "object_id"),
        ("object_id=%27%3B--", "object_id"),
        ("key_id=acct_1", "key_id"),
        ("since=yesterday", "since"),
        ("limit=101", "limit"),
        ("outcome=done", "outcome"),
    ] {
        operator.client.get(&format!("/v1/actions?{query}")).await.blames(param);
    }
}

#[tokio::test]
async fn the_file_has_the_same_actions_and_no_formula() {
    let operator = an_operator().await;
    let name = "=HYPERLINK(\"http://evil.example\")";
    let made = operator.client.post("/v1/keys", &json!({ "name": name })).await.has_status(201);
    let by = operator.client.with_key(made.text_of("key"));
    by.post("/v1/accounts", &json!({ "name": "two\nlines, \"quoted\"" })).await.has_status(201);
    let request = operator.client.request(Method::GET, "/v1/actions").header("accept", "text/csv");
    let file = operator.client.sends(request).await.has_status(200);
    assert_eq!(file.header("content-disposition"), Some("attachment; filename=\"actions.csv\""));
    let mut reader = csv::Reader::from_reader(file.text.as_bytes());
    let head = reader.headers().expect("a head").clone();
    let rows: Vec<csv::StringRecord> = reader.records().map(|row| row.expect("a row")).collect();
    let cell = |row: usize, column: &str| {
        rows[row].get(head.iter().position(|name| name == column).expect("a column")).expect("a cell")
    };
    assert_eq!(rows.len(), actions(&operator.client, "").await.len());
    assert_eq!((cell(0, "action"), cell(0, "key_name")), ("create_account", format!("'{name}").as_str()));
    let after: Value = serde_json::from_str(cell(0, "after")).expect("JSON");
    assert_eq!(after, json!({ "name": "two\nlines, \"quoted\"" }));
    let limited = operator.client.request(Method::GET, "/v1/actions?limit=2").header("accept", "text/csv");
    operator.client.sends(limited).await.blames("limit");
}

/// The relayer dies at `point` of revoking a key, and its successor says what is known of that.
async fn is_on_record_after_a_death(
    point: &'static str,
    was_revoked: bool,
    database: Option<Arc<TestDatabase>>,
) {
    // With a clock of its own it is the build that can die at a point.
    let sound = AppSettings { database, host_clock: Some(HostClock::new()), ..AppSettings::default() };
    // Making the account and two keys are the first three.
    let environment = vec![("PURSER_CRASH_AT", format!("{point}:4"))];
    let app =
        TestApp::start(TestNetwork::shared().await, &AppSettings { environment, ..sound.clone() }).await;
    let operator = app.new_operator().await;
    let agent = operator.creates_account("Ada").await;
    let made = operator.client.post(&agent.path("/keys"), &json!({})).await.has_status(201);
    operator.client.post(&agent.path("/keys"), &json!({})).await.has_status(201);
    let id = made.text_of("id");
    let path = format!("/v1/keys/{id}");
    let died = operator.client.tries(operator.client.request(Method::DELETE, &path)).await;
    assert!(died.is_err(), "it was to die at {point}");
    app.crashes();
    let risen = app.twin(&sound);
    let client = risen.client().with_key(operator.client.key());
    let keys = client.get(&agent.path("/keys")).await;
    let key = keys["data"].as_array().expect("a list").iter().find(|key| key["id"] == id).expect("its key");
    assert_eq!(key["revoked_at"].is_string(), was_revoked, "{point}: {key}");
    let action = actions(&client, "?action=revoke_key").await.pop().expect("it is on record");
    assert_eq!((&action["outcome"], &action["object_id"]), (&json!("unknown"), &json!(id)), "{point}");
    client.delete(&path).await.has_status(204);
    let again = actions(&client, "?action=revoke_key").await;
    assert_eq!(again.iter().map(|action| &action["outcome"]).collect::<Vec<_>>(), ["done", "unknown"]);
}

#[tokio::test]
async fn no_change_is_without_a_record_whenever_the_service_dies() {
    for (point, was_revoked) in [("action.begun", false), ("action.carried_out", true)] {
        is_on_record_after_a_death(point, was_revoked, None).await;
        if let Some(database) = TestDatabase::create().await {
            is_on_record_after_a_death(point, was_revoked, Some(database)).await;
        }
    }
}

#[tokio::test]
async fn two_relayers_have_one_record() {
    let Some(database) = TestDatabase::create().await else { return };
    let settings = AppSettings { database: Some(database), ..AppSettings::default() };
    let first = TestApp::start(TestNetwork::shared().await, &settings).await;
    let second = first.twin(&settings);
    let operator = first.new_operator().await;
    let beside = Client::new(&second.base_url(), Some(operator.client.key()));
    let bodies = ["Ada", "Bea"].map(|name| json!({ "name": name }));
    let (here, there) = tokio::join!(
        operator.client.post("/v1/accounts", &bodies[0]),
        beside.post("/v1/accounts", &bodies[1])
    );
    let mut expected = [here, there].map(|answer| answer.has_status(201).text_of("account_id").to_owned());
    let query = "?action=create_account";
    let seen = actions(&operator.client, query).await;
    assert_eq!(seen, actions(&beside, query).await);
    let mut made: Vec<_> = seen.iter().filter_map(|action| action["made_id"].as_str()).collect();
    made.sort_unstable();
    expected.sort_unstable();
    assert_eq!(made, expected);
}

#[tokio::test]
async fn a_form_is_on_record_as_the_operation_that_does_the_same_with_its_session() {
    let operator = an_operator().await;
    let made = operator.client.post("/v1/keys", &json!({ "name": "<i>Eve</i>" })).await.has_status(201);
    let browser = Browser::signed_in(&operator.app().base_url(), made.text_of("key")).await;
    let account = operator.creates_account("Ada").await;
    let path = format!("/dashboard/accounts/{}", account.id);
    let fields =
        [("expected_version", "1"), ("max_single_transfer", "5"), ("allowed", "anyone"), ("step", "compare")];
    browser.sends_form(&format!("{path}/policy"), &fields).await.has_status(200);
    browser.sends_form(&format!("{path}/pause"), &[("paused", "true")]).await.has_status(303);
    browser.sends_form(&format!("{path}/keys"), &[("name", "bot"), ("once", "1")]).await.has_status(200);
    browser.sends_form(&format!("{path}/keys"), &[("name", "bot"), ("once", "1")]).await.has_status(200);
    browser.sends_form(&format!("{path}/keys"), &[("expires_at", "never")]).await.has_status(400);
    browser
        .sends_form(
            "/dashboard/accounts",
            &[
                ("name", "Bea"),
                ("max_single_transfer", "none"),
                ("max_daily_spend", "none"),
                ("allowed", "anyone"),
            ],
        )
        .await
        .has_status(303);
    let query = format!("?key_id={}", made.text_of("id"));
    let did = actions(&operator.client, &query).await;
    let named: Vec<&str> = did.iter().filter_map(|action| action["action"].as_str()).collect();
    assert_eq!(named, ["create_account", "create_key", "update_policy", "sign_in"], "{did:?}");
    assert_eq!(did[1]["after"], json!({ "name": "bot" }));
    assert!(did[2]["tx_signature"].is_string(), "{}", did[2]);
    assert!(did.iter().all(|action| action["session_id"] == did[3]["made_id"]), "{did:?}");
    assert!(did.iter().all(|action| action["address"] == "127.0.0.1"), "{did:?}");
    let page = browser.reads("/dashboard/actions").await.has_status(200);
    let page = page.says("update policy").says("&#60;i&#62;Eve&#60;/i&#62;").says(&account.id);
    assert!(!page.text.contains("<i>Eve"), "{}", page.text);
    browser.reads("/dashboard/actions?action=sign_in").await.has_status(200).says("sign in");
    browser.reads("/dashboard/actions?action=%3Cb%3E").await.has_status(400);
    let file = browser.reads("/dashboard/actions.csv?action=sign_in").await.has_status(200);
    assert_eq!(file.text.lines().count(), 2, "{}", file.text);
    assert!(operator.app().log().contains("signed in"));
}

#[tokio::test]
async fn who_is_signed_in_is_listed_and_ended() {
    let operator = an_operator().await;
    let url = operator.app().base_url();
    let made = operator.client.post("/v1/keys", &json!({ "name": "second" })).await.has_status(201);
    let maker = Browser::signed_in(&url, operator.client.key()).await;
    let twice = [
        Browser::signed_in(&url, made.text_of("key")).await,
        Browser::signed_in(&url, made.text_of("key")).await,
    ];
    let sessions = async |query: &str| {
        let signed_in = actions(&operator.client, &format!("?action=sign_in{query}")).await;
        signed_in
            .iter()
            .map(|action| action["made_id"].as_str().expect("a session").to_owned())
            .collect::<Vec<_>>()
    };
    let of_second = sessions(&format!("&key_id={}", made.text_of("id"))).await;
    let all = sessions("").await;
    assert_eq!((of_second.len(), all.len()), (2, 3));
    let page = maker.reads("/dashboard/keys").await.has_status(200);
    for id in &all {
        assert!(page.text.contains(&format!("value=\"{id}\"")), "the maker may end {id}: {}", page.text);
    }
    page.says("this one").says("127.0.0.1");
    // The made key does not end its maker's.
    let seen = twice[0].reads("/dashboard/keys").await.has_status(200);
    assert!(!seen.text.contains(&format!("value=\"{}\"", all[2])), "{}", seen.text);
    let end = async |browser: &Browser, id: &str| {
        browser.sends_form("/dashboard/sessions/end", &[("session", id)]).await
    };
    end(&twice[0], &all[2]).await.has_status(403);
    let stranger = an_operator().await;
    let theirs = Browser::signed_in(&url, stranger.client.key()).await;
    for id in [all[0].as_str(), "ses_0000000000000000", "ses_", "' OR 1=1"] {
        end(&theirs, id).await.has_status(404);
    }
    twice[1].reads("/dashboard").await.has_status(200);
    // The newest is that of the second browser.
    end(&maker, &of_second[0]).await.leads_to("/dashboard/keys?ended=1#sessions");
    twice[1].reads("/dashboard").await.leads_to("/dashboard/sign-in");
    twice[0].reads("/dashboard").await.has_status(200);
    let third = Browser::signed_in(&url, made.text_of("key")).await;
    third.sends_form("/dashboard/sessions/end-others", &[]).await.has_status(303);
    twice[0].reads("/dashboard").await.leads_to("/dashboard/sign-in");
    maker.reads("/dashboard").await.has_status(200);
    third.reads("/dashboard").await.has_status(200);
    third.sends_form("/dashboard/sign-out", &[]).await.leads_to("/dashboard/sign-in");
    let did = names(&operator.client, "?limit=3").await;
    assert_eq!(did[..2], ["sign_out", "end_other_sessions"]);
    until("it is on record", async || {
        actions(&operator.client, &format!("?object_id={}", of_second[0])).await.len() == 2
    })
    .await;
}

#[tokio::test]
async fn the_command_line_is_on_record_without_a_key() {
    let operator = an_operator().await;
    let made = operator.app().runs(&["key", "create", "--operator", &operator.id]);
    operator.app().runs(&["key", "revoke", made["id"].as_str().expect("an id")]);
    let did = actions(&operator.client, "?limit=2").await;
    assert_eq!((&did[0]["action"], &did[0]["object_id"]), (&json!("revoke_key"), &made["id"]));
    assert_eq!((&did[1]["action"], &did[1]["made_id"]), (&json!("create_operator_key"), &made["id"]));
    for action in &did {
        let (key, address) = (&action["key_id"], &action["address"]);
        assert_eq!((key, address, &action["outcome"]), (&Value::Null, &Value::Null, &json!("done")));
    }
    let browser = Browser::signed_in(&operator.app().base_url(), operator.client.key()).await;
    browser.reads("/dashboard/actions").await.has_status(200).says("the command line");
}
