//! What keys may do: POST and GET /v1/keys, and who revokes whom. Each scope against each route: auth_matrix.rs.

use std::time::Duration;

use purser_tests::{AppSettings, Browser, Client, Operator, TestApp, TestNetwork};
use serde_json::{Value, json};

use crate::mcp::{calls, is_refused, succeeds};

/// A key made by `maker`, and its id.
async fn makes(maker: &Client, body: Value) -> (Client, String) {
    let made = maker.post("/v1/keys", &body).await.has_status(201);
    (maker.with_key(made.text_of("key")), made.text_of("id").to_owned())
}

async fn an_operator() -> Operator {
    Operator::shared().await.app().new_operator().await
}

async fn revokes(by: &Client, id: &str, status: u16) {
    by.delete(&format!("/v1/keys/{id}")).await.has_status(status);
}

#[tokio::test]
async fn operator_key_is_made_shown_once_and_listed() {
    let operator = an_operator().await;
    let body = json!({ "name": "monitor", "scopes": ["halt", "read"] });
    let made = operator.client.post("/v1/keys", &body).await.has_status(201);
    let key = made.text_of("key");
    assert!(key.starts_with("psr_op_test_"), "{key}");
    assert_eq!((&made["name"], &made["account_id"]), (&json!("monitor"), &Value::Null));
    assert_eq!(made["scopes"], json!(["read", "halt"]));
    let listed = operator.client.get("/v1/keys").await.has_status(200);
    let keys = listed["data"].as_array().expect("a list");
    assert_eq!(keys.len(), 2, "{}", listed.text);
    assert_eq!((&keys[0]["id"], &keys[0]["made_by"]), (&made["id"], &keys[1]["id"]));
    assert_eq!((&keys[1]["scopes"], &keys[1]["made_by"]), (&json!(["admin"]), &Value::Null));
    assert!(!listed.text.contains(key), "a key is never shown again");
    let by_shell = operator.app().runs(&["key", "list", "--operator", &operator.id]);
    assert_eq!(by_shell[0]["scopes"], json!(["read", "halt"]), "{by_shell}");
    assert_eq!((&by_shell[0]["made_by"], &by_shell[1]["scopes"]), (&keys[1]["id"], &json!(["admin"])));
}

#[tokio::test]
async fn command_line_makes_keys_with_scopes() {
    let operator = an_operator().await;
    let create = ["key", "create", "--operator", &operator.id, "--scopes", "policy,read"];
    let made = operator.app().runs(&create);
    assert_eq!(made["scopes"], json!(["read", "policy"]));
    let key = operator.client.with_key(made["key"].as_str().expect("a key"));
    key.get("/v1/accounts").await.has_status(200);
    key.post("/v1/accounts", &json!({ "name": "Ada" })).await.is_error(403, "forbidden");
    assert_eq!(key.get("/v1/keys").await["data"][0]["scopes"], json!(["read", "policy"]));
}

#[tokio::test]
async fn scopes_are_words_that_there_are_in_any_order_and_any_number_of_times() {
    let operator = an_operator().await;
    for (scopes, blamed) in [
        (json!([]), "scopes"),
        (json!(["Read"]), "scopes[0]"),
        (json!(["read", "READ"]), "scopes[1]"),
        (json!(["read "]), "scopes[0]"),
        (json!(["*"]), "scopes[0]"),
        (json!(["read pay"]), "scopes[0]"),
        (json!(["approve"]), "scopes[0]"),
        (json!(["read", "read", "read", "read", "read", "read", "read"]), "scopes"),
    ] {
        operator.client.post("/v1/keys", &json!({ "scopes": scopes })).await.blames(blamed);
    }
    for scopes in [json!("read"), json!([1]), json!({ "read": true })] {
        operator.client.post("/v1/keys", &json!({ "scopes": scopes })).await.is_error(400, "invalid_request");
    }
    let body = json!({ "scopes": ["halt", "read", "halt", "read"] });
    let made = operator.client.post("/v1/keys", &body).await.has_status(201);
    assert_eq!(made["scopes"], json!(["read", "halt"]));
    let agent = operator.creates_account("Ada").await;
    for scopes in [json!(["policy"]), json!(["read", "admin"]), json!(["halt", "pay"])] {
        operator.client.post(&agent.path("/keys"), &json!({ "scopes": scopes })).await.blames("scopes");
    }
}

