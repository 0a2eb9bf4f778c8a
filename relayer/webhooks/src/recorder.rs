//! Stores attempts: those that end while one transaction is under way go into the next one together.

use tokio::sync::{mpsc, oneshot};

use purser_base::metrics::Metrics;
use purser_base::tasks::Tasks;
use purser_store::{AttemptMade, Deliveries};

/// How many attempts one transaction stores.
const TOGETHER_MAX: usize = 256;

struct Entry {
    made: AttemptMade,
    written: oneshot::Sender<()>,
}

/// Takes attempts.
#[derive(Clone)]
pub(super) struct Recorder {
    entries: mpsc::Sender<Entry>,
}

impl Recorder {
    /// Runs until every handle is dropped.
    pub(super) fn start(deliveries: Deliveries, tasks: &Tasks, metrics: Metrics) -> Self {
        let (entries, mut waiting) = mpsc::channel::<Entry>(TOGETHER_MAX);
        tasks.keep("recorder of attempts", async move {
            let mut batch = Vec::new();
            while waiting.recv_many(&mut batch, TOGETHER_MAX).await > 0 {
                write(&deliveries, std::mem::take(&mut batch), &metrics).await;
            }
        });
        Self { entries }
    }

    /// Returns once the attempt is stored, or never can be: then the lease ends, and the attempt is made again.
    pub(super) async fn record(&self, made: AttemptMade) {
        let (written, done) = oneshot::channel();
        if self.entries.send(Entry { made, written }).await.is_ok() {
            let _ = done.await;
        }
    }
}

async fn write(deliveries: &Deliveries, batch: Vec<Entry>, metrics: &Metrics) {
    let (made, waiting): (Vec<_>, Vec<_>) =
        batch.into_iter().map(|entry| (entry.made, entry.written)).unzip();
    let count = |one: &AttemptMade| metrics.attempted(one.next.as_str());
    match deliveries.mark_attempts(&made).await {
        Ok(()) => made.iter().for_each(count),
        Err(error) => {
            tracing::warn!(%error, count = made.len(), "cannot record attempts together");
            for one in &made {
                match deliveries.mark_attempts(std::slice::from_ref(one)).await {
                    Ok(()) => count(one),
                    Err(error) => {
                        tracing::error!(%error, webhook_id = %one.webhook_id, event_id = %one.event_id, "cannot record an attempt");
                    }
                }
            }
        }
    }
    for written in waiting {
        let _ = written.send(());
    }
}
