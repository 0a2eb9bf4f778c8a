//! What the network does to payments: a payment is known by a mark in its memo, and has an outcome for each transaction
//! that is signed for it.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::exchange::Upstream;
use super::lock;
use super::transaction::Passing;

/// How often the block height is looked at by a transaction that waits for one, and how long it waits at most.
const LOOK_EVERY: Duration = Duration::from_millis(2);
const WAIT_MAX: Duration = Duration::from_secs(40);

/// What becomes of one transaction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    Lands,
    /// Its first `sends` sends are taken, and go nowhere.
    Dropped {
        sends: u32,
    },
    /// Lands, and the connection closes instead of saying so.
    ReplyLost,
    /// Taken at once, and forwarded this much later.
    Late(Duration),
    /// Forwarded when the block height is the last at which it may land.
    AtLastValidHeight,
    /// Forwarded one block later: expired.
    AfterLastValidHeight,
    /// Lands; statuses do not know it for this long, unless history is searched.
    Unknown(Duration),
    /// Lands; statuses do not know it for this long, not even in history: a node that lies or lags.
    UnknownInHistory(Duration),
}

/// The outcomes that a test ordered.
pub struct Outcomes {
    target: String,
    state: Arc<Mutex<State>>,
}

#[derive(Default)]
struct State {
    ordered: Vec<Ordered>,
    seen: HashMap<String, Seen>,
    last_valid_heights: HashMap<String, u64>,
    /// What others pay for a compute unit: who pays less is taken, and goes nowhere.
    price: u64,
    /// What it is said to be, if not that.
    told_price: Option<u64>,
}

struct Ordered {
    mark: String,
    /// Of the next transactions with this mark, in the order in which they are first sent; then they land.
    outcomes: Vec<Outcome>,
}

/// A transaction that was sent.
struct Seen {
    /// The payment that it is for.
    mark: Option<String>,
    outcome: Outcome,
    since: Instant,
    sends: u32,
    /// It is held, to be forwarded later.
    waits: bool,
    /// The network has it.
    forwarded: bool,
    /// Micro-lamports for a compute unit.
    price: u64,
}

/// What to do with a call.
pub(super) enum Sent {
    Forward,
    ForwardAndHangUp,
    /// Answer this yourself.
    Swallowed(Vec<u8>),
}

impl Outcomes {
    pub(super) fn towards(target: &str) -> Outcomes {
        Outcomes { target: target.to_owned(), state: Arc::default() }
    }

    /// The transactions whose bytes hold `mark` have these outcomes, in their order; later ones land.
    pub fn orders(&self, mark: &str, outcomes: impl IntoIterator<Item = Outcome>) {
        let ordered = Ordered { mark: mark.to_owned(), outcomes: outcomes.into_iter().collect() };
        lock(&self.state).ordered.push(ordered);
    }

    /// Others pay this much for a compute unit from now on.
    pub fn competes(&self, price: u64) {
        lock(&self.state).price = price;
    }

    /// Nodes say that others pay this much; `None`: what they pay.
    pub fn says_that_others_pay(&self, price: Option<u64>) {
        lock(&self.state).told_price = price;
    }

    /// Different transactions that were sent, by what they pay for a compute unit.
    pub fn prices(&self) -> Vec<u64> {
        lock(&self.state).seen.values().map(|seen| seen.price).collect()
    }

    /// Forgets all orders and all transactions.
    pub fn clears(&self) {
        let mut state = lock(&self.state);
        state.ordered.clear();
        state.seen.clear();
    }

    /// How many transactions were taken and will yet be forwarded.
    pub fn held(&self) -> usize {
        let state = lock(&self.state);
        state.seen.values().filter(|seen| seen.waits && !seen.forwarded).count()
    }

    /// The payment that a transaction was for, if it came this way.
    pub(super) fn mark_of(&self, signature: &str) -> Option<String> {
        lock(&self.state).seen.get(signature).and_then(|seen| seen.mark.clone())
    }

