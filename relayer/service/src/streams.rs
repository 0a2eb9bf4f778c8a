//! Live events for receivers that cannot be reached: first those since the last event they had, then new ones.

use parking_lot::Mutex;
use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use futures::Stream;
use tokio::time::Instant;

use super::error::ServiceError;
use super::keys;
use crate::Inside;
use purser_model::{AccountId, Cursor, Event, EventId, EventType, Invalid, KeyId, Operator, OperatorId};

/// Streams that one operator may have open per process.
const STREAMS_PER_OPERATOR_MAX: usize = 10;
/// Events per read, and the most that are held in memory for a slow receiver.
const READ_AT_ONCE: u32 = 100;
/// Delay between a write of this process and the read, so that further events join the batch.
const GATHERING: Duration = Duration::from_millis(50);
/// How often to look for events that other processes wrote.
const LOOK_EVERY: Duration = Duration::from_secs(1);
/// How often to check that the key is still valid.
const KEY_ASKED_EVERY: Duration = Duration::from_secs(5);

/// Filters the events of a stream; an empty filter means all.
#[derive(Debug, Clone, Default)]
pub struct StreamFilter {
    pub types: Vec<EventType>,
    pub account_id: Option<AccountId>,
}

impl StreamFilter {
    fn passes(&self, event: &Event) -> bool {
        (self.types.is_empty() || self.types.contains(&event.event_type))
            && self.account_id.is_none_or(|account| event.subject.account_id() == Some(account))
    }
}

/// An event, and the id to resume from after it.
#[derive(Debug, Clone)]
pub struct Streamed {
    pub event: Event,
    pub id: String,
}

/// How many streams each operator has open.
#[derive(Debug, Clone, Default)]
pub(crate) struct OpenStreams(Arc<Mutex<HashMap<OperatorId, usize>>>);

/// One open stream; dropping this closes it.
struct OpenStream(OpenStreams, OperatorId);

impl OpenStreams {
    fn enter(&self, operator: OperatorId) -> Option<OpenStream> {
        let mut open = self.0.lock();
        let count = open.entry(operator).or_default();
        if *count >= STREAMS_PER_OPERATOR_MAX {
            return None;
        }
        *count += 1;
        Some(OpenStream(self.clone(), operator))
    }
}

impl Drop for OpenStream {
    fn drop(&mut self) {
        let mut open = self.0.0.lock();
        if let Some(count) = open.get_mut(&self.1) {
            *count = count.saturating_sub(1);
            if *count == 0 {
                open.remove(&self.1);
            }
        }
    }
}

/// The position of one stream.
struct Reading {
    inside: Arc<Inside>,
    operator_id: OperatorId,
    key_id: KeyId,
    filter: StreamFilter,
    after: u64,
    read: std::vec::IntoIter<(u64, Event)>,
    key_asked_at: Instant,
    _place: OpenStream,
}

/// The operator's events after `last` (an id from one of its streams) or from now on, and the id that the stream
/// begins with. The stream ends when the key is no longer valid, at a stop, and when the database cannot be read;
/// the reader then resumes after the last event it had.
///
/// TooManyStreams. Invalid: `last` is no id of the operator's streams, or later events are no longer kept.
pub async fn open(
    inside: &Arc<Inside>,
    operator: &Operator,
    key_id: KeyId,
    filter: StreamFilter,
    last: Option<&str>,
) -> Result<(String, impl Stream<Item = Streamed> + Send + use<>), ServiceError> {
    let place =
        inside.streams.enter(operator.id).ok_or(ServiceError::TooManyStreams(STREAMS_PER_OPERATOR_MAX))?;
    if filter.types.contains(&EventType::LimitThreshold) {
        inside.store.events.watch_limits(operator.id, inside.clock.now()).await?;
    }
    let newest = inside.store.events.open_stream(operator.id, inside.clock.now()).await?;
    let after = match last {
        None => newest,
        Some(text) => place_after(inside, operator, text).await?,
    };
    let reading = Reading {
        inside: inside.clone(),
        operator_id: operator.id,
        key_id,
        filter,
        after,
        read: Vec::new().into_iter(),
        key_asked_at: Instant::now(),
        _place: place,
    };
    // A reader that reconnects before its first event resumes here.
    let begin = id_of(operator.id, after, None);
    Ok((begin, futures::stream::unfold(reading, Reading::next)))
}

async fn place_after(inside: &Arc<Inside>, operator: &Operator, text: &str) -> Result<u64, ServiceError> {
    let unknown = || Invalid::new("Last-Event-ID", "is not the id of an event of this stream");
    let named = Cursor::from(text.to_owned()).place::<String>(&bound(operator.id)).map_err(|_| unknown())?;
    let (place, event) = named.split_once('|').ok_or_else(unknown)?;
    let place: u64 = place.parse().map_err(|_| unknown())?;
    let event = (!event.is_empty()).then(|| event.parse::<EventId>()).transpose().map_err(|_| unknown())?;
    if !inside.store.events.can_go_on(operator.id, place, event).await? {
        let message = "is of an event after which some are no longer kept, or of a database that was put back: list \
                       the events, and begin the stream without it";
        return Err(Invalid::new("Last-Event-ID", message).into());
    }
    Ok(place)
}

/// Binds a stream's ids to the operator, but not to the filter, which may change with every connection.
fn bound(operator: OperatorId) -> String {
    format!("stream|{operator}")
}

/// The id to resume from after a position, and the event at that position.
fn id_of(operator: OperatorId, place: u64, event: Option<EventId>) -> String {
    let event = event.map_or_else(String::new, |event| event.to_string());
    Cursor::new(&bound(operator), format!("{place}|{event}")).text().to_owned()
}

impl Reading {
    async fn next(mut self) -> Option<(Streamed, Self)> {
        loop {
            for (place, event) in self.read.by_ref() {
                self.after = place;
                if self.filter.passes(&event) {
                    let id = id_of(self.operator_id, place, Some(event.id));
                    return Some((Streamed { event, id }, self));
                }
            }
            let stop = self.inside.tasks.closing.clone();
            // A stop ends the stream even while the database hangs.
            let more = stop.run_until_cancelled(self.read_more()).await?;
            match more {
                Ok(true) => {}
                Ok(false) => return None,
                Err(error) => {
                    tracing::warn!(operator_id = %self.operator_id, %error, "a stream of events was interrupted");
                    return None;
                }
            }
        }
    }

    /// Waits for more events and reads them. `false`: the key is no longer valid.
    async fn read_more(&mut self) -> Result<bool, ServiceError> {
        let inside = self.inside.clone();
        let events = &inside.store.events;
        loop {
            if self.key_asked_at.elapsed() >= KEY_ASKED_EVERY {
                if !keys::is_good(&inside, self.key_id).await? {
                    return Ok(false);
                }
                self.key_asked_at = Instant::now();
            }
            // Subscribed before the read, so that a write during it wakes us afterwards.
            let mut written = events.events_written();
            events.place_all(self.operator_id, inside.clock.now()).await?;
            let found = events.list_stream(self.operator_id, self.after, READ_AT_ONCE).await?;
            if !found.is_empty() {
                self.read = found.into_iter();
                return Ok(true);
            }
            let _ = tokio::time::timeout(LOOK_EVERY, written.changed()).await;
            tokio::time::sleep(GATHERING).await;
        }
    }
}
