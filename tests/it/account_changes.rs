//! `PATCH /v1/accounts/:id`: name and metadata, merged key by key.

use futures::future::join_all;
use purser_tests::{Agent, Operator};
use serde_json::{Value, json};

async fn agent_with(metadata: Value) -> Agent {
    let operator = Operator::shared().await;
    let body = json!({ "name": "Ada", "metadata": metadata });
    let created = operator.client.post("/v1/accounts", &body).await.has_status(201);
    Agent::of(&operator, &created)
}

#[tokio::test]
async fn name_and_metadata_are_changed_and_nothing_else() {
    let agent = agent_with(json!({ "team": "ops" })).await;
    let client = &agent.operator.client;
    let before = client.get(&agent.path("")).await.has_status(200);
    let body = json!({ "name": "Ben", "metadata": { "desk": 7 } });
    let changed = client.patch(&agent.path(""), &body).await.has_status(200);
    let mut expected = before.without_moments();
    expected["name"] = json!("Ben");
    expected["metadata"] = json!({ "team": "ops", "desk": 7 });
    assert_eq!(changed.without_moments(), expected);
    assert_eq!(client.get(&agent.path("")).await.without_moments(), expected);
    let listed = client.get("/v1/accounts").await.has_status(200);
    assert_eq!(
        (&listed["data"][0]["name"], &listed["data"][0]["metadata"]),
        (&expected["name"], &expected["metadata"])
    );
    // An empty change changes nothing, and neither does repeating a change.
    assert_eq!(client.patch(&agent.path(""), &json!({})).await.has_status(200).without_moments(), expected);
    assert_eq!(client.patch(&agent.path(""), &body).await.has_status(200).without_moments(), expected);
}

#[tokio::test]
async fn metadata_merges_key_by_key_and_empty_values_remove_theirs() {
    let agent = agent_with(json!({ "a": 1, "b": { "x": 1, "y": 2 }, "c": "kept" })).await;
    let client = &agent.operator.client;
    for (asked, becomes) in [
        (json!({ "a": 2 }), json!({ "a": 2, "b": { "x": 1, "y": 2 }, "c": "kept" })),
        (json!({ "b": { "z": 3 } }), json!({ "a": 2, "b": { "z": 3 }, "c": "kept" })),
        (json!({ "a": null, "b": "", "absent": null }), json!({ "c": "kept" })),
        (json!({}), json!({ "c": "kept" })),
        (json!({ "c": "" }), json!({})),
        (json!({ "d": [null, ""] }), json!({ "d": [null, ""] })),
        (json!(null), json!(null)),
        (json!({ "e": 0.10 }), json!({ "e": 0.10 })),
        (json!(""), json!(null)),
    ] {
        let changed = client.patch(&agent.path(""), &json!({ "metadata": asked })).await.has_status(200);
        assert_eq!(changed["metadata"], becomes, "{asked}");
    }
}

#[tokio::test]
async fn changes_of_different_keys_at_once_all_hold() {
    let agent = agent_with(json!({})).await;
    let client = &agent.operator.client;
    let bodies: Vec<Value> = (0..8).map(|key| json!({ "metadata": { format!("k{key}"): key } })).collect();
    let path = agent.path("");
    let answers = join_all(bodies.iter().map(|body| client.patch(&path, body))).await;
    for answer in answers {
        answer.has_status(200);
    }
    let metadata = &client.get(&path).await["metadata"];
    assert_eq!(metadata.as_object().map(serde_json::Map::len), Some(8), "{metadata}");
}

#[tokio::test]
async fn change_that_is_not_valid_changes_nothing() {
    let agent = agent_with(json!({ "team": "ops" })).await;
    let client = &agent.operator.client;
    let before = client.get(&agent.path("")).await.has_status(200);
    let many: serde_json::Map<String, Value> = (0..50).map(|key| (format!("k{key}"), json!(key))).collect();
    for (body, param) in [
        (json!({ "name": null }), "name"),
        (json!({ "name": "" }), "name"),
        (json!({ "name": "x".repeat(201) }), "name"),
        (json!({ "name": "a\u{202e}b" }), "name"),
        (json!({ "name": "Ben", "metadata": [] }), "metadata"),
        (json!({ "name": "Ben", "metadata": 5 }), "metadata"),
        (json!({ "name": "Ben", "metadata": { "big": "x".repeat(16 * 1024) } }), "metadata"),
        // Together with the existing one these are 51.
        (json!({ "name": "Ben", "metadata": many }), "metadata"),
        (json!({ "status": "paused" }), "status"),
        (json!({ "policy": {} }), "policy"),
        (json!({ "account_id": agent.id }), "account_id"),
    ] {
        client.patch(&agent.path(""), &body).await.blames(param);
    }
    assert_eq!(client.get(&agent.path("")).await.without_moments(), before.without_moments());
    client.patch("/v1/accounts/acct_01ARZ3NDEKTSV4RRFFQ69G5FAV", &json!({})).await.is_error(404, "not_found");
}
