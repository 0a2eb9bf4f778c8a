//! Deletes expired rows, a few at a time, so that no writer waits for it: deliveries of deleted or disabled webhooks,
//! and everything past its retention. Entries that moved money stay in the history.

use std::sync::{MutexGuard, PoisonError};

use futures::FutureExt;
use sqlx::AssertSqlSafe;

use super::columns::Table;
use super::deliveries::give_up_some;
use super::query::{Query, places, query};
use super::{Store, StoreError, Transaction};
use crate::domain::{EntryId, EventId, OperatorId, Timestamp, TooOld, TransferId, WebhookId};

/// The operator of a delivery, where its event should select the row. With the bare column, SQLite would scan all
/// deliveries of the operator.
const OF_OPERATOR: &str = "(deliveries.operator_id || '')";

/// The last transfer that was examined for deletion, and which of the three ends it had.
#[derive(Debug, Clone, Default)]
pub(super) struct LookedAt {
    end: usize,
    operator: String,
    transfer: String,
}

impl Store {
    /// For a worker, over every operator: deletes up to about `rows_max` leftovers of deleted webhooks and rows past
    /// their retention, and gives up pending deliveries of disabled webhooks. Returns the number of rows, 0 when nothing is left.
    pub async fn clean_up(&self, old: &TooOld, rows_max: u32) -> Result<u64, StoreError> {
        let rows = i64::from(rows_max);
        let mut touched = self.clean_up_after_deleted(rows).await?;
        if touched == 0 {
            touched = self.clean_up_after_disabled(rows).await?;
        }
        if let (0, Some(before)) = (touched, old.attempts_before) {
            touched = self.delete_old_attempts(before, rows).await?;
        }
        if let (0, Some(before)) = (touched, old.events_before) {
            touched = self.delete_old_events(before, rows).await?;
        }
        if touched == 0 {
            touched = self.delete_old_transfers(old, rows).await?;
        }
        if let (0, Some(before)) = (touched, old.requests_before) {
            touched = self.delete_old_requests(before, rows).await?;
        }
        if touched == 0 {
            touched = self.delete_old_sessions(old.now, rows).await?;
        }
        Ok(touched)
    }

