use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use utoipa::ToSchema;

use crate::http::openapi::events::WebhookTestEvent;
use crate::web::OnRecord;
use crate::web::auth::OperatorOnly;
use crate::web::body::Json as Body;
use crate::web::error::ApiError;
use crate::web::once::RequestRandom;
use crate::web::page::{Id, LIMIT_DEFAULT, ListQuery, PageResponse, list_parameters};
use purser_model::wire::schema::AnyEventType;
use purser_model::{
    Attempt, AttemptOutcome, BlockedBy, Delivery, DeliveryState, DeliveryStatus, EventId, Invalid,
    ReplayScope, Timestamp, Unanswered, WebhookId,
};
use purser_service::{DeliveriesFilter, Replay, Resource, ServiceError, Webhooks};

/// One attempt: what the receiver answered, or why it did not.
#[derive(Serialize, ToSchema)]
#[schema(as = Attempt)]
pub struct AttemptResponse {
    /// Counted from 1.
    #[schema(minimum = 1)]
    attempt: usize,
    started_at: Timestamp,
    ended_at: Timestamp,
    /// What the receiver answered; `null` where it did not.
    #[schema(required, minimum = 100, maximum = 999)]
    status_code: Option<u16>,
    /// Why there was no answer.
    #[schema(required)]
    error: Option<Unanswered>,
    /// The beginning of the receiver's answer, at most 1 KiB.
    #[schema(required, max_length = 1024)]
    response: Option<String>,
}

/// One event on its way to one webhook.
#[derive(Serialize, ToSchema)]
#[schema(as = Delivery)]
pub struct DeliveryResponse {
    event_id: EventId,
    event_type: AnyEventType,
    status: DeliveryStatus,
    /// Of one that is pending.
    #[schema(required)]
    next_attempt_at: Option<Timestamp>,
    /// When the receiver acknowledged it.
    #[schema(required)]
    delivered_at: Option<Timestamp>,
    /// When it was given up.
    #[schema(required)]
    undelivered_at: Option<Timestamp>,
    /// Why a pending one is not attempted.
    #[schema(required)]
    blocked_by: Option<BlockedBy>,
    created_at: Timestamp,
    /// Those of the last 30 days, the earliest first.
    #[schema(max_items = 100_000)]
    attempts: Vec<AttemptResponse>,
}

impl From<(usize, Attempt)> for AttemptResponse {
    fn from((at, attempt): (usize, Attempt)) -> Self {
        let (status_code, response, error) = match attempt.outcome {
            AttemptOutcome::Answered { status, body } => (Some(status), Some(body), None),
            AttemptOutcome::Unanswered(reason) => (None, None, Some(reason)),
        };
        Self {
            attempt: at + 1,
            started_at: attempt.started_at,
            ended_at: attempt.ended_at,
            status_code,
            error,
            response,
        }
    }
}

impl DeliveryResponse {
    fn new(delivery: Delivery, blocked_by: Option<BlockedBy>) -> Self {
        let is_pending = matches!(delivery.state, DeliveryState::Pending { .. });
        let (next_attempt_at, delivered_at, undelivered_at) = match delivery.state {
            DeliveryState::Pending { next_attempt_at, .. } => (Some(next_attempt_at), None, None),
            DeliveryState::Delivered { delivered_at } => (None, Some(delivered_at), None),
            DeliveryState::Undelivered { since } => (None, None, Some(since)),
        };
        Self {
            event_id: delivery.event_id,
            event_type: delivery.event_type.into(),
            status: delivery.state.status(),
            next_attempt_at,
            delivered_at,
            undelivered_at,
            blocked_by: blocked_by.filter(|_| is_pending),
            created_at: delivery.created_at,
            attempts: delivery.attempts.into_iter().enumerate().map(AttemptResponse::from).collect(),
        }
    }
}

/// The body of `POST /v1/webhooks/{id}/replay`: one event, or a span of time.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = Replay)]
pub struct ReplayBody {
    /// One event, whatever became of it. Goes without `since`.
    #[schema(value_type = Option<EventId>)]
    event_id: Option<String>,
    /// The beginning of the span. Goes without `event_id`.
    since: Option<Timestamp>,
    /// The end of the span; now if it is left out.
    until: Option<Timestamp>,
    /// Of a span: `not_delivered`, the default, is what was given up and what still fails and waits for its next attempt;
    /// `undelivered` what was given up alone; `all` everything.
    status: Option<ReplayScope>,
}