    pub(super) fn takes(&self, method: &str, call: &Value) -> Sent {
        if method == "getRecentPrioritizationFees" {
            let state = lock(&self.state);
            let price = state.told_price.unwrap_or(state.price);
            let fees: Vec<Value> =
                (1..=150).map(|slot| json!({ "slot": slot, "prioritizationFee": price })).collect();
            let answer = json!({ "jsonrpc": "2.0", "id": call["id"], "result": fees });
            return Sent::Swallowed(answer.to_string().into_bytes());
        }
        if method != "sendTransaction" {
            return Sent::Forward;
        }
        let Some(passing) = call["params"][0].as_str().and_then(Passing::read) else { return Sent::Forward };
        let mut state = lock(&self.state);
        if !state.seen.contains_key(&passing.signature) {
            let ordered = state.ordered.iter_mut().find(|ordered| passing.holds(&ordered.mark));
            let mark = ordered.as_ref().map(|ordered| ordered.mark.clone());
            let outcome = ordered.filter(|ordered| !ordered.outcomes.is_empty());
            let outcome = outcome.map_or(Outcome::Lands, |ordered| ordered.outcomes.remove(0));
            let since = Instant::now();
            let price = passing.price();
            let seen = Seen { mark, outcome, since, sends: 0, waits: false, forwarded: false, price };
            state.seen.insert(passing.signature.clone(), seen);
        }
        let height = state.last_valid_heights.get(&passing.blockhash).copied();
        let needed = state.price;
        let Some(seen) = state.seen.get_mut(&passing.signature) else { return Sent::Forward };
        seen.sends += 1;
        let first = seen.sends == 1;
        let holds = matches!(
            seen.outcome,
            Outcome::Late(_) | Outcome::AtLastValidHeight | Outcome::AfterLastValidHeight
        );
        seen.waits |= holds;
        let swallowed = || {
            let answer = json!({ "jsonrpc": "2.0", "id": call["id"], "result": passing.signature });
            Sent::Swallowed(answer.to_string().into_bytes())
        };
        if seen.price < needed {
            return swallowed();
        }
        match seen.outcome {
            Outcome::Dropped { sends } if seen.sends <= sends => swallowed(),
            Outcome::ReplyLost if first => Sent::ForwardAndHangUp,
            Outcome::Late(_) | Outcome::AtLastValidHeight | Outcome::AfterLastValidHeight
                if seen.forwarded =>
            {
                Sent::Forward
            }
            Outcome::Late(by) => {
                if first {
                    self.forwards_later(&passing, call.clone(), move |_| thread::sleep(by));
                }
                swallowed()
            }
            Outcome::AtLastValidHeight | Outcome::AfterLastValidHeight => {
                let beyond = u64::from(seen.outcome == Outcome::AfterLastValidHeight);
                if first {
                    let height = height.unwrap_or_default() + beyond;
                    self.forwards_later(&passing, call.clone(), move |network| waits_for(network, height));
                }
                swallowed()
            }
            Outcome::Lands
            | Outcome::Dropped { .. }
            | Outcome::ReplyLost
            | Outcome::Unknown(_)
            | Outcome::UnknownInHistory(_) => Sent::Forward,
        }
    }

    /// The answer without what this node is not to know; and notes until when a blockhash is valid.
    pub(super) fn hides(&self, method: &str, call: &Value, answer: Vec<u8>) -> Vec<u8> {
        match method {
            "getLatestBlockhash" => {
                let value = &parsed(&answer)["result"]["value"];
                if let (Some(hash), Some(height)) =
                    (value["blockhash"].as_str(), value["lastValidBlockHeight"].as_u64())
                {
                    lock(&self.state).last_valid_heights.insert(hash.to_owned(), height);
                }
                answer
            }
            "getSignatureStatuses" => {
                let asked = call["params"][0].as_array().cloned().unwrap_or_default();
                let history = call["params"][1]["searchTransactionHistory"] == true;
                let state = lock(&self.state);
                let hidden = |signature: &Value| {
                    let seen = signature.as_str().and_then(|signature| state.seen.get(signature));
                    seen.is_some_and(|seen| seen.is_hidden(history))
                };
                if !asked.iter().any(hidden) {
                    return answer;
                }
                let mut edited = parsed(&answer);
                for (index, signature) in asked.iter().enumerate() {
                    if hidden(signature) {
                        edited["result"]["value"][index] = Value::Null;
                    }
                }
                edited.to_string().into_bytes()
            }
            _ => answer,
        }
    }

    fn forwards_later(
        &self,
        passing: &Passing,
        call: Value,
        wait: impl FnOnce(&mut Upstream) + Send + 'static,
    ) {
        let (mut network, state) = (Upstream::new(&self.target), Arc::clone(&self.state));
        let signature = passing.signature.clone();
        thread::spawn(move || {
            wait(&mut network);
            network.asks(call.to_string().as_bytes());
            if let Some(seen) = lock(&state).seen.get_mut(&signature) {
                seen.forwarded = true;
            }
        });
    }
}

impl Seen {
    fn is_hidden(&self, history: bool) -> bool {
        match self.outcome {
            Outcome::Unknown(during) => !history && self.since.elapsed() < during,
            Outcome::UnknownInHistory(during) => self.since.elapsed() < during,
            Outcome::Lands
            | Outcome::Dropped { .. }
            | Outcome::ReplyLost
            | Outcome::Late(_)
            | Outcome::AtLastValidHeight
            | Outcome::AfterLastValidHeight => false,
        }
    }
}

fn waits_for(network: &mut Upstream, height: u64) {
    let question = json!({ "jsonrpc": "2.0", "id": 1, "method": "getBlockHeight",
        "params": [{ "commitment": "processed" }] });
    let deadline = Instant::now() + WAIT_MAX;
    while Instant::now() < deadline {
        let answer = network.asks(question.to_string().as_bytes()).unwrap_or_default();
        if parsed(&answer)["result"].as_u64().is_some_and(|now| now >= height) {
            return;
        }
        thread::sleep(LOOK_EVERY);
    }
}

fn parsed(bytes: &[u8]) -> Value {
    serde_json::from_slice(bytes).unwrap_or(Value::Null)
}