    async fn clean_up_after_deleted(&self, rows: i64) -> Result<u64, StoreError> {
        const DELETED: &str = "SELECT operator_id, webhook_id FROM deleted_webhooks
             ORDER BY operator_id, webhook_id LIMIT 1";
        // Attempts first, because they refer to deliveries; a later pass catches an attempt that is still running.
        const STEPS: [&str; 3] = [
            "DELETE FROM delivery_attempts WHERE operator_id = $1 AND webhook_id = $2 AND (event_id, attempt) IN (
                 SELECT event_id, attempt FROM delivery_attempts
                 WHERE operator_id = $1 AND webhook_id = $2 LIMIT $3)",
            "DELETE FROM deliveries WHERE operator_id = $1 AND webhook_id = $2 AND event_id IN (
                 SELECT event_id FROM deliveries WHERE operator_id = $1 AND webhook_id = $2 AND NOT EXISTS (
                     SELECT 1 FROM delivery_attempts
                     WHERE delivery_attempts.operator_id = $1 AND delivery_attempts.webhook_id = $2
                         AND delivery_attempts.event_id = deliveries.event_id)
                 LIMIT $3)",
            "DELETE FROM webhook_balances WHERE operator_id = $1 AND webhook_id = $2 AND account_id IN (
                 SELECT account_id FROM webhook_balances WHERE operator_id = $1 AND webhook_id = $2 LIMIT $3)",
        ];
        const DONE: &str =
            "DELETE FROM deleted_webhooks WHERE operator_id = $1 AND webhook_id = $2 AND NOT EXISTS (
                 SELECT 1 FROM deliveries WHERE deliveries.operator_id = $1 AND deliveries.webhook_id = $2)";
        let found: Option<(String, String)> = query(DELETED).fetch_optional(self.lister()).await?;
        let Some((operator, webhook)) = found else { return Ok(0) };
        let of_webhook = |sql| query(sql).bind(operator.as_str()).bind(webhook.as_str());
        let steps = STEPS.map(|sql| of_webhook(sql).bind(rows));
        let done = of_webhook(DONE);
        self.write(move |tx| first_that_finds_any(tx, steps.into_iter().chain([done])).boxed()).await
    }

    async fn clean_up_after_disabled(&self, rows: i64) -> Result<u64, StoreError> {
        const WEBHOOKS: Table = Table("webhooks");
        const SQL: &str = "SELECT operator_id, webhook_id, disabled_at FROM webhooks
             WHERE status = 'disabled' AND EXISTS (
                 SELECT 1 FROM deliveries
                 WHERE deliveries.operator_id = webhooks.operator_id AND deliveries.webhook_id = webhooks.webhook_id
                     AND deliveries.state = 'pending')
             LIMIT 1";
        let found: Option<(String, String, String)> = query(SQL).fetch_optional(self.lister()).await?;
        let Some((operator, webhook, since)) = found else { return Ok(0) };
        let webhook: (OperatorId, WebhookId) =
            (WEBHOOKS.read("operator_id", &operator)?, WEBHOOKS.read("webhook_id", &webhook)?);
        let since: Timestamp = WEBHOOKS.read("disabled_at", &since)?;
        self.write(move |tx| give_up_some(tx, webhook, since, rows).boxed()).await
    }

    async fn delete_old_requests(&self, before: Timestamp, rows: i64) -> Result<u64, StoreError> {
        const SQL: &str = "DELETE FROM requests WHERE (operator_id, idempotency_key) IN (
                 SELECT operator_id, idempotency_key FROM requests
                 WHERE created_at <= $1 ORDER BY created_at LIMIT $2)";
        query(SQL).bind(before.to_string()).bind(rows).execute(self.writer()).await
    }

    async fn delete_old_attempts(&self, before: Timestamp, rows: i64) -> Result<u64, StoreError> {
        const SQL: &str =
            "DELETE FROM delivery_attempts WHERE (operator_id, webhook_id, event_id, attempt) IN (
                 SELECT operator_id, webhook_id, event_id, attempt FROM delivery_attempts
                 WHERE started_at < $1 ORDER BY started_at LIMIT $2)";
        query(SQL).bind(before.to_string()).bind(rows).execute(self.writer()).await
    }

    /// Deletes events with their deliveries and attempts, one operator at a time. Keeps what is pending for an existing webhook.
    async fn delete_old_events(&self, before: Timestamp, rows: i64) -> Result<u64, StoreError> {
        // With a cross join, SQLite looks up each operator's oldest events instead of scanning all events.
        let old = format!(
            "SELECT events.operator_id, events.event_id FROM operators CROSS JOIN events
             WHERE events.operator_id = operators.operator_id AND events.event_id < $1 AND NOT EXISTS (
                 SELECT 1 FROM deliveries JOIN webhooks ON webhooks.webhook_id = deliveries.webhook_id
                 WHERE deliveries.event_id = events.event_id AND {OF_OPERATOR} = events.operator_id
                     AND deliveries.state = 'pending')
             ORDER BY operators.operator_id, events.event_id LIMIT $2"
        );
        // Ids begin with the times of their events.
        let first_kept = EventId::new(before, 0).to_string();
        let found: Vec<(String, String)> =
            query(AssertSqlSafe(old)).bind(first_kept).bind(rows).fetch_all(self.lister()).await?;
        let Some((operator, ids)) = of_first_operator(found) else { return Ok(0) };
        let all = places(2, ids.len());
        let limit = ids.len() + 2;
        let steps = [
            format!(
                "DELETE FROM delivery_attempts WHERE (operator_id, webhook_id, event_id, attempt) IN (
                     SELECT delivery_attempts.operator_id, delivery_attempts.webhook_id, delivery_attempts.event_id,
                         delivery_attempts.attempt
                     FROM deliveries JOIN delivery_attempts
                         ON delivery_attempts.operator_id = deliveries.operator_id
                         AND delivery_attempts.webhook_id = deliveries.webhook_id
                         AND delivery_attempts.event_id = deliveries.event_id
                     WHERE {OF_OPERATOR} = $1 AND deliveries.event_id IN ({all}) LIMIT ${limit})"
            ),
            // A delivery that was replayed meanwhile stays, and its event with it.
            format!(
                "DELETE FROM deliveries WHERE (operator_id, webhook_id, event_id) IN (
                     SELECT operator_id, webhook_id, event_id FROM deliveries
                     WHERE {OF_OPERATOR} = $1 AND event_id IN ({all}) AND (
                         state <> 'pending' OR NOT EXISTS (
                             SELECT 1 FROM webhooks WHERE webhooks.webhook_id = deliveries.webhook_id))
                     LIMIT ${limit})"
            ),
            format!(
                "DELETE FROM events WHERE operator_id = $1 AND event_id IN ({all})
                     AND NOT EXISTS (
                         SELECT 1 FROM deliveries
                         WHERE {OF_OPERATOR} = $1 AND deliveries.event_id = events.event_id)"
            ),
        ];
        // Only placeholders are interpolated.
        let [attempts, deliveries, events] = steps.map(|sql| {
            query(AssertSqlSafe(sql)).bind(operator.as_str()).bind_all(ids.iter().map(String::as_str))
        });
        let steps = [attempts.bind(rows), deliveries.bind(rows), events];
        self.write(move |tx| first_that_finds_any(tx, steps).boxed()).await
    }

    /// Deletes ended transfers that no event names any more and whose idempotency keys have expired, with the history
    /// entries of refusals. Where refusals are signed, keeps unsigned ones. One operator at a time. Returns how many it
    /// examined: some may have to stay, and the next call continues after them; at the end it starts over.
    async fn delete_old_transfers(&self, old: &TooOld, rows: i64) -> Result<u64, StoreError> {
        const OLD: &str =
            "SELECT transfers.operator_id, transfers.transfer_id FROM operators CROSS JOIN transfers
             WHERE operators.operator_id >= $1 AND transfers.operator_id = operators.operator_id
                 AND transfers.transfer_id > CASE WHEN operators.operator_id = $1 THEN $2 ELSE '' END
                 AND transfers.transfer_id < $3 AND transfers.state = $6 AND transfers.ended_at < $4
             ORDER BY operators.operator_id, transfers.transfer_id LIMIT $5";
        let ends = [
            ("settled", old.transfers_before),
            ("rejected", old.refusals_before),
            ("failed", old.refusals_before),
        ];
        let LookedAt { end, operator, transfer } = self.looked_at().clone();
        let (mut operator, mut transfer) = (operator, transfer);
        for (end, (state, before)) in ends.into_iter().enumerate().skip(end) {
            let (operator, transfer) = (std::mem::take(&mut operator), std::mem::take(&mut transfer));
            let Some(before) = before else { continue };
            let found: Vec<(String, String)> = query(OLD)
                .bind(operator)
                .bind(transfer)
                .bind(TransferId::with_tag(before, 0, 0).to_string())
                .bind(before.to_string())
                .bind(rows)
                .bind(state)
                .fetch_all(self.lister())
                .await?;
            if let Some((operator, ids)) = of_first_operator(found) {
                self.delete_transfers(&operator, &ids, old).await?;
                let count = ids.len() as u64;
                let transfer = ids.into_iter().last().unwrap_or_default();
                *self.looked_at() = LookedAt { end, operator, transfer };
                return Ok(count);
            }
        }
        *self.looked_at() = LookedAt::default();
        Ok(0)
    }

    fn looked_at(&self) -> MutexGuard<'_, LookedAt> {
        self.looked_at.lock().unwrap_or_else(PoisonError::into_inner)
    }

    async fn delete_transfers(&self, operator: &str, ids: &[String], old: &TooOld) -> Result<(), StoreError> {
        let transfers = format!(
            "DELETE FROM transfers WHERE operator_id = $1 AND key_expires_unix <= $2 AND transfer_id IN ({})
                 AND ($3 OR state <> 'rejected' OR denial IS NOT NULL)
                 AND NOT EXISTS (
                     SELECT 1 FROM events
                     WHERE events.operator_id = $1 AND events.transfer_id = transfers.transfer_id)
             RETURNING transfer_id",
            places(4, ids.len())
        );
        // Only placeholders are interpolated.
        let transfers = query(AssertSqlSafe(transfers))
            .bind(operator)
            .bind(old.now.unix_seconds())
            .bind(!old.refusals_are_signed)
            .bind_all(ids.iter().map(String::as_str));
        let operator = operator.to_owned();
        self.write(move |tx| {
            async move {
                let deleted: Vec<(String,)> = transfers.fetch_all(&mut *tx).await?;
                delete_refusals(tx, &operator, &deleted).await
            }
            .boxed()
        })
        .await
    }
}

