//! Holds transactions back until the test lets them go.

use std::sync::{Condvar, Mutex, PoisonError};
use std::time::Duration;

use super::lock;

/// Open, until a test closes it.
#[derive(Default)]
pub struct Gate {
    state: Mutex<State>,
    opened: Condvar,
}

#[derive(Default)]
struct State {
    /// How many more may pass; `None`: all.
    left: Option<usize>,
    held: usize,
}

impl Gate {
    /// Lets `count` more transactions through, and holds the ones after them.
    pub fn closes_after(&self, count: usize) {
        *lock(&self.state) = State { left: Some(count), held: 0 };
    }

    /// Releases everything.
    pub fn opens(&self) {
        lock(&self.state).left = None;
        self.opened.notify_all();
    }

    /// Returns once the gate holds a transaction; panics if none comes.
    pub async fn holds_one(&self) {
        for _ in 0..6_000 {
            if lock(&self.state).held > 0 {
                return;
            }
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        panic!("no transaction came");
    }

    pub(super) fn passes(&self) {
        let mut state = lock(&self.state);
        match &mut state.left {
            None => return,
            Some(0) => state.held += 1,
            Some(left) => {
                *left -= 1;
                return;
            }
        }
        while state.left == Some(0) {
            state = self.opened.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
    }
}
