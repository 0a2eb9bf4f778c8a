//! Plain HTTP with JSON, to processes on this machine.

use std::time::Duration;

use anyhow::{Context, Result, bail};
use serde_json::{Value, json};

const TIMEOUT: Duration = Duration::from_secs(60);

/// The REST interface, with an operator key.
pub struct Api<'a> {
    pub base_url: &'a str,
    pub key: &'a str,
}

impl Api<'_> {
    pub fn get(&self, path: &str) -> Result<Value> {
        let request = agent().get(format!("{}{path}", self.base_url));
        answer_of(request.uri_ref().map(ToString::to_string), authorized(request, self.key).call())
    }

    pub fn post(&self, path: &str, body: &Value) -> Result<Value> {
        send(agent().post(format!("{}{path}", self.base_url)), Some(self.key), body)
    }

    pub fn patch(&self, path: &str, body: &Value) -> Result<Value> {
        send(agent().patch(format!("{}{path}", self.base_url)), Some(self.key), body)
    }

    pub fn put(&self, path: &str, body: &Value) -> Result<Value> {
        send(agent().put(format!("{}{path}", self.base_url)), Some(self.key), body)
    }
}

/// Calls a method of JSON-RPC.
pub fn call(url: &str, method: &str, params: &Value) -> Result<Value> {
    let request = json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": params });
    let answer = send(agent().post(url), None, &request)?;
    match (answer.get("result"), answer["error"]["message"].as_str()) {
        (Some(result), _) => Ok(result.clone()),
        (None, Some(message)) => bail!("{method}: {message}"),
        (None, None) => bail!("{method} answered {answer}"),
    }
}

fn agent() -> ureq::Agent {
    ureq::Agent::config_builder().timeout_global(Some(TIMEOUT)).http_status_as_error(false).build().into()
}

fn send(
    mut request: ureq::RequestBuilder<ureq::typestate::WithBody>,
    key: Option<&str>,
    body: &Value,
) -> Result<Value> {
    if let Some(key) = key {
        request = authorized(request, key);
    }
    answer_of(request.uri_ref().map(ToString::to_string), request.send_json(body))
}

fn authorized<B>(request: ureq::RequestBuilder<B>, key: &str) -> ureq::RequestBuilder<B> {
    request.header("Authorization", format!("Bearer {key}"))
}

fn answer_of(
    url: Option<String>,
    response: Result<ureq::http::Response<ureq::Body>, ureq::Error>,
) -> Result<Value> {
    let url = url.unwrap_or_default();
    let mut response = response.with_context(|| format!("no answer from {url}"))?;
    let status = response.status();
    let text = response.body_mut().read_to_string()?;
    if !status.is_success() {
        bail!("{url} answered {status}: {text}");
    }
    serde_json::from_str(&text).with_context(|| format!("{url} did not answer with JSON: {text}"))
}
