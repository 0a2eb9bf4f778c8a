//! Deletes expired rows, a few at a time, so that no writer waits for it: deliveries of deleted or disabled webhooks,
//! and everything past its retention. Entries that moved money stay in the history.

use parking_lot::MutexGuard;

use super::deliveries::give_up_some;
use super::query::{Each, Query, Sql, query, sql};
use super::stored::OrEmpty;
use super::{Result, Transaction, Upkeep};
use futures::FutureExt;
use purser_model::{ActionId, EntryId, EventId, OperatorId, Timestamp, TooOld, TransferId, WebhookId};

/// The operator of a delivery, where its event should select the row. With the bare column, SQLite would scan all
/// deliveries of the operator.
const OF_OPERATOR: Sql<&str> = Sql("(deliveries.operator_id || '')");

/// Tables whose rows are kept as long as requests, each with its key and a condition for old rows. An approval lasts no longer than
/// an idempotency key, and an operator's numbers are for a day.
const KEPT_LIKE_REQUESTS: [(&str, &str, &str); 3] = [
    ("requests", "operator_id, idempotency_key", ""),
    ("co_signatures", "operator_id, transfer_id, number", "look_at IS NULL AND"),
    ("token_account_creations", "operator_id, created_at, wallet, idempotency_key", ""),
];

/// The last transfer that was examined for deletion, and which of the three ends it had.
#[derive(Debug, Clone, Default)]
pub(super) struct LookedAt {
    end: usize,
    last: Option<(OperatorId, TransferId)>,
}

impl Upkeep {
    /// For a worker, over every operator: deletes up to about `rows_max` leftovers of deleted webhooks and rows past
    /// their retention, and gives up pending deliveries of disabled webhooks. Returns the number of rows, 0 when nothing is left.
    pub async fn clean_up(&self, old: &TooOld, rows_max: u32) -> Result<u64> {
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
        for table in KEPT_LIKE_REQUESTS {
            if let (0, Some(before)) = (touched, old.requests_before) {
                touched = self.delete_oldest(table, before, rows).await?;
            }
        }
        if let (0, Some(before)) = (touched, old.actions_before) {
            touched = self.delete_old_actions("TRUE", before, rows).await?;
        }
        // One name at a time: of both at once, SQLite would read all old actions.
        for is_named in ["actions.name = 'sign_in'", "actions.name = 'sign_out'"] {
            if let (0, Some(before)) = (touched, old.sign_ins_before) {
                touched = self.delete_old_actions(is_named, before, rows).await?;
            }
        }
        if touched == 0 {
            touched = self.delete_old_sessions(old.now, rows).await?;
        }
        Ok(touched)
    }

    async fn clean_up_after_deleted(&self, rows: i64) -> Result<u64> {
        let found = query(
            "SELECT operator_id, webhook_id FROM deleted_webhooks ORDER BY operator_id, webhook_id LIMIT 1",
        );
        let found: Option<(OperatorId, WebhookId)> = found.fetch_optional(self.lister()).await?;
        let Some((operator, webhook)) = found else { return Ok(0) };
        // Attempts first, because they refer to deliveries; a later pass catches an attempt that is still running.
        let steps = [
            sql! {
                "DELETE FROM delivery_attempts
                 WHERE operator_id = {operator} AND webhook_id = {webhook} AND (event_id, attempt) IN (
                     SELECT event_id, attempt FROM delivery_attempts
                     WHERE operator_id = {operator} AND webhook_id = {webhook} LIMIT {rows})",
                operator, webhook, rows
            },
            sql! {
                "DELETE FROM deliveries
                 WHERE operator_id = {operator} AND webhook_id = {webhook} AND event_id IN (
                     SELECT event_id FROM deliveries
                     WHERE operator_id = {operator} AND webhook_id = {webhook} AND NOT EXISTS (
                         SELECT 1 FROM delivery_attempts
                         WHERE delivery_attempts.operator_id = {operator} AND delivery_attempts.webhook_id = {webhook}
                             AND delivery_attempts.event_id = deliveries.event_id)
                     LIMIT {rows})",
                operator, webhook, rows
            },
            sql! {
                "DELETE FROM deleted_webhooks
                 WHERE operator_id = {operator} AND webhook_id = {webhook} AND NOT EXISTS (
                     SELECT 1 FROM deliveries
                     WHERE deliveries.operator_id = {operator} AND deliveries.webhook_id = {webhook})",
                operator, webhook
            },
        ];
        self.write(move |tx| first_that_finds_any(tx, steps).boxed()).await
    }

