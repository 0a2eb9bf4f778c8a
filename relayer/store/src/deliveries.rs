//! Deliveries: leased row by row, attempted outside transactions, and recorded with every attempt.

use std::time::Duration;

use super::due::Due;
use super::pools::Pools;
use super::query::{Each, Sql, columns, sql};
use super::row::{Listed, row, unreadable};
use super::stored::{Below, OrEmpty};
use super::{Deliveries, Result, Transaction};
use purser_model::{
    Attempt, Delivery, DeliveryState, DeliveryStatus, Event, EventId, OperatorId, Timestamp, Webhook,
    WebhookId,
};

// Without its attempts.
row! { Delivery of deliveries from row {
    webhook_id, event_id, event_type = row.get("event_type")?,
    state(state, failures, next_attempt_at, ended_at) =
        match (String::as_str(&state), next_attempt_at, ended_at) {
            ("pending", Some(next_attempt_at), _) => DeliveryState::Pending { failures, next_attempt_at },
            ("delivered", _, Some(delivered_at)) => DeliveryState::Delivered { delivered_at },
            ("undelivered", _, Some(since)) => DeliveryState::Undelivered { since },
            _ => return Err(unreadable("state")),
        },
    created_at, attempts = Vec::new(),
}}

impl Deliveries {
    /// For the dispatcher: enabled webhooks of every operator with a delivery that is due and not leased for `lease`.
    pub async fn list_due_webhooks(&self, now: Timestamp, lease: Duration) -> Result<Vec<WebhookId>> {
        sql! {
            "SELECT webhook_id FROM webhooks
             WHERE status = 'enabled' AND EXISTS (
                 SELECT 1 FROM deliveries
                 WHERE deliveries.operator_id = webhooks.operator_id AND deliveries.webhook_id = webhooks.webhook_id
                     AND deliveries.state = 'pending' AND deliveries.next_attempt_at <= {now}
                     AND (deliveries.lease_expires_at IS NULL OR {is_free}))",
            now, is_free = Due::within(now, lease).has_come("deliveries.lease_expires_at")
        }
        .fetch_all(self.lister())
        .await
    }

    /// Which of the operator's webhooks (100 at most) have undelivered deliveries.
    pub async fn list_undelivered_webhooks(&self, operator: OperatorId) -> Result<Vec<WebhookId>> {
        sql! {
            "SELECT webhook_id FROM webhooks
             WHERE operator_id = {operator} AND EXISTS (
                 SELECT 1 FROM deliveries
                 WHERE deliveries.operator_id = webhooks.operator_id AND deliveries.webhook_id = webhooks.webhook_id
                     AND deliveries.state = 'undelivered')",
            operator
        }
        .fetch_all(self.lister())
        .await
    }

