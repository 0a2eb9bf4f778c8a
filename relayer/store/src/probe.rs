//! Checks that the database can be read and written.

use std::sync::atomic::Ordering;

use futures::FutureExt;

use super::query::{Each, query, sql};
use super::{Result, Upkeep};
use purser_model::Timestamp;

/// An index of Postgres takes entries up to 2,704 bytes.
const ROOM_ROWS: usize = 64;
const FILLER_WORDS: usize = 80;

/// 2,560 hex digits that were never there before.
fn filler() -> String {
    (0..FILLER_WORDS).map(|_| format!("{:032x}", rand::random::<u128>())).collect()
}

impl Upkeep {
    /// Writes a row, and waits for the commit as every write does. If a write found the disk full, also looks for room: the row
    /// itself needs none on Postgres.
    pub async fn probe_writing(&self, now: Timestamp) -> Result<()> {
        sql! {
            "INSERT INTO marks (name, at) VALUES ('probe', {now}) ON CONFLICT (name) DO UPDATE SET at = excluded.at",
            now
        }
        .run(self.writer())
        .await?;
        if self.disk_was_full.load(Ordering::Relaxed) {
            self.probe_room(now).await?;
            self.disk_was_full.store(false, Ordering::Relaxed);
        }
        Ok(())
    }

    /// Writes 160 kB that nothing compresses, and takes them back. `DiskFull`: there is no room for them.
    pub async fn probe_room(&self, now: Timestamp) -> Result<()> {
        let fillers: Vec<String> = (0..ROOM_ROWS).map(|_| filler()).collect();
        self.write(move |tx| {
            async move {
                for filler in &fillers {
                    sql! {"INSERT INTO marks (name, at) VALUES ({filler}, {now})", filler, now}
                        .run(&mut *tx)
                        .await?;
                }
                sql! {"DELETE FROM marks WHERE name IN ({fillers})", fillers = Each(&fillers)}.run(tx).await
            }
            .boxed()
        })
        .await
    }

    /// Reads the row.
    pub async fn probe_reading(&self) -> Result<()> {
        let probed = query("SELECT at FROM marks WHERE name = 'probe'");
        let _: Option<Timestamp> = probed.fetch_optional(self.reader()).await?;
        Ok(())
    }
}
