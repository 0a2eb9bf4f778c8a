//! Tests run beside each other on two cores, and most of them wait. Those that start a network of their own or a browser take
//! turns, so that a few of them run at a time.

use std::collections::BTreeMap;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;

/// How many networks of their own may run at a time. A browser counts as [`BROWSER`] of them.
const ROOM: u32 = 4;
/// A browser's share of the room.
pub const BROWSER: u32 = 3;

/// How much each test has taken, by the name of its thread.
static TAKEN: Mutex<BTreeMap<String, u32>> = Mutex::new(BTreeMap::new());
static FREED: Condvar = Condvar::new();

/// A test's share of the machine, until it is dropped.
pub struct Turn {
    test: String,
    share: u32,
}

impl Turn {
    /// Waits until there is room. A test that has a share already gets more at once: two tests that each hold what the other
    /// waits for would wait for ever.
    pub fn wait(share: u32) -> Turn {
        let test = thread::current().name().unwrap_or_default().to_owned();
        let mut taken = taken();
        while !taken.is_empty() && !taken.contains_key(&test) && taken.values().sum::<u32>() + share > ROOM {
            taken = FREED.wait(taken).unwrap_or_else(PoisonError::into_inner);
        }
        *taken.entry(test.clone()).or_default() += share;
        Turn { test, share }
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        let mut taken = taken();
        if let Some(share) = taken.get_mut(&self.test) {
            *share -= self.share;
            if *share == 0 {
                taken.remove(&self.test);
            }
        }
        FREED.notify_all();
    }
}

fn taken() -> MutexGuard<'static, BTreeMap<String, u32>> {
    TAKEN.lock().unwrap_or_else(PoisonError::into_inner)
}
