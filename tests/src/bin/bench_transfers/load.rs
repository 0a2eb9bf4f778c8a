//! Runs a number of transfers, some at a time, and times each.

use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use tokio::task::JoinSet;

/// The name of the threads that the clients run on.
pub const LOAD_THREADS: &str = "load";

/// How long a transfer may take before the measurement is aborted.
const PATIENCE: Duration = Duration::from_secs(25);

/// The load of one row of the table.
#[derive(Clone, Copy)]
pub struct Load {
    /// Transfers that run first and do not count.
    pub warm_up: usize,
    pub count: usize,
    pub in_flight: usize,
    /// After this time no new transfer begins.
    pub within: Duration,
}

/// How fast each transfer was, and how long all took.
pub struct Times {
    /// Ascending.
    pub each: Vec<Duration>,
    pub all: Duration,
}

impl Load {
    /// The total number of transfers.
    pub const fn transfers(&self) -> usize {
        self.warm_up + self.count
    }

    /// Runs the warm-up transfers.
    pub async fn warm_up<F, M>(&self, makes: M) -> Result<()>
    where
        M: Fn(usize) -> F + Clone + Send + 'static,
        F: Future<Output = Result<()>> + Send,
    {
        self.make(0..self.warm_up, makes).await.map(|_| ())
    }

    /// Runs the transfers that count.
    pub async fn run<F, M>(&self, makes: M) -> Result<Times>
    where
        M: Fn(usize) -> F + Clone + Send + 'static,
        F: Future<Output = Result<()>> + Send,
    {
        self.make(self.warm_up..self.transfers(), makes).await
    }

    /// Runs transfers, some at a time, until all are done or the time for new ones is over. Stops at the first that fails.
    async fn make<F, M>(&self, transfers: Range<usize>, makes: M) -> Result<Times>
    where
        M: Fn(usize) -> F + Clone + Send + 'static,
        F: Future<Output = Result<()>> + Send,
    {
        let Self { in_flight, within, .. } = *self;
        let (begun, next) = (Instant::now(), Arc::new(AtomicUsize::new(transfers.start)));
        let mut workers = JoinSet::new();
        for _ in 0..in_flight {
            let (next, makes) = (Arc::clone(&next), makes.clone());
            workers.spawn(async move {
                let mut times = Vec::new();
                while begun.elapsed() < within {
                    let index = next.fetch_add(1, Ordering::Relaxed);
                    if index >= transfers.end {
                        break;
                    }
                    let started = Instant::now();
                    tokio::time::timeout(PATIENCE, makes(index))
                        .await
                        .context("a transfer took too long")??;
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
}
