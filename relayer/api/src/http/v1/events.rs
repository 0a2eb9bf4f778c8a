use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use axum::http::{HeaderMap, HeaderValue, header};
use axum::response::{IntoResponse, Response};
use serde_json::value::RawValue;

use super::event_stream;
use crate::http::openapi::events::AnyEvent;
use crate::http::openapi::headers::LastEventId;
use crate::web::accept;
use crate::web::auth::{AnyKey, OperatorOnly};
use crate::web::error::ApiError;
use crate::web::page::{Id, LIMIT_DEFAULT, ListQuery, PageResponse, list_parameters};
use purser_model::wire::schema::AnyEventType;
use purser_model::{AccountId, EventId};
use purser_service::{EventsFilter, Inside, events};

list_parameters!(EventsParameters(LIMIT_DEFAULT) {
    "account_id": AccountId = "Only events of this account.";
    "type": AnyEventType = "Only events of this type. Of a stream, one or several with commas between them.";
});

/// List events
///
/// What happened, newest first, each as it is delivered to webhooks. Kept for 90 days unless the service is set otherwise. With
/// `Accept: text/event-stream` all that happens from now on, as it happens; `limit` and `cursor` are refused then.
#[utoipa::path(
    get, path = "/v1/events", operation_id = "list_events", tag = "Events",
    params(EventsParameters, LastEventId),
    responses((status = 200, description = "A page of events, or a stream that does not end.", content(
        (PageResponse<AnyEvent> = "application/json"),
        (String = "text/event-stream"),
    ))),
    security(("operator_key" = [])),
    extensions(("x-scopes" = json!(["read"]))),
)]
pub async fn list(
    State(inside): State<Arc<Inside>>,
    OperatorOnly(operator): OperatorOnly,
    AnyKey(principal): AnyKey,
    headers: HeaderMap,
    mut query: ListQuery,
) -> Result<Response, ApiError> {
    let mut answer = if accept::is_wanted(&headers, "text/event-stream") {
        event_stream::answer(&inside, &operator, principal.key_id(), &headers, query).await?
    } else {
        event_stream::last_event_id(&headers)?;
        let account_id = query.read("account_id")?;
        let event_type = query.read("type")?;
        let filter = EventsFilter { event_type, account_id };
        let request = query.page(LIMIT_DEFAULT)?;
        let page = events::list(&inside, &operator, filter, request).await?;
        let page: PageResponse<Box<RawValue>> = page.map(|event| event.envelope()).into();
        Json(page).into_response()
    };
    answer.headers_mut().insert(header::VARY, HeaderValue::from_static("accept"));
    Ok(answer)
}

/// Get an event
#[utoipa::path(
    get, path = "/v1/events/{id}", operation_id = "get_event", tag = "Events",
    params(Id<EventId>),
    responses((status = 200, body = AnyEvent, description = "The event.")),
    security(("operator_key" = [])),
    extensions(("x-scopes" = json!(["read"]))),
)]
pub async fn get(
    State(inside): State<Arc<Inside>>,
    OperatorOnly(operator): OperatorOnly,
    Id(event_id): Id<EventId>,
) -> Result<Json<Box<RawValue>>, ApiError> {
    Ok(Json(events::get(&inside, &operator, event_id).await?.envelope()))
}