impl TryFrom<ReplayBody> for Replay {
    type Error = ApiError;

    fn try_from(body: ReplayBody) -> Result<Self, ApiError> {
        let ReplayBody { event_id, since, until, status } = body;
        match (event_id, since) {
            (Some(_), Some(_)) => Err(Invalid::new("event_id", "goes without `since`").into()),
            (Some(text), None) => {
                let unknown = |_| ServiceError::NotFound(Resource::Event);
                Ok(Self::Event(text.parse::<EventId>().map_err(unknown)?))
            }
            (None, Some(since)) => {
                Ok(Self::Span { since, until, scope: status.unwrap_or(ReplayScope::NotDelivered) })
            }
            (None, None) => Err(Invalid::new("event_id", "or `since` is required").into()),
        }
    }
}

/// How many deliveries were begun anew.
#[derive(Serialize, ToSchema)]
#[schema(as = Replayed)]
pub struct ReplayResponse {
    /// Those that are being attempted at this moment do not count.
    #[schema(minimum = 0)]
    replayed: u64,
}

list_parameters!(DeliveriesParameters(LIMIT_DEFAULT) {
    "status": DeliveryStatus = "Only deliveries in this state.";
});

/// List a webhook's deliveries
///
/// Newest first, with every attempt.
#[utoipa::path(
    get, path = "/v1/webhooks/{id}/deliveries", operation_id = "list_deliveries", tag = "Webhooks",
    params(Id<WebhookId>, DeliveriesParameters),
    responses((status = 200, body = PageResponse<DeliveryResponse>, description = "A page of deliveries.")),
    security(("operator_key" = [])),
    extensions(("x-scopes" = json!(["read"]))),
)]
pub async fn list(
    State(webhooks): State<Webhooks>,
    OperatorOnly(operator): OperatorOnly,
    Id(webhook_id): Id<WebhookId>,
    mut query: ListQuery,
) -> Result<Json<PageResponse<DeliveryResponse>>, ApiError> {
    let status = query.read("status")?;
    let filter = DeliveriesFilter { webhook_id, status };
    let request = query.page(LIMIT_DEFAULT)?;
    let (page, blocked_by) = webhooks.deliveries(&operator, filter, request).await?;
    Ok(Json(page.map(|delivery| DeliveryResponse::new(delivery, blocked_by)).into()))
}

/// Deliver events once more
///
/// One event, or those of a span of time. They keep their ids.
#[utoipa::path(
    post, path = "/v1/webhooks/{id}/replay", operation_id = "replay_events", tag = "Webhooks",
    params(Id<WebhookId>),
    request_body = ReplayBody,
    responses((status = 202, body = ReplayResponse, description = "How many events are sent again.")),
    security(("operator_key" = [])),
    extensions(("x-scopes" = json!(["admin"]))),
)]
pub async fn replay(
    State(webhooks): State<Webhooks>,
    OnRecord { scope, .. }: OnRecord,
    OperatorOnly(operator): OperatorOnly,
    Id(webhook_id): Id<WebhookId>,
    Body(body): Body<ReplayBody>,
) -> Result<(StatusCode, Json<ReplayResponse>), ApiError> {
    let replayed = webhooks.replay(&operator, webhook_id, body.try_into()?, &scope).await?;
    Ok((StatusCode::ACCEPTED, Json(ReplayResponse { replayed })))
}

/// Send a test event
///
/// Takes no body, and answers with the event that is on its way.
#[utoipa::path(
    post, path = "/v1/webhooks/{id}/test", operation_id = "test_webhook", tag = "Webhooks",
    params(Id<WebhookId>),
    responses((status = 202, body = WebhookTestEvent, description = "The test event, which is being sent.")),
    security(("operator_key" = [])),
    extensions(("x-scopes" = json!(["admin"]))),
)]
pub async fn test(
    State(webhooks): State<Webhooks>,
    OnRecord { scope, .. }: OnRecord,
    OperatorOnly(operator): OperatorOnly,
    Id(webhook_id): Id<WebhookId>,
    RequestRandom(drawn): RequestRandom,
) -> Result<(StatusCode, Json<Box<RawValue>>), ApiError> {
    Ok((StatusCode::ACCEPTED, Json(webhooks.test(&operator, webhook_id, drawn, &scope).await?.envelope())))
}
