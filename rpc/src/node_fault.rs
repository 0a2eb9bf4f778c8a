//! What is wrong with a node. The ONE place that interprets a failed call: by kind and code, never by text.

use reqwest::StatusCode;
use serde_json::Value;
use std::fmt;
use std::time::Duration;

/// Nodes' own error codes, as `custom_error` in `solana-rpc-client-api` defines them, and those of JSON-RPC.
mod node {
    /// The transaction itself: it fails when it is simulated, a signature is wrong, a precompile refuses it, or it has another
    /// number of signatures than its message says.
    pub const ABOUT_THE_TRANSACTION: [i64; 4] = [-32002, -32003, -32006, -32013];
    /// The call: no such method, parameters that this node does not take, a version of transactions that it does not know.
    /// Another node may be newer, or have what this one has not.
    pub const ABOUT_THE_CALL: [i64; 4] = [-32600, -32601, -32602, -32015];
    pub const MIN_CONTEXT_SLOT_NOT_REACHED: i64 = -32016;
    /// A provider's own.
    pub const RATE_LIMITED: i64 = -32429;
}

/// Why a node did not serve a call that another node may serve.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NodeFault {
    /// No connection, or one that broke.
    Unreachable,
    /// No answer in time.
    Slow,
    /// Asked for a pause, with its length if the node gave one.
    RateLimited { retry_after: Option<Duration> },
    /// Has not reached the requested slot, or is far behind the others.
    Lagging,
    /// Does not let us in: its key in the URL is not valid, or its plan is over.
    Denied,
    /// Reports that it cannot serve at the moment.
    Unhealthy,
    /// Its answer cannot be read, or answers another question.
    Unreadable,
    /// Its answer does not end.
    TooLong,
    /// Is on another cluster than configured.
    OtherCluster,
    /// Reported what the other nodes deny.
    Contradicted,
    /// Without it the nodes do not agree, and none decides alone.
    NoAgreement(&'static str),
}

impl NodeFault {
    /// Says nothing of the node's address, which often holds a provider's secret.
    pub const fn reason(self) -> &'static str {
        match self {
            NodeFault::Unreachable => "cannot connect",
            NodeFault::Slow => "timeout",
            NodeFault::RateLimited { .. } => "rate limited",
            NodeFault::Lagging => "lagging",
            NodeFault::Denied => "it refuses our key or plan (HTTP 401, 402 or 403)",
            NodeFault::Unhealthy => "unhealthy",
            NodeFault::Unreadable => "unreadable answer",
            NodeFault::TooLong => "answer too long",
            NodeFault::OtherCluster => "on another cluster",
            NodeFault::Contradicted => "contradicted by other nodes",
            NodeFault::NoAgreement(why) => why,
        }
    }

    /// Whether the same call may be served a moment later.
    pub const fn may_pass(self) -> bool {
        match self {
            NodeFault::Unreachable
            | NodeFault::Slow
            | NodeFault::RateLimited { .. }
            | NodeFault::Lagging
            | NodeFault::Denied
            | NodeFault::Unhealthy => true,
            NodeFault::Unreadable
            | NodeFault::TooLong
            | NodeFault::OtherCluster
            | NodeFault::Contradicted
            | NodeFault::NoAgreement(_) => false,
        }
    }

    /// The pause that the node asked for.
    pub const fn asked_pause(self) -> Option<Duration> {
        match self {
            NodeFault::RateLimited { retry_after } => retry_after,
            _ => None,
        }
    }

    pub(crate) const fn of(self, method: &'static str) -> RpcError {
        RpcError { method, cause: CallError::Node(self) }
    }
}

/// Why a call returned no result.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CallError {
    /// The node could not serve it; another one may.
    Node(NodeFault),
    /// The node understood the call and refused it. `data` may say more, or be null.
    Refused { code: i64, message: String, data: Value },
}

impl fmt::Display for CallError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Node(fault) => f.write_str(fault.reason()),
            Self::Refused { code, message, .. } => write!(f, "{message} ({code})"),
        }
    }
}

/// A call that no node served.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{method}: {cause}")]
pub struct RpcError {
    pub method: &'static str,
    pub cause: CallError,
}

