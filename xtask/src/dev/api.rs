//! Plain HTTP with JSON, to processes on this machine.

use std::time::Duration;

use anyhow::{Context, Result, bail};
use serde_json::Value;

const TIMEOUT: Duration = Duration::from_secs(60);

/// The REST interface, with an operator key.
pub struct Api<'a> {
    pub base_url: &'a str,
    pub key: &'a str,
}

impl Api<'_> {
    pub fn post(&self, path: &str, body: &Value) -> Result<Value> {
        post_json(&format!("{}{path}", self.base_url), Some(self.key), body)
    }

    pub fn put(&self, path: &str, body: &Value) -> Result<Value> {
        send(agent().put(format!("{}{path}", self.base_url)), Some(self.key), body)
    }
}

pub fn post_json(url: &str, key: Option<&str>, body: &Value) -> Result<Value> {
    send(agent().post(url), key, body)
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
        request = request.header("Authorization", format!("Bearer {key}"));
    }
    let url = request.uri_ref().map(ToString::to_string).unwrap_or_default();
    let mut response = request.send_json(body).with_context(|| format!("no answer from {url}"))?;
    let status = response.status();
    let text = response.body_mut().read_to_string()?;
    if !status.is_success() {
        bail!("{url} answered {status}: {text}");
    }
    serde_json::from_str(&text).with_context(|| format!("{url} did not answer with JSON: {text}"))
}
