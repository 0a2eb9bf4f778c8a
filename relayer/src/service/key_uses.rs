//! When keys are used: noted in memory with each request, and written down now and then, many at once.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use super::Parts;
use super::Tasks;
use crate::domain::{KeyId, Timestamp};
use crate::store::Store;

/// How often uses are written down: a key's once in this time at most.
const WRITE_EVERY: Duration = Duration::from_secs(60);
/// How many keys one statement writes.
const ROWS_MAX: usize = 100;

/// Since the last writing, when each key was used last.
#[derive(Clone)]
pub(super) struct KeyUses {
    noted: Arc<Mutex<BTreeMap<KeyId, Timestamp>>>,
    store: Store,
    tasks: Tasks,
}

impl KeyUses {
    pub fn new(parts: &Parts) -> Self {
        Self { noted: Arc::default(), store: parts.store.clone(), tasks: parts.tasks.clone() }
    }

    /// Notes a use. No more keys are held than were used within a minute.
    pub fn note(&self, key: KeyId, now: Timestamp) {
        self.noted.lock().unwrap_or_else(PoisonError::into_inner).insert(key, now);
    }

    /// Writes them down every minute, and once more at a stop.
    pub fn write_until_stopped(&self) {
        let this = self.clone();
        let stop = self.tasks.stop.clone();
        self.tasks.keep("key uses", async move {
            let mut is_over = false;
            while !is_over {
                tokio::select! {
                    () = stop.cancelled() => is_over = true,
                    () = tokio::time::sleep(WRITE_EVERY) => {}
                }
                this.write().await;
            }
        });
    }

    /// What cannot be written is forgotten: the next use is noted again.
    async fn write(&self) {
        let noted = std::mem::take(&mut *self.noted.lock().unwrap_or_else(PoisonError::into_inner));
        let uses: Vec<(KeyId, Timestamp)> = noted.into_iter().collect();
        for some in uses.chunks(ROWS_MAX) {
            if let Err(error) = self.store.mark_keys_used(some).await {
                tracing::warn!(%error, "it could not be written down when keys were used");
                return;
            }
        }
    }
}
