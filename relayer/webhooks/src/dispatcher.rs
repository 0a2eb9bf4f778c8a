//! Finds the webhooks with something due, and keeps exactly one queue of this process for each.

use parking_lot::{Mutex, MutexGuard};
use std::collections::HashMap;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Duration;

use futures::FutureExt;
use futures::future::join_all;
use tokio::time::Instant;

use super::deliverer::{Deliverer, LEASE};
use purser_base::tasks::{Tasks, panic_message};
use purser_model::{RETRY_DELAYS, Timestamp, WebhookId};
use purser_store::{Events, StoreError};

/// The longest time between two searches for due deliveries: another process may have written some.
const SEARCH_EVERY: Duration = Duration::from_secs(1);

/// How many deliveries are made due at once, if a clock that was ahead put them off for too long.
const HASTENED_AT_ONCE: u32 = 500;

/// Starts queues.
#[derive(Clone)]
pub struct Dispatcher {
    deliverer: Deliverer,
    events: Events,
    /// The queues under way; `true` if there may be more to deliver than the queue has seen.
    queues: Arc<Mutex<HashMap<WebhookId, bool>>>,
    tasks: Tasks,
}

impl Dispatcher {
    /// Nothing runs yet; see [`Dispatcher::run_until_stopped`].
    pub fn new(deliverer: Deliverer, events: Events, tasks: Tasks) -> Self {
        Self { deliverer, events, queues: Arc::default(), tasks }
    }

    /// Delivers whatever is due: when this process writes more, when a retry is due, and by timer.
    pub async fn run_until_stopped(self) {
        if let Err(error) = self.deliverer.deliveries().release_orphaned_deliveries().await {
            tracing::warn!(%error, "cannot release the previous process's leases; they will expire");
        }
        if let Err(error) = self.deliverer.check_secrets().await {
            tracing::warn!(%error, "cannot check the secrets of webhooks");
        }
        loop {
            let search_again = match self.search().await {
                Ok(search_again) => search_again,
                Err(error) => {
                    tracing::warn!(%error, "cannot search for due deliveries; retrying");
                    Instant::now() + SEARCH_EVERY
                }
            };
            if !self.listen_until(search_again).await {
                return;
            }
        }
    }

    /// Attempts everything that is due now, and returns when that is done.
    pub async fn deliver_due(&self) -> Result<(), StoreError> {
        let due = self.list_due((self.deliverer.clock())()).await?;
        join_all(due.into_iter().map(|id| self.deliverer.serve(id))).await.into_iter().collect()
    }

    /// Starts a queue for every webhook with something due, and returns when to search again.
    async fn search(&self) -> Result<Instant, StoreError> {
        let now = (self.deliverer.clock())();
        for id in self.list_due(now).await? {
            self.wake(id);
        }
        let next = self.deliverer.deliveries().find_next_due(now).await?;
        let wait = next.map_or(SEARCH_EVERY, |next| now.until(next).min(SEARCH_EVERY));
        Ok(Instant::now() + wait)
    }

    async fn list_due(&self, now: Timestamp) -> Result<Vec<WebhookId>, StoreError> {
        let deliveries = self.deliverer.deliveries();
        let longest = RETRY_DELAYS.into_iter().max().unwrap_or_default();
        deliveries.hasten_deliveries(now, longest, HASTENED_AT_ONCE).await?;
        deliveries.list_due_webhooks(now, LEASE).await
    }

    /// Serves what this process writes, until that moment. `false` at a stop.
    async fn listen_until(&self, moment: Instant) -> bool {
        loop {
            tokio::select! {
                () = self.tasks.stop.cancelled() => return false,
                () = tokio::time::sleep_until(moment) => return true,
                hinted = self.events.hinted_webhooks() => {
                    hinted.into_iter().for_each(|id| self.wake(id));
                }
            }
        }
    }

    /// Makes sure of one queue for the webhook: starts it, or has the one under way look again.
    fn wake(&self, id: WebhookId) {
        let mut queues = self.lock();
        if queues.insert(id, true).is_some() {
            return;
        }
        self.deliverer.metrics().set_webhook_queues(queues.len());
        drop(queues);
        let this = self.clone();
        self.tasks.start(async move {
            while this.has_more(id) {
                // A panic affects this webhook alone, and frees its queue like an error.
                match AssertUnwindSafe(this.deliverer.serve(id)).catch_unwind().await {
                    Ok(Ok(())) => {}
                    Ok(Err(error)) => {
                        tracing::warn!(%error, webhook_id = %id, "a queue was interrupted; the next search resumes it");
                    }
                    Err(panic) => {
                        let panic = panic_message(&*panic);
                        tracing::error!(panic, webhook_id = %id, "a queue panicked; the next search resumes it");
                    }
                }
            }
        });
    }

    /// Takes the note that there may be more; without a note, the queue ends.
    fn has_more(&self, id: WebhookId) -> bool {
        let mut queues = self.lock();
        match queues.get_mut(&id) {
            Some(more) if *more => {
                *more = false;
                true
            }
            Some(_) | None => {
                queues.remove(&id);
                self.deliverer.metrics().set_webhook_queues(queues.len());
                false
            }
        }
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<WebhookId, bool>> {
        self.queues.lock()
    }
}