impl CallError {
    /// Interprets an error in a JSON-RPC answer with this HTTP status. A code that says nothing of the transaction or the call is
    /// the node's fault, and so is any code behind a status that a gateway gives: a limit, a bill that is not paid, a key.
    pub fn of_code(
        status: StatusCode,
        retry_after: Option<Duration>,
        code: i64,
        message: String,
        data: Value,
    ) -> Self {
        let is_of_the_node = status.is_success() || status == StatusCode::BAD_REQUEST;
        match code {
            node::MIN_CONTEXT_SLOT_NOT_REACHED => CallError::Node(NodeFault::Lagging),
            429 | node::RATE_LIMITED => CallError::Node(NodeFault::RateLimited { retry_after }),
            _ if !is_of_the_node => CallError::of_status(status, retry_after),
            code if node::ABOUT_THE_TRANSACTION.contains(&code) || node::ABOUT_THE_CALL.contains(&code) => {
                CallError::Refused { code, message, data }
            }
            _ => CallError::Node(NodeFault::Unhealthy),
        }
    }

    /// Whether another node may serve what this one did not.
    pub fn may_be_served_elsewhere(&self) -> bool {
        match self {
            CallError::Node(_) => true,
            CallError::Refused { code, .. } => node::ABOUT_THE_CALL.contains(code),
        }
    }

    /// Interprets an HTTP status other than success, without a JSON-RPC error behind it.
    pub fn of_status(status: StatusCode, retry_after: Option<Duration>) -> Self {
        CallError::Node(match status {
            StatusCode::TOO_MANY_REQUESTS => NodeFault::RateLimited { retry_after },
            StatusCode::SERVICE_UNAVAILABLE if retry_after.is_some() => {
                NodeFault::RateLimited { retry_after }
            }
            StatusCode::UNAUTHORIZED | StatusCode::PAYMENT_REQUIRED | StatusCode::FORBIDDEN => {
                NodeFault::Denied
            }
            _ => NodeFault::Unhealthy,
        })
    }

    /// Interprets a request that got no answer.
    pub fn of_request(error: &reqwest::Error) -> Self {
        CallError::Node(match error {
            error if error.is_timeout() => NodeFault::Slow,
            error if error.is_body() || error.is_decode() => NodeFault::Unreadable,
            _ => NodeFault::Unreachable,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of_code(status: u16, code: i64) -> CallError {
        let status = StatusCode::from_u16(status).unwrap();
        CallError::of_code(status, None, code, "timeout, try again later".into(), Value::Null)
    }

    #[test]
    fn code_that_is_not_about_transaction_or_call_is_the_nodes_fault() {
        let unlisted =
            [-32000, -32001, -32004, -32005, -32007, -32009, -32011, -32014, -32401, -32603, 1, 408, 503];
        for code in unlisted.into_iter().chain([-32429, 429, -32016]) {
            for status in [200, 400, 429, 500] {
                let error = of_code(status, code);
                assert!(
                    matches!(error, CallError::Node(fault) if fault.may_pass()),
                    "{status} {code}: {error:?}"
                );
            }
        }
        assert_eq!(of_code(200, -32016), CallError::Node(NodeFault::Lagging));
    }

    #[test]
    fn code_behind_a_gateways_status_is_the_nodes_fault_whatever_it_says() {
        for status in [401, 402, 403, 404, 413, 429, 500, 502, 503] {
            for code in [-32000, -32002, -32003, -32007, -32401, -32600, -32601, -32602] {
                let error = of_code(status, code);
                assert!(matches!(error, CallError::Node(_)), "{status} {code}: {error:?}");
            }
        }
    }

    #[test]
    fn code_about_transaction_or_call_is_a_refusal_whatever_its_text_says() {
        for (code, elsewhere) in [
            (-32002, false),
            (-32003, false),
            (-32006, false),
            (-32013, false),
            (-32600, true),
            (-32601, true),
            (-32602, true),
            (-32015, true),
        ] {
            for status in [200, 400] {
                let error = of_code(status, code);
                assert!(matches!(error, CallError::Refused { .. }), "{status} {code}: {error:?}");
                assert_eq!(error.may_be_served_elsewhere(), elsewhere, "{code}");
            }
        }
    }

    #[test]
    fn a_pause_that_was_asked_for_is_kept() {
        let pause = Some(Duration::from_secs(7));
        let limited = CallError::Node(NodeFault::RateLimited { retry_after: pause });
        assert_eq!(CallError::of_status(StatusCode::TOO_MANY_REQUESTS, pause), limited);
        assert_eq!(CallError::of_status(StatusCode::SERVICE_UNAVAILABLE, pause), limited);
        assert_eq!(
            CallError::of_status(StatusCode::SERVICE_UNAVAILABLE, None),
            CallError::Node(NodeFault::Unhealthy)
        );
    }
}
