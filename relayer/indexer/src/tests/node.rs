//! Nodes of a simulated chain behind one address: they answer truthfully; or they lag, leave out, repeat and mix up lines;
//! or they do not answer at all.

use parking_lot::{Mutex, MutexGuard};
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};
use serde_json::{Value, json};

use super::world::{MINT, Transaction, World, WorldAgent, WorldOperator, time_of};
use purser_model::Address;

pub struct Node {
    world: Mutex<World>,
    random: Mutex<StdRng>,
    misbehaves: AtomicBool,
    falls_silent: AtomicBool,
    /// How many more calls go unanswered: a silence lasts.
    silence: AtomicU64,
    calls: AtomicU64,
    hidden: Mutex<Option<(String, Hides)>>,
    /// How many lines it lists at most, of any address.
    lists: AtomicUsize,
}

/// What happens to a request for a transaction that no node can show.
#[derive(Debug, Clone, Copy)]
pub enum Hides {
    InSilence,
    /// The answer has a form that nobody understands.
    Unreadable,
    /// The transaction is shown, but its status is unknown.
    Forgotten,
}

/// How far the node behind one answer is.
struct View {
    tip: u64,
    finalized: u64,
}

impl Node {
    pub fn of(world: World) -> Self {
        Self {
            world: Mutex::new(world),
            random: Mutex::new(StdRng::seed_from_u64(5)),
            misbehaves: AtomicBool::new(false),
            falls_silent: AtomicBool::new(false),
            silence: AtomicU64::new(0),
            calls: AtomicU64::new(0),
            hidden: Mutex::default(),
            lists: AtomicUsize::new(usize::MAX),
        }
    }

    pub fn world(&self) -> MutexGuard<'_, World> {
        self.world.lock()
    }

    pub fn parties(&self) -> (Vec<WorldOperator>, Vec<WorldAgent>) {
        let world = self.world();
        (world.operators.clone(), world.agents.clone())
    }

    pub fn misbehaves(&self, whether: bool) {
        self.misbehaves.store(whether, Ordering::SeqCst);
    }

    /// Answers truthfully, but does not always answer.
    pub fn falls_silent(&self, whether: bool) {
        self.falls_silent.store(whether, Ordering::SeqCst);
    }

    /// From now on this one transaction is listed but not shown.
    pub fn hides(&self, signature: &str, how: Hides) {
        *self.hidden.lock() = Some((signature.to_owned(), how));
    }

    /// Everything is shown again.
    pub fn hides_nothing(&self) {
        *self.hidden.lock() = None;
    }

    /// From now on every history ends after this many lines.
    pub fn lists_at_most(&self, lines: usize) {
        self.lists.store(lines, Ordering::SeqCst);
    }

    fn has_forgotten(&self, signature: &str) -> bool {
        let hidden = self.hidden.lock();
        matches!(&*hidden, Some((known, Hides::Forgotten)) if known == signature)
    }

    /// Calls since the last `take_calls`.
    pub fn take_calls(&self) -> u64 {
        self.calls.swap(0, Ordering::SeqCst)
    }

    /// One call from a process to the nodes.
    pub fn call(&self, method: &'static str, params: &Value) -> Option<Value> {
        self.calls.fetch_add(1, Ordering::SeqCst);
        let silent = self.falls_silent.load(Ordering::SeqCst) && self.is_silent();
        if method == "getTransaction"
            && let Some((signature, how)) = &*self.hidden.lock()
            && params[0] == *signature
        {
            match how {
                Hides::InSilence => return None,
                Hides::Unreadable => return Some(json!({ "slot": "?", "version": 2 })),
                Hides::Forgotten => {}
            }
        }
        (!silent && !self.chance(0.08)).then(|| self.answer(method, params))
    }

    fn is_silent(&self) -> bool {
        let left = self.silence.load(Ordering::SeqCst);
        let mut random = self.random();
        let next = match left {
            0 if random.random_bool(0.06) => random.random_range(1..14),
            left => left.saturating_sub(1),
        };
        self.silence.store(next, Ordering::SeqCst);
        next > 0
    }

    fn chance(&self, of: f64) -> bool {
        self.misbehaves.load(Ordering::SeqCst) && self.random().random_bool(of)
    }

    fn random(&self) -> MutexGuard<'_, StdRng> {
        self.random.lock()
    }

    fn view(&self, world: &World) -> View {
        let lag = if self.chance(0.3) { self.random().random_range(0..8) } else { 0 };
        let tip = world.tip.saturating_sub(lag);
        View { tip, finalized: world.finalized.min(tip) }
    }

    fn answer(&self, method: &str, params: &Value) -> Value {
        let world = self.world();
        let view = self.view(&world);
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let config = &params[1];
        let seen = if config["commitment"] == "finalized" { view.finalized } else { view.tip };
        match method {
            "getSignaturesForAddress" => {
                let address: Address = text(&params[0]).parse().expect("an address");
                // Some nodes list transactions below the commitment, and say so in each line.
                let seen = if self.chance(0.3) { view.tip } else { seen };
                self.signatures(&world, &view, seen, &address, config)
            }
            "getTransaction" => self.transaction(&world, seen, &text(&params[0])),
            "getMultipleAccounts" => {
                let keys = params[0].as_array().expect("keys");
                assert!(keys.len() <= 100, "too many keys");
                let values: Vec<Value> =
                    keys.iter().map(|key| token_account(&world, &text(key), seen)).collect();
                json!({ "context": { "slot": seen }, "value": values })
            }
            "getSignatureStatuses" => {
                let signatures = params[0].as_array().expect("signatures");
                let status = |signature: &Value| {
                    let known = find(&world, &text(signature)).filter(|known| known.slot <= view.tip);
                    let known = known.filter(|known| !self.has_forgotten(&known.signature));
                    known.map_or(Value::Null, |known| {
                        let word = if known.slot <= view.finalized { "finalized" } else { "confirmed" };
                        json!({ "slot": known.slot, "err": null, "confirmationStatus": word })
                    })
                };
                let values: Vec<Value> = signatures.iter().map(status).collect();
                json!({ "context": { "slot": view.tip }, "value": values })
            }
            "getProgramAccounts" => {
                let operator = text(&config["filters"][1]["memcmp"]["bytes"]);
                let stands = |agent: &&WorldAgent| {
                    agent.exists && world.operators[agent.operator].address.to_string() == operator
                };
                let listed = world.agents.iter().filter(stands);
                listed.map(|agent| json!({ "pubkey": agent.address.to_string() })).collect()
            }
            "getEpochInfo" => json!({ "absoluteSlot": view.finalized, "blockHeight": view.finalized }),
            "getBlockTime" => json!(params[0].as_u64().map(time_of)),
            other => panic!("{other} is not asked when indexing"),
        }
    }

    fn signatures(&self, world: &World, view: &View, seen: u64, address: &Address, config: &Value) -> Value {
        let mut all: Vec<&Transaction> = world
            .transactions
            .iter()
            .filter(|transaction| transaction.slot <= seen && world.touched(transaction).contains(address))
            .collect();
        all.reverse();
        all.truncate(self.lists.load(Ordering::SeqCst));
        if let Some(before) = config["before"].as_str() {
            match all.iter().position(|transaction| transaction.signature == before) {
                Some(place) => all.drain(..=place),
                None => all.drain(..),
            };
        }
        if let Some(until) = config["until"].as_str() {
            let end = all.iter().position(|transaction| transaction.signature == until);
            all.truncate(end.unwrap_or(all.len()));
        }
        all.truncate(usize::try_from(config["limit"].as_u64().expect("a limit")).expect("small"));
        if self.chance(0.15) && !all.is_empty() {
            let left_out = self.random().random_range(0..all.len());
            all.remove(left_out);
        }
        if self.chance(0.2) && !all.is_empty() {
            let place = self.random().random_range(0..all.len());
            all.insert(place, all[place]);
        }
        if self.chance(0.2) && all.len() > 1 {
            let place = self.random().random_range(1..all.len());
            all.swap(place - 1, place);
        }
        let line = |transaction: &&Transaction| {
            let err = if transaction.failed { json!("failed") } else { Value::Null };
            let time = if self.chance(0.2) { Value::Null } else { json!(time_of(transaction.slot)) };
            let word = if transaction.slot <= view.finalized { "finalized" } else { "confirmed" };
            json!({ "signature": transaction.signature, "slot": transaction.slot, "err": err, "blockTime": time,
                "confirmationStatus": word })
        };
        all.iter().map(line).collect()
    }

    fn transaction(&self, world: &World, seen: u64, signature: &str) -> Value {
        let Some(known) = find(world, signature).filter(|known| known.slot <= seen) else {
            return Value::Null;
        };
        if self.chance(0.15) {
            return Value::Null;
        }
        if self.chance(0.05) {
            // The answer to another client's question.
            return world.json(&world.transactions[0], false);
        }
        let mut answer = world.json(known, self.chance(0.3));
        if self.chance(0.3) {
            let other = &world.transactions[self.random().random_range(0..world.transactions.len())];
            self.spoil(&mut answer["meta"]["logMessages"], &world.json(other, false)["meta"]["logMessages"]);
        }
        if self.chance(0.1) {
            answer["blockTime"] = Value::Null;
        }
        if self.chance(0.05) {
            answer["meta"]["postTokenBalances"] = Value::Null;
        }
        answer
    }
}

