//! Deletes what is over, beside everything else and never in its way.

use std::time::Duration;

use tokio::time::Instant;

use super::{Parts, ServiceError};
use crate::domain::{Retention, Timestamp, TooOld};

/// How many rows are deleted at a time.
const ROWS_MAX: u32 = 100;
/// How long one pass goes on at most.
const PASS: Duration = Duration::from_secs(2);
/// What passes between two deletions at least: as long as one takes, so that half of the time is everybody else's.
const PAUSE_MIN: Duration = Duration::from_millis(5);

/// One pass.
pub(super) async fn clean_up(parts: &Parts) -> Result<(), ServiceError> {
    let old = too_old(parts).await;
    let end = Instant::now() + PASS;
    while Instant::now() < end && !parts.tasks.stop.is_cancelled() {
        let begun = Instant::now();
        if parts.store.clean_up(&old, ROWS_MAX).await? == 0 {
            break;
        }
        tokio::time::sleep(begun.elapsed().max(PAUSE_MIN)).await;
    }
    Ok(())
}

/// By the clock that is furthest behind, ours or a chain's: one that runs ahead by itself makes nothing old. While a chain
/// does not tell its time, nothing is.
async fn too_old(parts: &Parts) -> TooOld {
    let mut now = parts.ambient.now();
    for network in parts.chains.networks() {
        let Ok(network) = parts.chains.get(network) else { continue };
        match network.chain.now().await {
            Ok(seconds) => now = now.min(Timestamp::from_unix_seconds(seconds)),
            Err(_) => return Retention::default().too_old(now),
        }
    }
    parts.retention.too_old(now)
}