    /// How many deliveries to a webhook wait for the first attempt of their round; counts no further than `at_most`.
    pub async fn count_unattempted(
        &self,
        operator: OperatorId,
        webhook: WebhookId,
        at_most: u32,
    ) -> Result<u64> {
        sql! {
            "SELECT COUNT(*) FROM (
                 SELECT 1 FROM deliveries
                 WHERE operator_id = {operator} AND webhook_id = {webhook} AND state = 'pending' AND failures = 0
                 LIMIT {at_most}) AS waiting",
            operator, webhook, at_most
        }
        .count(self.lister())
        .await
    }

    /// For the dispatcher: when the next delivery of any operator becomes due, if one is scheduled.
    pub async fn find_next_due(&self, now: Timestamp) -> Result<Option<Timestamp>> {
        sql! {
            "SELECT MIN(next_attempt_at) FROM deliveries WHERE state = 'pending' AND next_attempt_at > {now}",
            now
        }
        .fetch_value(self.lister())
        .await
    }

    /// For the dispatcher: makes up to `rows_max` deliveries of any operator due now that a clock which was ahead set
    /// further ahead than `longest`, the longest delay before a retry.
    pub async fn hasten_deliveries(&self, now: Timestamp, longest: Duration, rows_max: u32) -> Result<()> {
        let latest = Due::within(now, longest).latest;
        // There are hardly ever any, and looking does not hold up the writer.
        let any: Option<WebhookId> = sql! {
            "SELECT webhook_id FROM deliveries WHERE state = 'pending' AND next_attempt_at > {latest} LIMIT 1",
            latest
        }
        .fetch_optional(self.lister())
        .await?;
        if any.is_some() {
            sql! {
                "UPDATE deliveries SET next_attempt_at = {now}
                 WHERE state = 'pending' AND next_attempt_at > {latest} AND (operator_id, webhook_id, event_id) IN (
                     SELECT operator_id, webhook_id, event_id FROM deliveries
                     WHERE state = 'pending' AND next_attempt_at > {latest} LIMIT {rows_max})",
                now, latest, rows_max
            }
            .execute(self.writer())
            .await?;
        }
        Ok(())
    }

    /// Leases up to `rows_max` of a webhook's due and unleased deliveries, longest due first: the event of each, and how many
    /// attempts failed in this round.
    /// The caller holds them until `lease_expires_at`.
    pub async fn take_due_deliveries(
        &self,
        webhook: &Webhook,
        now: Timestamp,
        lease_expires_at: Timestamp,
        rows_max: u32,
    ) -> Result<Vec<(Event, u32)>> {
        let Webhook { id, operator_id, .. } = webhook;
        // A separate CTE, so that Postgres runs it once; inside a join it may run repeatedly and exceed the limit.
        let leased: Vec<(EventId, u32)> = sql! {
            "WITH due AS MATERIALIZED (
                 SELECT event_id FROM deliveries
                 WHERE operator_id = {operator_id} AND webhook_id = {id} AND state = 'pending'
                     AND next_attempt_at <= {now} AND (lease_expires_at IS NULL OR {is_free})
                 ORDER BY next_attempt_at, event_id LIMIT {rows_max} {skip_locked})
             UPDATE deliveries SET lease_holder = {holder}, lease_expires_at = {lease_expires_at}
             WHERE operator_id = {operator_id} AND webhook_id = {id} AND event_id IN (SELECT event_id FROM due)
             RETURNING event_id, failures",
            operator_id, id, now, is_free = Due::of_lease(now, lease_expires_at).has_come("lease_expires_at"), rows_max,
            skip_locked = Sql(self.pools.skip_locked()), holder = *self.holder, lease_expires_at
        }
        .fetch_all(self.writer())
        .await?;
        if leased.is_empty() {
            return Ok(Vec::new());
        }
        let ids: Vec<EventId> = leased.iter().map(|(event, _)| *event).collect();
        let mut events: Vec<Event> = sql! {
            "SELECT {columns} FROM events WHERE operator_id = {operator_id} AND event_id IN ({ids})",
            columns = Event::COLUMNS, operator_id, ids = Each(&ids)
        }
        .fetch_all(self.reader())
        .await?;
        events.sort_by_key(|event| event.id);
        let with_failures = |event: Event| {
            let of_event = leased.iter().find(|(id, _)| *id == event.id);
            let (_, failures) = of_event.ok_or_else(|| unreadable("event_id"))?;
            Ok((event, *failures))
        };
        events.into_iter().map(with_failures).collect()
    }

    /// Gives back a delivery that was leased and not attempted; it is due again at `due_at`.
    pub async fn postpone_delivery(
        &self,
        (operator, webhook): (OperatorId, WebhookId),
        event: EventId,
        due_at: Timestamp,
    ) -> Result<()> {
        sql! {
            "UPDATE deliveries SET next_attempt_at = {due_at}, lease_holder = NULL, lease_expires_at = NULL
             WHERE operator_id = {operator} AND webhook_id = {webhook} AND event_id = {event} AND state = 'pending'
                 AND lease_holder = {holder}",
            due_at, operator, webhook, event, holder = *self.holder
        }
        .run(self.writer())
        .await
    }

    /// Ends the leases of dead processes, at a start. A SQLite file serves one relayer, so every earlier holder is
    /// gone. On Postgres others may be alive, and leases of dead ones expire by themselves.
    pub async fn release_orphaned_deliveries(&self) -> Result<()> {
        match self.pools {
            Pools::Sqlite { .. } => {
                sql! {
                    "UPDATE deliveries SET lease_holder = NULL, lease_expires_at = NULL
                     WHERE lease_holder IS NOT NULL AND lease_holder <> {holder}",
                    holder = *self.holder
                }
                .run(self.writer())
                .await
            }
            Pools::Postgres { .. } => Ok(()),
        }
    }

    /// Up to `rows_max` deliveries to the operator's webhook with every attempt, newest event first, starting after `after`.
    pub async fn list_deliveries(
        &self,
        operator: OperatorId,
        webhook: WebhookId,
        status: Option<DeliveryStatus>,
        after: Option<EventId>,
        rows_max: u32,
    ) -> Result<Vec<Delivery>> {
        // Two separate conditions, because an "or" would use no index.
        let of_status = if status.is_some() { "deliveries.state" } else { "''" };
        let mut deliveries: Vec<Delivery> = sql! {
            "SELECT {columns}, events.event_type FROM deliveries
             JOIN events ON events.operator_id = deliveries.operator_id AND events.event_id = deliveries.event_id
             WHERE deliveries.operator_id = {operator} AND deliveries.webhook_id = (
                     SELECT webhook_id FROM webhooks WHERE operator_id = {operator} AND webhook_id = {webhook})
                 AND {of_status} = {status} AND deliveries.event_id < {below}
             ORDER BY deliveries.event_id DESC LIMIT {rows_max}",
            columns = Delivery::COLUMNS, operator, webhook, of_status = Sql(of_status),
            status = OrEmpty(status.map(DeliveryStatus::as_str)), below = Below(after), rows_max
        }
        .fetch_all(self.lister())
        .await?;
        if deliveries.is_empty() {
            return Ok(deliveries);
        }
        let events: Vec<EventId> = deliveries.iter().map(|delivery| delivery.event_id).collect();
        let attempts: Vec<(EventId, Attempt)> = sql! {
            "SELECT event_id, {columns} FROM delivery_attempts
             WHERE operator_id = {operator} AND webhook_id = {webhook} AND event_id IN ({events})
             ORDER BY event_id, attempt",
            columns = Attempt::COLUMNS, operator, webhook, events = Each(&events)
        }
        .fetch_all(self.lister())
        .await?;
        for (event, attempt) in attempts {
            let of_event = deliveries.iter_mut().find(|delivery| delivery.event_id == event);
            if let Some(delivery) = of_event {
                delivery.attempts.push(attempt);
            }
        }
        Ok(deliveries)
    }
}