    async fn clean_up_after_disabled(&self, rows: i64) -> Result<u64> {
        let found = query(
            "SELECT operator_id, webhook_id, disabled_at FROM webhooks
             WHERE status = 'disabled' AND EXISTS (
                 SELECT 1 FROM deliveries
                 WHERE deliveries.operator_id = webhooks.operator_id AND deliveries.webhook_id = webhooks.webhook_id
                     AND deliveries.state = 'pending')
             LIMIT 1",
        );
        let found: Option<(OperatorId, WebhookId, Timestamp)> = found.fetch_optional(self.lister()).await?;
        let Some((operator, webhook, since)) = found else { return Ok(0) };
        self.write(move |tx| give_up_some(tx, (operator, webhook), since, rows).boxed()).await
    }

    /// Deletes the oldest rows of a table of [`KEPT_LIKE_REQUESTS`].
    async fn delete_oldest(
        &self,
        (table, key, and): (&'static str, &'static str, &'static str),
        before: Timestamp,
        rows: i64,
    ) -> Result<u64> {
        sql! {
            "DELETE FROM {table} WHERE ({key}) IN (
                 SELECT {key} FROM {table} WHERE {and} created_at <= {before} ORDER BY created_at LIMIT {rows})",
            table = Sql(table), key = Sql(key), and = Sql(and), before, rows
        }
        .execute(self.writer())
        .await
    }

    /// Deletes those for which this condition holds. With a cross join, SQLite looks up each operator's oldest actions instead of scanning
    /// all of them.
    async fn delete_old_actions(&self, is_named: &'static str, before: Timestamp, rows: i64) -> Result<u64> {
        sql! {
            "DELETE FROM actions WHERE action_id IN (
                 SELECT actions.action_id FROM operators CROSS JOIN actions
                 WHERE actions.operator_id = operators.operator_id AND actions.action_id < {first_kept} AND {is_named}
                 ORDER BY operators.operator_id, actions.action_id LIMIT {rows})",
            // Ids begin with the times of their actions.
            first_kept = ActionId::new(before, 0), is_named = Sql(is_named), rows
        }
        .execute(self.writer())
        .await
    }

    async fn delete_old_attempts(&self, before: Timestamp, rows: i64) -> Result<u64> {
        sql! {
            "DELETE FROM delivery_attempts WHERE (operator_id, webhook_id, event_id, attempt) IN (
                 SELECT operator_id, webhook_id, event_id, attempt FROM delivery_attempts
                 WHERE started_at < {before} ORDER BY started_at LIMIT {rows})",
            before, rows
        }
        .execute(self.writer())
        .await
    }

    /// Deletes events with their deliveries and attempts, one operator at a time. Keeps what is pending for an existing
    /// webhook, and what waits for its deliveries.
    async fn delete_old_events(&self, before: Timestamp, rows: i64) -> Result<u64> {
        // With a cross join, SQLite looks up each operator's oldest events instead of scanning all events.
        let found: Vec<(OperatorId, EventId)> = sql! {
            "SELECT events.operator_id, events.event_id FROM operators CROSS JOIN events
             WHERE events.operator_id = operators.operator_id AND events.event_id < {first_kept}
                 AND COALESCE(events.place, 1) > 0 AND NOT EXISTS (
                 SELECT 1 FROM deliveries JOIN webhooks ON webhooks.webhook_id = deliveries.webhook_id
                 WHERE deliveries.event_id = events.event_id AND {of_operator} = events.operator_id
                     AND deliveries.state = 'pending')
             ORDER BY operators.operator_id, events.event_id LIMIT {rows}",
            // Ids begin with the times of their events.
            first_kept = EventId::new(before, 0), of_operator = OF_OPERATOR, rows
        }
        .fetch_all(self.lister())
        .await?;
        let Some((operator, ids)) = of_first_operator(found) else { return Ok(0) };
        let steps = [
            sql! {
                "DELETE FROM delivery_attempts WHERE (operator_id, webhook_id, event_id, attempt) IN (
                     SELECT delivery_attempts.operator_id, delivery_attempts.webhook_id, delivery_attempts.event_id,
                         delivery_attempts.attempt
                     FROM deliveries JOIN delivery_attempts
                         ON delivery_attempts.operator_id = deliveries.operator_id
                         AND delivery_attempts.webhook_id = deliveries.webhook_id
                         AND delivery_attempts.event_id = deliveries.event_id
                     WHERE {of_operator} = {operator} AND deliveries.event_id IN ({ids}) LIMIT {rows})",
                of_operator = OF_OPERATOR, operator, ids = Each(&ids), rows
            },
            // A delivery that was replayed meanwhile stays, and its event with it.
            sql! {
                "DELETE FROM deliveries WHERE (operator_id, webhook_id, event_id) IN (
                     SELECT operator_id, webhook_id, event_id FROM deliveries
                     WHERE {of_operator} = {operator} AND event_id IN ({ids}) AND (
                         state <> 'pending' OR NOT EXISTS (
                             SELECT 1 FROM webhooks WHERE webhooks.webhook_id = deliveries.webhook_id))
                     LIMIT {rows})",
                of_operator = OF_OPERATOR, operator, ids = Each(&ids), rows
            },
            sql! {
                "DELETE FROM events WHERE operator_id = {operator} AND event_id IN ({ids})
                     AND NOT EXISTS (
                         SELECT 1 FROM deliveries
                         WHERE {of_operator} = {operator} AND deliveries.event_id = events.event_id)",
                of_operator = OF_OPERATOR, operator, ids = Each(&ids)
            },
        ];
        self.write(move |tx| first_that_finds_any(tx, steps).boxed()).await
    }

    /// Deletes ended transfers that no event names any more and whose idempotency keys have expired, with the history
    /// entries of refusals. Where refusals are signed, keeps unsigned ones. One operator at a time. Returns how many it
    /// examined: some may have to stay, and the next call continues after them; at the end it starts over.
    async fn delete_old_transfers(&self, old: &TooOld, rows: i64) -> Result<u64> {
        let ends = [
            ("settled", old.transfers_before),
            ("rejected", old.refusals_before),
            ("failed", old.refusals_before),
        ];
        let LookedAt { end, mut last } = self.looked_at().clone();
        for (end, (state, before)) in ends.into_iter().enumerate().skip(end) {
            let (operator, transfer) = last.take().unzip();
            let Some(before) = before else { continue };
            let found: Vec<(OperatorId, TransferId)> = sql! {
                "SELECT transfers.operator_id, transfers.transfer_id FROM operators CROSS JOIN transfers
                 WHERE operators.operator_id >= {operator} AND transfers.operator_id = operators.operator_id
                     AND transfers.transfer_id
                         > CASE WHEN operators.operator_id = {operator} THEN {transfer} ELSE '' END
                     AND transfers.transfer_id < {first_kept} AND transfers.state = {state}
                     AND transfers.ended_at < {before}
                 ORDER BY operators.operator_id, transfers.transfer_id LIMIT {rows}",
                operator = OrEmpty(operator), transfer = OrEmpty(transfer),
                first_kept = TransferId::with_tag(before, 0, 0), state, before, rows
            }
            .fetch_all(self.lister())
            .await?;
            if let Some((operator, ids)) = of_first_operator(found) {
                self.delete_transfers(operator, &ids, old).await?;
                let last = ids.last().map(|transfer| (operator, *transfer));
                *self.looked_at() = LookedAt { end, last };
                return Ok(ids.len() as u64);
            }
        }
        *self.looked_at() = LookedAt::default();
        Ok(0)
    }

    fn looked_at(&self) -> MutexGuard<'_, LookedAt> {
        self.looked_at.lock()
    }

    async fn delete_transfers(&self, operator: OperatorId, ids: &[TransferId], old: &TooOld) -> Result<()> {
        let transfers = sql! {
            "DELETE FROM transfers
             WHERE operator_id = {operator} AND key_expires_unix <= {now} AND transfer_id IN ({ids})
                 AND ({may_be_unsigned} OR state <> 'rejected' OR denial IS NOT NULL)
                 AND NOT EXISTS (
                     SELECT 1 FROM events
                     WHERE events.operator_id = {operator} AND events.transfer_id = transfers.transfer_id)
             RETURNING transfer_id",
            operator, now = old.now.unix_seconds(), ids = Each(ids), may_be_unsigned = !old.refusals_are_signed
        };
        self.write(move |tx| {
            async move {
                let deleted: Vec<TransferId> = transfers.fetch_all(&mut *tx).await?;
                delete_refusals(tx, operator, &deleted).await
            }
            .boxed()
        })
        .await
    }
}

