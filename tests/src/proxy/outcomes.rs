//! What the network does to payments. A mark in its memo identifies a payment, and each transaction that is signed for it has
//! its own outcome.

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::exchange::Upstream;
use super::lock;
use super::transaction::Passing;

/// How often a transaction that waits for a block height checks it, and how long it waits at most.
const LOOK_EVERY: Duration = Duration::from_millis(2);
const WAIT_MAX: Duration = Duration::from_secs(40);

/// What becomes of one transaction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    Lands,
    /// Its first `sends` sends are accepted but never forwarded.
    Dropped {
        sends: u32,
    },
    /// Lands, but the connection closes without an answer.
    ReplyLost,
    /// Accepted at once, forwarded this much later.
    Late(Duration),
    /// Forwarded at the last block height at which it may land.
    AtLastValidHeight,
    /// Forwarded one block later: expired.
    AfterLastValidHeight,
    /// Lands, but status calls do not know it for this long, unless they search the history.
    Unknown(Duration),
    /// Lands, but status calls do not know it for this long, even in the history: the node lies or lags.
    UnknownInHistory(Duration),
    /// Accepted and confirmed for this long, on a fork that is dropped then: none of it was forwarded, and later sends land.
    DroppedByFork(Duration),
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
    /// What others pay for a compute unit. A transaction that pays less is accepted but never forwarded.
    price: u64,
    /// The price that nodes report, if it is another one.
    shown_price: Option<u64>,
}

struct Ordered {
    mark: String,
    /// Outcomes of the next transactions with this mark, in the order of their first sends; all later ones land.
    outcomes: Vec<Outcome>,
}

/// A transaction that was sent.
struct Seen {
    /// The payment it belongs to.
    mark: Option<String>,
    outcome: Outcome,
    since: Instant,
    sends: u32,
    /// It is held back and will be forwarded later.
    waits: bool,
    /// It was forwarded to the network.
    forwarded: bool,
    /// The slot in which a fork has it.
    fork_slot: Option<u64>,
    /// Micro-lamports for a compute unit.
    price: u64,
}

/// What to do with a call.
pub(super) enum Sent {
    Forward,
    ForwardAndHangUp,
    /// Send this answer instead.
    Swallowed(Vec<u8>),
}

impl Outcomes {
    pub(super) fn towards(target: &str) -> Outcomes {
        Outcomes { target: target.to_owned(), state: Arc::default() }
    }

    /// The transactions whose bytes contain `mark` get these outcomes, in order; later ones land.
    pub fn orders(&self, mark: &str, outcomes: impl IntoIterator<Item = Outcome>) {
        let ordered = Ordered { mark: mark.to_owned(), outcomes: outcomes.into_iter().collect() };
        lock(&self.state).ordered.push(ordered);
    }

    /// From now on others pay this much for a compute unit.
    pub fn competes(&self, price: u64) {
        lock(&self.state).price = price;
    }

    /// Nodes report that others pay this much; `None`: what others really pay.
    pub fn says_that_others_pay(&self, price: Option<u64>) {
        lock(&self.state).shown_price = price;
    }

    /// What the different transactions that were sent pay for a compute unit.
    pub fn prices(&self) -> Vec<u64> {
        lock(&self.state).seen.values().map(|seen| seen.price).collect()
    }

    /// Forgets all orders and all transactions.
    pub fn clears(&self) {
        let mut state = lock(&self.state);
        state.ordered.clear();
        state.seen.clear();
    }

    /// How many transactions were accepted and are still to be forwarded.
    pub fn held(&self) -> usize {
        let state = lock(&self.state);
        state.seen.values().filter(|seen| seen.waits && !seen.forwarded).count()
    }

    /// Whether a fork showed this transaction as confirmed.
    pub fn was_on_fork(&self, signature: &str) -> bool {
        lock(&self.state).seen.get(signature).is_some_and(|seen| seen.fork_slot.is_some())
    }

    /// All transactions that a fork showed as confirmed.
    pub fn forked(&self) -> HashSet<String> {
        let state = lock(&self.state);
        let forked = state.seen.iter().filter(|(_, seen)| seen.fork_slot.is_some());
        forked.map(|(signature, _)| signature.clone()).collect()
    }

    /// The payment that a transaction belonged to, if it passed here.
    pub(super) fn mark_of(&self, signature: &str) -> Option<String> {
        lock(&self.state).seen.get(signature).and_then(|seen| seen.mark.clone())
    }

    pub(super) fn takes(&self, method: &str, call: &Value) -> Sent {
        if method == "getRecentPrioritizationFees" {
            let state = lock(&self.state);
            let price = state.shown_price.unwrap_or(state.price);
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
            let (waits, forwarded, fork_slot) = (false, false, None);
            let seen = Seen { mark, outcome, since, sends: 0, waits, forwarded, fork_slot, price };
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
            Outcome::DroppedByFork(after) if seen.since.elapsed() < after => swallowed(),
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
            | Outcome::UnknownInHistory(_)
            | Outcome::DroppedByFork(_) => Sent::Forward,
        }
    }

    /// Removes from the answer what this node must not know. Also records until when a blockhash is valid.
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
                let mut state = lock(&self.state);
                let mut edited = None;
                for (index, signature) in asked.iter().enumerate() {
                    let Some(seen) = signature.as_str().and_then(|text| state.seen.get_mut(text)) else {
                        continue;
                    };
                    let is_on_fork = seen.is_on_fork();
                    if !is_on_fork && !seen.is_hidden(history) {
                        continue;
                    }
                    let edited = edited.get_or_insert_with(|| parsed(&answer));
                    let slot = edited["result"]["context"]["slot"].as_u64().unwrap_or_default();
                    edited["result"]["value"][index] = if is_on_fork {
                        let slot = *seen.fork_slot.get_or_insert(slot);
                        json!({ "slot": slot, "confirmations": 1, "err": null, "confirmationStatus": "confirmed" })
                    } else {
                        Value::Null
                    };
                }
                edited.map_or(answer, |edited| edited.to_string().into_bytes())
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
    fn is_on_fork(&self) -> bool {
        matches!(self.outcome, Outcome::DroppedByFork(after) if self.since.elapsed() < after)
    }

    fn is_hidden(&self, history: bool) -> bool {
        match self.outcome {
            Outcome::Unknown(during) => !history && self.since.elapsed() < during,
            Outcome::UnknownInHistory(during) => self.since.elapsed() < during,
            Outcome::Lands
            | Outcome::Dropped { .. }
            | Outcome::ReplyLost
            | Outcome::Late(_)
            | Outcome::AtLastValidHeight
            | Outcome::AfterLastValidHeight
            | Outcome::DroppedByFork(_) => false,
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
