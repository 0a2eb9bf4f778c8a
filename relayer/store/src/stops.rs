//! Pauses and halts that may still be forked away. Each is the transaction of an action that stays open until it is final.

use super::query::{columns, sql};
use super::row::{Listed, row};
use super::{Actions, Result};
use futures::FutureExt;
use purser_model::{AccountId, OperatorId, Stop, Stopped, Timestamp};

row! { Stop {
    tx_signature, operator_id, action_id, landed_at: sent_at,
    what(stop, account_id) = match (account_id, String::as_str(&stop)) {
        (Some(account), "pause") => Stopped::Paused(account),
        (halted, _) => Stopped::Halted(halted),
    },
}}

impl Actions {
    /// Records a stop that landed, before anybody is told.
    pub async fn insert_stop(&self, stop: &Stop) -> Result<()> {
        sql! {
            "INSERT INTO action_transactions {row}
             ON CONFLICT (tx_signature) DO UPDATE SET
                 stop = excluded.stop, account_id = excluded.account_id, sent_at = excluded.sent_at",
            row = columns! {
                ..stop, is_step = false, stop = stop.what.as_str(), account_id = stop.what.account_id()
            }
        }
        .run(self.writer())
        .await
    }

    /// For a worker: up to `rows_max` stops of every operator, in the order in which they landed.
    pub async fn list_stops(&self, rows_max: u32) -> Result<Vec<Stop>> {
        sql! {
            "SELECT {columns} FROM action_transactions
             WHERE stop IS NOT NULL ORDER BY sent_at, tx_signature LIMIT {rows_max}",
            columns = Stop::COLUMNS, rows_max
        }
        .fetch_all(self.lister())
        .await
    }

    /// Records that a stop was sent again, and landed under `tx_signature`. Whoever asked for it asked for this one.
    pub async fn mark_stopped_again(&self, stop: &Stop, tx_signature: &str, now: Timestamp) -> Result<()> {
        let again = sql! {
            "UPDATE action_transactions SET tx_signature = {tx_signature}, sent_at = {now} WHERE tx_signature = {before}",
            tx_signature, now, before = stop.tx_signature
        };
        let action = sql! {
            "UPDATE actions SET tx_signature = {tx_signature}
             WHERE operator_id = {operator_id} AND action_id = {action_id} AND tx_signature = {before}",
            tx_signature, stop.operator_id, stop.action_id, before = stop.tx_signature
        };
        let asked = sql! {
            "UPDATE policy_askings SET done_by = {tx_signature}
             WHERE operator_id = {operator_id} AND done_by = {before}",
            tx_signature, stop.operator_id, before = stop.tx_signature
        };
        self.write(move |tx| {
            async move {
                again.execute(&mut *tx).await?;
                action.run(&mut *tx).await?;
                asked.run(tx).await
            }
            .boxed()
        })
        .await
    }

    /// Forgets a stop that nobody can follow any more.
    pub async fn delete_stop(&self, stop: &Stop) -> Result<()> {
        sql! {"DELETE FROM action_transactions WHERE tx_signature = {tx_signature}", stop.tx_signature}
            .run(self.writer())
            .await
    }

    /// Forgets the account's pauses: one was lifted.
    pub async fn delete_pauses(&self, operator: OperatorId, account: AccountId) -> Result<()> {
        sql! {
            "DELETE FROM action_transactions
             WHERE operator_id = {operator} AND account_id = {account} AND stop = 'pause'",
            operator, account
        }
        .run(self.writer())
        .await
    }
}
