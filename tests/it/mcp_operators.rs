//! What operator keys may do at `/mcp`, if the configuration allows them.

use futures::future::join_all;
use purser_tests::agent::unique_key;
use purser_tests::{AppSettings, Client, Operator, TestApp, TestNetwork};
use serde_json::{Value, json};

use crate::mcp::{ada, asks, asks_anew, calls, initializes, is_refused, succeeds, tools_of};

const TOOLS: [&str; 5] = ["list_accounts", "create_account", "get_account", "get_policy", "update_policy"];

/// An operator on a relayer that allows operators at `/mcp`.
async fn let_in() -> Operator {
    let settings = AppSettings { sections: "[mcp]\noperator_tools = true\n", ..AppSettings::default() };
    TestApp::start(TestNetwork::shared().await, &settings).await.new_operator().await
}

fn names(tools: &[Value]) -> Vec<&str> {
    tools.iter().filter_map(|tool| tool["name"].as_str()).collect()
}

async fn refused_at_the_extension(client: &Client) {
    let call = json!({ "name": "update_policy", "arguments": { "account_id": "acct_x", "paused": false } });
    asks(client, "tools/list", json!({})).await.is_error(403, "forbidden");
    asks(client, "tools/call", call.clone()).await.is_error(403, "forbidden");
    asks_anew(client, "tools/call", call).await.is_error(403, "forbidden");
}

#[tokio::test]
async fn operator_key_has_no_tools_unless_the_configuration_says_so() {
    let (agent, _) = ada().await;
    refused_at_the_extension(&agent.operator.client).await;
}

#[tokio::test]
async fn operator_key_has_accounts_and_policies_and_nothing_that_pays() {
    let operator = let_in().await;
    let client = &operator.client;
    let hello = initializes(client).await;
    assert!(hello["result"]["instructions"].as_str().is_some_and(|text| text.contains("No tool pays")));
    let tools = tools_of(client).await;
    assert_eq!(names(&tools), TOOLS);
    for tool in &tools {
        let reads = ["list_accounts", "get_account", "get_policy"]
            .contains(&tool["name"].as_str().unwrap_or_default());
        assert_eq!(tool["annotations"]["readOnlyHint"], reads, "{tool}");
        assert!(tool["outputSchema"]["anyOf"].is_array(), "{tool}");
        assert_eq!(tool["inputSchema"]["type"], "object", "{tool}");
    }
    let again = asks_anew(client, "tools/list", json!({})).await.has_status(200);
    assert_eq!(again["result"]["tools"], Value::from(tools));
    for tool in ["send_transfer", "preview_transfer", "get_balance", "POST /v1/transfers"] {
        let call = json!({ "name": tool, "arguments": { "to": "x", "amount": "1" } });
        let answer = asks(client, "tools/call", call).await.has_status(200);
        assert_eq!(answer["error"]["code"], -32602, "{}", answer.text);
    }
}

#[tokio::test]
async fn a_flood_under_the_same_key_does_not_hold_up_who_pauses() {
    let sections = "[mcp]\noperator_tools = true\n";
    let settings = AppSettings { sections, requests_per_second: 1, burst: 30, ..AppSettings::default() };
    let operator = TestApp::start(TestNetwork::shared().await, &settings).await.new_operator().await;
    let account = operator.creates_account("Ada").await.id;
    let client = &operator.client;
    let policy = |fields: Value| {
        let mut arguments = json!({ "account_id": account });
        arguments.as_object_mut().expect("an object").extend(fields.as_object().expect("fields").clone());
        calls(client, "update_policy", arguments)
    };
    let is_over_rate = |result: &Value| result["structuredContent"]["error"] == "rate_limited";
    // Once may be luck: a request passes each second.
    for _ in 0..5 {
        let mut tries = 0..1_000;
        while !is_over_rate(&calls(client, "get_account", json!({ "account_id": account })).await) {
            tries.next().expect("there is a limit");
        }
        assert_eq!(succeeds(&policy(json!({ "paused": true })).await)["paused"], true);
    }
    // What lifts a pause is none, and pauses have a limit too.
    for fields in [json!({ "paused": false }), json!({ "paused": true })] {
        let mut tries = 0..1_000;
        while !is_over_rate(&policy(fields.clone()).await) {
            tries.next().expect("there is a limit");
        }
    }
}

