//! GET /v1/accounts/:id/policy/versions: the policies set on the chain, whoever signed them, and who requested them here.

use std::time::Duration;

use purser_client::{DraftAccounts, OnChainPolicy};
use purser_tests::{Agent, Answer, AppSettings, Browser, DirectOutcome, Operator, TestApp, TestNetwork};
use serde_json::{Value, json};
use solana_sdk::signer::Signer;

/// The list, once it has `count` versions.
async fn versions_once(agent: &Agent, count: usize) -> Answer {
    let path = agent.path("/policy/versions");
    let mut listed = agent.operator.client.get(&path).await.has_status(200);
    for _ in 0..600 {
        if listed["data"].as_array().map(Vec::len) == Some(count) {
            return listed;
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
        listed = agent.operator.client.get(&path).await.has_status(200);
    }
    panic!("not {count}: {}", listed.text);
}

fn column<'a>(listed: &'a Answer, field: &str) -> Vec<&'a Value> {
    listed["data"].as_array().expect("a list").iter().map(|version| &version[field]).collect()
}

/// The id of the operator's first key.
fn first_key(operator: &Operator) -> Value {
    let keys = operator.app().runs(&["key", "list", "--operator", &operator.id]);
    let keys = keys.as_array().expect("a list");
    keys.iter().rfind(|key| key["account_id"].is_null()).expect("a key")["id"].clone()
}

#[tokio::test]
async fn versions_say_who_signed_who_asked_and_why() {
    let app = TestApp::start(TestNetwork::shared().await, &AppSettings::default()).await;
    let operator = app.new_operator().await;
    let agent = operator.creates_account("Ada").await;
    let (client, path) = (&operator.client, agent.path("/policy"));
    let put = json!({ "max_single_transfer": 5, "reason": "new supplier" });
    let put = client.put(&path, &put).await.has_status(200);
    let patched = client.patch(&path, &json!({ "require_memo": true })).await.has_status(200);
    let paused =
        client.put(&path, &json!({ "paused": true, "reason": "odd payments" })).await.has_status(200);
    // And once from the admin's own wallet.
    let admin = app.admin();
    let at = DraftAccounts { authority: admin.pubkey(), operator: operator.address, agent: agent.address };
    let program = operator.chain.program();
    let version = operator.chain.agent(&agent.address).await.agent.policy_version;
    let rent_refund = app.policy_authority().pubkey();
    let open = program.set_policy(at, admin.pubkey(), rent_refund, version, &OnChainPolicy::default());
    let DirectOutcome::Settled(_) = operator.chain.lands(open, admin).await else { panic!("it was to land") };

    let listed = versions_once(&agent, 5).await;
    assert_eq!(
        column(&listed, "version"),
        [5, 4, 3, 2, 1].map(|version| json!(version)).iter().collect::<Vec<_>>()
    );
    let key = first_key(&operator);
    let (key, none) = (&key, &Value::Null);
    assert_eq!(column(&listed, "key_id"), [none, key, key, key, none], "{}", listed.text);
    // Each names its action, and the wallet's none.
    let asked = operator.client.get("/v1/actions").await.has_status(200);
    let actions = ["create_account", "replace_policy", "update_policy", "replace_policy"].into_iter().rev();
    let expected = asked["data"].as_array().expect("a list").iter().zip(actions).map(|(listed, name)| {
        assert_eq!(listed["action"], name, "{}", asked.text);
        &listed["id"]
    });
    let expected: Vec<&Value> = std::iter::once(none).chain(expected).collect();
    assert_eq!(column(&listed, "action_id"), expected, "{}", listed.text);
    let browser = Browser::signed_in(&app.base_url(), client.key()).await;
    let mut page = browser.reads(&format!("/dashboard/accounts/{}/policy/versions", agent.id)).await;
    for action in &expected[1..] {
        page = page.says(&format!("action_id={}", action.as_str().expect("an id")));
    }
    let reasons = [&Value::Null, &json!("odd payments"), &Value::Null, &json!("new supplier"), &Value::Null];
    assert_eq!(column(&listed, "reason"), reasons);
    let ours = json!(app.policy_authority().pubkey().to_string());
    let admins = json!(admin.pubkey().to_string());
    assert_eq!(column(&listed, "signer"), [&admins, &ours, &ours, &ours, &ours]);
    for (at, answer) in [(1, &paused), (2, &patched), (3, &put)] {
        assert_eq!(listed["data"][at]["tx_signature"], answer["tx_signature"]);
        assert_eq!(listed["data"][at]["version"], answer["version"]);
        assert_eq!(listed["data"][at]["policy"]["paused"], answer["paused"]);
        assert_eq!(listed["data"][at]["policy"]["max_single_transfer"], answer["max_single_transfer"]);
    }
    assert_eq!(listed["data"][0]["policy"]["paused"], false);
    let page = client.get(&agent.path("/policy/versions?limit=2")).await.has_status(200);
    assert_eq!((page["data"].as_array().map(Vec::len), &page["has_more"]), (Some(2), &json!(true)));
    let next = format!("/policy/versions?limit=2&cursor={}", page.text_of("cursor"));
    let next = client.get(&agent.path(&next)).await.has_status(200);
    assert_eq!(next["data"][0]["version"], 3);
}

#[tokio::test]
async fn reason_is_checked_as_names_are_and_versions_are_the_operators_own() {
    let operator = Operator::shared().await;
    let agent = operator.creates_account("Ada").await;
    let path = agent.path("/policy");
    for reason in
        [json!(""), json!("  "), json!("x".repeat(201)), json!("a\u{202e}b"), json!("a\u{0}b"), json!(7)]
    {
        let body = json!({ "require_memo": true, "reason": reason });
        operator.client.put(&path, &body).await.blames("reason");
        operator.client.patch(&path, &body).await.blames("reason");
    }
    let created = json!({ "name": "Bob", "policy": { "reason": "x" } });
    operator.client.post("/v1/accounts", &created).await.blames("policy.reason");
    let stranger = operator.app().new_operator().await;
    stranger.client.get(&agent.path("/policy/versions")).await.is_error(404, "not_found");
    agent.new_key().await.get(&agent.path("/policy/versions")).await.is_error(403, "forbidden");
}