/// The ids of the first operator, from rows sorted by operator.
fn of_first_operator(found: Vec<(String, String)>) -> Option<(String, Vec<String>)> {
    let (operator, _) = found.first()?.clone();
    let ids = found.into_iter().take_while(|(of, _)| *of == operator).map(|(_, id)| id).collect();
    Some((operator, ids))
}

/// Deletes the history entries of refused transfers, which have the same ids.
async fn delete_refusals(
    tx: &mut Transaction<'_>,
    operator: &str,
    transfers: &[(String,)],
) -> Result<(), StoreError> {
    const TRANSFERS: Table = Table("transfers");
    if transfers.is_empty() {
        return Ok(());
    }
    let all = places(2, transfers.len());
    let sql =
        format!("DELETE FROM history WHERE operator_id = $1 AND status = 'rejected' AND entry_id IN ({all})");
    let entry = |(id,): &(String,)| {
        let id = TRANSFERS.read::<TransferId>("transfer_id", id)?;
        Ok(EntryId::from_bytes(id.bytes()).to_string())
    };
    let entries = transfers.iter().map(entry).collect::<Result<Vec<_>, StoreError>>()?;
    // Only placeholders are interpolated.
    query(AssertSqlSafe(sql)).bind(operator).bind_all(entries).execute(tx).await?;
    Ok(())
}

/// Runs statements until one touches a row, and returns how many it touched.
async fn first_that_finds_any(
    tx: &mut Transaction<'_>,
    steps: impl IntoIterator<Item = Query>,
) -> Result<u64, StoreError> {
    for step in steps {
        let touched = step.execute(&mut *tx).await?;
        if touched > 0 {
            return Ok(touched);
        }
    }
    Ok(0)
}
