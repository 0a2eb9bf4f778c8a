use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use super::text;
use crate::domain::{
    Attempt, AttemptOutcome, Delivery, DeliveryState, DeliveryStatus, EventId, Invalid, Timestamp, WebhookId,
};
use crate::http::auth::OperatorOnly;
use crate::http::body::Json as Body;
use crate::http::error::ApiError;
use crate::http::once::Draw;
use crate::http::page::{Id, PageResponse, Query};
use crate::service::{DeliveriesFilter, Hindrance, Replay, ReplayScope, Resource, ServiceError, Webhooks};

const LIMIT_DEFAULT: u32 = 20;
const LIMIT_MAX: u32 = 100;

/// One attempt: what the receiver answered, or why it did not.
#[derive(Serialize)]
pub struct AttemptResponse {
    attempt: usize,
    started_at: String,
    ended_at: String,
    status_code: Option<u16>,
    /// `timeout`, `address_refused`, `name_not_resolved`, `connection_failed` or `connection_broken`.
    error: Option<&'static str>,
    /// The beginning of the receiver's answer.
    response: Option<String>,
}

/// One event on its way to one webhook.
#[derive(Serialize)]
pub struct DeliveryResponse {
    event_id: String,
    event_type: &'static str,
    status: &'static str,
    next_attempt_at: Option<String>,
    delivered_at: Option<String>,
    undelivered_at: Option<String>,
    /// Why a pending one is not attempted: `sealing_key_missing` or `secret_sealed_with_another_key`.
    blocked_by: Option<&'static str>,
    created_at: String,
    attempts: Vec<AttemptResponse>,
}

impl From<(usize, Attempt)> for AttemptResponse {
    fn from((at, attempt): (usize, Attempt)) -> Self {
        let (status_code, response, error) = match attempt.outcome {
            AttemptOutcome::Answered { status, body } => (Some(status), Some(body), None),
            AttemptOutcome::Unanswered(reason) => (None, None, Some(reason.as_str())),
        };
        Self {
            attempt: at + 1,
            started_at: text(attempt.started_at),
            ended_at: text(attempt.ended_at),
            status_code,
            error,
            response,
        }
    }
}

impl DeliveryResponse {
    fn new(delivery: Delivery, hindrance: Option<Hindrance>) -> Self {
        let is_pending = matches!(delivery.state, DeliveryState::Pending { .. });
        let (next_attempt_at, delivered_at, undelivered_at) = match delivery.state {
            DeliveryState::Pending { next_attempt_at, .. } => (Some(next_attempt_at), None, None),
            DeliveryState::Delivered { delivered_at } => (None, Some(delivered_at), None),
            DeliveryState::Undelivered { since } => (None, None, Some(since)),
        };
        Self {
            event_id: delivery.event_id.to_string(),
            event_type: delivery.event_type.as_str(),
            status: delivery.state.as_str(),
            next_attempt_at: next_attempt_at.map(text),
            delivered_at: delivered_at.map(text),
            undelivered_at: undelivered_at.map(text),
            blocked_by: hindrance.filter(|_| is_pending).map(|hindrance| match hindrance {
                Hindrance::NoSealingKey => "sealing_key_missing",
                Hindrance::OtherSealingKey => "secret_sealed_with_another_key",
            }),
            created_at: text(delivery.created_at),
            attempts: delivery.attempts.into_iter().enumerate().map(AttemptResponse::from).collect(),
        }
    }
}

/// The body of `POST /v1/webhooks/{id}/replay`: one event, or a span of time.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ReplayBody {
    event_id: Option<String>,
    since: Option<String>,
    until: Option<String>,
    /// Of a span: `undelivered`, which is the default, or `all`.
    status: Option<String>,
}

impl TryFrom<ReplayBody> for Replay {
    type Error = ApiError;

    fn try_from(body: ReplayBody) -> Result<Self, ApiError> {
        let moment = |param: &str, text: Option<String>| {
            let read = text.map(|text| text.parse::<Timestamp>()).transpose();
            read.map_err(|error| Invalid::new(param, error.to_string()))
        };
        let scope = match body.status.as_deref() {
            None | Some("undelivered") => ReplayScope::Undelivered,
            Some("all") => ReplayScope::All,
            Some(_) => return Err(Invalid::new("status", "must be `undelivered` or `all`").into()),
        };
        let (since, until) = (moment("since", body.since)?, moment("until", body.until)?);
        match (body.event_id, since) {
            (Some(_), Some(_)) => Err(Invalid::new("event_id", "goes without `since`").into()),
            (Some(text), None) => {
                let unknown = |_| ServiceError::NotFound(Resource::Event);
                Ok(Self::Event(text.parse::<EventId>().map_err(unknown)?))
            }
            (None, Some(since)) => Ok(Self::Span { since, until, scope }),
            (None, None) => Err(Invalid::new("event_id", "or `since` is required").into()),
        }
    }
}

/// How many deliveries were begun anew.
#[derive(Serialize)]
pub struct ReplayResponse {
    replayed: u64,
}

/// `GET /v1/webhooks/{id}/deliveries`
pub async fn list(
    State(webhooks): State<Webhooks>,
    OperatorOnly(operator): OperatorOnly,
    Id(webhook_id): Id<WebhookId>,
    mut query: Query,
) -> Result<Json<PageResponse<DeliveryResponse>>, ApiError> {
    let status = query.take("status").map(|text| text.parse::<DeliveryStatus>()).transpose()?;
    let filter = DeliveriesFilter { webhook_id, status };
    let request = query.page(LIMIT_DEFAULT, LIMIT_MAX, &filter.text(operator.id))?;
    query.finish()?;
    let (page, hindrance) = webhooks.deliveries(&operator, filter, request).await?;
    Ok(Json(page.map(|delivery| DeliveryResponse::new(delivery, hindrance)).into()))
}

/// `POST /v1/webhooks/{id}/replay`
pub async fn replay(
    State(webhooks): State<Webhooks>,
    OperatorOnly(operator): OperatorOnly,
    Id(webhook_id): Id<WebhookId>,
    Body(body): Body<ReplayBody>,
) -> Result<(StatusCode, Json<ReplayResponse>), ApiError> {
    let replayed = webhooks.replay(&operator, webhook_id, body.try_into()?).await?;
    Ok((StatusCode::ACCEPTED, Json(ReplayResponse { replayed })))
}

/// `POST /v1/webhooks/{id}/test`: takes no body; answers with the event that is on its way.
pub async fn test(
    State(webhooks): State<Webhooks>,
    OperatorOnly(operator): OperatorOnly,
    Id(webhook_id): Id<WebhookId>,
    Draw(drawn): Draw,
) -> Result<(StatusCode, Json<Box<RawValue>>), ApiError> {
    Ok((StatusCode::ACCEPTED, Json(webhooks.test(&operator, webhook_id, drawn).await?.envelope())))
}
