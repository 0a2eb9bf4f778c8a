//! Waits for what comes about at some time.

use std::time::{Duration, Instant};

/// However busy the machine is, nothing that a test waits for takes longer.
const PATIENCE: Duration = Duration::from_secs(60);

/// How long to wait before asking again.
const PAUSE: Duration = Duration::from_millis(50);

/// Asks again and again until it `holds`; panics with `what` after a minute.
pub async fn until(what: &str, mut holds: impl AsyncFnMut() -> bool) {
    awaited(what, async || holds().await.then_some(())).await;
}

/// Asks again and again until there is an answer; panics with `what` after a minute.
pub async fn awaited<T>(what: &str, mut asks: impl AsyncFnMut() -> Option<T>) -> T {
    let begun = Instant::now();
    loop {
        if let Some(answer) = asks().await {
            return answer;
        }
        assert!(begun.elapsed() < PATIENCE, "not within a minute: {what}");
        tokio::time::sleep(PAUSE).await;
    }
}
