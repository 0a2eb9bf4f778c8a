//! What a relayer answered, and a node about it, kept so that anyone can compare again without either.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{Api, RelayerTransport};
use crate::node::{Node, NodeTransport};

/// Answers by question, in the order in which they came.
type Answers<T> = BTreeMap<String, VecDeque<Result<T, String>>>;

/// Questions and answers of one comparison.
#[derive(Debug, Default, Serialize, Deserialize)]
pub struct Kept {
    /// By path and query: status and body.
    relayer: Answers<(u16, String)>,
    /// By method and parameters.
    node: Answers<Value>,
}

/// They are added to, or taken from.
type Shared = Arc<Mutex<Kept>>;

/// Asks, and keeps the answers.
struct Keeping<T> {
    asks: T,
    kept: Shared,
}

/// Answers what was kept, each answer once.
struct Repeating {
    kept: Shared,
    host: String,
}

/// Both, so that what they answer is kept in what is returned.
pub(crate) fn keeping(api: Api, node: Node) -> (Api, Node, Shared) {
    let kept = Shared::default();
    let node = Keeping { asks: node.0, kept: Arc::clone(&kept) };
    let api = Keeping { asks: api.0, kept: Arc::clone(&kept) };
    (Api::over(api), Node::over(node), kept)
}

/// Both, as they answered.
pub(crate) fn repeating(kept: Kept) -> (Api, Node) {
    let kept = Arc::new(Mutex::new(kept));
    let again = || Repeating { kept: Arc::clone(&kept), host: "the directory".into() };
    (Api::over(again()), Node::over(again()))
}

pub(crate) fn locked(kept: &Shared) -> MutexGuard<'_, Kept> {
    kept.lock().unwrap_or_else(PoisonError::into_inner)
}

fn asked(path: &str, query: &[(&str, String)]) -> String {
    let query: Vec<String> = query.iter().map(|(name, value)| format!("{name}={value}")).collect();
    format!("{path}?{}", query.join("&"))
}

fn taken<T>(answers: &mut Answers<T>, question: &str) -> Result<T, String> {
    let answer = answers.get_mut(question).and_then(VecDeque::pop_front);
    answer.unwrap_or_else(|| Err(format!("the directory keeps no answer to {question}")))
}

#[async_trait]
impl RelayerTransport for Keeping<Box<dyn RelayerTransport>> {
    async fn get(&self, path: &str, query: &[(&str, String)]) -> Result<(u16, Vec<u8>), String> {
        let answer = self.asks.get(path, query).await;
        let text = |(status, body): (u16, Vec<u8>)| {
            let body = String::from_utf8(body).map_err(|_| "its answer is no text".to_owned())?;
            Ok((status, body))
        };
        let answer = answer.and_then(text);
        locked(&self.kept).relayer.entry(asked(path, query)).or_default().push_back(answer.clone());
        answer.map(|(status, body)| (status, body.into_bytes()))
    }
}

#[async_trait]
impl RelayerTransport for Repeating {
    async fn get(&self, path: &str, query: &[(&str, String)]) -> Result<(u16, Vec<u8>), String> {
        let (status, body) = taken(&mut locked(&self.kept).relayer, &asked(path, query))?;
        Ok((status, body.into_bytes()))
    }
}

#[async_trait]
impl NodeTransport for Keeping<Box<dyn NodeTransport>> {
    async fn call(&self, method: &'static str, params: Value) -> Result<Value, String> {
        let question = format!("{method} {params}");
        let answer = self.asks.call(method, params).await;
        locked(&self.kept).node.entry(question).or_default().push_back(answer.clone());
        answer
    }

    fn host(&self) -> String {
        self.asks.host()
    }

    async fn pause(&self, time: Duration) {
        self.asks.pause(time).await;
    }
}

#[async_trait]
impl NodeTransport for Repeating {
    async fn call(&self, method: &'static str, params: Value) -> Result<Value, String> {
        taken(&mut locked(&self.kept).node, &format!("{method} {params}"))
    }

    fn host(&self) -> String {
        self.host.clone()
    }

    async fn pause(&self, _: Duration) {}
}
