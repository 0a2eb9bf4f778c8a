//! Scripted nodes for tests: one with a state, and one that a function answers for.

use crate::node_fault::{CallError, NodeFault};
use crate::transport::Transport;
use async_trait::async_trait;
use base64::Engine;
use parking_lot::Mutex;
use serde_json::{Value, json};
use std::sync::Arc;

/// The script. Heights and slots are the same number.
#[derive(Debug, Default)]
pub struct NodeState {
    pub finalized: u64,
    /// Slot at which statuses are answered, if not the finalized one.
    pub statuses_slot: Option<u64>,
    pub recent: Option<Value>,
    pub history: Option<Value>,
    /// Every call fails with this fault.
    pub fault: Option<NodeFault>,
    /// Every call is refused so.
    pub refusal: Option<CallError>,
    /// No call is ever answered.
    pub hangs: bool,
    /// No call of this method is ever answered.
    pub hangs_on: Option<&'static str>,
    pub history_off: bool,
    pub genesis: &'static str,
    pub sent: Vec<String>,
    pub calls: Vec<&'static str>,
    pub history_searches: usize,
    /// What its clock says, unix seconds.
    pub clock: i64,
}

#[derive(Clone, Default)]
pub struct ScriptedNode(Arc<Mutex<NodeState>>);

impl ScriptedNode {
    pub fn set(&self, change: impl FnOnce(&mut NodeState)) {
        change(&mut self.0.lock());
    }

    pub fn get<T>(&self, read: impl FnOnce(&NodeState) -> T) -> T {
        read(&self.0.lock())
    }

    /// How often a method was called.
    pub fn calls(&self, method: &str) -> usize {
        self.get(|node| node.calls.iter().filter(|called| **called == method).count())
    }

    pub fn boxed(&self) -> Box<dyn Transport> {
        Box::new(self.clone())
    }
}

/// `None` is no answer.
pub struct AnsweringNode<F>(pub F);

#[async_trait]
impl<F> Transport for AnsweringNode<F>
where
    F: Fn(&'static str, &Value) -> Option<Value> + Send + Sync + 'static,
{
    async fn call(&self, method: &'static str, params: Value) -> Result<Value, CallError> {
        (self.0)(method, &params).ok_or(CallError::Node(NodeFault::Unhealthy))
    }
}

/// A status in the form nodes answer.
pub fn status(word: &str, err: Value) -> Option<Value> {
    Some(json!({ "slot": 77, "confirmations": null, "err": err, "confirmationStatus": word }))
}

/// The clock's account in the form nodes answer.
fn account_of_clock(unix_seconds: i64) -> Value {
    let mut data = [0; 40];
    data[32..].copy_from_slice(&unix_seconds.to_le_bytes());
    let data = base64::engine::general_purpose::STANDARD.encode(data);
    json!({ "data": [data, "base64"], "owner": "Sysvar1111111111111111111111111111111111111", "executable": false, "lamports": 1 })
}

#[async_trait]
impl Transport for ScriptedNode {
    async fn call(&self, method: &'static str, params: Value) -> Result<Value, CallError> {
        let hangs = self.get(|node| node.hangs || node.hangs_on == Some(method));
        self.set(|node| node.calls.push(method));
        if hangs {
            std::future::pending::<()>().await;
        }
        let mut node = self.0.lock();
        if let Some(refusal) = node.refusal.clone() {
            return Err(refusal);
        }
        if let Some(fault) = node.fault {
            return Err(CallError::Node(fault));
        }
        Ok(match method {
            "sendTransaction" => {
                node.sent.push(params[0].as_str().unwrap().to_owned());
                json!("signature")
            }
            "getEpochInfo" => json!({ "absoluteSlot": node.finalized, "blockHeight": node.finalized }),
            "getGenesisHash" => json!(node.genesis),
            "getSignatureStatuses" => {
                let searching = params[1]["searchTransactionHistory"] == json!(true);
                node.history_searches += usize::from(searching);
                if searching && node.history_off {
                    return Err(CallError::Node(NodeFault::Unhealthy));
                }
                let status = node.recent.clone().or_else(|| node.history.clone().filter(|_| searching));
                let slot = node.statuses_slot.unwrap_or(node.finalized);
                let statuses: Vec<_> = params[0].as_array().unwrap().iter().map(|_| status.clone()).collect();
                json!({ "context": { "slot": slot }, "value": statuses })
            }
            "getAccountInfo" => {
                json!({ "context": { "slot": node.finalized }, "value": account_of_clock(node.clock) })
            }
            other => panic!("asked for {other}"),
        })
    }
}
