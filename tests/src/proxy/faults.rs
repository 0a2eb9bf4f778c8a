//! What the wire does to calls, by JSON-RPC method.

use std::collections::HashMap;
use std::sync::{Condvar, Mutex, PoisonError};
use std::time::{Duration, Instant};

use super::lock;
use crate::random::Random;

/// One fault of one call. Except for `Dropped`, `Code` and `Nothing`, only the answer suffers: the network did what was asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    /// Never forwarded; the connection closes.
    Dropped,
    /// The answer comes this much later.
    Delayed(Duration),
    /// The connection is reset instead of answered.
    Reset,
    /// The connection stays open without an answer.
    HalfOpen,
    /// Half of the answer comes, then the connection closes.
    Truncated,
    /// The answer comes twice.
    Duplicated,
    /// A later call of the same method is answered first.
    Overtaken,
    /// The answer is that of another call of the same method.
    Misdelivered,
    /// A gateway answers with this HTTP status.
    Status(u16),
    /// Never forwarded; a provider answers with this HTTP status and this JSON-RPC error code.
    Code(u16, i64),
    /// Never forwarded; the answer has neither a result nor an error.
    Nothing,
}

/// The faults that a test ordered.
#[derive(Default)]
pub struct Faults {
    state: Mutex<State>,
    answer_came: Condvar,
}

#[derive(Default)]
struct State {
    /// By method, in order; `*` is any method.
    ordered: HashMap<String, Vec<Fault>>,
    weather: Option<Weather>,
    answered: HashMap<String, u64>,
    /// For each method, the last answer that was kept back for another call.
    astray: HashMap<String, Vec<u8>>,
}

struct Weather {
    random: Random,
    per_mille: u64,
    faults: Vec<Fault>,
}

impl Faults {
    /// The next calls of `method` (`*`: any) meet these faults, one each.
    pub fn orders(&self, method: &str, faults: impl IntoIterator<Item = Fault>) {
        lock(&self.state).ordered.entry(method.to_owned()).or_default().extend(faults);
    }

    /// From now on `per_mille` of all calls meet one of `faults`.
    pub fn rains(&self, seed: u64, per_mille: u64, faults: Vec<Fault>) {
        lock(&self.state).weather = Some(Weather { random: Random::from(seed), per_mille, faults });
    }

    /// Ends all faults.
    pub fn clears(&self) {
        let mut state = lock(&self.state);
        state.weather = None;
        state.ordered.clear();
        state.astray.clear();
    }

    pub(super) fn next(&self, method: &str) -> Option<Fault> {
        let mut state = lock(&self.state);
        for name in [method, "*"] {
            if let Some(faults) = state.ordered.get_mut(name)
                && !faults.is_empty()
            {
                return Some(faults.remove(0));
            }
        }
        let weather = state.weather.as_mut()?;
        let struck = weather.random.below(1_000) < weather.per_mille;
        struck.then(|| weather.random.one_of(&weather.faults)).flatten()
    }

    pub(super) fn answered(&self, method: &str) {
        *lock(&self.state).answered.entry(method.to_owned()).or_default() += 1;
        self.answer_came.notify_all();
    }

    /// Returns once another call of `method` was answered, or after `patience`.
    pub(super) fn waits_to_be_overtaken(&self, method: &str, patience: Duration) {
        let count = |state: &State| state.answered.get(method).copied().unwrap_or_default();
        let mut state = lock(&self.state);
        let before = count(&state);
        let deadline = Instant::now() + patience;
        while count(&state) == before {
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return;
            }
            let woken = self.answer_came.wait_timeout(state, left);
            state = woken.unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    /// Keeps `answer` for another call and returns the one kept before; the first time, `answer` itself.
    pub(super) fn swaps(&self, method: &str, answer: Vec<u8>) -> Vec<u8> {
        let kept = lock(&self.state).astray.insert(method.to_owned(), answer.clone());
        kept.unwrap_or(answer)
    }
}
