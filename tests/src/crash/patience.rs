//! Deadlines that a loaded machine does not cut short: they count ticks, and a tick that comes late counts once. While nobody gets
//! processor time, neither do the relayers that are waited for, and no time passes.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Weak};
use std::time::Duration;

const TICK: Duration = Duration::from_millis(20);

/// Counts ticks until it is dropped.
pub(super) struct Ticks(Arc<AtomicU64>);

/// A moment that these ticks come to.
#[derive(Clone)]
pub(super) struct Deadline {
    ticks: Weak<AtomicU64>,
    at: u64,
}

impl Ticks {
    pub fn begin() -> Ticks {
        let ticks = Arc::new(AtomicU64::new(0));
        let counted = Arc::downgrade(&ticks);
        tokio::spawn(async move {
            while let Some(ticks) = counted.upgrade() {
                ticks.fetch_add(1, Ordering::Relaxed);
                drop(ticks);
                tokio::time::sleep(TICK).await;
            }
        });
        Ticks(ticks)
    }

    /// The end of this much time.
    pub fn within(&self, time: Duration) -> Deadline {
        let ticks = time.as_millis() / TICK.as_millis();
        let at = self.0.load(Ordering::Relaxed) + u64::try_from(ticks).unwrap_or(u64::MAX);
        Deadline { ticks: Arc::downgrade(&self.0), at }
    }
}

impl Deadline {
    pub fn has_passed(&self) -> bool {
        self.ticks.upgrade().is_none_or(|ticks| ticks.load(Ordering::Relaxed) >= self.at)
    }
}
