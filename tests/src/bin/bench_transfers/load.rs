//! So many transfers at a time, so many in all, each timed.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use tokio::task::JoinSet;

/// The name of the threads that the clients run on.
pub const LOAD_THREADS: &str = "load";

/// How long a transfer may take before the measurement is called off.
const PATIENCE: Duration = Duration::from_secs(25);

/// How fast each transfer was, and how long all took.
pub struct Times {
    /// Ascending.
    pub each: Vec<Duration>,
    pub all: Duration,
}

/// Makes transfers `0..count`, `in_flight` at a time, until all are made or no new one may begin any more. The first
/// transfer that fails ends it.
pub async fn run<F, M>(count: usize, in_flight: usize, within: Duration, makes: M) -> Result<Times>
where
    M: Fn(usize) -> F + Clone + Send + 'static,
    F: Future<Output = Result<()>> + Send,
{
    let (begun, next) = (Instant::now(), Arc::new(AtomicUsize::new(0)));
    let mut workers = JoinSet::new();
    for _ in 0..in_flight {
        let (next, makes) = (Arc::clone(&next), makes.clone());
        workers.spawn(async move {
            let mut times = Vec::new();
            while begun.elapsed() < within {
                let index = next.fetch_add(1, Ordering::Relaxed);
                if index >= count {
                    break;
                }
                let started = Instant::now();
                tokio::time::timeout(PATIENCE, makes(index)).await.context("a transfer took too long")??;
                times.push(started.elapsed());
            }
            anyhow::Ok(times)
        });
    }
    let mut each = Vec::new();
    while let Some(worker) = workers.join_next().await {
        each.extend(worker.context("a client panicked")??);
    }
    let all = begun.elapsed();
    ensure!(!each.is_empty(), "no transfer was made");
    each.sort_unstable();
    Ok(Times { each, all })
}
