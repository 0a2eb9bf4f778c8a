//! A node's false answers: a clock that is off by hours, a height that is, a history with holes, landings of what never landed,
//! transactions that it accepts and keeps to itself.
//!
//! A lie stays the same however often it is asked for: the payment, not the moment, decides what is left out.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Mutex;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

use super::lock;
use super::transaction::Passing;

const CLOCK: &str = "SysvarC1ock11111111111111111111111111111111";
/// Offsets of Unix seconds in the clock account: the epoch's start, and now.
const CLOCK_SECONDS: [usize; 2] = [8, 32];

/// A clock that differs from the network's.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WrongClock {
    /// How far it is ahead; negative if behind.
    pub seconds: i64,
    /// Block times are off as well, so that the node agrees with itself.
    pub blocks_too: bool,
}

/// A block height that differs from the network's.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WrongHeight {
    /// How far it is ahead; negative if behind.
    pub blocks: i64,
    /// Slots are off as well, so that the node agrees with itself.
    pub slots_too: bool,
}

/// An incomplete history. Lines of failed transactions are not counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WrongHistory {
    /// No page has more lines than this. A reader that goes on after a short page sees everything.
    ShortPages { lines: usize },
    /// The list ends after this many lines, as if there were nothing older.
    EndsEarly { lines: usize },
    /// The newest lines are missing.
    Behind { lines: usize },
    /// This many of 1,000 signatures are in no list.
    Holes { per_mille: u64 },
    /// This many of 1,000 transactions are listed but cannot be fetched.
    NotFetched { per_mille: u64 },
}

/// Landings that never were: half of the signatures that the network does not know are said to have landed, finally.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct InventedLandings {
    /// They are said to have failed.
    pub failed: bool,
    /// How far their slots are ahead of the network's.
    pub slots_ahead: u64,
}

/// What one node lies about.
#[derive(Default)]
pub struct Lies(Mutex<State>);

#[derive(Default, Clone)]
struct State {
    clock: Option<WrongClock>,
    height: Option<WrongHeight>,
    history: Option<(u64, WrongHistory)>,
    landings: Option<InventedLandings>,
    genesis_hash: Option<String>,
    drops_transactions: bool,
}

impl Lies {
    /// From now on it shows this clock; `None` is the network's.
    pub fn shows_clock(&self, clock: Option<WrongClock>) {
        lock(&self.0).clock = clock;
    }

    /// From now on it shows this height; `None` is the network's.
    pub fn shows_height(&self, height: Option<WrongHeight>) {
        lock(&self.0).height = height;
    }

    /// From now on it passes for a node of the network with this genesis hash; `None` is its own.
    pub fn shows_genesis(&self, hash: Option<&str>) {
        lock(&self.0).genesis_hash = hash.map(str::to_owned);
    }

    /// From now on it accepts transactions and forwards none, or forwards them again.
    pub fn drops_transactions(&self, drops_transactions: bool) {
        lock(&self.0).drops_transactions = drops_transactions;
    }

    /// What a deaf node answers to a transaction.
    pub(super) fn keeps(&self, method: &str, call: &Value) -> Option<Vec<u8>> {
        if method != "sendTransaction" || !lock(&self.0).drops_transactions {
            return None;
        }
        let passing = Passing::read(call["params"][0].as_str()?)?;
        let answer = json!({ "jsonrpc": "2.0", "id": call["id"], "result": passing.signature });
        Some(answer.to_string().into_bytes())
    }

    /// From now on its history is incomplete; the seed decides what is missing.
    pub fn shows_history(&self, history: Option<(u64, WrongHistory)>) {
        lock(&self.0).history = history;
    }

    /// From now on it invents landings; `None`: no more.
    pub fn invents_landings(&self, landings: Option<InventedLandings>) {
        lock(&self.0).landings = landings;
    }

    /// From now on it tells the truth.
    pub fn clears(&self) {
        *lock(&self.0) = State::default();
    }

