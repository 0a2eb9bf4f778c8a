//! `POST /mcp`: what agents see and may do, in both eras of the protocol, in raw JSON-RPC.

use futures::future::join_all;
use purser_tests::agent::unique_key;
use purser_tests::{Agent, Answer, AppSettings, Client, Operator, TestApp, TestNetwork};
use reqwest::Method;
use serde_json::{Value, json};

const TOOLS: [&str; 8] = [
    "get_account",
    "get_balance",
    "get_limits",
    "preview_transfer",
    "send_transfer",
    "pay_http",
    "get_transfer",
    "list_transactions",
];

/// The last revision with sessions, and the first without.
pub const OLD_ERA: &str = "2025-06-18";
const NEW_ERA: &str = "2026-07-28";

pub fn request(client: &Client, message: &Value) -> reqwest::RequestBuilder {
    client.request(Method::POST, "/mcp").header("accept", "application/json, text/event-stream").json(message)
}

pub fn message(method: &str, params: &Value) -> Value {
    json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": params })
}

/// Sends a request as old-era clients do once they are initialized.
pub async fn asks(client: &Client, method: &str, params: Value) -> Answer {
    let request = request(client, &message(method, &params)).header("mcp-protocol-version", OLD_ERA);
    client.sends(request).await
}

/// Sends a request as new-era clients do: each one is self-contained.
pub async fn asks_anew(client: &Client, method: &str, params: Value) -> Answer {
    asks_as(client, json!({}), method, params).await
}

/// The same, of a client that can do this.
pub async fn asks_as(client: &Client, capabilities: Value, method: &str, mut params: Value) -> Answer {
    params["_meta"] = json!({
        "io.modelcontextprotocol/protocolVersion": NEW_ERA,
        "io.modelcontextprotocol/clientCapabilities": capabilities,
    });
    let name = params["name"].as_str().map(str::to_owned);
    let mut request = request(client, &message(method, &params))
        .header("mcp-protocol-version", NEW_ERA)
        .header("mcp-method", method);
    if let Some(name) = name {
        request = request.header("mcp-name", name);
    }
    client.sends(request).await
}

pub async fn initializes(client: &Client) -> Answer {
    let params = json!({
        "protocolVersion": OLD_ERA, "capabilities": {}, "clientInfo": { "name": "test", "version": "1" }
    });
    client.sends(request(client, &message("initialize", &params))).await.has_status(200)
}

pub async fn calls(client: &Client, tool: &str, arguments: Value) -> Value {
    let answer = asks(client, "tools/call", json!({ "name": tool, "arguments": arguments })).await;
    answer.has_status(200)["result"].clone()
}

#[track_caller]
pub fn succeeds(result: &Value) -> &Value {
    assert_ne!(result["isError"], true, "{result}");
    let text = result["content"][0]["text"].as_str().expect("a text for those who read no structure");
    let read: Value = serde_json::from_str(text).expect("JSON");
    assert_eq!(read, result["structuredContent"]);
    &result["structuredContent"]
}

/// The sentence and the body of a refusal with this code.
#[track_caller]
pub fn is_refused<'a>(result: &'a Value, code: &str) -> (&'a str, &'a Value) {
    let body = &result["structuredContent"];
    assert_eq!((&result["isError"], body["error"].as_str()), (&json!(true), Some(code)), "{result}");
    assert!(body["request_id"].as_str().is_some_and(|id| id.starts_with("req_")), "{result}");
    (result["content"][0]["text"].as_str().expect("a sentence"), body)
}

fn without_request_id(body: &Value) -> Value {
    let mut body = body.clone();
    body.as_object_mut().expect("an object").remove("request_id");
    body
}

pub async fn tools_of(client: &Client) -> Vec<Value> {
    let listed = asks(client, "tools/list", json!({})).await.has_status(200);
    listed["result"]["tools"].as_array().expect("tools").clone()
}

pub async fn ada() -> (Agent, Client) {
    let agent = Operator::shared().await.creates_account_with("Ada", "100").await;
    let key = agent.new_key().await;
    (agent, key)
}

