//! An audit as questions and answers, for whoever cannot wait for a future: each turn says what has to be asked, and the answers
//! come when they come.

use std::collections::BTreeMap;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};
use std::time::Duration;

use async_trait::async_trait;
use futures::channel::oneshot::{Sender, channel};
use futures::task::noop_waker;
use serde::Serialize;
use serde_json::{Value, json};

use crate::node::NodeTransport;

/// What has to be asked, or waited for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Question {
    /// The answer names it.
    pub id: u64,
    /// The place of the node among those that were given.
    pub node: usize,
    /// A JSON-RPC request. `None`: this is a pause, which is answered once it is over.
    pub request: Option<String>,
    pub pause_ms: u64,
}

/// Questions that are still to be asked, and who waits for their answers.
#[derive(Default)]
struct Open {
    last: u64,
    asked: Vec<Question>,
    waiting: BTreeMap<u64, Sender<Result<Value, String>>>,
    told: Vec<String>,
}

/// What an audit asks and tells.
#[derive(Clone, Default)]
pub struct Desk(Arc<Mutex<Open>>);

impl Desk {
    fn open(&self) -> MutexGuard<'_, Open> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The node at this place.
    pub fn node(&self, place: usize, host: String) -> impl NodeTransport + use<> {
        DeskNode { desk: self.clone(), place, host }
    }

    /// Tells of progress.
    pub fn tell(&self, text: String) {
        self.open().told.push(text);
    }

    /// What a node answered: the body of its HTTP answer, or why there is none. A second answer changes nothing.
    pub fn answers(&self, id: u64, answer: Result<&[u8], String>) {
        let waiting = self.open().waiting.remove(&id);
        if let Some(waiting) = waiting {
            // Nobody waits any more if the audit ended meanwhile.
            let _ = waiting.send(answer.and_then(result));
        }
    }

    async fn ask(&self, node: usize, request: Option<String>, pause_ms: u64) -> Result<Value, String> {
        let (sender, receiver) = channel();
        {
            let mut open = self.open();
            open.last += 1;
            let id = open.last;
            open.waiting.insert(id, sender);
            open.asked.push(Question { id, node, request, pause_ms });
        }
        receiver.await.unwrap_or_else(|_| Err("nobody answers".into()))
    }
}

/// The result in the body of a JSON-RPC answer.
fn result(body: &[u8]) -> Result<Value, String> {
    let mut body: Value = serde_json::from_slice(body).map_err(|_| "unreadable answer".to_owned())?;
    match (body.get_mut("result").map(Value::take), &body["error"]) {
        (Some(result), Value::Null) => Ok(result),
        (None, Value::Null) => Err("unreadable answer".into()),
        (_, error) => Err(format!("error {}", error["code"])),
    }
}

struct DeskNode {
    desk: Desk,
    place: usize,
    host: String,
}

#[async_trait]
impl NodeTransport for DeskNode {
    async fn call(&self, method: &'static str, params: Value) -> Result<Value, String> {
        let request = json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": params });
        self.desk.ask(self.place, Some(request.to_string()), 0).await
    }

    fn host(&self) -> String {
        self.host.clone()
    }

    async fn pause(&self, time: Duration) {
        // It ends, whatever it is answered.
        let _ = self.desk.ask(self.place, None, time.as_millis().try_into().unwrap_or(u64::MAX)).await;
    }
}

/// An audit between two turns.
pub struct Turns<T> {
    desk: Desk,
    future: Pin<Box<dyn Future<Output = T>>>,
}

/// Where an audit is.
#[derive(Debug)]
pub struct Turn<T> {
    /// New questions.
    pub asks: Vec<Question>,
    /// New progress.
    pub told: Vec<String>,
    /// It ended, and takes no more turns.
    pub end: Option<T>,
}

impl<T> Turns<T> {
    /// `future` asks at `desk`.
    pub fn new(desk: Desk, future: impl Future<Output = T> + 'static) -> Self {
        Self { desk, future: Box::pin(future) }
    }

    /// Goes as far as the answers lead.
    pub fn turn(&mut self) -> Turn<T> {
        let waker = noop_waker();
        let end = match self.future.as_mut().poll(&mut Context::from_waker(&waker)) {
            Poll::Ready(end) => Some(end),
            Poll::Pending => None,
        };
        let mut open = self.desk.open();
        Turn { asks: std::mem::take(&mut open.asked), told: std::mem::take(&mut open.told), end }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::node::Node;

    #[test]
    fn turns_ask_and_go_on_with_what_is_answered_in_any_order() {
        let desk = Desk::default();
        let nodes = [0, 1].map(|place| Node::over(desk.node(place, format!("node {place}"))));
        let mut turns = Turns::new(desk.clone(), async move {
            let [one, other] = &nodes;
            futures::join!(one.genesis_hash(), other.genesis_hash())
        });
        let Turn { asks, end, .. } = turns.turn();
        assert!(end.is_none());
        assert_eq!(asks.iter().map(|it| (it.id, it.node)).collect::<Vec<_>>(), [(1, 0), (2, 1)]);
        assert!(asks[0].request.as_ref().is_some_and(|request| request.contains("getGenesisHash")));
        desk.answers(2, Ok(br#"{"result":"hash"}"#));
        let Turn { asks, end, .. } = turns.turn();
        assert!(asks.is_empty() && end.is_none());
        // A second answer changes nothing.
        desk.answers(2, Err("no".into()));
        desk.answers(1, Ok(br#"{"error":{"code":-32000,"message":"no"}}"#));
        let (one, other) = turns.turn().end.expect("both were answered");
        assert_eq!(other.ok().as_deref(), Some("hash"));
        let error = one.expect_err("an error").to_string();
        assert_eq!(error, "node 0 does not answer getGenesisHash: error -32000");
    }
}