    /// Turns the network's answer into this node's. If the `payment` of a signature is known, it decides what is missing from a
    /// history, so that a replay misses the same.
    pub(super) fn tells(
        &self,
        method: &str,
        call: &Value,
        answer: Vec<u8>,
        payment: impl Fn(&str) -> Option<String>,
    ) -> Vec<u8> {
        let State { clock, height, history, landings, genesis_hash, .. } = lock(&self.0).clone();
        let is_honest = clock.is_none() && height.is_none() && history.is_none() && landings.is_none();
        if is_honest && genesis_hash.is_none() {
            return answer;
        }
        let Ok(mut answer) = serde_json::from_slice::<Value>(&answer) else { return answer };
        if let (Some(hash), "getGenesisHash") = (genesis_hash, method) {
            answer["result"] = hash.into();
        }
        if let Some(clock) = clock {
            clock.tells(method, call, &mut answer["result"]);
        }
        if let Some(height) = height {
            height.tells(method, &mut answer["result"]);
        }
        if let (Some(landings), "getSignatureStatuses") = (landings, method) {
            landings.tells(call, &mut answer["result"]);
        }
        if let Some((seed, history)) = history {
            history.tells(method, call, &mut answer["result"], |signature| {
                let signature = signature.as_str().unwrap_or_default();
                let name = payment(signature);
                per_mille_of(seed, name.as_deref().unwrap_or(signature))
            });
        }
        answer.to_string().into_bytes()
    }
}

impl WrongClock {
    fn tells(self, method: &str, call: &Value, result: &mut Value) {
        match method {
            "getMultipleAccounts" => {
                let keys = call["params"][0].as_array().into_iter().flatten();
                for (index, _) in keys.enumerate().filter(|(_, key)| *key == CLOCK) {
                    if let Some(account) = result.pointer_mut(&format!("/value/{index}")) {
                        self.moves_account(account);
                    }
                }
            }
            "getAccountInfo" if call["params"][0] == CLOCK => self.moves_account(&mut result["value"]),
            "getBlockTime" if self.blocks_too => self.moves(result),
            "getTransaction" if self.blocks_too && result.is_object() => self.moves(&mut result["blockTime"]),
            "getSignaturesForAddress" if self.blocks_too => {
                for line in result.as_array_mut().into_iter().flatten() {
                    self.moves(&mut line["blockTime"]);
                }
            }
            _ => {}
        }
    }

    fn moves(self, time: &mut Value) {
        if let Some(seconds) = time.as_i64() {
            *time = (seconds + self.seconds).into();
        }
    }

    fn moves_account(self, account: &mut Value) {
        let Some(mut data) = account["data"][0].as_str().and_then(|data| STANDARD.decode(data).ok()) else {
            return;
        };
        for at in CLOCK_SECONDS {
            if let Some(bytes) = data.get_mut(at..at + 8) {
                let seconds = i64::from_le_bytes((&*bytes).try_into().expect("eight bytes"));
                bytes.copy_from_slice(&(seconds + self.seconds).to_le_bytes());
            }
        }
        account["data"][0] = STANDARD.encode(data).into();
    }
}

impl WrongHeight {
    fn tells(self, method: &str, result: &mut Value) {
        match method {
            "getBlockHeight" => self.moves(result),
            "getEpochInfo" => {
                self.moves(&mut result["blockHeight"]);
                if self.slots_too {
                    self.moves(&mut result["absoluteSlot"]);
                }
            }
            "getSignatureStatuses" if self.slots_too => self.moves(&mut result["context"]["slot"]),
            _ => {}
        }
    }

    fn moves(self, height: &mut Value) {
        if let Some(blocks) = height.as_u64() {
            *height = blocks.saturating_add_signed(self.blocks).into();
        }
    }
}

