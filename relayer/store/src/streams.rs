//! The order of an operator's events, and their deliveries. An event gets its place only after its commit. So a reader who
//! has seen a place has seen everything below it, however long other commits took, and on whichever process. With its
//! place it gets a delivery for each webhook that there is then: no fact waits for webhooks, and none is missed.

use super::events::{all_of, insert_deliveries};
use super::query::{Each, query, sql};
use super::row::Listed;
use super::{Events, Result};
use futures::FutureExt;
use purser_model::{Event, EventId, OperatorId, Timestamp, Webhook, WebhookId};

impl Events {
    /// The last place in the operator's stream, after all that is written so far.
    pub async fn open_stream(&self, operator: OperatorId, now: Timestamp) -> Result<u64> {
        self.place_all(operator, now).await?;
        self.find_last_place(operator).await
    }

    /// Gives places and deliveries to all events of the operator that are written so far: to the webhooks as they are now.
    pub async fn place_all(&self, operator: OperatorId, now: Timestamp) -> Result<()> {
        while self.place_events(operator, now, PLACED_AT_ONCE).await? {}
        Ok(())
    }

    async fn find_last_place(&self, operator: OperatorId) -> Result<u64> {
        let last: Option<u64> =
            sql! {"SELECT last_place FROM operators WHERE operator_id = {operator}", operator}
                .fetch_value(self.reader())
                .await?;
        Ok(last.unwrap_or(0))
    }

    /// For a worker: gives places and deliveries to waiting events of every operator; of one that has many, to the
    /// first ones, and signals that there are more.
    pub async fn place_waiting(&self, now: Timestamp) -> Result<()> {
        let waiting = query(
            "SELECT operator_id FROM operators WHERE EXISTS (
                 SELECT 1 FROM events WHERE events.operator_id = operators.operator_id AND events.place = 0)",
        );
        let waiting: Vec<OperatorId> = waiting.fetch_all(self.lister()).await?;
        let mut placed = Ok(());
        for operator in waiting {
            // One operator whose events cannot be placed does not hold up the others.
            match self.place_events(operator, now, PLACED_AT_ONCE).await {
                Ok(false) => {}
                Ok(true) => self.outbox.hint([]),
                Err(error) => placed = Err(error),
            }
        }
        placed
    }

    /// Gives places and deliveries to up to `rows_max` waiting events of the operator, oldest first. `true`: there may be
    /// more.
    pub async fn place_events(&self, operator: OperatorId, now: Timestamp, rows_max: u32) -> Result<bool> {
        let waiting: Option<EventId> =
            sql! {"SELECT event_id FROM events WHERE operator_id = {operator} AND place = 0 LIMIT 1", operator}
                .fetch_optional(self.reader())
                .await?;
        if waiting.is_none() {
            return Ok(false);
        }
        let placed = self.write(move |tx| {
            async move {
                // An update instead of a select: on Postgres nobody else can give places until the commit.
                let last: Option<i64> = sql! {
                    "UPDATE operators SET last_place = COALESCE(last_place, 0) WHERE operator_id = {operator}
                     RETURNING last_place",
                    operator
                }
                .fetch_optional(&mut *tx)
                .await?;
                let Some(last) = last else { return Ok((0, Vec::new())) };
                let events: Vec<Event> = sql! {
                    "SELECT {columns} FROM events WHERE operator_id = {operator} AND place = 0
                     ORDER BY event_id LIMIT {rows_max}",
                    columns = Event::COLUMNS, operator, rows_max
                }
                .fetch_all(&mut *tx)
                .await?;
                let ids: Vec<EventId> = events.iter().map(|event| event.id).collect();
                if ids.is_empty() {
                    return Ok((0, Vec::new()));
                }
                let webhooks: Vec<Webhook> = all_of(operator).fetch_all(&mut *tx).await?;
                let mut notified: Vec<WebhookId> = Vec::new();
                // Those about certain webhooks were written with their deliveries.
                for event in events.iter().filter(|event| !event.subject.names_webhooks()) {
                    notified.extend(insert_deliveries(tx, event, &webhooks, now).await?);
                }
                sql! {
                    "UPDATE events SET place = waiting.place
                     FROM (
                         SELECT event_id AS id, {last} + ROW_NUMBER() OVER (ORDER BY event_id) AS place
                         FROM events WHERE operator_id = {operator} AND event_id IN ({ids})) AS waiting
                     WHERE events.operator_id = {operator} AND events.event_id = waiting.id",
                    last, operator, ids = Each(&ids)
                }
                .execute(&mut *tx)
                .await?;
                let placed = ids.len() as u64;
                sql! {
                    "UPDATE operators SET last_place = last_place + {placed} WHERE operator_id = {operator}",
                    placed, operator
                }
                .execute(tx)
                .await?;
                Ok((placed, notified))
            }
            .boxed()
        });
        let (placed, notified) = placed.await?;
        if !notified.is_empty() {
            self.outbox.hint(notified);
        }
        Ok(placed >= u64::from(rows_max))
    }

    /// Up to `rows_max` events of the operator's stream after a place, each with its own, in order.
    pub async fn list_stream(
        &self,
        operator: OperatorId,
        after: u64,
        rows_max: u32,
    ) -> Result<Vec<(u64, Event)>> {
        sql! {
            "SELECT events.place, {columns} FROM events
             WHERE operator_id = {operator} AND place > {after} ORDER BY place LIMIT {rows_max}",
            columns = Event::COLUMNS, operator, after, rows_max
        }
        .fetch_all(self.lister())
        .await
    }

    /// Whether the operator's stream still has everything after this place, and the named event, if any, is the one at
    /// this place.
    pub async fn can_go_on(&self, operator: OperatorId, place: u64, event: Option<EventId>) -> Result<bool> {
        let last = self.find_last_place(operator).await?;
        // The first event kept, from the place on.
        let first: Option<(EventId, u64)> = sql! {
            "SELECT event_id, place FROM events WHERE operator_id = {operator} AND place >= {from}
             ORDER BY place LIMIT 1",
            operator, from = place.cast_signed().max(1)
        }
        .fetch_optional(self.reader())
        .await?;
        Ok(match first {
            Some((id, at)) if at == place => event.is_none_or(|event| id == event),
            Some((_, at)) => at == place.saturating_add(1),
            None => place == last,
        })
    }
}

/// Events placed in one transaction, with up to 100 deliveries each.
const PLACED_AT_ONCE: u32 = 100;
