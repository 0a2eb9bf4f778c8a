//! Records when keys are used: each request notes its key in memory, and a batch writes the notes down.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use super::Tasks;
use purser_model::{KeyId, Timestamp};
use purser_store as store;

/// How often uses are written: at most once in this time per key.
const WRITE_EVERY: Duration = Duration::from_secs(60);
/// Keys per statement.
const ROWS_MAX: usize = 100;

/// The last use of each key since the last write.
#[derive(Clone)]
pub(super) struct KeyUses {
    noted: Arc<Mutex<BTreeMap<KeyId, Timestamp>>>,
    keys: store::Keys,
    tasks: Tasks,
}

impl KeyUses {
    pub fn new(keys: store::Keys, tasks: Tasks) -> Self {
        Self { noted: Arc::default(), keys, tasks }
    }

    /// Notes a use. Holds no more keys than were used within a minute.
    pub fn note(&self, key: KeyId, now: Timestamp) {
        self.noted.lock().unwrap_or_else(PoisonError::into_inner).insert(key, now);
    }

    /// Writes the notes every minute, and once more at a stop.
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

    /// Drops notes that cannot be written; the next use is noted again.
    async fn write(&self) {
        let noted = std::mem::take(&mut *self.noted.lock().unwrap_or_else(PoisonError::into_inner));
        let uses: Vec<(KeyId, Timestamp)> = noted.into_iter().collect();
        for some in uses.chunks(ROWS_MAX) {
            if let Err(error) = self.keys.mark_keys_used(some).await {
                tracing::warn!(%error, "cannot record key usage");
                return;
            }
        }
    }
}
