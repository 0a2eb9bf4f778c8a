//! Records when keys are used: each request notes its key in memory, and a batch writes the notes down.

use std::sync::Arc;
use std::time::Duration;

use crate::Inside;
use purser_model::{KeyId, Timestamp};

/// How often uses are written: at most once in this time per key.
const WRITE_EVERY: Duration = Duration::from_secs(60);
/// Keys per statement.
const ROWS_MAX: usize = 100;

/// Notes a use. Holds no more keys than were used within a minute.
pub fn note(inside: &Arc<Inside>, key: KeyId, now: Timestamp) {
    inside.key_uses.lock().insert(key, now);
}

/// Writes the notes every minute, and once more at a stop.
pub fn write_until_stopped(inside: &Arc<Inside>) {
    let (this, stop) = (inside.clone(), inside.tasks.stop.clone());
    inside.tasks.keep("key uses", async move {
        let mut is_over = false;
        while !is_over {
            tokio::select! {
                () = stop.cancelled() => is_over = true,
                () = tokio::time::sleep(WRITE_EVERY) => {}
            }
            write(&this).await;
        }
    });
}

/// Drops notes that cannot be written; the next use is noted again.
async fn write(inside: &Arc<Inside>) {
    let noted = std::mem::take(&mut *inside.key_uses.lock());
    let uses: Vec<(KeyId, Timestamp)> = noted.into_iter().collect();
    for some in uses.chunks(ROWS_MAX) {
        if let Err(error) = inside.store.keys.mark_keys_used(some).await {
            tracing::warn!(%error, "cannot record key usage");
            return;
        }
    }
}
