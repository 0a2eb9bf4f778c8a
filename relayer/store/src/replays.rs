//! Replays: a delivery starts a new round, whatever became of the last one.

use futures::FutureExt;

use super::deliveries::insert_deliveries;
use super::events::announce;
use super::query::{Each, sql};
use super::{Result, Transaction, Webhooks};
use purser_model::ReplayScope;
use purser_model::{DeliveryState, Event, EventId, OperatorId, Timestamp, Webhook, WebhookId};

/// Events of a span per batch.
const BATCH_ROWS: u32 = 200;

impl Webhooks {
    /// Delivers an event once more to a webhook of the same operator. `false` when an attempt is running, which is left
    /// to finish.
    pub async fn replay_event(&self, webhook: &Webhook, event: &Event, now: Timestamp) -> Result<bool> {
        let (id, event) = (webhook.id, (event.operator_id, event.id));
        let renewed = self.write(move |tx| renew(tx, id, event, now).boxed()).await?;
        self.outbox.hint(renewed.then_some(webhook.id));
        Ok(renewed)
    }

    /// Delivers the events from `since` on and before `until` once more, and returns their number.
    pub async fn replay_span(
        &self,
        webhook: &Webhook,
        since: Timestamp,
        until: Timestamp,
        scope: ReplayScope,
        now: Timestamp,
    ) -> Result<u64> {
        let replayed = match scope {
            ReplayScope::Undelivered => self.replay_state(webhook, "undelivered", since, until, now).await?,
            ReplayScope::NotDelivered => {
                self.replay_state(webhook, "pending", since, until, now).await?
                    + self.replay_state(webhook, "undelivered", since, until, now).await?
            }
            ReplayScope::All => self.replay_all(webhook, since, until, now).await?,
        };
        self.outbox.hint((replayed > 0).then_some(webhook.id));
        Ok(replayed)
    }

    /// Replays the deliveries of a span that are in this state. A pending one has its turn unless an attempt has failed.
    async fn replay_state(
        &self,
        webhook: &Webhook,
        state: &'static str,
        since: Timestamp,
        until: Timestamp,
        now: Timestamp,
    ) -> Result<u64> {
        let Webhook { id, operator_id, .. } = webhook;
        let mut replayed = 0;
        // Ids begin with the millisecond of their events, so they select the span.
        let mut last = EventId::new(since, 0);
        loop {
            let ids: Vec<EventId> = sql! {
                "SELECT deliveries.event_id FROM deliveries
                     JOIN events ON events.operator_id = deliveries.operator_id AND events.event_id = deliveries.event_id
                 WHERE deliveries.operator_id = {operator_id} AND deliveries.webhook_id = {id}
                     AND deliveries.state = {state} AND (deliveries.state = 'undelivered' OR deliveries.failures > 0)
                     AND deliveries.event_id > {last} AND deliveries.event_id <= {end}
                     AND events.created_at >= {since} AND events.created_at < {until}
                 ORDER BY deliveries.event_id LIMIT {rows}",
                operator_id, id, state, last, end = EventId::new(until, u128::MAX), since, until, rows = BATCH_ROWS
            }
            .fetch_all(self.lister())
            .await?;
            let Some(end) = ids.last() else { return Ok(replayed) };
            replayed += sql! {
                "UPDATE deliveries SET state = 'pending', failures = 0, next_attempt_at = {now}, ended_at = NULL
                 WHERE operator_id = {operator_id} AND webhook_id = {id} AND state = {state} AND event_id IN ({ids})
                     AND (state = 'undelivered'
                         OR failures > 0 AND (lease_expires_at IS NULL OR lease_expires_at <= {now}))",
                operator_id, id, state, now, ids = Each(&ids)
            }
            .execute(self.writer())
            .await?;
            last = *end;
        }
    }

    async fn replay_all(
        &self,
        webhook: &Webhook,
        since: Timestamp,
        until: Timestamp,
        now: Timestamp,
    ) -> Result<u64> {
        let mut replayed = 0;
        let mut last = None;
        loop {
            let events =
                self.list_events_between(webhook.operator_id, since, until, last, BATCH_ROWS).await?;
            let Some(end) = events.last().map(|event| event.id) else { return Ok(replayed) };
            let concerned: Vec<_> = events
                .iter()
                .filter(|event| webhook.delivery_of(event, now).is_some())
                .map(|event| (event.operator_id, event.id))
                .collect();
            let id = webhook.id;
            let renewing = self.write(move |tx| {
                async move {
                    let mut renewed = 0;
                    for event in concerned {
                        renewed += u64::from(renew(tx, id, event, now).await?);
                    }
                    Ok(renewed)
                }
                .boxed()
            });
            replayed += renewing.await?;
            last = Some(end);
        }
    }

    /// Inserts an event for one webhook alone, and its delivery.
    pub async fn insert_test_event(&self, webhook: &Webhook, event: &Event, now: Timestamp) -> Result<()> {
        let (id, event) = (webhook.id, event.clone());
        self.write(move |tx| {
            async move {
                announce(tx, std::slice::from_ref(&event)).await?;
                insert_deliveries(tx, (event.operator_id, event.id), &[(id, DeliveryState::due(now))], now)
                    .await
            }
            .boxed()
        })
        .await?;
        self.outbox.hint([webhook.id]);
        Ok(())
    }
}

/// Makes the existing delivery, or a new one, due at once. `false` when an attempt is running.
async fn renew(
    tx: &mut Transaction<'_>,
    webhook: WebhookId,
    (operator, event): (OperatorId, EventId),
    now: Timestamp,
) -> Result<bool> {
    let touched = sql! {
        "UPDATE deliveries SET state = 'pending', failures = 0, next_attempt_at = {now}, ended_at = NULL
         WHERE operator_id = {operator} AND webhook_id = {webhook} AND event_id = {event}
             AND (lease_expires_at IS NULL OR lease_expires_at <= {now})",
        now, operator, webhook, event
    }
    .execute(&mut *tx)
    .await?;
    if touched == 1 {
        return Ok(true);
    }
    Ok(insert_deliveries(tx, (operator, event), &[(webhook, DeliveryState::due(now))], now).await? == 1)
}
