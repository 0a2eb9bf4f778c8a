use axum::Json;
use axum::extract::{FromRef, State};
use axum::http::{HeaderMap, HeaderValue, header};
use axum::response::{IntoResponse, Response};
use serde_json::value::RawValue;

use super::event_stream;
use crate::domain::{EventId, EventType, Principal};
use crate::http::accept;
use crate::http::auth::OperatorOnly;
use crate::http::error::ApiError;
use crate::http::page::{Id, PageResponse, Query};
use crate::service::{Events, EventsFilter, Streams};

const LIMIT_DEFAULT: u32 = 20;
const LIMIT_MAX: u32 = 100;

/// What the routes of events stand on.
#[derive(Clone)]
pub struct EventsState {
    pub events: Events,
    pub streams: Streams,
}

impl FromRef<EventsState> for Events {
    fn from_ref(state: &EventsState) -> Self {
        state.events.clone()
    }
}

/// `GET /v1/events`: each as it is delivered. A page, or where a stream is accepted all that happens from now on.
pub async fn list(
    State(EventsState { events, streams }): State<EventsState>,
    OperatorOnly(operator): OperatorOnly,
    principal: Principal,
    headers: HeaderMap,
    mut query: Query,
) -> Result<Response, ApiError> {
    let mut answer = if accept::is_wanted(&headers, "text/event-stream") {
        event_stream::answer(&streams, &operator, principal.key_id(), &headers, query).await?
    } else {
        let account_id = event_stream::account_id(&mut query)?;
        let event_type = query.take("type").map(|text| text.parse::<EventType>()).transpose()?;
        let filter = EventsFilter { event_type, account_id };
        let request = query.page(LIMIT_DEFAULT, LIMIT_MAX, &filter.text(operator.id))?;
        query.finish()?;
        let page = events.list(&operator, filter, request).await?;
        let page: PageResponse<Box<RawValue>> = page.map(|event| event.envelope()).into();
        Json(page).into_response()
    };
    answer.headers_mut().insert(header::VARY, HeaderValue::from_static("accept"));
    Ok(answer)
}

/// `GET /v1/events/{id}`
pub async fn get(
    State(events): State<Events>,
    OperatorOnly(operator): OperatorOnly,
    Id(event_id): Id<EventId>,
) -> Result<Json<Box<RawValue>>, ApiError> {
    Ok(Json(events.get(&operator, event_id).await?.envelope()))
}
