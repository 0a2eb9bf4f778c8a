//! Pauses and halts that may still be forked away.

use futures::FutureExt;
use macro_rules_attribute::derive;

use super::columns::Table;
use super::query::query;
use super::row::ByName;
use super::{Store, StoreError};
use crate::domain::{AccountId, OperatorId, Stop, Stopped, Timestamp};

const TABLE: Table = Table("stops");

#[derive(Debug, ByName!)]
struct StopRow {
    tx_signature: String,
    operator_id: String,
    account_id: Option<String>,
    is_pause: bool,
    landed_at: String,
}

impl TryFrom<StopRow> for Stop {
    type Error = StoreError;

    fn try_from(row: StopRow) -> Result<Self, StoreError> {
        let account = TABLE.read_optional("account_id", row.account_id.as_deref())?;
        Ok(Self {
            operator_id: TABLE.read("operator_id", &row.operator_id)?,
            what: match account {
                Some(account) if row.is_pause => Stopped::Paused(account),
                halted => Stopped::Halted(halted),
            },
            tx_signature: row.tx_signature,
            landed_at: TABLE.read("landed_at", &row.landed_at)?,
        })
    }
}

impl Store {
    /// Records a stop that landed, before anybody is told.
    pub async fn insert_stop(&self, stop: &Stop) -> Result<(), StoreError> {
        const SQL: &str = "INSERT INTO stops (tx_signature, operator_id, account_id, is_pause, landed_at)
             VALUES ($1, $2, $3, $4, $5) ON CONFLICT (tx_signature) DO NOTHING";
        query(SQL)
            .bind(stop.tx_signature.as_str())
            .bind(stop.operator_id.to_string())
            .bind(stop.what.account_id().map(|account| account.to_string()))
            .bind(matches!(stop.what, Stopped::Paused(_)))
            .bind(stop.landed_at.to_string())
            .execute(self.writer())
            .await?;
        Ok(())
    }

    /// For a worker: up to `rows_max` stops of every operator, in the order in which they landed.
    pub async fn list_stops(&self, rows_max: u32) -> Result<Vec<Stop>, StoreError> {
        const SQL: &str = "SELECT tx_signature, operator_id, account_id, is_pause, landed_at FROM stops
             ORDER BY landed_at, tx_signature LIMIT $1";
        let rows: Vec<StopRow> = query(SQL).bind(i64::from(rows_max)).fetch_all(self.lister()).await?;
        rows.into_iter().map(Stop::try_from).collect()
    }

    /// Records that a stop was sent again, and landed under `tx_signature`. Whoever asked for it asked for this one.
    pub async fn mark_stopped_again(
        &self,
        stop: &Stop,
        tx_signature: &str,
        now: Timestamp,
    ) -> Result<(), StoreError> {
        const STOP: &str = "UPDATE stops SET tx_signature = $2, landed_at = $3 WHERE tx_signature = $1";
        const ASKED: &str = "UPDATE policy_askings SET done_by = $2 WHERE operator_id = $3 AND done_by = $1";
        let again =
            query(STOP).bind(stop.tx_signature.as_str()).bind(tx_signature.to_owned()).bind(now.to_string());
        let asked = query(ASKED)
            .bind(stop.tx_signature.as_str())
            .bind(tx_signature.to_owned())
            .bind(stop.operator_id.to_string());
        self.write(move |tx| {
            async move {
                again.execute(&mut *tx).await?;
                asked.execute(tx).await?;
                Ok(())
            }
            .boxed()
        })
        .await
    }

    /// Forgets a stop that is final, or that nobody can follow any more.
    pub async fn delete_stop(&self, stop: &Stop) -> Result<(), StoreError> {
        const SQL: &str = "DELETE FROM stops WHERE tx_signature = $1";
        query(SQL).bind(stop.tx_signature.as_str()).execute(self.writer()).await?;
        Ok(())
    }

    /// Forgets the account's pauses: one was lifted.
    pub async fn delete_pauses(&self, operator: OperatorId, account: AccountId) -> Result<(), StoreError> {
        const SQL: &str = "DELETE FROM stops WHERE operator_id = $1 AND account_id = $2 AND is_pause";
        query(SQL).bind(operator.to_string()).bind(account.to_string()).execute(self.writer()).await?;
        Ok(())
    }
}