impl Node {
    /// Repeats a line, swaps two, drops one, or inserts one of another transaction.
    fn spoil(&self, lines: &mut Value, others: &Value) {
        let (Some(lines), Some(others)) = (lines.as_array_mut(), others.as_array()) else { return };
        if lines.is_empty() {
            return;
        }
        let mut random = self.random();
        let [one, two] = [random.random_range(0..lines.len()), random.random_range(0..lines.len())];
        match random.random_range(0..4) {
            0 => lines.insert(one, lines[one].clone()),
            1 => lines.swap(one, two),
            2 => drop(lines.remove(one)),
            _ => {
                let is_data =
                    |line: &&Value| line.as_str().is_some_and(|line| line.starts_with("Program data: "));
                lines.extend(others.iter().find(is_data).cloned());
                let last = lines.len() - 1;
                lines.swap(one, last);
            }
        }
    }
}

fn find<'a>(world: &'a World, signature: &str) -> Option<&'a Transaction> {
    world.transactions.iter().find(|transaction| transaction.signature == signature)
}

fn token_account(world: &World, address: &str, slot: u64) -> Value {
    let address: Address = address.parse().expect("an address");
    if !world.agents.iter().any(|agent| agent.exists && agent.token_account == address) {
        return Value::Null;
    }
    let mut data = vec![0; 165];
    data[..32].copy_from_slice(&MINT.bytes());
    data[64..72].copy_from_slice(&world.balance(&address, slot).to_le_bytes());
    data[108] = 1;
    json!({ "owner": anchor_spl::token::ID.to_string(), "executable": false, "lamports": 1,
        "data": [STANDARD.encode(data), "base64"] })
}