#[tokio::test]
async fn both_eras_find_the_eight_tools_and_what_they_do() {
    let (_, key) = ada().await;
    let opened = initializes(&key).await;
    assert_eq!(opened["result"]["protocolVersion"], OLD_ERA);
    assert_eq!(opened["result"]["serverInfo"]["name"], "purser");
    let session = opened.header("mcp-session-id").expect("a session").to_owned();
    let initialized = json!({ "jsonrpc": "2.0", "method": "notifications/initialized" });
    let initialized = request(&key, &initialized)
        .header("mcp-session-id", &session)
        .header("mcp-protocol-version", OLD_ERA);
    key.sends(initialized).await.has_status(202);
    let ping = request(&key, &message("ping", &json!({}))).header("mcp-session-id", &session);
    assert_eq!(key.sends(ping).await.has_status(200)["result"], json!({}));

    let found = asks_anew(&key, "server/discover", json!({})).await.has_status(200);
    let versions = found["result"]["supportedVersions"].as_array().expect("versions");
    assert!(versions.contains(&json!(NEW_ERA)) && versions.contains(&json!(OLD_ERA)), "{versions:?}");
    assert!(found.header("mcp-session-id").is_none());

    let old = tools_of(&key).await;
    let new = asks_anew(&key, "tools/list", json!({})).await.has_status(200);
    assert_eq!(&old, new["result"]["tools"].as_array().expect("tools"));
    let names: Vec<_> = old.iter().map(|tool| tool["name"].as_str().expect("a name")).collect();
    assert_eq!(names, TOOLS);
    for tool in &old {
        let is_payment = tool["name"] == "send_transfer" || tool["name"] == "pay_http";
        let hints = &tool["annotations"];
        assert_eq!(hints["readOnlyHint"], json!(!is_payment), "{tool}");
        assert_eq!(hints["idempotentHint"], true, "{tool}");
        assert_eq!(hints["destructiveHint"], if is_payment { json!(true) } else { Value::Null }, "{tool}");
        assert_eq!(
            (&tool["inputSchema"]["type"], &tool["outputSchema"]["type"]),
            (&json!("object"), &json!("object"))
        );
        assert_eq!(tool["inputSchema"]["type"], "object", "{tool}");
        assert!(!tool.to_string().contains("#/components"), "{tool}");
    }
}

#[tokio::test]
async fn payment_names_itself_and_its_schema_says_so() {
    let (_, key) = ada().await;
    let tools = tools_of(&key).await;
    let send = tools.iter().find(|tool| tool["name"] == "send_transfer").expect("send_transfer");
    assert_eq!(send["inputSchema"]["required"], json!(["to", "amount", "idempotency_key"]));
    assert!(send["inputSchema"]["properties"]["from"].is_null());
    let description =
        send["inputSchema"]["properties"]["idempotency_key"]["description"].as_str().expect("a text");
    let sentence = "the name of this payment; keep it when you retry; a new one is a second payment";
    assert!(description.starts_with(sentence), "{description}");
    assert_eq!(send["inputSchema"]["properties"]["to"]["type"], "string");
    assert_eq!(send["inputSchema"]["properties"]["to_is_wallet"]["type"], "boolean");
    let nameless = calls(&key, "send_transfer", json!({ "to": "x", "amount": "1" })).await;
    assert_eq!(is_refused(&nameless, "invalid_request").1["param"], "idempotency_key");
}

