//! Nodes over HTTP.

use std::time::Duration;

use async_trait::async_trait;
use purser_replay::AuditError;
pub use purser_replay::node::Node;
use purser_replay::node::NodeTransport;
use purser_rpc::{Calls, Patience, Rpc};
use reqwest::Url;
use serde_json::Value;

struct HttpNode {
    rpc: Rpc,
    host: String,
}

/// `url` may hold a provider's key, so no message shows more of it than its host.
pub fn node_at(url: &Url) -> Result<Node, AuditError> {
    let calls = Calls { patience: Patience::LONG, ..Calls::default() };
    let rpc = Rpc::new(&[url.to_string()], &calls, Default::default());
    let rpc = rpc.map_err(|error| AuditError::Refused(error.to_string()))?;
    let host = url.host_str().unwrap_or("?");
    let host = url.port().map_or(host.to_owned(), |port| format!("{host}:{port}"));
    Ok(Node::over(HttpNode { rpc, host }))
}

#[async_trait]
impl NodeTransport for HttpNode {
    async fn call(&self, method: &'static str, params: Value) -> Result<Value, String> {
        self.rpc.ask(method, params).await.map_err(|error| error.cause.to_string())
    }

    fn host(&self) -> String {
        self.host.clone()
    }

    async fn pause(&self, time: Duration) {
        tokio::time::sleep(time).await;
    }
}