#[tokio::test]
async fn agent_key_has_its_eight_tools_alone_where_operators_are_let_in() {
    let operator = let_in().await;
    let agent = operator.creates_account_with("Ada", "5").await;
    let key = agent.new_key().await;
    let policy = operator.client.get(&agent.path("/policy")).await.has_status(200);
    let tools = tools_of(&key).await;
    assert_eq!(tools.len(), 8);
    for tool in TOOLS.into_iter().filter(|tool| *tool != "get_account") {
        assert!(!names(&tools).contains(&tool));
        let arguments =
            json!({ "account_id": agent.id, "paused": false, "max_daily_spend": null, "name": "x" });
        let call = json!({ "name": tool, "arguments": arguments });
        for answer in
            [asks(&key, "tools/call", call.clone()).await, asks_anew(&key, "tools/call", call).await]
        {
            assert!(
                answer["error"]["code"].is_i64() && answer["result"].is_null(),
                "{tool}: {}",
                answer.text
            );
        }
    }
    // The operator's session does not give its rights to another key.
    let session = initializes(&operator.client).await.header("mcp-session-id").expect("a session").to_owned();
    let message = crate::mcp::message("tools/list", &json!({}));
    let borrowed = crate::mcp::request(&key, &message).header("mcp-session-id", session);
    key.sends(borrowed).await.is_error(404, "not_found");
    assert_eq!(operator.client.get(&agent.path("/policy")).await.body, policy.body);
}

#[tokio::test]
async fn changes_over_mcp_are_on_record_with_the_key_that_made_them() {
    let operator = let_in().await;
    let named = json!({ "name": "assistant", "scopes": ["admin"] });
    let made = operator.client.post("/v1/keys", &named).await.has_status(201);
    let assistant = operator.client.with_key(made.text_of("key"));
    let arguments = json!({ "name": "Ada", "idempotency_key": unique_key() });
    let created = calls(&assistant, "create_account", arguments.clone()).await;
    let id = succeeds(&created)["account_id"].clone();
    assert_eq!(succeeds(&calls(&assistant, "create_account", arguments).await)["account_id"], id, "the same");
    let change = json!({ "account_id": id, "max_single_transfer": 5 });
    let changed = calls(&assistant, "update_policy", change).await;
    let stale = json!({ "account_id": id, "max_single_transfer": 6, "expected_version": 1 });
    is_refused(&calls(&assistant, "update_policy", stale).await, "policy_changed");
    succeeds(&calls(&operator.client, "update_policy", json!({ "account_id": id, "paused": true })).await);

    let listed = operator.client.get("/v1/actions?limit=3").await.has_status(200);
    let [paused, updated, first] = [0_usize, 1, 2].map(|place| &listed["data"][place]);
    assert_eq!((&paused["action"], &paused["object_id"]), (&json!("update_policy"), &id), "{}", listed.text);
    assert_ne!(paused["key_id"], made["id"]);
    assert_eq!((&first["action"], &first["made_id"]), (&json!("create_account"), &id), "{}", listed.text);
    assert_eq!((&updated["action"], &updated["object_id"]), (&json!("update_policy"), &id));
    assert_eq!(updated["tx_signature"], succeeds(&changed)["tx_signature"]);
    for action in [first, updated] {
        let by = (&action["key_id"], &action["key_name"], &action["session_id"]);
        assert_eq!(by, (&made["id"], &json!("assistant"), &Value::Null), "{action}");
        assert_eq!(
            (&action["outcome"], &action["address"]),
            (&json!("done"), &json!("127.0.0.1")),
            "{action}"
        );
    }
}