#[tokio::test]
async fn tools_answer_what_rest_answers() {
    let (agent, key) = ada().await;
    let (payee, _) = agent.operator.chain.new_payee().await;
    let order = json!({
        "to": payee.to_string(), "amount": "1.25", "memo": "tea", "idempotency_key": unique_key()
    });
    let paid = calls(&key, "send_transfer", order.clone()).await;
    let paid = succeeds(&paid);
    assert_eq!(paid["status"], "settled");
    let id = paid["transfer_id"].as_str().expect("an id");
    let over_rest = key.get(&format!("/v1/transfers/{id}")).await.has_status(200);
    assert_eq!(paid, &over_rest.body);
    let got = calls(&key, "get_transfer", json!({ "transfer_id": id })).await;
    assert_eq!(succeeds(&got), &over_rest.body);
    for (tool, below) in
        [("get_account", ""), ("get_limits", "/limits"), ("list_transactions", "/transactions")]
    {
        let called = calls(&key, tool, json!({})).await;
        let rest = key.get(&agent.path(below)).await.has_status(200);
        let mut answer = succeeds(&called).clone();
        if tool == "get_account" {
            answer["balance_as_of"] = rest["balance_as_of"].clone();
        }
        assert_eq!(answer, rest.body, "{tool}");
    }
    let balance = calls(&key, "get_balance", json!({})).await;
    assert_eq!(succeeds(&balance)["balance_usdc"], "98.750000");
    let preview = calls(&key, "preview_transfer", json!({ "to": payee.to_string(), "amount": "1000" })).await;
    assert_eq!(succeeds(&preview)["allowed"], false);
    let page = calls(&key, "list_transactions", json!({ "limit": 1, "status": "settled" })).await;
    assert_eq!(succeeds(&page)["data"].as_array().map(Vec::len), Some(1));
    let arguments = json!({ "type": "transfer", "until": "2100-01-01T00:00:00Z" });
    let payments = calls(&key, "list_transactions", arguments).await;
    let payments = succeeds(&payments)["data"].as_array().cloned().unwrap_or_default();
    assert!(!payments.is_empty() && payments.iter().all(|entry| entry["type"] == "transfer"));
    // The new era with the same key for the same payment: it is not made again.
    let call = json!({ "name": "send_transfer", "arguments": order });
    let again = asks_anew(&key, "tools/call", call).await.has_status(200);
    let mut same = again["result"]["structuredContent"].clone();
    assert_eq!(same.as_object_mut().and_then(|same| same.remove("replayed")), Some(json!(true)));
    assert_eq!(same, over_rest.body);
    assert_eq!(agent.operator.chain.usdc_micros(&payee).await, 1_250_000);
}

#[tokio::test]
async fn payment_past_the_limits_waits_for_a_person_where_the_agent_asks_for_one() {
    let (agent, key) = ada().await;
    agent.sets_policy(json!({ "max_single_transfer": 2 })).await;
    let (payee, _) = agent.operator.chain.new_payee().await;
    let mut order = json!({ "to": payee.to_string(), "amount": "3", "idempotency_key": unique_key() });
    let refused = calls(&key, "send_transfer", order.clone()).await;
    assert_eq!(refused["isError"], true);
    let advice = refused["content"].to_string();
    assert!(advice.contains("same idempotency_key and approval `request`"), "{advice}");
    order["approval"] = json!("request");
    let asked = calls(&key, "send_transfer", order.clone()).await;
    let asked = succeeds(&asked);
    assert_eq!((&asked["status"], &asked["error"]), (&json!("pending_approval"), &json!("policy_violation")));
    let path = format!("/v1/approvals/{}", asked["transfer_id"].as_str().expect("an id"));
    agent.operator.client.delete(&path).await.has_status(204);
    let over = calls(&key, "send_transfer", order).await;
    assert!(over["content"].to_string().contains("a person said no"), "{over}");
}

#[tokio::test]
async fn hundred_calls_of_one_payment_at_once_pay_once() {
    let (agent, key) = ada().await;
    let (payee, _) = agent.operator.chain.new_payee().await;
    let before = agent.operator.chain.transactions_of(&agent.address).await;
    let order = json!({ "to": payee.to_string(), "amount": "1", "idempotency_key": unique_key() });
    let results = join_all((0..100).map(|_| calls(&key, "send_transfer", order.clone()))).await;
    let mut first = 0;
    for result in &results {
        let mut paid = succeeds(result).clone();
        let replayed = paid.as_object_mut().and_then(|paid| paid.remove("replayed"));
        first += usize::from(replayed.is_none());
        assert_eq!(
            (&paid["status"], &paid["transfer_id"]),
            (&json!("settled"), &succeeds(&results[0])["transfer_id"])
        );
    }
    assert_eq!(first, 1, "one call made it, the others repeat it");
    assert_eq!(agent.operator.chain.transactions_of(&agent.address).await, before + 1);
    assert_eq!(agent.operator.chain.usdc_micros(&payee).await, 1_000_000);
}

