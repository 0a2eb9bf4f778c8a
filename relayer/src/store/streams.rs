//! The order in which an operator's events are streamed. An event gets its place only after its commit. So a reader who
//! has seen a place has seen everything below it, however long other commits took, and on whichever process.

use futures::FutureExt;
use macro_rules_attribute::derive;
use sqlx::AssertSqlSafe;

use super::event_row::{COLUMNS, EventRow};
use super::query::query;
use super::row::ByName;
use super::{Store, StoreError};
use crate::domain::{Event, EventId, OperatorId};

/// An event in its stream.
#[derive(Debug, Clone)]
pub struct PlacedEvent {
    pub event: Event,
    pub place: u64,
}

#[derive(Debug, ByName!)]
struct PlacedRow {
    event: EventRow,
    place: i64,
}

impl Store {
    /// Starts giving places to the operator's events. Returns the last place so far.
    pub async fn open_stream(&self, operator: OperatorId) -> Result<u64, StoreError> {
        const SQL: &str = "INSERT INTO event_streams (operator_id, last_place) VALUES ($1, 0)
             ON CONFLICT (operator_id) DO NOTHING";
        const LAST: &str = "SELECT last_place FROM event_streams WHERE operator_id = $1";
        let last = || query(LAST).bind(operator.to_string());
        let known: Option<(i64,)> = last().fetch_optional(self.reader()).await?;
        if known.is_none() {
            query(SQL).bind(operator.to_string()).execute(self.writer()).await?;
        }
        // Waiting events come before this reader's start.
        while self.place_events(operator, PLACED_AT_ONCE).await? {}
        let last: Option<(i64,)> = last().fetch_optional(self.reader()).await?;
        Ok(last.map_or(0, |(place,)| place.cast_unsigned()))
    }

    /// Gives places to up to `rows_max` waiting events of the operator, oldest first. `true`: there may be more.
    pub async fn place_events(&self, operator: OperatorId, rows_max: u32) -> Result<bool, StoreError> {
        const WAITING: &str = "SELECT event_id FROM events WHERE operator_id = $1 AND place = 0 LIMIT 1";
        // An update instead of a select: on Postgres nobody else can give places until the commit.
        const LAST: &str = "UPDATE event_streams SET last_place = last_place WHERE operator_id = $1
             RETURNING last_place";
        const PLACE: &str = "UPDATE events SET place = waiting.place
             FROM (
                 SELECT event_id AS id, $2 + ROW_NUMBER() OVER (ORDER BY event_id) AS place
                 FROM (
                     SELECT event_id FROM events WHERE operator_id = $1 AND place = 0
                     ORDER BY event_id LIMIT $3) AS first) AS waiting
             WHERE events.operator_id = $1 AND events.event_id = waiting.id";
        const NOTE: &str = "UPDATE event_streams SET last_place = last_place + $2 WHERE operator_id = $1";
        let waiting: Option<(String,)> =
            query(WAITING).bind(operator.to_string()).fetch_optional(self.reader()).await?;
        if waiting.is_none() {
            return Ok(false);
        }
        let placed = self.write(move |tx| {
            async move {
                let last: Option<(i64,)> =
                    query(LAST).bind(operator.to_string()).fetch_optional(&mut *tx).await?;
                let Some((last,)) = last else { return Ok(0) };
                let placed = query(PLACE)
                    .bind(operator.to_string())
                    .bind(last)
                    .bind(i64::from(rows_max))
                    .execute(&mut *tx)
                    .await?;
                query(NOTE).bind(operator.to_string()).bind(placed.cast_signed()).execute(tx).await?;
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
    ) -> Result<Vec<PlacedEvent>, StoreError> {
        let sql = format!(
            "SELECT {COLUMNS}, events.place FROM events
             WHERE operator_id = $1 AND place > $2 ORDER BY place LIMIT $3"
        );
        // Only our own constants are interpolated.
        let rows: Vec<PlacedRow> = query(AssertSqlSafe(sql))
            .bind(operator.to_string())
            .bind(after.cast_signed())
            .bind(i64::from(rows_max))
            .fetch_all(self.lister())
            .await?;
        let read = |row: PlacedRow| {
            Ok(PlacedEvent { event: row.event.try_into()?, place: row.place.cast_unsigned() })
        };
        rows.into_iter().map(read).collect()
    }

    /// Whether the operator's stream still has everything after this place, and the named event, if any, is the one at
    /// this place.
    pub async fn can_go_on(
        &self,
        operator: OperatorId,
        place: u64,
        event: Option<EventId>,
    ) -> Result<bool, StoreError> {
        // The first event kept, from the place on.
        const FIRST: &str = "SELECT event_id, place FROM events WHERE operator_id = $1 AND place >= $2
             ORDER BY place LIMIT 1";
        const LAST: &str = "SELECT last_place FROM event_streams WHERE operator_id = $1";
        let last: Option<(i64,)> =
            query(LAST).bind(operator.to_string()).fetch_optional(self.reader()).await?;
        let last = last.map_or(0, |(place,)| place.cast_unsigned());
        let first: Option<(String, i64)> = query(FIRST)
            .bind(operator.to_string())
            .bind(place.cast_signed().max(1))
            .fetch_optional(self.reader())
            .await?;
        Ok(match first {
            Some((id, at)) if at.cast_unsigned() == place => {
                event.is_none_or(|event| id == event.to_string())
            }
            Some((_, at)) => at.cast_unsigned() == place.saturating_add(1),
            None => place == last,
        })
    }
}

/// Events placed in one transaction.
pub const PLACED_AT_ONCE: u32 = 500;