#[tokio::test]
async fn tools_of_operators_answer_what_rest_answers() {
    let operator = let_in().await;
    let client = &operator.client;
    let arguments = json!({
        "name": "Ada", "idempotency_key": unique_key(), "metadata": { "team": "a" },
        "policy": { "max_daily_spend": 20, "require_memo": true },
    });
    let created = calls(client, "create_account", arguments).await;
    let id = succeeds(&created)["account_id"].as_str().expect("an id").to_owned();
    let path = format!("/v1/accounts/{id}");
    let read = calls(client, "get_account", json!({ "account_id": id })).await;
    let rest = client.get(&path).await.has_status(200);
    assert_eq!(succeeds(&read)["policy"], rest["policy"]);
    assert_eq!(
        (&succeeds(&read)["metadata"], &rest["metadata"]),
        (&json!({ "team": "a" }), &json!({ "team": "a" }))
    );
    let policy = calls(client, "get_policy", json!({ "account_id": id })).await;
    assert_eq!(succeeds(&policy), &client.get(&format!("{path}/policy")).await.has_status(200).body);
    let change = json!({ "account_id": id, "max_single_transfer": 2.5, "expected_version": succeeds(&policy)["version"], "reason": "a test" });
    let changed = calls(client, "update_policy", change.clone()).await;
    let stands = client.get(&format!("{path}/policy")).await.has_status(200);
    for policy in [succeeds(&changed), &stands.body] {
        let fields = (&policy["max_single_transfer"], &policy["max_daily_spend"], &policy["require_memo"]);
        assert_eq!(fields, (&json!(2.5), &json!(20), &json!(true)));
    }
    let late = calls(client, "update_policy", change).await;
    let (sentence, _) = is_refused(&late, "policy_changed");
    assert!(sentence.contains("Read the policy again"), "{sentence}");
    succeeds(&calls(client, "update_policy", json!({ "account_id": id, "paused": true })).await);
    let listed = calls(client, "list_accounts", json!({ "status": "paused", "limit": 1 })).await;
    assert_eq!(succeeds(&listed)["data"][0]["account_id"], id.as_str());
}

#[tokio::test]
async fn account_asked_for_many_times_under_one_key_is_made_once() {
    let operator = let_in().await;
    let arguments = json!({ "name": "Ada", "idempotency_key": unique_key() });
    let asks = (0..10).map(|_| calls(&operator.client, "create_account", arguments.clone()));
    let made: Vec<Value> = join_all(asks).await;
    let ids: Vec<&Value> = made
        .iter()
        .filter(|result| result["isError"] != true)
        .map(|result| &succeeds(result)["account_id"])
        .collect();
    assert!(!ids.is_empty() && ids.iter().all(|id| *id == ids[0]), "{made:?}");
    let listed = operator.client.get("/v1/accounts").await.has_status(200);
    assert_eq!(listed["data"].as_array().map(Vec::len), Some(1));
    let other = json!({ "name": "Ben", "idempotency_key": arguments["idempotency_key"] });
    is_refused(&calls(&operator.client, "create_account", other).await, "idempotency_conflict");
}

#[tokio::test]
async fn wrong_arguments_of_operators_are_refused_and_reach_no_other_route() {
    let operator = let_in().await;
    let agent = operator.creates_account("Ada").await;
    let client = &operator.client;
    for (tool, arguments) in [
        ("get_account", json!({})),
        ("get_account", json!({ "account_id": "../webhooks" })),
        ("get_account", json!({ "account_id": format!("{}/keys", agent.id) })),
        ("get_account", json!({ "account_id": agent.id, "more": 1 })),
        ("get_policy", json!({ "account_id": 7 })),
        ("list_accounts", json!({ "limit": 101 })),
        ("list_accounts", json!({ "operator_id": "op_x" })),
        ("create_account", json!({ "name": "x" })),
        ("create_account", json!({ "name": "x", "idempotency_key": "" })),
        ("create_account", json!({ "idempotency_key": unique_key() })),
        ("update_policy", json!({ "account_id": agent.id, "max_daily_spend": "1.0000001" })),
        ("update_policy", json!({ "account_id": agent.id, "unknown": 1 })),
    ] {
        let result = calls(client, tool, arguments.clone()).await;
        let (sentence, _) = is_refused(&result, "invalid_request");
        assert!(sentence.len() > 10, "{tool} {arguments}: {sentence}");
    }
    let (foreign, _) = ada().await;
    let unknown = calls(client, "update_policy", json!({ "account_id": foreign.id, "paused": true })).await;
    is_refused(&unknown, "not_found");
}