impl InventedLandings {
    fn tells(self, call: &Value, result: &mut Value) {
        let slot = result["context"]["slot"].as_u64().unwrap_or_default().saturating_add(self.slots_ahead);
        let err = if self.failed { json!({ "InstructionError": [0, { "Custom": 1 }] }) } else { Value::Null };
        let asked = call["params"][0].as_array().into_iter().flatten();
        let told = result["value"].as_array_mut().into_iter().flatten();
        for (signature, status) in asked.zip(told) {
            if status.is_null() && per_mille_of(0, signature.as_str().unwrap_or_default()) < 500 {
                *status = json!({
                    "slot": slot, "confirmations": null, "err": err, "status": { "Ok": null },
                    "confirmationStatus": "finalized",
                });
                if self.failed {
                    status["status"] = json!({ "Err": err });
                }
            }
        }
    }
}

impl WrongHistory {
    /// `chance` gives each signature a fixed number below 1,000.
    fn tells(self, method: &str, call: &Value, result: &mut Value, chance: impl Fn(&Value) -> u64) {
        if let (Self::NotFetched { per_mille }, "getTransaction") = (self, method)
            && chance(&call["params"][0]) < per_mille
        {
            *result = Value::Null;
        }
        let (Some(lines), "getSignaturesForAddress") = (result.as_array_mut(), method) else { return };
        let goes_on = call["params"][1]["before"].is_string();
        match self {
            Self::ShortPages { lines: most } => lines.truncate(length_of(lines, most)),
            Self::EndsEarly { lines: most } => {
                lines.truncate(if goes_on { 0 } else { length_of(lines, most) })
            }
            Self::Behind { lines: newest } if !goes_on => {
                lines.drain(..length_of(lines, newest));
            }
            Self::Holes { per_mille } => lines.retain(|line| chance(&line["signature"]) >= per_mille),
            Self::Behind { .. } | Self::NotFetched { .. } => {}
        }
    }
}

/// How many lines it takes to include `count` successful ones.
fn length_of(lines: &[Value], count: usize) -> usize {
    let went_well = lines.iter().enumerate().filter(|(_, line)| line["err"].is_null());
    went_well.map(|(index, _)| index + 1).take(count).last().unwrap_or(0)
}

