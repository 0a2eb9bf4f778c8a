//! Checks that the database can be read and written.

use super::query::query;
use super::{Store, StoreError};
use crate::domain::Timestamp;

impl Store {
    /// Writes a row, and waits for the commit as every write does.
    pub async fn probe_writing(&self, now: Timestamp) -> Result<(), StoreError> {
        const SQL: &str = "INSERT INTO probes (probe, probed_at) VALUES ('write', $1)
             ON CONFLICT (probe) DO UPDATE SET probed_at = excluded.probed_at";
        query(SQL).bind(now.to_string()).execute(self.writer()).await?;
        Ok(())
    }

    /// Reads the row.
    pub async fn probe_reading(&self) -> Result<(), StoreError> {
        const SQL: &str = "SELECT probed_at FROM probes WHERE probe = 'write'";
        let _: Option<(String,)> = query(SQL).fetch_optional(self.reader()).await?;
        Ok(())
    }
}