/// The ids of the first operator, from rows sorted by operator.
fn of_first_operator<T>(found: Vec<(OperatorId, T)>) -> Option<(OperatorId, Vec<T>)> {
    let operator = found.first()?.0;
    let ids = found.into_iter().take_while(|(of, _)| *of == operator).map(|(_, id)| id).collect();
    Some((operator, ids))
}

/// Deletes the history entries of refused transfers, which have the same ids.
async fn delete_refusals(
    tx: &mut Transaction<'_>,
    operator: OperatorId,
    transfers: &[TransferId],
) -> Result<()> {
    if transfers.is_empty() {
        return Ok(());
    }
    let entries: Vec<EntryId> = transfers.iter().map(|id| EntryId::from_bytes(id.bytes())).collect();
    sql! {
        "DELETE FROM history WHERE operator_id = {operator} AND status = 'rejected' AND entry_id IN ({entries})",
        operator, entries = Each(&entries)
    }
    .run(tx)
    .await
}

/// Runs statements until one touches a row, and returns how many it touched.
async fn first_that_finds_any(
    tx: &mut Transaction<'_>,
    steps: impl IntoIterator<Item = Query>,
) -> Result<u64> {
    for step in steps {
        let touched = step.execute(&mut *tx).await?;
        if touched > 0 {
            return Ok(touched);
        }
    }
    Ok(0)
}
