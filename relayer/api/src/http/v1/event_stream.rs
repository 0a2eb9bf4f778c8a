//! `GET /v1/events` as `text/event-stream`.

use std::sync::Arc;

use std::convert::Infallible;
use std::time::Duration;

use axum::http::{HeaderMap, HeaderName, HeaderValue};
use axum::response::sse::{Event as Line, KeepAlive, Sse};
use axum::response::{IntoResponse, Response};
use futures::StreamExt;

use crate::http::openapi::headers::LAST_EVENT_ID_CHARS_MAX;
use crate::web::error::ApiError;
use crate::web::page::ListQuery;
use purser_model::{EventType, Invalid, KeyId, Operator};
use purser_service::{Inside, StreamFilter, Streamed, streams};

const LAST_EVENT_ID: HeaderName = HeaderName::from_static("last-event-id");
/// Tells proxies not to buffer the answer until it ends.
const X_ACCEL_BUFFERING: HeaderName = HeaderName::from_static("x-accel-buffering");
/// A comment comes at least this often: a reader that receives nothing for longer has lost its connection.
const KEEP_ALIVE_EVERY: Duration = Duration::from_secs(15);
/// How long a reader waits before it reconnects.
const COME_BACK_AFTER: Duration = Duration::from_secs(2);

/// The operator's events as they happen, after those since `Last-Event-ID`.
pub(super) async fn answer(
    inside: &Arc<Inside>,
    operator: &Operator,
    key_id: KeyId,
    headers: &HeaderMap,
    mut query: ListQuery,
) -> Result<Response, ApiError> {
    let types = query.take("type").map_or(Ok(Vec::new()), |text| types(&text))?;
    let account_id = query.read("account_id")?;
    query.finish()?;
    let last = last_event_id(headers)?;
    let filter = StreamFilter { types, account_id };
    let (id, events) = streams::open(inside, operator, key_id, filter, last).await?;
    let begin = Line::default().id(id).retry(COME_BACK_AFTER).comment("events of this operator");
    let lines = futures::stream::once(async { begin }).chain(events.map(line)).map(Ok::<_, Infallible>);
    let keep_alive = KeepAlive::new().interval(KEEP_ALIVE_EVERY).text("still here");
    let mut answer = Sse::new(lines).keep_alive(keep_alive).into_response();
    answer.headers_mut().insert(X_ACCEL_BUFFERING, HeaderValue::from_static("no"));
    Ok(answer)
}

/// Where a stream resumes. A list ignores it, but refuses a value that no stream would take.
pub(super) fn last_event_id(headers: &HeaderMap) -> Result<Option<&str>, Invalid> {
    let Some(value) = headers.get(LAST_EVENT_ID) else { return Ok(None) };
    let text = value.to_str().ok().filter(|text| text.len() <= LAST_EVENT_ID_CHARS_MAX);
    let text =
        text.ok_or_else(|| Invalid::new("Last-Event-ID", "is not the id of an event of this stream"))?;
    // Browsers send it empty when they have none.
    Ok(Some(text).filter(|text| !text.is_empty()))
}

fn line(Streamed { event, id }: Streamed) -> Line {
    // No event type, so that readers of the default type get all of them.
    Line::default().id(id).data(event.envelope().get())
}

/// One type, or several separated by commas.
fn types(text: &str) -> Result<Vec<EventType>, Invalid> {
    text.split(',').map(|word| Invalid::unless("type", word)).collect()
}
