//! The transport under the RPC client: one POST a call, timed, counted, and its failure classified in one place.

use super::ChainError;
use async_trait::async_trait;
use serde::Deserialize;
use serde_json::Value;
use solana_rpc_client::rpc_sender::{RpcSender, RpcTransportStats};
use solana_rpc_client_api::client_error::{Error as ClientError, ErrorKind, Result as ClientResult, reqwest};
use solana_rpc_client_api::custom_error as node;
use solana_rpc_client_api::request::{RpcError, RpcRequest, RpcResponseErrorData};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// How long one call may take, connecting included.
const CALL_TIMEOUT: Duration = Duration::from_secs(10);
const CONNECT_TIMEOUT: Duration = Duration::from_secs(3);
/// Calls and failures of each RPC method since the start.
#[derive(Debug, Default)]
pub struct RpcCounters {
    methods: [MethodCounter; METHODS.len()],
}

/// The methods that are counted, by their wire names; the last stands for every other.
const METHODS: [&str; 9] = [
    "getMultipleAccounts",
    "getSignatureStatuses",
    "sendTransaction",
    "getLatestBlockhash",
    "getEpochInfo",
    "getSignaturesForAddress",
    "getTransaction",
    "getGenesisHash",
    "other",
];

#[derive(Debug, Default)]
struct MethodCounter {
    calls: AtomicU64,
    failures: AtomicU64,
}

/// One method's figures at a moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MethodCount {
    pub method: &'static str,
    pub calls: u64,
    pub failures: u64,
}

impl RpcCounters {
    /// All methods, in a fixed order.
    pub fn read(&self) -> Vec<MethodCount> {
        let read = |(method, counter): (&&'static str, &MethodCounter)| MethodCount {
            method,
            calls: counter.calls.load(Ordering::Relaxed),
            failures: counter.failures.load(Ordering::Relaxed),
        };
        METHODS.iter().zip(&self.methods).map(read).collect()
    }

    fn of(&self, method: &str) -> &MethodCounter {
        let index = METHODS.iter().position(|known| *known == method).unwrap_or(METHODS.len() - 1);
        &self.methods[index]
    }
}

/// The transport under `RpcClient`: one POST, no retries of its own (the stock sender sleeps minutes on a 429).
pub(super) struct CountingSender {
    client: reqwest::Client,
    url: String,
    next_id: AtomicU64,
    counters: Arc<RpcCounters>,
}

#[derive(Deserialize)]
struct Answer {
    #[serde(default)]
    id: Value,
    #[serde(default)]
    result: Value,
    error: Option<AnswerError>,
}

impl Answer {
    /// A balancer may deliver an answer to somebody else's question: another transaction's landing is not ours.
    /// An error need not say what it answers.
    fn is_to(&self, id: u64) -> bool {
        self.id.as_u64() == Some(id) || (self.id.is_null() && self.error.is_some())
    }
}

#[derive(Deserialize)]
struct AnswerError {
    code: i64,
    message: String,
}

#[async_trait]
impl RpcSender for CountingSender {
    async fn send(&self, request: RpcRequest, params: Value) -> ClientResult<Value> {
        let counter = self.counters.of(&request.to_string());
        counter.calls.fetch_add(1, Ordering::Relaxed);
        let answer = self.post(request, params).await;
        if answer.is_err() {
            counter.failures.fetch_add(1, Ordering::Relaxed);
        }
        answer
    }

    fn get_transport_stats(&self) -> RpcTransportStats {
        RpcTransportStats::default()
    }

    fn url(&self) -> String {
        self.url.clone()
    }
}

impl CountingSender {
    /// Connects lazily; every call gets its own timeout.
    pub fn new(url: &str, counters: Arc<RpcCounters>) -> Result<Self, ChainError> {
        let client = reqwest::Client::builder()
            .timeout(CALL_TIMEOUT)
            .connect_timeout(CONNECT_TIMEOUT)
            .tcp_nodelay(true)
            .build()
            .map_err(|error| ChainError::Misconfigured(format!("HTTP client: {}", error.without_url())))?;
        // Not from zero: another relayer's questions are not to have the same numbers.
        let next_id = AtomicU64::new(u64::from(rand::random::<u32>()));
        Ok(Self { client, url: url.to_owned(), next_id, counters })
    }

