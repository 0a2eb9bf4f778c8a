//! What is over is deleted, a few rows at a time, so that nobody who writes waits for it: deliveries of webhooks that are
//! deleted or disabled, and what is too old to be kept. What moved money stays in the history.

use std::sync::PoisonError;

use futures::FutureExt;
use sqlx::AssertSqlSafe;

use super::columns::Table;
use super::deliveries::give_up_some;
use super::query::{Query, places, query};
use super::{Store, StoreError, Transaction};
use crate::domain::{EntryId, EventId, Timestamp, TooOld, TransferId, WebhookId};

impl Store {
    /// For a worker: deletes up to about `rows_max` rows of what is left of deleted webhooks and of what is too old, of
    /// every operator, and gives up what is pending for disabled webhooks. Gives the number of rows, 0 when nothing is left.
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
        if let (0, Some(before)) = (touched, old.transfers_before) {
            touched = self.delete_old_transfers(before, old, rows).await?;
        }
        if touched == 0 {
            touched = self.delete_old_requests(old.requests_before, rows).await?;
        }
        if touched == 0 {
            touched = self.delete_old_sessions(old.now, rows).await?;
        }
        Ok(touched)
    }

    async fn clean_up_after_deleted(&self, rows: i64) -> Result<u64, StoreError> {
        const DELETED: &str = "SELECT webhook_id FROM deleted_webhooks ORDER BY webhook_id LIMIT 1";
        // Attempts first, since they refer to deliveries; whatever is still being attempted comes again.
        const STEPS: [&str; 3] = [
            "DELETE FROM delivery_attempts WHERE webhook_id = $1 AND (event_id, attempt) IN (
                 SELECT event_id, attempt FROM delivery_attempts WHERE webhook_id = $1 LIMIT $2)",
            "DELETE FROM deliveries WHERE webhook_id = $1 AND event_id IN (
                 SELECT event_id FROM deliveries WHERE webhook_id = $1 AND NOT EXISTS (
                     SELECT 1 FROM delivery_attempts
                     WHERE delivery_attempts.webhook_id = $1 AND delivery_attempts.event_id = deliveries.event_id)
                 LIMIT $2)",
            "DELETE FROM webhook_balances WHERE webhook_id = $1 AND account_id IN (
                 SELECT account_id FROM webhook_balances WHERE webhook_id = $1 LIMIT $2)",
        ];
        const DONE: &str = "DELETE FROM deleted_webhooks WHERE webhook_id = $1
             AND NOT EXISTS (SELECT 1 FROM deliveries WHERE deliveries.webhook_id = $1)";
        let found: Option<(String,)> = query(DELETED).fetch_optional(self.lister()).await?;
        let Some((webhook,)) = found else { return Ok(0) };
        let steps = STEPS.map(|sql| query(sql).bind(webhook.as_str()).bind(rows));
        let done = query(DONE).bind(webhook);
        self.write(move |tx| first_that_finds_any(tx, steps.into_iter().chain([done])).boxed()).await
    }

    async fn clean_up_after_disabled(&self, rows: i64) -> Result<u64, StoreError> {
        const WEBHOOKS: Table = Table("webhooks");
        const SQL: &str = "SELECT webhook_id, disabled_at FROM webhooks
             WHERE status = 'disabled' AND EXISTS (
                 SELECT 1 FROM deliveries
                 WHERE deliveries.webhook_id = webhooks.webhook_id AND deliveries.state = 'pending')
             LIMIT 1";
        let found: Option<(String, String)> = query(SQL).fetch_optional(self.lister()).await?;
        let Some((webhook, since)) = found else { return Ok(0) };
        let webhook: WebhookId = WEBHOOKS.read("webhook_id", &webhook)?;
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
        const SQL: &str = "DELETE FROM delivery_attempts WHERE (webhook_id, event_id, attempt) IN (
                 SELECT webhook_id, event_id, attempt FROM delivery_attempts
                 WHERE started_at < $1 ORDER BY started_at LIMIT $2)";
        query(SQL).bind(before.to_string()).bind(rows).execute(self.writer()).await
    }

    /// With their deliveries and attempts. What is pending for a webhook that is there is kept.
    async fn delete_old_events(&self, before: Timestamp, rows: i64) -> Result<u64, StoreError> {
        const OLD: &str = "SELECT event_id FROM events
             WHERE event_id < $1 AND NOT EXISTS (
                 SELECT 1 FROM deliveries JOIN webhooks ON webhooks.webhook_id = deliveries.webhook_id
                 WHERE deliveries.event_id = events.event_id AND deliveries.state = 'pending')
             ORDER BY event_id LIMIT $2";
        // Ids begin with the moments of their events.
        let first_kept = EventId::new(before, 0).to_string();
        let found: Vec<(String,)> = query(OLD).bind(first_kept).bind(rows).fetch_all(self.lister()).await?;
        let ids: Vec<String> = found.into_iter().map(|(id,)| id).collect();
        if ids.is_empty() {
            return Ok(0);
        }
        let all = places(1, ids.len());
        let limit = ids.len() + 1;
        let steps = [
            format!(
                "DELETE FROM delivery_attempts WHERE (webhook_id, event_id, attempt) IN (
                     SELECT delivery_attempts.webhook_id, delivery_attempts.event_id, delivery_attempts.attempt
                     FROM deliveries JOIN delivery_attempts
                         ON delivery_attempts.webhook_id = deliveries.webhook_id
                         AND delivery_attempts.event_id = deliveries.event_id
                     WHERE deliveries.event_id IN ({all}) LIMIT ${limit})"
            ),
            // One that was begun anew meanwhile stays, and its event with it.
            format!(
                "DELETE FROM deliveries WHERE (webhook_id, event_id) IN (
                     SELECT webhook_id, event_id FROM deliveries WHERE event_id IN ({all}) AND (
                         state <> 'pending' OR NOT EXISTS (
                             SELECT 1 FROM webhooks WHERE webhooks.webhook_id = deliveries.webhook_id))
                     LIMIT ${limit})"
            ),
            format!(
                "DELETE FROM events WHERE event_id IN ({all}) AND event_id < ${limit} AND NOT EXISTS (
                     SELECT 1 FROM deliveries WHERE deliveries.event_id = events.event_id)"
            ),
        ];
        // Only placeholders were put into the texts.
        let [attempts, deliveries, events] =
            steps.map(|sql| query(AssertSqlSafe(sql)).bind_all(ids.iter().map(String::as_str)));
        let steps = [attempts.bind(rows), deliveries.bind(rows), events.bind("~")];
        self.write(move |tx| first_that_finds_any(tx, steps).boxed()).await
    }

    /// Finished ones that no event tells of any more and whose idempotency keys have expired, with what
    /// a refusal left in the history; where refusals are signed, not before that. Gives how many were looked at: some may have to stay, and the next look goes on
    /// after them, from the beginning once it has come to the end.
    async fn delete_old_transfers(
        &self,
        before: Timestamp,
        old: &TooOld,
        rows: i64,
    ) -> Result<u64, StoreError> {
        const TRANSFERS: Table = Table("transfers");
        const OLD: &str = "SELECT transfer_id FROM transfers
             WHERE transfer_id > $1 AND transfer_id < $2 AND state IN ('settled', 'rejected', 'failed')
                 AND ended_at < $3
             ORDER BY transfer_id LIMIT $4";
        let after = self.looked_at.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let found: Vec<(String,)> = query(OLD)
            .bind(after)
            .bind(TransferId::with_tag(before, 0, 0).to_string())
            .bind(before.to_string())
            .bind(rows)
            .fetch_all(self.lister())
            .await?;
        let last = found.last().map(|(id,)| id.clone()).unwrap_or_default();
        let read = |(id,): &(String,)| TRANSFERS.read::<TransferId>("transfer_id", id);
        let ids = found.iter().map(read).collect::<Result<Vec<_>, _>>()?;
        if !ids.is_empty() {
            self.delete_transfers(&ids, old).await?;
        }
        *self.looked_at.lock().unwrap_or_else(PoisonError::into_inner) = last;
        Ok(ids.len() as u64)
    }

    async fn delete_transfers(&self, ids: &[TransferId], old: &TooOld) -> Result<(), StoreError> {
        let all = places(3, ids.len());
        let transfers = format!(
            "DELETE FROM transfers WHERE key_expires_unix <= $1 AND transfer_id IN ({all})
                 AND ($2 OR state <> 'rejected' OR denial IS NOT NULL)
                 AND NOT EXISTS (SELECT 1 FROM events WHERE events.transfer_id = transfers.transfer_id)
             RETURNING transfer_id"
        );
        // Only placeholders were put into the text.
        let transfers = query(AssertSqlSafe(transfers))
            .bind(old.now.unix_seconds())
            .bind(!old.refusals_are_signed)
            .bind_all(ids.iter().map(TransferId::to_string));
        self.write(move |tx| {
            async move {
                let deleted: Vec<(String,)> = transfers.fetch_all(&mut *tx).await?;
                delete_refusals(tx, &deleted).await
            }
            .boxed()
        })
        .await
    }
}

/// What refused transfers left in the history: entries of the same ids.
async fn delete_refusals(tx: &mut Transaction<'_>, transfers: &[(String,)]) -> Result<(), StoreError> {
    const TRANSFERS: Table = Table("transfers");
    if transfers.is_empty() {
        return Ok(());
    }
    let all = places(1, transfers.len());
    let sql = format!("DELETE FROM history WHERE status = 'rejected' AND entry_id IN ({all})");
    let entry = |(id,): &(String,)| {
        let id = TRANSFERS.read::<TransferId>("transfer_id", id)?;
        Ok(EntryId::from_bytes(id.bytes()).to_string())
    };
    let entries = transfers.iter().map(entry).collect::<Result<Vec<_>, StoreError>>()?;
    // Only placeholders were put into the text.
    query(AssertSqlSafe(sql)).bind_all(entries).execute(tx).await?;
    Ok(())
}

/// Runs statements until one has touched a row, and gives how many that touched.
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
