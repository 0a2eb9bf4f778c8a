//! Lists of accounts by tag, on both databases.

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
