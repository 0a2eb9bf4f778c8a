//! One call to one node: one POST, timed and counted.

use crate::counters::RpcCounters;
use crate::node_fault::{CallError, NodeFault};
use async_trait::async_trait;
use reqwest::dns::{Addrs, Name, Resolve, Resolving};
use reqwest::header::{HeaderMap, RETRY_AFTER};
use reqwest::{NoProxy, Proxy};
use serde::{Deserialize, Deserializer};
use serde_json::{Value, json};
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;
use tracing::{Instrument, Span};

const CONNECT_TIMEOUT: Duration = Duration::from_secs(3);
/// The largest answer that we read: a program account of maximum size in base64, with some room.
const ANSWER_BYTES_MAX: usize = 16 * 1024 * 1024;

/// How calls are made.
#[derive(Clone)]
pub struct Calls {
    pub through: Through,
    pub resolver: Resolver,
    /// The span of one call of this method.
    pub span: fn(&'static str) -> Span,
    pub patience: Patience,
}

impl Default for Calls {
    fn default() -> Self {
        let (resolver, patience) = (Resolver::default(), Patience::default());
        Self { through: Through::Environment, resolver, span: |_| Span::none(), patience }
    }
}

/// The proxy that calls go through.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Through {
    /// Whatever the environment names, as command-line tools do.
    Environment,
    /// None, whatever the environment names: calls to a node on this machine stay here.
    Nothing,
    /// This one, for every machine but ours.
    Proxy(String),
}

/// How long one call may take, including the connect, and how often it is tried.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Patience {
    pub timeout: Duration,
    pub tries: u32,
}

impl Patience {
    /// For a caller that cannot go on without an answer: the node may be busy, limit its clients or be away for a moment.
    pub const LONG: Self = Self { timeout: Duration::from_secs(60), tries: 7 };
}

impl Default for Patience {
    /// For a caller that knows what to do when no node answers.
    fn default() -> Self {
        Self { timeout: Duration::from_secs(10), tries: 1 }
    }
}

/// Resolves the names of nodes.
#[derive(Clone)]
pub struct Resolver(Arc<dyn Resolve>);

impl Resolver {
    pub fn new(resolver: impl Resolve + 'static) -> Self {
        Self(Arc::new(resolver))
    }

    /// The addresses of a name, without a port.
    pub(crate) async fn addresses(&self, name: &str) -> Option<Addrs> {
        self.0.resolve(name.parse().ok()?).await.ok()
    }
}

impl Default for Resolver {
    fn default() -> Self {
        Self::new(SystemResolver)
    }
}

impl Resolve for Resolver {
    fn resolve(&self, name: Name) -> Resolving {
        self.0.resolve(name)
    }
}

struct SystemResolver;

impl Resolve for SystemResolver {
    fn resolve(&self, name: Name) -> Resolving {
        Box::pin(async move {
            let found: Vec<SocketAddr> = tokio::net::lookup_host((name.as_str(), 0)).await?.collect();
            let addresses: Addrs = Box::new(found.into_iter());
            Ok(addresses)
        })
    }
}

/// No HTTP client can be made of these settings.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NoClient {
    #[error("not the URL of a proxy")]
    Proxy,
    #[error("HTTP client: {0}")]
    Client(String),
}

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
    span: fn(&'static str) -> Span,
    counters: Arc<RpcCounters>,
}

#[derive(Deserialize)]
struct NodeAnswer {
    #[serde(default)]
    id: Value,
    /// `null` is a result too.
    #[serde(default, deserialize_with = "given")]
    result: Option<Value>,
    error: Option<AnswerError>,
}

fn given<'de, D: Deserializer<'de>>(value: D) -> Result<Option<Value>, D::Error> {
    Value::deserialize(value).map(Some)
}

/// Calls whose result may be `null`: a node does not have the transaction, or the block.
const MAY_BE_NULL: [&str; 2] = ["getTransaction", "getBlockTime"];

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
    #[serde(default)]
    data: Value,
}

impl HttpTransport {
    /// Connects lazily; every call gets its own timeout.
    pub fn new(url: &str, calls: &Calls, counters: Arc<RpcCounters>) -> Result<Self, NoClient> {
        let client = reqwest::Client::builder();
        let client = match &calls.through {
            Through::Environment => client,
            Through::Nothing => client.no_proxy(),
            Through::Proxy(proxy) => {
                let here = NoProxy::from_string("localhost,127.0.0.0/8,::1");
                client.no_proxy().proxy(Proxy::all(proxy).map_err(|_| NoClient::Proxy)?.no_proxy(here))
            }
        };
        let client = client
            .dns_resolver(Arc::new(calls.resolver.clone()))
            .timeout(calls.patience.timeout)
            .connect_timeout(CONNECT_TIMEOUT)
            .tcp_nodelay(true)
            .build()
            .map_err(|error| NoClient::Client(error.without_url().to_string()))?;
        // Starts at random: another relayer's questions must not have the same numbers.
        let next_id = AtomicU64::new(u64::from(rand::random::<u32>()));
        Ok(Self { client, url: url.to_owned(), next_id, span: calls.span, counters })
    }

    async fn post(&self, method: &'static str, params: Value) -> Result<Value, CallError> {
        let id = self.next_id.fetch_add(1, Ordering::Relaxed);
        let body = json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params });
        let sent = self.client.post(&self.url).json(&body).send().await;
        let response = sent.map_err(|error| CallError::of_request(&error))?;
        let (status, pause) = (response.status(), retry_after(response.headers()));
        let bytes = read_answer(response).await?;
        // Some nodes put the JSON-RPC error into a 4xx or 5xx answer.
        let answer = serde_json::from_slice::<NodeAnswer>(&bytes);
        if answer.as_ref().is_ok_and(|answer| status.is_success() && !answer.is_to(id)) {
            return Err(CallError::Node(NodeFault::Unreadable));
        }
        match answer {
            Ok(NodeAnswer { error: Some(AnswerError { code, message, data }), .. }) => {
                Err(CallError::of_code(status, pause, code, message, data))
            }
            Ok(NodeAnswer { result: Some(result), error: None, .. })
                if status.is_success() && (!result.is_null() || MAY_BE_NULL.contains(&method)) =>
            {
                Ok(result)
            }
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

#[async_trait]
impl Transport for HttpTransport {
    async fn call(&self, method: &'static str, params: Value) -> Result<Value, CallError> {
        self.counters.called(method);
        let answer = self.post(method, params).instrument((self.span)(method)).await;
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
