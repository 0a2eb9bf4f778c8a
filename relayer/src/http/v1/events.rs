use axum::Json;
use axum::extract::State;
use serde_json::value::RawValue;

use crate::domain::{AccountId, EventId, EventType, Invalid};
use crate::http::auth::OperatorOnly;
use crate::http::error::ApiError;
use crate::http::page::{Id, PageResponse, Query};
use crate::service::{Events, EventsFilter};

const LIMIT_DEFAULT: u32 = 20;
const LIMIT_MAX: u32 = 100;

/// `GET /v1/events`: each as it is delivered.
pub async fn list(
    State(events): State<Events>,
    OperatorOnly(operator): OperatorOnly,
    mut query: Query,
) -> Result<Json<PageResponse<Box<RawValue>>>, ApiError> {
    let account_id = query.take("account_id").map(|text| text.parse::<AccountId>()).transpose();
    let account_id = account_id.map_err(|error| Invalid::new("account_id", error.to_string()))?;
    let event_type = query.take("type").map(|text| text.parse::<EventType>()).transpose()?;
    let filter = EventsFilter { event_type, account_id };
    let request = query.page(LIMIT_DEFAULT, LIMIT_MAX, &filter.text(operator.id))?;
    query.finish()?;
    let page = events.list(&operator, filter, request).await?;
    Ok(Json(page.map(|event| event.envelope()).into()))
}

/// `GET /v1/events/{id}`
pub async fn get(
    State(events): State<Events>,
    OperatorOnly(operator): OperatorOnly,
    Id(event_id): Id<EventId>,
) -> Result<Json<Box<RawValue>>, ApiError> {
    Ok(Json(events.get(&operator, event_id).await?.envelope()))
}
