//! The whole official MCP suite for servers. What the relayer does not implement is listed with its reason in
//! `tests/foreign/mcp-conformance.yaml`.

use std::sync::Arc;

use axum::Router;
use axum::body::Bytes;
use axum::extract::State;
use axum::http::{HeaderMap, Method, StatusCode, Uri, header};
use purser_tests::{Operator, foreign, network::temp_folder};
use reqwest::Client;
use tokio::net::TcpListener;

/// Scenarios that must pass, except for single checks.
const SCENARIOS: [&str; 8] = [
    "server-initialize",
    "server-session-lifecycle",
    "ping",
    "tools-list",
    "server-stateless",
    "caching",
    "http-header-validation",
    "dns-rebinding-protection",
];

/// The suite cannot send keys: this adds one to every request, and changes nothing else, including `Host` and `Origin`.
struct Forwarder {
    url: String,
    key: String,
    http: Client,
}

async fn passes_on(
    State(forwarder): State<Arc<Forwarder>>,
    method: Method,
    uri: Uri,
    mut headers: HeaderMap,
    body: Bytes,
) -> (StatusCode, HeaderMap, Bytes) {
    headers.remove(header::CONTENT_LENGTH);
    let request = forwarder.http.request(method, format!("{}{}", forwarder.url, uri.path())).headers(headers);
    let answer = request.bearer_auth(&forwarder.key).body(body).send().await.expect("the relayer answers");
    let (status, mut headers) = (answer.status(), answer.headers().clone());
    headers.remove(header::TRANSFER_ENCODING);
    (status, headers, answer.bytes().await.expect("a whole answer"))
}

#[tokio::test]
async fn official_suite_passes_except_for_the_listed_cases() {
    let Some(modules) = foreign::node_modules() else { return };
    let agent = Operator::shared().await.creates_account_with("Ada", "100").await;
    let key = agent.new_key().await.key().to_owned();
    let forwarder = Forwarder { url: agent.operator.app().base_url(), key, http: Client::new() };
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a local port is free");
    let port = listener.local_addr().expect("the listener is bound").port();
    let router = Router::new().fallback(passes_on).with_state(Arc::new(forwarder));
    let served = tokio::spawn(async move { axum::serve(listener, router).await });

    let folder = temp_folder();
    let line = "conformance server --url \"$URL\" --suite all --expected-failures \"$EXPECTED\"";
    let mut suite = foreign::shell(folder.path(), &[modules.join(".bin")], line);
    suite.env("URL", format!("http://localhost:{port}/mcp"));
    suite.env("EXPECTED", foreign::file("mcp-conformance.yaml")).env("NO_COLOR", "1");
    let report = foreign::printed(suite).await;
    served.abort();
    for scenario in SCENARIOS {
        let line = report.lines().find(|line| line.contains(&format!(" {scenario}: ")));
        let passed = line.and_then(|line| line.split_once(": ")?.1.split_once(" passed"));
        let passed: usize = passed.and_then(|(number, _)| number.parse().ok()).unwrap_or_default();
        assert!(passed > 0, "{scenario}: {report}");
    }
    assert!(report.contains("✓ dns-rebinding-protection: 2 passed, 0 failed"), "{report}");
}