    async fn post(&self, request: RpcRequest, params: Value) -> ClientResult<Value> {
        let id = self.next_id.fetch_add(1, Ordering::Relaxed);
        let body = request.build_request_json(id, params);
        let response = self.client.post(&self.url).json(&body).send().await?;
        let status = response.status();
        let bytes = response.bytes().await?;
        // Some nodes put the JSON-RPC error into a 4xx or 5xx answer: the code inside says more than the status.
        let answer = serde_json::from_slice::<Answer>(&bytes);
        if answer.as_ref().is_ok_and(|answer| status.is_success() && !answer.is_to(id)) {
            return Err(RpcError::RpcRequestError("answer to another question".into()).into());
        }
        match answer {
            Ok(Answer { error: Some(AnswerError { code, message }), .. }) => {
                let data = RpcResponseErrorData::Empty;
                Err(RpcError::RpcResponseError { code, message, data }.into())
            }
            Ok(Answer { result, error: None, .. }) if status.is_success() => Ok(result),
            Ok(_) | Err(_) if !status.is_success() => {
                Err(RpcError::RpcRequestError(format!("HTTP status {}", status.as_u16())).into())
            }
            Ok(_) => Err(RpcError::RpcRequestError("unreadable answer".into()).into()),
            Err(error) => Err(error.into()),
        }
    }
}

/// The ONE place where a failed call becomes a [`ChainError`]: by kind and code, never by text.
pub(super) fn classify(during: &'static str, error: &ClientError) -> ChainError {
    let unavailable = |reason: &str| ChainError::Unavailable { during, reason: reason.to_owned() };
    match error.kind() {
        ErrorKind::Io(error) => unavailable(&error.kind().to_string()),
        ErrorKind::Reqwest(error) => unavailable(transport_fault(error)),
        ErrorKind::Middleware(_) => unavailable("transport"),
        ErrorKind::SerdeJson(_) => unavailable("unreadable answer"),
        ErrorKind::RpcError(RpcError::RpcResponseError { code, message, .. }) => match *code {
            // The node is behind, overloaded, or without the data at the moment.
            node::JSON_RPC_SERVER_ERROR_BLOCK_CLEANED_UP
            | node::JSON_RPC_SERVER_ERROR_BLOCK_NOT_AVAILABLE
            | node::JSON_RPC_SERVER_ERROR_NODE_UNHEALTHY
            | node::JSON_RPC_SERVER_ERROR_NO_SNAPSHOT
            | node::JSON_RPC_SERVER_ERROR_BLOCK_STATUS_NOT_AVAILABLE_YET
            | node::JSON_RPC_SERVER_ERROR_MIN_CONTEXT_SLOT_NOT_REACHED
            | node::JSON_RPC_SERVER_ERROR_TRANSACTION_HISTORY_NOT_AVAILABLE
            | node::JSON_RPC_SERVER_ERROR_LONG_TERM_STORAGE_UNREACHABLE
            | -32603 // internal error
            | 408 | 425 | 429 | 500..=599 => unavailable(&format!("node error {code}")),
            code => ChainError::Rejected { code: None, message: format!("node error {code}: {message}") },
        },
        ErrorKind::RpcError(RpcError::RpcRequestError(reason)) => unavailable(reason),
        ErrorKind::RpcError(RpcError::ParseError(_) | RpcError::ForUser(_)) => {
            unavailable("unreadable answer")
        }
        ErrorKind::TransactionError(error) => ChainError::Rejected { code: None, message: error.to_string() },
        ErrorKind::SigningError(error) => ChainError::Misconfigured(error.to_string()),
        ErrorKind::Custom(reason) => unavailable(reason),
    }
}

/// What went wrong on the way, without the URL: it often carries the node provider's secret.
fn transport_fault(error: &reqwest::Error) -> &'static str {
    if error.is_timeout() {
        "timeout"
    } else if error.is_connect() {
        "cannot connect"
    } else {
        "transport"
    }
}

