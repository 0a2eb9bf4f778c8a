use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::value::RawValue;

use super::text;
use crate::domain::{
    AccountId, EventType, Invalid, UsdcAmount, Webhook, WebhookId, WebhookStatus, amount_from_json,
    amount_to_json,
};
use crate::http::auth::OperatorOnly;
use crate::http::body::Json as Body;
use crate::http::error::ApiError;
use crate::http::once::{Draw, ShownOnce};
use crate::http::page::{Id, PageResponse, Query};
use crate::service::{CreateWebhook, NewSecret, UpdateWebhook, Webhooks, webhooks_filter};

const LIMIT_DEFAULT: u32 = 20;
const LIMIT_MAX: u32 = 100;
const THRESHOLD: &str = "low_balance_threshold_usdc";

/// The body of `POST /v1/webhooks` and of `PATCH /v1/webhooks/{id}`.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct WebhookBody {
    url: Option<String>,
    events: Option<Vec<String>>,
    account_ids: Option<Vec<String>>,
    #[serde(default, deserialize_with = "given")]
    low_balance_threshold_usdc: Option<Box<RawValue>>,
    status: Option<String>,
}

/// Tells `null` from a field that is not there.
fn given<'de, D: Deserializer<'de>>(value: D) -> Result<Option<Box<RawValue>>, D::Error> {
    Box::<RawValue>::deserialize(value).map(Some)
}

fn read_events(texts: Vec<String>) -> Result<Vec<EventType>, Invalid> {
    let read = |(at, text): (usize, String)| {
        text.parse::<EventType>().map_err(|error| Invalid::new(format!("events[{at}]"), error.message()))
    };
    texts.into_iter().enumerate().map(read).collect()
}

fn read_accounts(texts: Vec<String>) -> Result<Vec<AccountId>, Invalid> {
    let read = |(at, text): (usize, String)| {
        text.parse::<AccountId>()
            .map_err(|_| Invalid::new(format!("account_ids[{at}]"), "is not one of your accounts"))
    };
    texts.into_iter().enumerate().map(read).collect()
}

fn read_threshold(json: &RawValue) -> Result<Option<UsdcAmount>, Invalid> {
    if json.get() == "null" { Ok(None) } else { amount_from_json(THRESHOLD, json).map(Some) }
}

impl TryFrom<WebhookBody> for CreateWebhook {
    type Error = Invalid;

    fn try_from(body: WebhookBody) -> Result<Self, Invalid> {
        if body.status.is_some() {
            return Err(Invalid::new("status", "is set with PATCH; a new webhook is `enabled`"));
        }
        let events = body.events.ok_or_else(|| Invalid::new("events", "is required"))?;
        Ok(Self {
            url: body.url.ok_or_else(|| Invalid::new("url", "is required"))?,
            events: read_events(events)?,
            account_ids: read_accounts(body.account_ids.unwrap_or_default())?,
            threshold: body.low_balance_threshold_usdc.as_deref().map_or(Ok(None), read_threshold)?,
        })
    }
}

impl TryFrom<WebhookBody> for UpdateWebhook {
    type Error = Invalid;

    fn try_from(body: WebhookBody) -> Result<Self, Invalid> {
        let enabled = match body.status.as_deref() {
            None => None,
            Some("enabled") => Some(true),
            Some("disabled") => Some(false),
            Some(_) => return Err(Invalid::new("status", "must be `enabled` or `disabled`")),
        };
        Ok(Self {
            url: body.url,
            events: body.events.map(read_events).transpose()?,
            account_ids: body.account_ids.map(read_accounts).transpose()?,
            threshold: body.low_balance_threshold_usdc.as_deref().map(read_threshold).transpose()?,
            enabled,
        })
    }
}

/// A webhook, without its secret.
#[derive(Serialize)]
pub struct WebhookResponse {
    id: String,
    url: String,
    events: Vec<&'static str>,
    account_ids: Vec<String>,
    low_balance_threshold_usdc: Box<RawValue>,
    status: &'static str,
    disabled_reason: Option<&'static str>,
    disabled_at: Option<String>,
    /// Since when every attempt failed; `null` while the latest succeeded.
    failing_since: Option<String>,
    previous_secret_expires_at: Option<String>,
    created_at: String,
    updated_at: String,
}

