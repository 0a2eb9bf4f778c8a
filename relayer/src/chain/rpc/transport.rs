//! One call to one node: one POST, timed and counted.

use crate::chain::ChainError;
use crate::chain::rpc::counters::RpcCounters;
use crate::chain::rpc::node_fault::{CallError, NodeFault};
use crate::lookup::Lookups;
use crate::traces::step;
use async_trait::async_trait;
use reqwest::header::{HeaderMap, RETRY_AFTER};
use reqwest::{NoProxy, Proxy};
use serde::Deserialize;
use serde_json::{Value, json};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, LazyLock};
use std::time::Duration;
use tracing::Instrument;

/// How long one call may take, including the connect.
pub const CALL_TIMEOUT: Duration = Duration::from_secs(10);
const CONNECT_TIMEOUT: Duration = Duration::from_secs(3);
/// The largest answer that we read: a program account of maximum size in base64, with some room.
const ANSWER_BYTES_MAX: usize = 16 * 1024 * 1024;
/// Threads that resolve node names.
const LOOKUPS_AT_ONCE: usize = 16;

/// Something that answers JSON-RPC calls.
#[async_trait]
pub trait Transport: Send + Sync + 'static {
    /// The `result` of the answer.
    async fn call(&self, method: &'static str, params: Value) -> Result<Value, CallError>;
}

/// A node over HTTP. It does not retry: the caller knows whether to retry, and on which node.
pub struct HttpTransport {
    client: reqwest::Client,
    url: String,
    next_id: AtomicU64,
    counters: Arc<RpcCounters>,
}

#[derive(Deserialize)]
struct NodeAnswer {
    #[serde(default)]
    id: Value,
    #[serde(default)]
    result: Value,
    error: Option<AnswerError>,
}

impl NodeAnswer {
    /// A balancer may deliver the answer to another client's question: another transaction's landing is not ours.
    /// An error need not name the question that it answers.
    fn is_to(&self, id: u64) -> bool {
        self.id.as_u64() == Some(id) || (self.id.is_null() && self.error.is_some())
    }
}

#[derive(Deserialize)]
struct AnswerError {
    code: i64,
    message: String,
}

impl HttpTransport {
    /// Connects lazily; every call gets its own timeout.
    ///
    /// Ignores proxies from the environment, so that calls to a node on this machine stay here. `proxy` is used for every other
    /// machine.
    pub fn new(url: &str, proxy: Option<&str>, counters: Arc<RpcCounters>) -> Result<Self, ChainError> {
        let mut client = reqwest::Client::builder().no_proxy();
        if let Some(proxy) = proxy {
            let wrong = |_| ChainError::Misconfigured("`rpc_proxy` is not the URL of a proxy".into());
            let here = NoProxy::from_string("localhost,127.0.0.0/8,::1");
            client = client.proxy(Proxy::all(proxy).map_err(wrong)?.no_proxy(here));
        }
        let client = client
            .dns_resolver(lookups())
            .timeout(CALL_TIMEOUT)
            .connect_timeout(CONNECT_TIMEOUT)
            .tcp_nodelay(true)
            .build()
            .map_err(|error| ChainError::Misconfigured(format!("HTTP client: {}", error.without_url())))?;
        // Starts at random: another relayer's questions must not have the same numbers.
        let next_id = AtomicU64::new(u64::from(rand::random::<u32>()));
        Ok(Self { client, url: url.to_owned(), next_id, counters })
    }

    async fn post(&self, method: &'static str, params: Value) -> Result<Value, CallError> {
        let id = self.next_id.fetch_add(1, Ordering::Relaxed);
        let body = json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params });
        let sent = self.client.post(&self.url).json(&body).send().await;
        let response = sent.map_err(|error| CallError::of_request(&error))?;
        let (status, pause) = (response.status(), retry_after(response.headers()));
        let bytes = read_answer(response).await?;
        // Some nodes put the JSON-RPC error into a 4xx or 5xx answer. Its code says more than the status.
        let answer = serde_json::from_slice::<NodeAnswer>(&bytes);
        if answer.as_ref().is_ok_and(|answer| status.is_success() && !answer.is_to(id)) {
            return Err(CallError::Node(NodeFault::Unreadable));
        }
        match answer {
            Ok(NodeAnswer { error: Some(AnswerError { code, message }), .. }) => {
                Err(match CallError::of_code(code, message) {
                    CallError::Node(NodeFault::RateLimited { retry_after: None }) => {
                        CallError::Node(NodeFault::RateLimited { retry_after: pause })
                    }
                    error => error,
                })
            }
            Ok(NodeAnswer { result, error: None, .. }) if status.is_success() => Ok(result),
            Ok(_) | Err(_) if !status.is_success() => Err(CallError::of_status(status, pause)),
            Ok(_) | Err(_) => Err(CallError::Node(NodeFault::Unreadable)),
        }
    }
}

/// Reads the body, up to the largest size of an answer.
async fn read_answer(mut response: reqwest::Response) -> Result<Vec<u8>, CallError> {
    let mut bytes = Vec::new();
    while let Some(chunk) = response.chunk().await.map_err(|error| CallError::of_request(&error))? {
        if bytes.len() + chunk.len() > ANSWER_BYTES_MAX {
            return Err(CallError::Node(NodeFault::TooLong));
        }
        bytes.extend_from_slice(&chunk);
    }
    Ok(bytes)
}

/// Shared by all nodes and their websockets.
pub fn lookups() -> Arc<Lookups> {
    static LOOKUPS: LazyLock<Arc<Lookups>> = LazyLock::new(|| Arc::new(Lookups::new(2 * LOOKUPS_AT_ONCE)));
    LOOKUPS.clone()
}

#[async_trait]
impl Transport for HttpTransport {
    async fn call(&self, method: &'static str, params: Value) -> Result<Value, CallError> {
        self.counters.called(method);
        let answer = self.post(method, params).instrument(step!("rpc", rpc.method = method)).await;
        if answer.is_err() {
            self.counters.failed(method);
        }
        answer
    }
}

/// Seconds only: nodes do not use the date form.
fn retry_after(headers: &HeaderMap) -> Option<Duration> {
    headers.get(RETRY_AFTER)?.to_str().ok()?.trim().parse().ok().map(Duration::from_secs)
}

#[cfg(test)]
mod tests;
