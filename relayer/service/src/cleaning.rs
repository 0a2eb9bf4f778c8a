//! Deletes expired rows in the background without holding up other work.

use std::sync::Arc;

use std::time::Duration;

use tokio::time::Instant;

use super::ServiceError;
use crate::Inside;
use purser_model::{Timestamp, TooOld};

/// Rows deleted in one batch.
const ROWS_MAX: u32 = 100;
/// Longest time for one pass.
const PASS: Duration = Duration::from_secs(2);
/// Shortest pause between two batches. It also lasts at least as long as a batch took, so others get half the time.
const PAUSE_MIN: Duration = Duration::from_millis(5);

/// One pass.
pub async fn clean_up(inside: &Arc<Inside>) -> Result<(), ServiceError> {
    let old = too_old(inside).await;
    let end = Instant::now() + PASS;
    while Instant::now() < end && !inside.tasks.stop.is_cancelled() {
        let begun = Instant::now();
        if inside.store.upkeep.clean_up(&old, ROWS_MAX).await? == 0 {
            break;
        }
        tokio::time::sleep(begun.elapsed().max(PAUSE_MIN)).await;
    }
    Ok(())
}

/// Uses the time on which our clock and the nodes of every network agree, the earliest where there are several. While any of
/// them disagrees or is silent, nothing is past its retention.
async fn too_old(inside: &Arc<Inside>) -> TooOld {
    let our_now = inside.clock.now();
    let mut now = our_now;
    for network in inside.chains.networks() {
        let Ok(network) = inside.chains.get(network) else { continue };
        match network.agreed_now(our_now).await {
            Some(agreed) => now = now.min(Timestamp::from_unix_seconds(agreed)),
            None => return TooOld::nothing(our_now),
        }
    }
    inside.retention.too_old(now)
}