/// The columns `failures`, `next_attempt_at` and `ended_at` of a state.
pub(super) fn columns_of(state: &DeliveryState) -> (u32, Option<Timestamp>, Option<Timestamp>) {
    match *state {
        DeliveryState::Pending { failures, next_attempt_at } => (failures, Some(next_attempt_at), None),
        DeliveryState::Delivered { delivered_at } => (0, None, Some(delivered_at)),
        DeliveryState::Undelivered { since } => (0, None, Some(since)),
    }
}

/// Inserts deliveries of one event, at most 100. Keeps existing ones. Returns the number of new ones.
pub(super) async fn insert_deliveries(
    tx: &mut Transaction<'_>,
    (operator, event): (OperatorId, EventId),
    deliveries: &[(WebhookId, DeliveryState)],
    now: Timestamp,
) -> Result<u64> {
    if deliveries.is_empty() {
        return Ok(0);
    }
    let rows = deliveries.iter().map(|(webhook, state)| {
        let (failures, next_attempt_at, ended_at) = columns_of(state);
        columns! {
            operator_id = operator, event_id = event, created_at = now, attempts = 0_u32, webhook_id = webhook,
            state = state.as_str(), failures, next_attempt_at, ended_at
        }
    });
    sql! {
        "INSERT INTO deliveries {rows} ON CONFLICT (operator_id, webhook_id, event_id) DO NOTHING",
        rows = *rows.collect::<Vec<_>>()
    }
    .execute(tx)
    .await
}

/// How many deliveries are given up in the step that disables a webhook; [`Upkeep::clean_up`](super::Upkeep::clean_up) does the rest.
pub(super) const GIVEN_UP_AT_ONCE: i64 = 200;

/// Marks up to `rows` of a webhook's pending deliveries as undelivered. Returns how many.
pub(super) async fn give_up_some(
    tx: &mut Transaction<'_>,
    (operator, webhook): (OperatorId, WebhookId),
    now: Timestamp,
    rows: i64,
) -> Result<u64> {
    sql! {
        "UPDATE deliveries SET state = 'undelivered', next_attempt_at = NULL, ended_at = {now},
             lease_holder = NULL, lease_expires_at = NULL
         WHERE operator_id = {operator} AND webhook_id = {webhook} AND state = 'pending' AND event_id IN (
             SELECT event_id FROM deliveries
             WHERE operator_id = {operator} AND webhook_id = {webhook} AND state = 'pending' LIMIT {rows})",
        now, operator, webhook, rows
    }
    .execute(tx)
    .await
}