#[tokio::test]
async fn refusal_has_the_body_of_rest_and_says_what_is_possible() {
    let (agent, key) = ada().await;
    let (payee, _) = agent.operator.chain.new_payee().await;
    agent.sets_policy(json!({ "max_single_transfer": 5, "max_daily_spend": 6.5 })).await;
    let order = |amount: &str, name: &str| json!({ "to": payee.to_string(), "amount": amount, "idempotency_key": name });
    let single = calls(&key, "send_transfer", order("5.5", &unique_key())).await;
    let (sentence, _) = is_refused(&single, "policy_violation");
    assert!(sentence.contains("At most 5.00 USDC. "), "{sentence}");

    succeeds(&calls(&key, "send_transfer", order("3.3", &unique_key())).await);
    let name = unique_key();
    let daily = calls(&key, "send_transfer", order("4", &name)).await;
    let (sentence, body) = is_refused(&daily, "policy_violation");
    let retry_at = body["retry_at"].as_str().expect("a time");
    let (date, _) = retry_at.split_once('T').expect("a date");
    assert!(sentence.contains("At most 3.20 USDC until "), "{sentence}");
    assert!(sentence.contains(" UTC on ") && sentence.contains(&date[..7]), "{sentence}");
    let over_rest = agent.pays("4").to(&payee).by(&key).key(&name).await.is_error(402, "policy_violation");
    assert_eq!(without_request_id(body), over_rest.without_request_id());

    agent.sets_policy(json!({})).await;
    let name = unique_key();
    let poor = calls(&key, "send_transfer", order("1000", &name)).await;
    let (sentence, body) = is_refused(&poor, "insufficient_balance");
    assert!(sentence.contains("the same idempotency_key once the account is funded"), "{sentence}");
    assert!(sentence.contains(&format!("Send it USDC at {}.", agent.token_account)), "{sentence}");
    assert_eq!(body["status"], "failed");
    assert_eq!(agent.operator.chain.usdc_micros(&payee).await, 3_300_000);
}