fn per_mille_of(seed: u64, name: &str) -> u64 {
    let mut hasher = DefaultHasher::new();
    (seed, name).hash(&mut hasher);
    hasher.finish() % 1_000
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answered(lies: &Lies, method: &str, params: Value, result: Value) -> Value {
        let answer = json!({ "jsonrpc": "2.0", "id": 1, "result": result }).to_string();
        let answer = lies.tells(method, &json!({ "params": params }), answer.into_bytes(), |_| None);
        serde_json::from_slice::<Value>(&answer).unwrap()["result"].take()
    }

    fn listed(lies: &Lies, params: Value) -> Vec<u64> {
        let lines: Vec<Value> = (0..100)
            .map(|number| json!({ "signature": format!("s{number}"), "slot": number, "blockTime": 50 }))
            .collect();
        let answer = answered(lies, "getSignaturesForAddress", params, json!(lines));
        answer.as_array().unwrap().iter().map(|line| line["slot"].as_u64().unwrap()).collect()
    }

    #[test]
    fn clock_is_moved_alone_or_with_the_times_of_blocks() {
        let lies = Lies::default();
        let mut data = [0u8; 40];
        data[32..].copy_from_slice(&1_000i64.to_le_bytes());
        let accounts = json!({ "value": [null, { "data": [STANDARD.encode(data), "base64"] }] });
        let now = |lies: &Lies| {
            let answer = answered(lies, "getMultipleAccounts", json!([["x", CLOCK]]), accounts.clone());
            let data = STANDARD.decode(answer["value"][1]["data"][0].as_str().unwrap()).unwrap();
            i64::from_le_bytes(data[32..].try_into().unwrap())
        };
        assert_eq!(now(&lies), 1_000);
        lies.shows_clock(Some(WrongClock { seconds: -300, blocks_too: false }));
        assert_eq!(now(&lies), 700);
        assert_eq!(answered(&lies, "getBlockTime", json!([7]), json!(50)), 50);
        lies.shows_clock(Some(WrongClock { seconds: 300, blocks_too: true }));
        assert_eq!(now(&lies), 1_300);
        assert_eq!(answered(&lies, "getBlockTime", json!([7]), json!(50)), 350);
        assert_eq!(
            answered(&lies, "getTransaction", json!(["s"]), json!({ "blockTime": 50 }))["blockTime"],
            350
        );
        assert_eq!(answered(&lies, "getTransaction", json!(["s"]), Value::Null), Value::Null);
        lies.clears();
        assert_eq!(now(&lies), 1_000);
    }

    #[test]
    fn height_is_moved_alone_or_with_the_slots() {
        let lies = Lies::default();
        let told = |lies: &Lies| {
            let tip = json!({ "absoluteSlot": 70, "blockHeight": 60 });
            let tip = answered(lies, "getEpochInfo", json!([]), tip);
            let statuses = json!({ "context": { "slot": 70 }, "value": [null] });
            let statuses = answered(lies, "getSignatureStatuses", json!([["s"]]), statuses);
            (tip["blockHeight"].clone(), tip["absoluteSlot"].clone(), statuses["context"]["slot"].clone())
        };
        assert_eq!(told(&lies), (json!(60), json!(70), json!(70)));
        lies.shows_height(Some(WrongHeight { blocks: 1_000, slots_too: false }));
        assert_eq!(told(&lies), (json!(1_060), json!(70), json!(70)));
        lies.shows_height(Some(WrongHeight { blocks: -50, slots_too: true }));
        assert_eq!(told(&lies), (json!(10), json!(20), json!(20)));
        lies.clears();
        assert_eq!(told(&lies), (json!(60), json!(70), json!(70)));
    }

    #[test]
    fn landings_are_invented_for_half_of_what_the_network_does_not_know() {
        let lies = Lies::default();
        lies.invents_landings(Some(InventedLandings { failed: true, slots_ahead: 9 }));
        let signatures: Vec<String> = (0..100).map(|number| format!("s{number}")).collect();
        let known = json!({ "slot": 3, "err": null, "confirmationStatus": "confirmed" });
        let mut statuses = vec![Value::Null; 100];
        statuses[0] = known.clone();
        let told = json!({ "context": { "slot": 70 }, "value": statuses });
        let told = answered(&lies, "getSignatureStatuses", json!([signatures]), told);
        let told = told["value"].as_array().unwrap();
        assert_eq!(told[0], known);
        let invented: Vec<&Value> = told[1..].iter().filter(|status| !status.is_null()).collect();
        assert!((30..70).contains(&invented.len()), "{}", invented.len());
        assert_eq!((&invented[0]["slot"], invented[0]["err"].is_null()), (&json!(79), false));
    }

    #[test]
    fn histories_end_early_lag_come_in_short_pages_and_have_the_same_holes_each_time() {
        let lies = Lies::default();
        let with = |history| {
            lies.shows_history(Some((1, history)));
            (listed(&lies, json!(["a", {}])), listed(&lies, json!(["a", { "before": "s" }])))
        };
        let all: Vec<u64> = (0..100).collect();
        assert_eq!(with(WrongHistory::ShortPages { lines: 3 }), (vec![0, 1, 2], vec![0, 1, 2]));
        assert_eq!(with(WrongHistory::EndsEarly { lines: 3 }), (vec![0, 1, 2], vec![]));
        assert_eq!(with(WrongHistory::Behind { lines: 3 }), (all[3..].to_vec(), all.clone()));
        let (holed, again) = with(WrongHistory::Holes { per_mille: 300 });
        assert!(holed == again && holed.len() < 85 && holed.len() > 55, "{holed:?}");
        assert_eq!(with(WrongHistory::NotFetched { per_mille: 1_000 }), (all.clone(), all));
        assert_eq!(answered(&lies, "getTransaction", json!(["s"]), json!({ "slot": 1 })), Value::Null);
    }
}
