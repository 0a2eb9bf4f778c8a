//! Deletes expired rows in the background without holding up other work.

use std::sync::Arc;

use std::time::Duration;

use tokio::time::Instant;

use super::ServiceError;
use crate::Inside;
use purser_model::{Retention, Timestamp, TooOld};

/// Rows deleted in one batch.
const ROWS_MAX: u32 = 100;
/// Longest time for one pass.
const PASS: Duration = Duration::from_secs(2);
/// Shortest pause between two batches. It also lasts at least as long as a batch took, so others get half the time.
const PAUSE_MIN: Duration = Duration::from_millis(5);

/// Deletes what is past its retention.
#[derive(Clone)]
pub(super) struct Cleaning {
    inside: Arc<Inside>,
    retention: Retention,
}

impl Cleaning {
    pub fn new(inside: Arc<Inside>, retention: Retention) -> Self {
        Self { inside, retention }
    }

    /// One pass.
    pub async fn clean_up(&self) -> Result<(), ServiceError> {
        let old = self.too_old().await;
        let end = Instant::now() + PASS;
        while Instant::now() < end && !self.inside.tasks.stop.is_cancelled() {
            let begun = Instant::now();
            if self.inside.store.upkeep.clean_up(&old, ROWS_MAX).await? == 0 {
                break;
            }
            tokio::time::sleep(begun.elapsed().max(PAUSE_MIN)).await;
        }
        Ok(())
    }

    /// Uses the time on which our clock and the nodes of every network agree, the earliest where there are several. While any of
    /// them disagrees or is silent, nothing is past its retention.
    async fn too_old(&self) -> TooOld {
        let our_now = self.inside.clock.now();
        let mut now = our_now;
        for network in self.inside.chains.networks() {
            let Ok(network) = self.inside.chains.get(network) else { continue };
            match network.agreed_now(our_now).await {
                Some(agreed) => now = now.min(Timestamp::from_unix_seconds(agreed)),
                None => return TooOld::nothing(our_now),
            }
        }
        self.retention.too_old(now)
    }
}