#[tokio::test]
async fn no_key_makes_one_that_may_do_more() {
    let operator = an_operator().await;
    let agent = operator.creates_account("Ada").await;
    let admin = &operator.client;
    let (read, _) = makes(admin, json!({ "scopes": ["read"] })).await;
    for body in [json!({}), json!({ "scopes": ["read"] }), json!({ "scopes": ["admin"] })] {
        read.post("/v1/keys", &body).await.is_error(403, "forbidden");
        read.post(&agent.path("/keys"), &json!({})).await.is_error(403, "forbidden");
    }
    let (policy, _) = makes(admin, json!({ "scopes": ["read", "policy"] })).await;
    for more in [
        json!(["admin"]),
        json!(["read", "policy", "admin"]),
        json!(["policy", "halt"]),
        json!(["pay"]),
        json!(["reject-approvals"]),
        json!(["read", "pay", "policy", "halt", "reject-approvals"]),
    ] {
        let refused = policy.post("/v1/keys", &json!({ "scopes": more })).await.is_error(403, "forbidden");
        assert!(refused.text_of("message").contains("`scopes`"), "{}", refused.text);
    }
    policy.post(&agent.path("/keys"), &json!({ "scopes": ["pay"] })).await.is_error(403, "forbidden");
    // What is not asked for is as of the key that asks, and so on.
    let of_agent = policy.post(&agent.path("/keys"), &json!({})).await.has_status(201);
    assert_eq!(of_agent["scopes"], json!(["read"]));
    let (child, _) = makes(&policy, json!({})).await;
    let (grandchild, _) = makes(&child, json!({ "scopes": ["policy"] })).await;
    child.patch(&agent.path("/policy"), &json!({ "paused": true })).await.has_status(200);
    grandchild.patch(&agent.path("/policy"), &json!({ "paused": false })).await.has_status(200);
    grandchild.get("/v1/keys").await.is_error(403, "forbidden");
    grandchild.post("/v1/keys", &json!({ "scopes": ["read"] })).await.is_error(403, "forbidden");
    let (halt, _) = makes(admin, json!({ "scopes": ["halt"] })).await;
    halt.post(&agent.path("/keys"), &json!({})).await.is_error(403, "forbidden");
    // All scopes but one are not that one.
    let (rest, _) =
        makes(admin, json!({ "scopes": ["read", "pay", "policy", "halt", "reject-approvals"] })).await;
    rest.post("/v1/keys", &json!({ "scopes": ["admin"] })).await.is_error(403, "forbidden");
    rest.post("/v1/accounts", &json!({ "name": "Ben" })).await.is_error(403, "forbidden");
    let agents = agent.new_key().await;
    agents.post("/v1/keys", &json!({})).await.is_error(403, "forbidden");
    agents.get("/v1/keys").await.is_error(403, "forbidden");
}

#[tokio::test]
async fn no_key_makes_one_that_ends_later_or_is_used_from_elsewhere() {
    let operator = an_operator().await;
    let admin = &operator.client;
    let bound = json!({
        "expires_at": "2099-01-01T00:00:00Z", "allowed_cidrs": ["127.0.0.0/8", "2001:db8::/32"],
    });
    let (bound, _) = makes(admin, bound).await;
    for (beyond, field) in [
        (json!({ "expires_at": "2099-01-01T00:00:01Z" }), "`expires_at`"),
        (json!({ "allowed_cidrs": ["0.0.0.0/0"] }), "`allowed_cidrs`"),
        (json!({ "allowed_cidrs": ["127.0.0.1", "198.51.100.7"] }), "`allowed_cidrs`"),
        (json!({ "allowed_cidrs": ["2001:db8::/31"] }), "`allowed_cidrs`"),
    ] {
        let refused = bound.post("/v1/keys", &beyond).await.is_error(403, "forbidden");
        assert!(refused.text_of("message").contains(field), "{}", refused.text);
    }
    let like_it = bound.post("/v1/keys", &json!({})).await.has_status(201);
    assert_eq!(like_it["expires_at"], "2099-01-01T00:00:00.000000Z");
    assert_eq!(like_it["allowed_cidrs"], json!(["127.0.0.0/8", "2001:db8::/32"]));
    let within = json!({ "expires_at": "2098-01-01T00:00:00Z", "allowed_cidrs": ["127.0.0.1"] });
    let (within, _) = makes(&bound, within).await;
    within.get("/v1/accounts").await.has_status(200);
    // The agent is elsewhere than who makes its key.
    let agent = operator.creates_account("Ada").await;
    let agents = bound.post(&agent.path("/keys"), &json!({})).await.has_status(201);
    assert_eq!((&agents["expires_at"], &agents["allowed_cidrs"]), (&Value::Null, &Value::Null));
}

