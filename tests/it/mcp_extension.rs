//! Who may connect to `/mcp`, and with what.

use purser_tests::agent::unique_key;
use purser_tests::{Answer, Client};
use reqwest::Method;
use serde_json::json;

use crate::mcp::{OLD_ERA, ada, initializes, message, request};

#[tokio::test]
async fn extension_is_closed_to_operators_strangers_and_revoked_keys() {
    let (agent, key) = ada().await;
    let operator = initialize_attempt(&agent.operator.client).await.is_error(403, "forbidden");
    assert!(operator.text_of("message").contains("agent key"));
    let nobody = initialize_attempt(&key.without_key()).await.is_error(401, "unauthorized");
    assert_eq!(nobody.header("www-authenticate"), Some("Bearer"));
    let session = initializes(&key).await.header("mcp-session-id").expect("a session").to_owned();
    let keys = agent.operator.client.get(&agent.path("/keys")).await.has_status(200);
    let key_id = keys["data"][0]["id"].as_str().expect("an id");
    agent.operator.client.delete(&format!("/v1/keys/{key_id}")).await;
    let in_session = request(&key, &message("tools/list", &json!({}))).header("mcp-session-id", session);
    key.sends(in_session).await.is_error(401, "unauthorized");
}

#[tokio::test]
async fn host_that_registers_for_oauth_is_told_to_configure_a_key() {
    let (_, key) = ada().await;
    let metadata = json!({ "client_name": "host", "redirect_uris": ["http://127.0.0.1:1/callback"] });
    let refused = key.without_key().post("/register", &metadata).await.has_status(400);
    assert_eq!(refused["error"], "invalid_client_metadata", "{}", refused.text);
    let told = refused.text_of("error_description");
    assert!(told.contains("does not use OAuth") && told.contains("Authorization: Bearer"), "{told}");
    // No metadata leads anywhere else.
    for path in ["/.well-known/oauth-protected-resource/mcp", "/.well-known/oauth-authorization-server"] {
        key.without_key().get(path).await.has_status(404);
    }
}

async fn initialize_attempt(client: &Client) -> Answer {
    let params = json!({ "protocolVersion": OLD_ERA, "capabilities": {}, "clientInfo": { "name": "t", "version": "1" } });
    client.sends(request(client, &message("initialize", &params))).await
}

#[tokio::test]
async fn session_of_another_key_is_not_found_even_for_the_same_account() {
    let (agent, key) = ada().await;
    let other = agent.new_key().await;
    let session = initializes(&other).await.header("mcp-session-id").expect("a session").to_owned();
    let ping = message("ping", &json!({}));
    other.sends(request(&other, &ping).header("mcp-session-id", &session)).await.has_status(200);
    for foreign in [session.as_str(), "made-up", ""] {
        let asked = request(&key, &ping).header("mcp-session-id", foreign);
        key.sends(asked).await.is_error(404, "not_found");
    }
}

#[tokio::test]
async fn page_of_another_origin_and_a_name_that_is_not_ours_are_refused() {
    let (_, key) = ada().await;
    let ping = message("ping", &json!({}));
    for (header, value) in [
        ("origin", "https://evil.example"),
        ("origin", "null"),
        ("origin", "http://localhost:1"),
        ("host", "evil.example"),
        ("host", "localhost.evil.example:80"),
    ] {
        let answer = key.sends(request(&key, &ping).header(header, value)).await;
        answer.is_error(403, "forbidden");
    }
    key.sends(request(&key, &ping).header("host", "localhost:1234")).await.has_status(200);
    for (origin, status) in
        [("http://localhost:1234", 200), ("http://localhost:1235", 403), ("ftp://localhost:1234", 403)]
    {
        let own_page = request(&key, &ping).header("host", "localhost:1234").header("origin", origin);
        key.sends(own_page).await.has_status(status);
    }
    let rebound = request(&key, &ping).header("host", "evil.example").header("origin", "http://evil.example");
    key.sends(rebound).await.is_error(403, "forbidden");
}

#[tokio::test]
async fn client_is_answered_in_json_whatever_it_says_that_it_accepts() {
    let (_, key) = ada().await;
    for accept in ["*/*", "application/json", "text/html", "", ";;,"] {
        let asked = key.request(Method::POST, "/mcp").header("accept", accept);
        let answer = key.sends(asked.json(&message("ping", &json!({})))).await.has_status(200);
        assert_eq!(answer.header("content-type"), Some("application/json"), "{accept}");
    }
}

#[tokio::test]
async fn body_that_is_no_single_message_is_refused_in_the_shape_of_rest() {
    let (agent, key) = ada().await;
    let (payee, _) = agent.operator.chain.new_payee().await;
    let order = json!({ "to": payee.to_string(), "amount": "1", "idempotency_key": unique_key() });
    let call = message("tools/call", &json!({ "name": "send_transfer", "arguments": order }));
    let batch = json!([call, call]).to_string();
    let twice = call.to_string().replacen("\"amount\":\"1\"", "\"amount\":\"1\",\"amount\":\"2\"", 1);
    assert!(twice.contains("\"2\""));
    for (text, status) in [(batch, 400), (twice, 400), ("{".into(), 400), (" ".repeat(70_000), 413)] {
        let request = key
            .request(Method::POST, "/mcp")
            .header("accept", "application/json, text/event-stream")
            .header("content-type", "application/json");
        key.sends(request.body(text)).await.has_status(status).has_error_shape();
    }
    for no_message in
        [json!({}), json!({ "jsonrpc": "2.0", "id": 0, "method": "initialize", "params": [null, null] })]
    {
        key.sends(request(&key, &no_message)).await.is_error(400, "invalid_request");
    }
    for method in [Method::GET, Method::DELETE, Method::PUT] {
        key.sends(key.request(method, "/mcp")).await.is_error(405, "method_not_allowed");
    }
    assert_eq!(agent.operator.chain.usdc_micros(&payee).await, 0);
}
