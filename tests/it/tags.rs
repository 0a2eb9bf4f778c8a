//! Tags of accounts: set, changed, filtered by, and on record.

use purser_tests::{Agent, AppSettings, Operator, TestApp, TestDatabase, TestNetwork};
use serde_json::{Value, json};

async fn an_operator() -> Operator {
    Operator::shared().await.app().new_operator().await
}

async fn tagged(operator: &Operator, name: &str, tags: Value) -> Agent {
    let body = json!({ "name": name, "tags": tags });
    let created = operator.client.post("/v1/accounts", &body).await.has_status(201);
    Agent::of(operator, &created)
}

/// The names of the accounts that a query finds, oldest first.
async fn found(operator: &Operator, query: &str) -> Vec<String> {
    let listed = operator.client.get(&format!("/v1/accounts{query}")).await.has_status(200);
    let names = listed["data"].as_array().expect("a list").iter().rev();
    names.map(|account| account["name"].as_str().expect("a name").to_owned()).collect()
}

#[tokio::test]
async fn tags_are_set_changed_as_a_whole_and_taken_away() {
    let operator = an_operator().await;
    let client = &operator.client;
    let agent = tagged(&operator, "Ada", json!(["team:research", "eu", "eu"])).await;
    let plain = operator.creates_account("Ben").await;
    let tags = async |agent: &Agent| client.get(&agent.path("")).await.has_status(200)["tags"].clone();
    assert_eq!(tags(&agent).await, json!(["eu", "team:research"]), "each once, in order");
    assert_eq!(tags(&plain).await, json!([]));
    let renamed = client.patch(&agent.path(""), &json!({ "name": "Ada 2" })).await.has_status(200);
    assert_eq!(renamed["tags"], json!(["eu", "team:research"]), "what is left out stays");
    let changed = client.patch(&agent.path(""), &json!({ "tags": ["us"] })).await.has_status(200);
    assert_eq!((&changed["tags"], &changed["name"]), (&json!(["us"]), &json!("Ada 2")));
    let on_record = client.get("/v1/actions?action=update_account").await.has_status(200);
    assert_eq!(on_record["data"][0]["after"], json!({ "tags": ["us"] }));
    client.patch(&agent.path(""), &json!({ "tags": [] })).await.has_status(200);
    assert_eq!(tags(&agent).await, json!([]));
    // An agent sees the tags of its own account.
    assert_eq!(agent.new_key().await.get(&agent.path("")).await.has_status(200)["tags"], json!([]));
}

#[tokio::test]
async fn list_by_tag_holds_exactly_the_accounts_that_have_it() {
    lists_by_tag(an_operator().await).await;
    if let Some(database) = TestDatabase::create().await {
        let settings = AppSettings { database: Some(database), ..AppSettings::default() };
        let app = TestApp::start(TestNetwork::shared().await, &settings).await;
        lists_by_tag(app.new_operator().await).await;
    }
}

async fn lists_by_tag(operator: Operator) {
    tagged(&operator, "one", json!(["eu", "a_b"])).await;
    tagged(&operator, "two", json!(["eu-west", "eu"])).await;
    tagged(&operator, "three", json!(["neu", "axb"])).await;
    let paused = tagged(&operator, "four", json!(["eu"])).await;
    paused.sets_policy(json!({ "paused": true })).await;
    for (query, names) in [
        ("?tag=eu", &["one", "two", "four"][..]),
        ("?tag=eu-west", &["two"]),
        // No character is a wildcard.
        ("?tag=a_b", &["one"]),
        ("?tag=u", &[]),
        ("?tag=eu&status=active", &["one", "two"]),
        ("?tag=eu&status=paused", &["four"]),
        ("", &["one", "two", "three", "four"]),
    ] {
        assert_eq!(found(&operator, query).await, names, "{query}");
    }
    let stranger = operator.app().new_operator().await;
    assert!(found(&stranger, "?tag=eu").await.is_empty(), "another operator's tags");
    // Page by page; a cursor is good only for its own tag.
    let first = operator.client.get("/v1/accounts?tag=eu&limit=2").await.has_status(200);
    let cursor = first.text_of("cursor");
    assert_eq!(found(&operator, &format!("?tag=eu&limit=2&cursor={cursor}")).await, ["one"]);
    let other = format!("/v1/accounts?tag=eu-west&limit=2&cursor={cursor}");
    operator.client.get(&other).await.blames("cursor");
    operator.client.get("/v1/accounts?tag=EU").await.blames("tag");
}

#[tokio::test]
async fn what_is_no_tag_is_refused_by_its_place() {
    let operator = an_operator().await;
    let many: Vec<String> = (0..21).map(|tag| format!("t{tag}")).collect();
    for (tags, blamed) in [
        (json!(["eu", "EU"]), "tags[1]"),
        (json!([""]), "tags[0]"),
        (json!(["a b"]), "tags[0]"),
        (json!(["x".repeat(65)]), "tags[0]"),
        (json!(many), "tags"),
    ] {
        let body = json!({ "name": "Ada", "tags": tags });
        operator.client.post("/v1/accounts", &body).await.blames(blamed);
    }
    for tags in [json!("eu"), json!([1]), json!({ "eu": true })] {
        let body = json!({ "name": "Ada", "tags": tags });
        operator.client.post("/v1/accounts", &body).await.is_error(400, "invalid_request");
    }
    let agent = tagged(&operator, "Ada", json!(["eu"])).await;
    for tags in [json!(null), json!(["A"])] {
        operator.client.patch(&agent.path(""), &json!({ "tags": tags })).await.has_status(400);
    }
}