#[tokio::test]
async fn wrong_arguments_are_blamed_by_name_and_pay_nothing() {
    let (agent, key) = ada().await;
    let (payee, _) = agent.operator.chain.new_payee().await;
    let good = json!({ "to": payee.to_string(), "amount": "1", "idempotency_key": unique_key() });
    let with = |field: &str, value: Value| {
        let mut order = good.clone();
        order[field] = value;
        order
    };
    for (param, order) in [
        ("amount", with("amount", json!(1))),
        ("amount", with("amount", json!("-1"))),
        ("idempotency_key", with("idempotency_key", Value::Null)),
        ("idempotency_key", with("idempotency_key", json!("k".repeat(129)))),
        ("memo", with("memo", json!("m".repeat(201)))),
        ("from", with("from", json!(agent.id))),
        ("policy", with("policy", json!({ "max_single_transfer": null }))),
    ] {
        let result = calls(&key, "send_transfer", order).await;
        let (_, body) = is_refused(&result, "invalid_request");
        assert_eq!(body["param"], param, "{body}");
    }
    let number = calls(&key, "send_transfer", with("amount", json!(1.5))).await;
    let (sentence, _) = is_refused(&number, "invalid_request");
    assert_eq!(sentence, r#"`amount` cannot be 1.5; send a text: "1.5". Nothing was paid."#);
    for (tool, arguments, param) in [
        ("get_balance", json!({ "account_id": agent.id }), "account_id"),
        ("list_transactions", json!({ "limit": 101 }), "limit"),
        ("list_transactions", json!({ "account_id": agent.id }), "account_id"),
        ("get_transfer", json!({}), "transfer_id"),
    ] {
        let result = calls(&key, tool, arguments).await;
        assert_eq!(is_refused(&result, "invalid_request").1["param"], param);
    }
    assert_eq!(agent.operator.chain.usdc_micros(&payee).await, 0);
}

#[tokio::test]
async fn conflict_names_the_transfer_that_holds_the_key() {
    let (agent, key) = ada().await;
    let (payee, _) = agent.operator.chain.new_payee().await;
    let name = unique_key();
    let paid = agent.pays("1").to(&payee).key(&name).await.is_settled();
    let other = json!({ "to": payee.to_string(), "amount": "2", "idempotency_key": name });
    let result = calls(&key, "send_transfer", other).await;
    let (sentence, body) = is_refused(&result, "idempotency_conflict");
    assert_eq!(body["transfer_id"], paid["transfer_id"]);
    assert!(sentence.contains(paid.text_of("transfer_id")), "{sentence}");
}

#[tokio::test]
async fn model_that_names_one_payment_twice_pays_once_unless_it_means_both_or_its_operator_allows_it() {
    let (agent, key) = ada().await;
    let (payee, _) = agent.operator.chain.new_payee().await;
    let order = |name: &str| json!({ "to": payee.to_string(), "amount": "1", "idempotency_key": name });
    let sends = async |order: Value| calls(&key, "send_transfer", order).await;
    let names = [(); 20].map(|()| unique_key());
    let results = join_all(names.iter().map(|name| sends(order(name)))).await;
    let (paid, refused): (Vec<_>, Vec<_>) =
        names.iter().zip(&results).partition(|(_, result)| result["isError"] != true);
    assert_eq!((paid.len(), refused.len()), (1, 19), "{results:?}");
    let id = succeeds(paid[0].1)["transfer_id"].as_str().expect("an id");
    for (_, result) in &refused {
        let (sentence, body) = is_refused(result, "likely_duplicate");
        assert_eq!(body["transfer_id"], id);
        let advice =
            format!("Ask get_transfer for {id} first. Only if both are meant, call again with duplicate_of.");
        assert!(sentence.ends_with(&advice), "{sentence}");
    }
    let mut meant = order(refused[0].0);
    meant["duplicate_of"] = id.into();
    succeeds(&sends(meant).await);
    let mut own = order(refused[1].0);
    own["refuse_duplicate"] = false.into();
    assert_eq!(is_refused(&sends(own).await, "invalid_request").1["param"], "refuse_duplicate");
    // As ever under its own name, and over REST.
    succeeds(&sends(order(paid[0].0)).await);
    agent.pays("1").to(&payee).by(&key).await.is_settled();
    let allowed = json!({ "duplicates": "paid" });
    agent.operator.client.patch(&agent.path(""), &allowed).await.has_status(200);
    succeeds(&sends(order(refused[1].0)).await);
    assert_eq!(agent.operator.chain.usdc_micros(&payee).await, 4_000_000);
}

/// Both eras' clients lose their session or the text over a 429.
#[tokio::test]
async fn too_many_calls_are_answered_as_tool_results_that_say_when_to_call_again() {
    let settings = AppSettings { requests_per_second: 1, burst: 4, ..AppSettings::default() };
    let app = TestApp::start(TestNetwork::shared().await, &settings).await;
    let agent = app.new_operator().await.creates_account_with("Ada", "10").await;
    let key = agent.new_key().await;
    let (payee, _) = agent.operator.chain.new_payee().await;
    let order = json!({ "to": payee.to_string(), "amount": "0.01", "idempotency_key": unique_key() });
    let all = join_all((0..20).map(|_| calls(&key, "send_transfer", order.clone()))).await;
    let refused: Vec<&Value> = all.iter().filter(|result| result["isError"] == true).collect();
    assert!(refused.len() > 5, "{all:?}");
    for result in refused {
        let (sentence, body) = is_refused(result, "rate_limited");
        assert_eq!(body["retryable"], true);
        assert!(
            sentence.ends_with("This call did nothing. Call again with the same idempotency_key in 1 s."),
            "{sentence}"
        );
    }
    let listed = join_all((0..10).map(|_| asks(&key, "tools/list", json!({})))).await;
    assert!(listed.iter().all(|answer| answer.status == 200), "{}", listed[9].text);
    assert!(listed.iter().any(|answer| answer["error"]["message"].is_string()));
    assert_eq!(agent.operator.chain.usdc_micros(&payee).await, 10_000);
}

#[tokio::test]
async fn transfers_and_accounts_of_others_are_not_found() {
    let (agent, key) = ada().await;
    let (payee, _) = agent.operator.chain.new_payee().await;
    let ben = agent.operator.creates_account_with("Ben", "10").await;
    let stranger = Operator::shared().await.creates_account_with("Cyd", "10").await;
    for other in [&ben, &stranger] {
        let paid = other.pays("1").to(&payee).await.is_settled();
        let id = paid.text_of("transfer_id");
        let result = calls(&key, "get_transfer", json!({ "transfer_id": id })).await;
        let (_, body) = is_refused(&result, "not_found");
        let unknown = calls(&key, "get_transfer", json!({ "transfer_id": "txn_nothing" })).await;
        assert_eq!(without_request_id(body), without_request_id(is_refused(&unknown, "not_found").1));
    }
    // Another account's idempotency key reveals nothing about that account's payment.
    let name = unique_key();
    ben.pays("1").to(&payee).key(&name).await.is_settled();
    let taken = json!({ "to": payee.to_string(), "amount": "1", "idempotency_key": name });
    let result = calls(&key, "send_transfer", taken).await;
    assert!(is_refused(&result, "idempotency_conflict").1["transfer_id"].is_null());
}

#[tokio::test]
async fn no_tool_reaches_a_policy_whatever_is_sent() {
    let (agent, key) = ada().await;
    let policy = agent.operator.client.get(&agent.path("/policy")).await.has_status(200);
    for tool in
        ["set_policy", "update_policy", "put_policy", "create_account", "get_policy", "SEND_TRANSFER", ""]
    {
        let call = json!({ "name": tool, "arguments": { "max_single_transfer": null, "paused": false } });
        let old = asks(&key, "tools/call", call.clone()).await.has_status(200);
        assert_eq!(old["error"]["code"], -32602, "{}", old.text);
        let new = asks_anew(&key, "tools/call", call).await;
        assert!(new["error"]["code"].is_i64() && new["result"].is_null(), "{}", new.text);
    }
    for method in [
        "policies/set",
        "resources/list",
        "prompts/get",
        "logging/setLevel",
        "tasks/get",
        "subscriptions/listen",
    ] {
        let answer = asks(&key, method, json!({})).await;
        assert!(answer["error"]["code"].is_i64() && answer["result"].is_null(), "{method}: {}", answer.text);
    }
    let listed = Value::from(tools_of(&key).await).to_string();
    assert!(!listed.contains("max_single_transfer\":{\"limit") && !listed.contains("set_policy"), "{listed}");
    assert_eq!(agent.operator.client.get(&agent.path("/policy")).await.body, policy.body);
}

#[tokio::test]
async fn payment_goes_on_when_its_caller_leaves_and_the_retry_replays_it() {
    let (agent, key) = ada().await;
    let (payee, _) = agent.operator.chain.new_payee().await;
    let order = json!({ "to": payee.to_string(), "amount": "1", "idempotency_key": unique_key() });
    let call = message("tools/call", &json!({ "name": "send_transfer", "arguments": order }));
    for wait_ms in [0, 1, 2, 5, 10, 20, 50] {
        let sent = request(&key, &call).header("mcp-protocol-version", OLD_ERA).send();
        let left = tokio::time::timeout(std::time::Duration::from_millis(wait_ms), sent).await;
        drop(left);
    }
    let cancelled = json!({
        "jsonrpc": "2.0", "method": "notifications/cancelled", "params": { "requestId": 1, "reason": "impatience" }
    });
    key.sends(request(&key, &cancelled).header("mcp-protocol-version", OLD_ERA)).await.has_status(202);
    let paid = calls(&key, "send_transfer", order).await;
    assert_eq!(succeeds(&paid)["status"], "settled");
    assert_eq!(agent.operator.chain.usdc_micros(&payee).await, 1_000_000);
    let listed = calls(&key, "list_transactions", json!({})).await;
    let payments = succeeds(&listed)["data"].as_array().expect("entries");
    assert_eq!(payments.iter().filter(|entry| entry["type"] == "transfer").count(), 1);
}