#[tokio::test]
async fn key_revokes_itself_and_what_it_made_and_no_other() {
    let operator = an_operator().await;
    let agent = operator.creates_account("Ada").await;
    let root = &operator.client;
    let root_id = root.get("/v1/keys").await["data"][0]["id"].as_str().expect("an id").to_owned();
    let (parent, parent_id) = makes(root, json!({ "scopes": ["policy", "read"] })).await;
    let (child, child_id) = makes(&parent, json!({})).await;
    let (grandchild, grandchild_id) = makes(&child, json!({})).await;
    let (_, other_id) = makes(root, json!({})).await;
    let agents = agent.operator.client.post(&agent.path("/keys"), &json!({})).await.has_status(201);
    // Neither who made it, nor who stands beside it, nor a key of an agent that it did not make.
    for by in [&parent, &child, &grandchild] {
        for id in [root_id.as_str(), &other_id, agents.text_of("id")] {
            revokes(by, id, 403).await;
        }
    }
    revokes(&child, &parent_id, 403).await;
    revokes(&grandchild, &child_id, 403).await;
    revokes(&grandchild, &parent_id, 403).await;
    // What a revoked key made works on, and its own maker can still end that.
    revokes(&parent, &child_id, 204).await;
    child.get("/v1/accounts").await.is_error(401, "unauthorized");
    child.delete(&format!("/v1/keys/{grandchild_id}")).await.is_error(401, "unauthorized");
    child.post("/v1/keys", &json!({})).await.is_error(401, "unauthorized");
    grandchild.get("/v1/accounts").await.has_status(200);
    revokes(&grandchild, &child_id, 403).await;
    revokes(&parent, &grandchild_id, 204).await;
    grandchild.get("/v1/accounts").await.is_error(401, "unauthorized");
    // Again changes nothing, and nothing brings one back.
    revokes(&parent, &child_id, 204).await;
    child.get("/v1/accounts").await.is_error(401, "unauthorized");
    let (_, own_id) = makes(&parent, json!({})).await;
    parent.delete("/v1/keys/self").await.has_status(204);
    revokes(root, &own_id, 204).await;
    let of_another = an_operator().await;
    revokes(&of_another.client, &other_id, 404).await;
    revokes(root, agents.text_of("id"), 204).await;
}

#[tokio::test]
async fn key_with_read_alone_changes_nothing_but_its_own_end() {
    let operator = an_operator().await;
    let (read, id) = makes(&operator.client, json!({ "scopes": ["read"] })).await;
    read.get("/v1/keys").await.has_status(200);
    revokes(&read, &id, 204).await;
    read.get("/v1/keys").await.is_error(401, "unauthorized");
}

