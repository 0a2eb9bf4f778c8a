//! MCP on stdin and stdout, for clients that start their servers as processes. Each line goes to a service's `/mcp`, and its
//! answer comes back as a line. The service decides everything; this only forwards.

use parking_lot::Mutex;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result};
use reqwest::header::{ACCEPT, CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue};
use reqwest::{Client, StatusCode, Url};
use secrecy::{ExposeSecret, SecretString};
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader, Stdout, stdin, stdout};
use tokio::task::JoinSet;

const KEY_VARIABLE: &str = "PURSER_AGENT_KEY";
const PROTOCOL_VERSION: HeaderName = HeaderName::from_static("mcp-protocol-version");
const SESSION_ID: HeaderName = HeaderName::from_static("mcp-session-id");
const METHOD: HeaderName = HeaderName::from_static("mcp-method");
const NAME: HeaderName = HeaderName::from_static("mcp-name");
/// From this revision on, headers repeat what the message calls.
const NAMED_IN_HEADERS_FROM: &str = "2026-07-28";
const PARSE_ERROR: i32 = -32_700;
const INTERNAL_ERROR: i32 = -32_603;

#[derive(Debug, clap::Args)]
pub struct Mcp {
    /// The service's MCP address
    #[arg(long, env = "PURSER_MCP_URL", default_value = "http://127.0.0.1:8080/mcp")]
    url: Url,
}

/// The parts of a message that its headers repeat.
#[derive(Deserialize)]
struct McpMessage {
    id: Option<Value>,
    method: Option<String>,
    #[serde(default)]
    params: Params,
}

#[derive(Default, Deserialize)]
struct Params {
    name: Option<String>,
    #[serde(rename = "_meta", default)]
    meta: Meta,
}

#[derive(Default, Deserialize)]
struct Meta {
    #[serde(rename = "io.modelcontextprotocol/protocolVersion")]
    protocol_version: Option<String>,
}

/// What `initialize` negotiated, for the headers of later messages.
#[derive(Clone, Default)]
struct Negotiated {
    protocol_version: Option<String>,
    session_id: Option<HeaderValue>,
}

struct Bridge {
    client: Client,
    url: Url,
    key: SecretString,
    settled: Mutex<Negotiated>,
    out: tokio::sync::Mutex<Stdout>,
}

/// Forwards until stdin ends and everything is answered.
pub async fn run(arguments: Mcp) -> Result<()> {
    let key = std::env::var(KEY_VARIABLE)
        .with_context(|| format!("{KEY_VARIABLE} is not set: it holds the agent's API key"))?;
    let client = Client::builder()
        .connect_timeout(Duration::from_secs(10))
        .redirect(reqwest::redirect::Policy::none())
        .build()?;
    let bridge = Arc::new(Bridge {
        client,
        url: arguments.url,
        key: key.into(),
        settled: Mutex::default(),
        out: tokio::sync::Mutex::new(stdout()),
    });
    let mut lines = BufReader::new(stdin()).lines();
    let mut under_way = JoinSet::new();
    while let Some(line) = lines.next_line().await? {
        if line.trim().is_empty() {
            continue;
        }
        let Ok(message) = serde_json::from_str::<McpMessage>(&line) else {
            bridge.says(&error(&Value::Null, PARSE_ERROR, "This is not a JSON-RPC message.", None)).await?;
            continue;
        };
        if message.method.as_deref() == Some("initialize") {
            bridge.forward(message, line).await?;
        } else {
            let bridge = bridge.clone();
            under_way.spawn(async move { bridge.forward(message, line).await });
        }
        while let Some(done) = under_way.try_join_next() {
            done??;
        }
    }
    while let Some(done) = under_way.join_next().await {
        done??;
    }
    Ok(())
}

impl Bridge {
    /// Errors: stdout is closed.
    async fn forward(&self, message: McpMessage, line: String) -> Result<()> {
        let opens = message.method.as_deref() == Some("initialize");
        let headers = self.headers(&message);
        let sent = self.client.post(self.url.clone()).bearer_auth(self.key.expose_secret()).headers(headers);
        let answer = match sent.body(line).send().await {
            Ok(answer) => answer,
            Err(problem) => return self.failed(&message, &problem).await,
        };
        let (status, session_id) = (answer.status(), answer.headers().get(SESSION_ID).cloned());
        if status == StatusCode::ACCEPTED {
            return Ok(());
        }
        let text = match answer.text().await {
            Ok(text) => text,
            Err(problem) => return self.failed(&message, &problem).await,
        };
        let body = serde_json::from_str::<Value>(&text).unwrap_or(Value::String(text));
        if body.get("jsonrpc").is_some() {
            if opens {
                let version = body.pointer("/result/protocolVersion").and_then(Value::as_str);
                *self.settled.lock() =
                    Negotiated { protocol_version: version.map(str::to_owned), session_id };
            }
            return self.says(&body).await;
        }
        let Some(id) = &message.id else { return Ok(()) };
        let text = body.get("message").or(Some(&body)).and_then(Value::as_str).unwrap_or_default();
        let text = format!("The service answered {status}: {text}");
        self.says(&error(id, INTERNAL_ERROR, &text, Some(&body))).await
    }

    fn headers(&self, message: &McpMessage) -> HeaderMap {
        let settled = self.settled.lock().clone();
        let mut headers = HeaderMap::new();
        headers.insert(ACCEPT, HeaderValue::from_static("application/json, text/event-stream"));
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        let version = message.params.meta.protocol_version.clone().or(settled.protocol_version);
        let mut insert = |name, text: Option<&String>| {
            if let Some(value) = text.and_then(|text| HeaderValue::from_str(text).ok()) {
                headers.insert(name, value);
            }
        };
        if version.as_deref() >= Some(NAMED_IN_HEADERS_FROM) {
            insert(METHOD, message.method.as_ref());
            insert(NAME, message.params.name.as_ref());
        }
        insert(PROTOCOL_VERSION, version.as_ref());
        if let Some(session_id) = settled.session_id {
            headers.insert(SESSION_ID, session_id);
        }
        headers
    }

    /// No answer came, which is fine for a notification.
    async fn failed(&self, message: &McpMessage, problem: &reqwest::Error) -> Result<()> {
        let Some(id) = &message.id else { return Ok(()) };
        let text = format!(
            "The service did not answer ({problem}). A payment may have been made: call send_transfer again with the same \
             idempotency_key, never with a new one."
        );
        self.says(&error(id, INTERNAL_ERROR, &text, None)).await
    }

    async fn says(&self, message: &Value) -> Result<()> {
        let mut out = self.out.lock().await;
        out.write_all(format!("{message}\n").as_bytes()).await?;
        out.flush().await?;
        Ok(())
    }
}

fn error(id: &Value, code: i32, message: &str, data: Option<&Value>) -> Value {
    let mut error = json!({ "code": code, "message": message });
    if let Some(data) = data {
        error["data"] = data.clone();
    }
    json!({ "jsonrpc": "2.0", "id": id, "error": error })
}
