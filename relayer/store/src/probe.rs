//! Checks that the database can be read and written.

use super::query::{query, sql};
use super::{StoreError, Upkeep};
use purser_model::Timestamp;

impl Upkeep {
    /// Writes a row, and waits for the commit as every write does.
    pub async fn probe_writing(&self, now: Timestamp) -> Result<(), StoreError> {
        sql! {
            "INSERT INTO probes (probe, probed_at) VALUES ('write', {now})
             ON CONFLICT (probe) DO UPDATE SET probed_at = excluded.probed_at",
            now
        }
        .run(self.writer())
        .await
    }

    /// Reads the row.
    pub async fn probe_reading(&self) -> Result<(), StoreError> {
        let probed = query("SELECT probed_at FROM probes WHERE probe = 'write'");
        let _: Option<Timestamp> = probed.fetch_optional(self.reader()).await?;
        Ok(())
    }
}