#[tokio::test]
async fn key_that_was_kept_by_0_1_0_has_all_rights() {
    let app = TestApp::start(TestNetwork::shared().await, &AppSettings::default()).await;
    let operator = app.new_operator().await;
    let agent = operator.creates_account_with("Ada", "2").await;
    let agents = agent.new_key().await;
    let (payee, _) = operator.chain.new_payee().await;
    let database = rusqlite::Connection::open(app.folder().join("purser.db")).expect("opened");
    database.busy_timeout(Duration::from_secs(20)).expect("set");
    database.execute("UPDATE api_keys SET scopes = NULL, made_by = NULL", []).expect("written");
    let listed = operator.client.get("/v1/keys").await.has_status(200);
    assert_eq!(
        (&listed["data"][0]["scopes"], &listed["data"][0]["made_by"]),
        (&json!(["admin"]), &Value::Null)
    );
    operator.client.post("/v1/keys", &json!({ "scopes": ["admin"] })).await.has_status(201);
    operator.client.patch(&agent.path("/policy"), &json!({ "require_memo": false })).await.has_status(200);
    agent.pays("1").to(&payee).by(&agents).await.is_settled();
    let listed = operator.client.get(&agent.path("/keys")).await.has_status(200);
    assert_eq!(listed["data"][0]["scopes"], json!(["read", "pay"]));
}

#[tokio::test]
async fn session_may_do_what_the_key_may_that_opened_it() {
    let operator = an_operator().await;
    let agent = operator.creates_account("Ada").await;
    let base = operator.app().base_url();
    let page = |rest: &str| format!("/dashboard/accounts/{}{rest}", agent.id);
    let forms = [
        ("/dashboard/accounts".to_owned(), "admin"),
        ("/dashboard/webhooks".to_owned(), "admin"),
        ("/dashboard/webhooks/none/test".to_owned(), "admin"),
        (page("/pause"), "policy"),
        (page("/policy"), "policy"),
        (page("/policy/drop"), "policy"),
        ("/dashboard/budgets/none".to_owned(), "policy"),
        (page("/halt"), "halt"),
        ("/dashboard/stop-all".to_owned(), "halt"),
        ("/dashboard/preview".to_owned(), "read"),
    ];
    let pages = ["/dashboard", "/dashboard/accounts", "/dashboard/transfers", "/dashboard/webhooks"];
    for scope in ["read", "pay", "reject-approvals", "policy"] {
        let (key, _) = makes(&operator.client, json!({ "scopes": [scope] })).await;
        let browser = Browser::signed_in(&base, key.key()).await;
        for path in pages.iter().map(|path| (*path).to_owned()).chain([page("")]) {
            let answer = browser.reads(&path).await;
            let expected = if scope == "read" { 200 } else { 403 };
            assert_eq!(answer.status, expected, "{scope} {path}: {}", answer.text);
        }
        for (path, needed) in &forms {
            let answer = browser.sends_form(path, &[]).await;
            let is_open = scope == *needed || (path.ends_with("/preview") && scope == "pay");
            let lacks = answer.status == 403 && answer.text.contains("scope");
            assert_eq!(lacks, !is_open, "{scope} {path}: {} {}", answer.status, answer.text);
        }
        let account = operator.client.get(&agent.path("")).await.has_status(200);
        assert_eq!(
            (&account["policy"]["paused"], &account["halted"]),
            (&json!(scope == "policy"), &Value::Null)
        );
        browser.sends_form("/dashboard/sign-out", &[]).await.has_status(303);
    }
    let (read, _) = makes(&operator.client, json!({ "scopes": ["read"] })).await;
    let browser = Browser::signed_in(&base, read.key()).await;
    browser.sends_form(&page("/keys"), &[("name", "more")]).await.has_status(403);
    let listed = operator.client.get(&agent.path("/keys")).await.has_status(200);
    assert_eq!(listed["data"], json!([]));
}

