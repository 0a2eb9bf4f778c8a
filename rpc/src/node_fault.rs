//! What is wrong with a node. The ONE place that interprets a failed call: by kind and code, never by text.

use reqwest::StatusCode;
use serde_json::Value;
use std::fmt;
use std::time::Duration;

/// Nodes' own error codes, as `custom_error` in `solana-rpc-client-api` defines them.
mod node {
    pub const BLOCK_CLEANED_UP: i64 = -32001;
    pub const BLOCK_NOT_AVAILABLE: i64 = -32004;
    pub const NODE_UNHEALTHY: i64 = -32005;
    pub const NO_SNAPSHOT: i64 = -32008;
    pub const TRANSACTION_HISTORY_NOT_AVAILABLE: i64 = -32011;
    pub const BLOCK_STATUS_NOT_AVAILABLE_YET: i64 = -32014;
    pub const MIN_CONTEXT_SLOT_NOT_REACHED: i64 = -32016;
    pub const LONG_TERM_STORAGE_UNREACHABLE: i64 = -32019;
    /// Providers' own.
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
    /// The node understood the call and refused it; any other node would too. `data` may say more, or be null.
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
    /// Interprets an error in a JSON-RPC answer.
    pub fn of_code(code: i64, message: String, data: Value) -> Self {
        let fault = match code {
            node::MIN_CONTEXT_SLOT_NOT_REACHED => NodeFault::Lagging,
            429 | node::RATE_LIMITED => NodeFault::RateLimited { retry_after: None },
            node::BLOCK_CLEANED_UP
            | node::BLOCK_NOT_AVAILABLE
            | node::NODE_UNHEALTHY
            | node::NO_SNAPSHOT
            | node::BLOCK_STATUS_NOT_AVAILABLE_YET
            | node::TRANSACTION_HISTORY_NOT_AVAILABLE
            | node::LONG_TERM_STORAGE_UNREACHABLE
            | -32603 // internal error
            | 408 | 425 | 500..=599 => NodeFault::Unhealthy,
            code => return CallError::Refused { code, message, data },
        };
        CallError::Node(fault)
    }

    /// Interprets an HTTP status other than success, without a JSON-RPC error behind it.
    pub fn of_status(status: StatusCode, retry_after: Option<Duration>) -> Self {
        CallError::Node(match status {
            StatusCode::TOO_MANY_REQUESTS => NodeFault::RateLimited { retry_after },
            StatusCode::SERVICE_UNAVAILABLE if retry_after.is_some() => {
                NodeFault::RateLimited { retry_after }
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

    #[test]
    fn overloaded_and_lagging_nodes_are_faults_of_the_node() {
        for code in [-32005, -32016, -32004, -32014, -32603, -32429, 429, 503] {
            let error = CallError::of_code(code, "Transaction simulation failed".into(), Value::Null);
            assert!(matches!(error, CallError::Node(fault) if fault.may_pass()), "{code}: {error:?}");
        }
        let lagging = CallError::of_code(-32016, String::new(), Value::Null);
        assert_eq!(lagging, CallError::Node(NodeFault::Lagging));
    }

    #[test]
    fn a_code_that_says_no_is_a_refusal_whatever_its_text_says() {
        for code in [-32002, -32003, -32600, -32601, -32602] {
            let error = CallError::of_code(code, "timeout, try again later".into(), Value::Null);
            assert!(matches!(error, CallError::Refused { .. }), "{code}: {error:?}");
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