impl From<Webhook> for WebhookResponse {
    fn from(webhook: Webhook) -> Self {
        let (disabled_reason, disabled_at) = match webhook.status {
            WebhookStatus::Enabled => (None, None),
            WebhookStatus::Disabled { reason, since } => (Some(reason.as_str()), Some(text(since))),
        };
        let subscription = &webhook.subscription;
        Self {
            id: webhook.id.to_string(),
            url: webhook.url.as_str().to_owned(),
            events: subscription.events().iter().map(|event| event.as_str()).collect(),
            account_ids: subscription.accounts().iter().map(AccountId::to_string).collect(),
            low_balance_threshold_usdc: subscription
                .threshold()
                .map_or_else(|| RawValue::NULL.to_owned(), amount_to_json),
            status: webhook.status.as_str(),
            disabled_reason,
            disabled_at,
            failing_since: webhook.health.failing_since.map(text),
            previous_secret_expires_at: webhook.previous_secret_until.map(text),
            created_at: text(webhook.created_at),
            updated_at: text(webhook.updated_at),
        }
    }
}

/// A webhook with a new secret: the only answer that shows it.
#[derive(Serialize)]
pub struct NewSecretResponse {
    #[serde(flatten)]
    webhook: WebhookResponse,
    secret: String,
}

impl From<NewSecret> for NewSecretResponse {
    fn from(new: NewSecret) -> Self {
        Self { webhook: new.webhook.into(), secret: new.secret.expose().to_owned() }
    }
}

/// `POST /v1/webhooks`
pub async fn create(
    State(webhooks): State<Webhooks>,
    OperatorOnly(operator): OperatorOnly,
    Draw(drawn): Draw,
    Body(body): Body<WebhookBody>,
) -> Result<ShownOnce<NewSecretResponse>, ApiError> {
    let created = webhooks.create(&operator, body.try_into()?, drawn).await?;
    Ok(ShownOnce(StatusCode::CREATED, created.into()))
}

/// `GET /v1/webhooks`
pub async fn list(
    State(webhooks): State<Webhooks>,
    OperatorOnly(operator): OperatorOnly,
    mut query: Query,
) -> Result<Json<PageResponse<WebhookResponse>>, ApiError> {
    let request = query.page(LIMIT_DEFAULT, LIMIT_MAX, &webhooks_filter(operator.id))?;
    query.finish()?;
    Ok(Json(webhooks.list(&operator, request).await?.map(WebhookResponse::from).into()))
}

/// `GET /v1/webhooks/{id}`
pub async fn get(
    State(webhooks): State<Webhooks>,
    OperatorOnly(operator): OperatorOnly,
    Id(webhook_id): Id<WebhookId>,
) -> Result<Json<WebhookResponse>, ApiError> {
    Ok(Json(webhooks.get(&operator, webhook_id).await?.into()))
}

/// `PATCH /v1/webhooks/{id}`
pub async fn patch(
    State(webhooks): State<Webhooks>,
    OperatorOnly(operator): OperatorOnly,
    Id(webhook_id): Id<WebhookId>,
    Body(body): Body<WebhookBody>,
) -> Result<Json<WebhookResponse>, ApiError> {
    Ok(Json(webhooks.update(&operator, webhook_id, body.try_into()?).await?.into()))
}

/// `DELETE /v1/webhooks/{id}`
pub async fn remove(
    State(webhooks): State<Webhooks>,
    OperatorOnly(operator): OperatorOnly,
    Id(webhook_id): Id<WebhookId>,
) -> Result<StatusCode, ApiError> {
    webhooks.delete(&operator, webhook_id).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// `POST /v1/webhooks/{id}/rotate_secret`: takes no body.
pub async fn rotate_secret(
    State(webhooks): State<Webhooks>,
    OperatorOnly(operator): OperatorOnly,
    Id(webhook_id): Id<WebhookId>,
    Draw(drawn): Draw,
) -> Result<ShownOnce<NewSecretResponse>, ApiError> {
    let rotated = webhooks.rotate_secret(&operator, webhook_id, drawn).await?;
    Ok(ShownOnce(StatusCode::OK, rotated.into()))
}