#[tokio::test]
async fn tools_of_mcp_need_the_scopes_of_their_routes() {
    let operator = an_operator().await;
    let agent = operator.creates_account_with("Ada", "2").await;
    let (payee, _) = operator.chain.new_payee().await;
    let pays = |name: &str| json!({ "to": payee.to_string(), "amount": "0.5", "idempotency_key": name });
    for (scope, opens, closed) in
        [("read", "get_balance", "send_transfer"), ("pay", "send_transfer", "get_balance")]
    {
        let body = json!({ "scopes": [scope] });
        let made = operator.client.post(&agent.path("/keys"), &body).await.has_status(201);
        let key = operator.client.with_key(made.text_of("key"));
        let arguments =
            |tool: &str| if tool == "send_transfer" { pays(&format!("by-{scope}")) } else { json!({}) };
        succeeds(&calls(&key, opens, arguments(opens)).await);
        let refused = calls(&key, closed, arguments(closed)).await;
        let (sentence, _) = is_refused(&refused, "forbidden");
        assert!(sentence.contains("scope"), "{sentence}");
        succeeds(&calls(&key, "preview_transfer", json!({ "to": payee.to_string(), "amount": "0.5" })).await);
    }
    assert_eq!(agent.balance_micros().await, 1_500_000);
    let settings = AppSettings { sections: "[mcp]\noperator_tools = true\n", ..AppSettings::default() };
    let operator = TestApp::start(TestNetwork::shared().await, &settings).await.new_operator().await;
    let account = operator.creates_account("Ben").await;
    let (read, _) = makes(&operator.client, json!({ "scopes": ["read"] })).await;
    succeeds(&calls(&read, "get_policy", json!({ "account_id": account.id })).await);
    for (tool, arguments) in [
        ("update_policy", json!({ "account_id": account.id, "paused": true })),
        ("create_account", json!({ "name": "Cy", "idempotency_key": "cy" })),
    ] {
        is_refused(&calls(&read, tool, arguments).await, "forbidden");
    }
}

#[tokio::test]
async fn dashboard_lists_makes_and_revokes_operator_keys_within_the_scopes_of_the_session() {
    let operator = an_operator().await;
    let base = operator.app().base_url();
    let (policy, policy_id) =
        makes(&operator.client, json!({ "name": "people", "scopes": ["read", "policy"] })).await;
    let browser = Browser::signed_in(&base, policy.key()).await;
    let page = browser.reads("/dashboard/keys").await.has_status(200).says("people").says("read policy");
    assert!(!page.text.contains(r#"name="scopes" value="halt""#), "{}", page.text);
    let name_of_form =
        page.text.split(r#"name="once" value=""#).nth(1).and_then(|rest| rest.split('"').next());
    let once = name_of_form.expect("the form has a name");
    let refused = [("once", once), ("name", "more"), ("scopes", "halt")];
    browser.sends_form("/dashboard/keys", &refused).await.has_status(403).says("`scopes`");
    browser.sends_form("/dashboard/keys", &[("name", "none")]).await.has_status(400);
    let form = [("once", once), ("name", "reader"), ("scopes", "read")];
    let made = browser.sends_form("/dashboard/keys", &form).await.has_status(200);
    let again = browser.sends_form("/dashboard/keys", &form).await.has_status(200);
    let key_in = |answer: &purser_tests::Answer| {
        let at = answer.text.find("psr_op_test_").expect("a key is shown");
        answer.text[at..].split('<').next().expect("a key").to_owned()
    };
    assert_eq!(key_in(&made), key_in(&again), "the second click makes no second key");
    let reader = operator.client.with_key(&key_in(&made));
    let listed = reader.get("/v1/keys").await.has_status(200);
    let newest = &listed["data"][0];
    assert_eq!((&newest["scopes"], &newest["made_by"]), (&json!(["read"]), &json!(policy_id)));
    let id = newest["id"].as_str().expect("an id");
    let root = listed["data"][2]["id"].as_str().expect("an id");
    let page = browser.reads("/dashboard/keys").await.has_status(200).text;
    let offered = [id, &policy_id, root].map(|id| page.contains(&format!(r#"name="key" value="{id}""#)));
    assert_eq!(offered, [true, true, false], "what would be refused is not offered: {page}");
    assert!(page.contains(r#"by <bdi>people</bdi>"#), "{page}");
    browser.sends_form("/dashboard/keys/revoke", &[("key", root)]).await.has_status(403);
    browser.sends_form("/dashboard/keys/revoke", &[("key", id)]).await.leads_to("/dashboard/keys?revoked=1");
    reader.get("/v1/keys").await.is_error(401, "unauthorized");
    browser
        .sends_form("/dashboard/keys/revoke", &[("key", &policy_id)])
        .await
        .leads_to("/dashboard/keys?revoked=1");
    browser.reads("/dashboard/keys").await.has_status(303);
}
