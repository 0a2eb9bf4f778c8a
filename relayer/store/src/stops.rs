//! Pauses and halts that may still be forked away.

use super::query::{columns, sql};
use super::row::row;
use super::{Stops, StoreError};
use futures::FutureExt;
use purser_model::{AccountId, OperatorId, Stop, Stopped, Timestamp};

row! { Stop from row {
    operator_id, tx_signature, landed_at,
    what = match (row.get("account_id")?, row.get("is_pause")?) {
        (Some(account), true) => Stopped::Paused(account),
        (halted, _) => Stopped::Halted(halted),
    },
}}

impl Stops {
    /// Records a stop that landed, before anybody is told.
    pub async fn insert_stop(&self, stop: &Stop) -> Result<(), StoreError> {
        sql! {
            "INSERT INTO stops {row}
             ON CONFLICT (tx_signature) DO NOTHING",
            row = columns! {
                stop.tx_signature, stop.operator_id, account_id = stop.what.account_id(),
                is_pause = matches!(stop.what, Stopped::Paused(_)), stop.landed_at
            }
        }
        .run(self.writer())
        .await
    }

    /// For a worker: up to `rows_max` stops of every operator, in the order in which they landed.
    pub async fn list_stops(&self, rows_max: u32) -> Result<Vec<Stop>, StoreError> {
        sql! {
            "SELECT tx_signature, operator_id, account_id, is_pause, landed_at FROM stops
             ORDER BY landed_at, tx_signature LIMIT {rows_max}",
            rows_max
        }
        .fetch_all(self.lister())
        .await
    }

    /// Records that a stop was sent again, and landed under `tx_signature`. Whoever asked for it asked for this one.
    pub async fn mark_stopped_again(
        &self,
        stop: &Stop,
        tx_signature: &str,
        now: Timestamp,
    ) -> Result<(), StoreError> {
        let again = sql! {
            "UPDATE stops SET tx_signature = {tx_signature}, landed_at = {now} WHERE tx_signature = {before}",
            tx_signature, now, before = stop.tx_signature
        };
        let asked = sql! {
            "UPDATE policy_askings SET done_by = {tx_signature}
             WHERE operator_id = {operator_id} AND done_by = {before}",
            tx_signature, stop.operator_id, before = stop.tx_signature
        };
        self.write(move |tx| {
            async move {
                again.execute(&mut *tx).await?;
                asked.run(tx).await
            }
            .boxed()
        })
        .await
    }

    /// Forgets a stop that is final, or that nobody can follow any more.
    pub async fn delete_stop(&self, stop: &Stop) -> Result<(), StoreError> {
        sql! {"DELETE FROM stops WHERE tx_signature = {tx_signature}", stop.tx_signature}
            .run(self.writer())
            .await
    }

    /// Forgets the account's pauses: one was lifted.
    pub async fn delete_pauses(&self, operator: OperatorId, account: AccountId) -> Result<(), StoreError> {
        sql! {
            "DELETE FROM stops WHERE operator_id = {operator} AND account_id = {account} AND is_pause",
            operator, account
        }
        .run(self.writer())
        .await
    }
}
