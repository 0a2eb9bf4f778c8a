//! The order in which an operator's events are streamed. An event gets its place only after its commit. So a reader who
//! has seen a place has seen everything below it, however long other commits took, and on whichever process.

use super::query::sql;
use super::row::{Listed, row};
use super::{Events, Result};
use futures::FutureExt;
use purser_model::{Event, EventId, OperatorId};

/// An event in its stream.
#[derive(Debug, Clone)]
pub struct PlacedEvent {
    pub event: Event,
    pub place: u64,
}

row! { PlacedEvent from row { event = row.record()?, place } }

impl Events {
    /// Starts giving places to the operator's events. Returns the last place so far.
    pub async fn open_stream(&self, operator: OperatorId) -> Result<u64> {
        if self.find_last_place(operator).await?.is_none() {
            sql! {
                "UPDATE operators SET last_place = 0 WHERE operator_id = {operator} AND last_place IS NULL",
                operator
            }
            .execute(self.writer())
            .await?;
        }
        // Waiting events come before this reader's start.
        while self.place_events(operator, PLACED_AT_ONCE).await? {}
        Ok(self.find_last_place(operator).await?.unwrap_or(0))
    }

    async fn find_last_place(&self, operator: OperatorId) -> Result<Option<u64>> {
        sql! {"SELECT last_place FROM operators WHERE operator_id = {operator}", operator}
            .fetch_value(self.reader())
            .await
    }

    /// Gives places to up to `rows_max` waiting events of the operator, oldest first. `true`: there may be more.
    pub async fn place_events(&self, operator: OperatorId, rows_max: u32) -> Result<bool> {
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
                    "UPDATE operators SET last_place = last_place
                     WHERE operator_id = {operator} AND last_place IS NOT NULL RETURNING last_place",
                    operator
                }
                .fetch_optional(&mut *tx)
                .await?;
                let Some(last) = last else { return Ok(0) };
                let placed = sql! {
                    "UPDATE events SET place = waiting.place
                     FROM (
                         SELECT event_id AS id, {last} + ROW_NUMBER() OVER (ORDER BY event_id) AS place
                         FROM (
                             SELECT event_id FROM events WHERE operator_id = {operator} AND place = 0
                             ORDER BY event_id LIMIT {rows_max}) AS first) AS waiting
                     WHERE events.operator_id = {operator} AND events.event_id = waiting.id",
                    last, operator, rows_max
                }
                .execute(&mut *tx)
                .await?;
                sql! {
                    "UPDATE operators SET last_place = last_place + {placed} WHERE operator_id = {operator}",
                    placed, operator
                }
                .execute(tx)
                .await?;
                Ok(placed)
            }
            .boxed()
        });
        Ok(placed.await? >= u64::from(rows_max))
    }

    /// Up to `rows_max` events of the operator's stream after a place, in order.
    pub async fn list_stream(
        &self,
        operator: OperatorId,
        after: u64,
        rows_max: u32,
    ) -> Result<Vec<PlacedEvent>> {
        sql! {
            "SELECT {columns}, events.place FROM events
             WHERE operator_id = {operator} AND place > {after} ORDER BY place LIMIT {rows_max}",
            columns = Event::COLUMNS, operator, after, rows_max
        }
        .fetch_all(self.lister())
        .await
    }

    /// Whether the operator's stream still has everything after this place, and the named event, if any, is the one at
    /// this place.
    pub async fn can_go_on(&self, operator: OperatorId, place: u64, event: Option<EventId>) -> Result<bool> {
        let last = self.find_last_place(operator).await?.unwrap_or(0);
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

/// Events placed in one transaction.
pub const PLACED_AT_ONCE: u32 = 500;
