//! Checks that the database can be read and written.

use super::query::{query, sql};
use super::{StoreError, Upkeep};
use purser_model::Timestamp;

impl Upkeep {
    /// Writes a row, and waits for the commit as every write does.
    pub async fn probe_writing(&self, now: Timestamp) -> Result<(), StoreError> {
        sql! {
            "INSERT INTO marks (name, at) VALUES ('probe', {now}) ON CONFLICT (name) DO UPDATE SET at = excluded.at",
            now
        }
        .run(self.writer())
        .await
    }

    /// Reads the row.
    pub async fn probe_reading(&self) -> Result<(), StoreError> {
        let probed = query("SELECT at FROM marks WHERE name = 'probe'");
        let _: Option<Timestamp> = probed.fetch_optional(self.reader()).await?;
        Ok(())
    }
}