/// Whether the node has not reached the slot that the call asked for: it may a moment later.
pub(super) fn is_lagging(error: &ClientError) -> bool {
    matches!(
        error.kind(),
        ErrorKind::RpcError(RpcError::RpcResponseError {
            code: node::JSON_RPC_SERVER_ERROR_MIN_CONTEXT_SLOT_NOT_REACHED,
            ..
        })
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn node_error(code: i64) -> ClientError {
        let data = RpcResponseErrorData::Empty;
        RpcError::RpcResponseError { code, message: "Transaction simulation failed: timeout".into(), data }
            .into()
    }

    #[test]
    fn overloaded_lagging_and_unreachable_nodes_are_unavailable() {
        for code in [-32005, -32016, -32004, -32014, -32603, 429, 503] {
            let error = classify("call", &node_error(code));
            assert!(matches!(error, ChainError::Unavailable { .. }), "{code}: {error:?}");
        }
        let io = ClientError::from(std::io::Error::from(std::io::ErrorKind::ConnectionReset));
        assert!(matches!(classify("call", &io), ChainError::Unavailable { .. }));
        let status = ClientError::from(RpcError::RpcRequestError("HTTP status 502".into()));
        assert!(matches!(classify("call", &status), ChainError::Unavailable { .. }));
    }

    #[test]
    fn a_code_that_says_no_is_rejected_whatever_its_text_says() {
        for code in [-32002, -32003, -32600, -32601, -32602] {
            let error = classify("call", &node_error(code));
            assert!(matches!(error, ChainError::Rejected { code: None, .. }), "{code}: {error:?}");
        }
    }

    #[test]
    fn methods_are_counted_by_their_wire_names() {
        let counters = RpcCounters::default();
        for request in [RpcRequest::GetMultipleAccounts, RpcRequest::SendTransaction, RpcRequest::GetVersion]
        {
            counters.of(&request.to_string()).calls.fetch_add(1, Ordering::Relaxed);
        }
        let counted: Vec<_> =
            counters.read().into_iter().filter(|count| count.calls == 1).map(|count| count.method).collect();
        assert_eq!(counted, ["getMultipleAccounts", "sendTransaction", "other"]);
    }

    /// What a call comes to when the node answers with these bytes and hangs up.
    async fn answered(status: &str, body: &str) -> Result<Value, ChainError> {
        use tokio::io::{AsyncReadExt, AsyncWriteExt};
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}/secret-token", listener.local_addr().unwrap());
        let length = body.len();
        let answer =
            format!("HTTP/1.1 {status}\r\ncontent-length: {length}\r\nconnection: close\r\n\r\n{body}");
        let node = async move {
            let (mut socket, _) = listener.accept().await.unwrap();
            let _ = socket.read(&mut [0; 4_096]).await.unwrap();
            socket.write_all(answer.as_bytes()).await.unwrap();
        };
        let counters = Arc::new(RpcCounters::default());
        let sender =
            CountingSender { next_id: 0.into(), ..CountingSender::new(&url, counters.clone()).unwrap() };
        let (answer, ()) = tokio::join!(sender.send(RpcRequest::GetEpochInfo, Value::Null), node);
        let counted = counters.read().into_iter().find(|count| count.method == "getEpochInfo").unwrap();
        assert_eq!((counted.calls, counted.failures), (1, u64::from(answer.is_err())));
        answer.map_err(|error| classify("call", &error))
    }

    #[tokio::test]
    async fn answers_over_http_are_told_apart_by_status_and_code() {
        let down = [
            ("429 Too Many Requests", ""),
            (
                "429 Too Many Requests",
                r#"{"jsonrpc":"2.0","id":0,"error":{"code":429,"message":"slow down"}}"#,
            ),
            ("503 Service Unavailable", "<html>"),
            ("403 Forbidden", "no"),
            ("200 OK", "not json"),
            ("200 OK", r#"{"jsonrpc":"2.0","id":1,"result":null}"#),
            ("200 OK", r#"{"jsonrpc":"2.0","result":null}"#),
            ("200 OK", r#"{"jsonrpc":"2.0","id":1,"error":{"code":-32602,"message":"invalid"}}"#),
            ("200 OK", r#"{"jsonrpc":"2.0","id":0,"error":{"code":-32005,"message":"behind"}}"#),
        ];
        for (status, body) in down {
            let answer = answered(status, body).await;
            assert!(matches!(answer, Err(ChainError::Unavailable { .. })), "{status} {body}: {answer:?}");
        }
        let refused = r#"{"jsonrpc":"2.0","id":0,"error":{"code":-32602,"message":"invalid"}}"#;
        for status in ["200 OK", "400 Bad Request"] {
            let answer = answered(status, refused).await;
            assert!(matches!(answer, Err(ChainError::Rejected { .. })), "{status}: {answer:?}");
        }
        assert_eq!(answered("200 OK", r#"{"jsonrpc":"2.0","id":0,"result":null}"#).await, Ok(Value::Null));
    }

    #[tokio::test]
    async fn an_unreachable_node_is_unavailable_and_its_url_stays_secret() {
        let sender = CountingSender::new("http://127.0.0.1:1/secret-token", Arc::default()).unwrap();
        let error = sender.send(RpcRequest::GetEpochInfo, Value::Null).await.unwrap_err();
        let error = classify("call", &error);
        assert!(matches!(error, ChainError::Unavailable { .. }));
        assert!(!error.to_string().contains("secret-token"), "{error}");
    }
}
