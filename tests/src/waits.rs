//! Waits for what comes about at some time.

use std::time::{Duration, Instant};

/// However busy the machine is, nothing that a test waits for takes longer.
const PATIENCE: Duration = Duration::from_secs(60);

/// Asks again and again until it `holds`; panics with `what` after a minute.
pub async fn until(what: &str, mut holds: impl AsyncFnMut() -> bool) {
    let begun = Instant::now();
    while !holds().await {
        assert!(begun.elapsed() < PATIENCE, "not within a minute: {what}");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}
