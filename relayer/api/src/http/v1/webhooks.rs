use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::value::RawValue;
use utoipa::ToSchema;

use crate::http::openapi::forbid_null;
use crate::web::auth::OperatorOnly;
use crate::web::body::Json as Body;
use crate::web::code::Code;
use crate::web::error::ApiError;
use crate::web::once::{Draw, ShownOnce};
use crate::web::page::{Id, LIMIT_DEFAULT, ListQuery, PageResponse, list_parameters};
use purser_model::wire::schema::{
    self, Text, UsdcLimit, UsdcNumber, WebhookSecretText, WebhookUrlText, changed, one_of, written,
};
use purser_model::{
    DisabledReason, EventType, Invalid, UsdcAmount, Webhook, WebhookId, WebhookStatus, amount_from_json,
};
use purser_service::{
    CreateWebhook, NewSecret, UpdateWebhook, Webhooks, read_accounts, read_events, webhooks_filter,
};

const THRESHOLD: &str = "low_balance_threshold_usdc";

const ENABLED: &str = "enabled";
const DISABLED: &str = "disabled";

written! {
    Enabled = "WebhookStatus": one_of("Whether events are delivered.", [ENABLED, DISABLED]);
}

enum Enabled {}

/// What to change of a webhook. What is left out stays as it is.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = UpdateWebhook)]
pub struct WebhookBody {
    #[schema(value_type = Option<WebhookUrlText>)]
    url: Option<String>,
    /// The event types to send.
    #[schema(value_type = Option<Vec<EventType>>, min_items = 1)]
    events: Option<Vec<String>>,
    /// The accounts whose events to send; empty for all of the operator.
    #[schema(value_type = Option<Vec<schema::AccountId>>, max_items = 1000)]
    account_ids: Option<Vec<String>>,
    /// Below which balance `balance.low_threshold` fires; it is needed for that, and more than 0. `null` for none.
    #[serde(default, deserialize_with = "given")]
    #[schema(value_type = Option<UsdcNumber>)]
    low_balance_threshold_usdc: Option<Box<RawValue>>,
    #[schema(value_type = Option<Enabled>)]
    status: Option<String>,
}

/// A new webhook.
enum CreateWebhookBody {}

written! {
    CreateWebhookBody = "CreateWebhook": changed::<WebhookBody>(|body| {
        body.description = Some("A new webhook. It is enabled.".to_owned());
        body.properties.remove("status");
        body.required = ["url", "events"].map(str::to_owned).to_vec();
        for name in &body.required {
            body.properties.entry(name.clone()).and_modify(forbid_null);
        }
    }), like WebhookBody;
}

/// Distinguishes `null` from a missing field.
fn given<'de, D: Deserializer<'de>>(value: D) -> Result<Option<Box<RawValue>>, D::Error> {
    Box::<RawValue>::deserialize(value).map(Some)
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
            Some(ENABLED) => Some(true),
            Some(DISABLED) => Some(false),
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
#[derive(Serialize, ToSchema)]
#[schema(as = Webhook)]
pub struct WebhookResponse {
    id: schema::WebhookId,
    #[schema(value_type = WebhookUrlText)]
    url: String,
    /// The event types that it gets.
    #[schema(min_items = 1, max_items = 64)]
    events: Vec<EventType>,
    /// The accounts whose events it gets; empty for all of the operator.
    #[schema(max_items = 1000)]
    account_ids: Vec<schema::AccountId>,
    /// Below which balance `balance.low_threshold` fires.
    #[schema(required)]
    low_balance_threshold_usdc: Option<UsdcLimit>,
    #[schema(value_type = Enabled)]
    status: &'static str,
    #[schema(required)]
    disabled_reason: Option<DisabledReason>,
    /// Since when it is disabled.
    #[schema(required)]
    disabled_at: Option<schema::Timestamp>,
    /// Since when every attempt failed; `null` while the latest succeeded.
    #[schema(required)]
    failing_since: Option<schema::Timestamp>,
    /// Until when the secret before this one signs too.
    #[schema(required)]
    previous_secret_expires_at: Option<schema::Timestamp>,
    created_at: schema::Timestamp,
    updated_at: schema::Timestamp,
}

impl From<Webhook> for WebhookResponse {
    fn from(webhook: Webhook) -> Self {
        let (disabled_reason, disabled_at) = match webhook.status {
            WebhookStatus::Enabled => (None, None),
            WebhookStatus::Disabled { reason, since } => (Some(reason), Some(since.into())),
        };
        let subscription = &webhook.subscription;
        Self {
            id: webhook.id.into(),
            url: webhook.url.as_str().to_owned(),
            events: subscription.events().to_vec(),
            account_ids: subscription.accounts().iter().copied().map(Text).collect(),
            low_balance_threshold_usdc: subscription.threshold().map(UsdcLimit),
            status: webhook.status.as_str(),
            disabled_reason,
            disabled_at,
            failing_since: webhook.health.failing_since.map(Text),
            previous_secret_expires_at: webhook.previous_secret_until.map(Text),
            created_at: webhook.created_at.into(),
            updated_at: webhook.updated_at.into(),
        }
    }
}

/// A webhook with a new secret: the only answer that shows it.
#[derive(Serialize, ToSchema)]
#[schema(as = WebhookWithSecret)]
pub struct NewSecretResponse {
    #[serde(flatten)]
    webhook: WebhookResponse,
    #[schema(value_type = WebhookSecretText)]
    secret: String,
}

impl From<NewSecret> for NewSecretResponse {
    fn from(new: NewSecret) -> Self {
        Self { webhook: new.webhook.into(), secret: new.secret.expose().to_owned() }
    }
}

/// Register a webhook
///
/// The answer shows its secret, and nothing else ever does.
#[utoipa::path(
    post, path = "/v1/webhooks", operation_id = "create_webhook", tag = "Webhooks",
    request_body = CreateWebhookBody,
    responses((status = 201, body = NewSecretResponse, description = "The webhook and its secret.")),
    security(("operator_key" = [])),
    extensions(("x-scopes" = json!(["admin"])), ("x-errors" = json!([Code::NotConfigured]))),
)]
pub async fn create(
    State(webhooks): State<Webhooks>,
    OperatorOnly(operator): OperatorOnly,
    Draw(drawn): Draw,
    Body(body): Body<WebhookBody>,
) -> Result<ShownOnce<NewSecretResponse>, ApiError> {
    let created = webhooks.create(&operator, body.try_into()?, drawn).await?;
    Ok(ShownOnce(StatusCode::CREATED, created.into()))
}

list_parameters!(WebhooksParameters(LIMIT_DEFAULT) {});

/// List webhooks
#[utoipa::path(
    get, path = "/v1/webhooks", operation_id = "list_webhooks", tag = "Webhooks",
    params(WebhooksParameters),
    responses((status = 200, body = PageResponse<WebhookResponse>, description = "A page of webhooks.")),
    security(("operator_key" = [])),
    extensions(("x-scopes" = json!(["read"]))),
)]
pub async fn list(
    State(webhooks): State<Webhooks>,
    OperatorOnly(operator): OperatorOnly,
    query: ListQuery,
) -> Result<Json<PageResponse<WebhookResponse>>, ApiError> {
    let request = query.page(LIMIT_DEFAULT, &webhooks_filter(operator.id))?;
    Ok(Json(webhooks.list(&operator, request).await?.map(WebhookResponse::from).into()))
}

/// Get a webhook
#[utoipa::path(
    get, path = "/v1/webhooks/{id}", operation_id = "get_webhook", tag = "Webhooks",
    params(Id<WebhookId>),
    responses((status = 200, body = WebhookResponse, description = "The webhook.")),
    security(("operator_key" = [])),
    extensions(("x-scopes" = json!(["read"]))),
)]
pub async fn get(
    State(webhooks): State<Webhooks>,
    OperatorOnly(operator): OperatorOnly,
    Id(webhook_id): Id<WebhookId>,
) -> Result<Json<WebhookResponse>, ApiError> {
    Ok(Json(webhooks.get(&operator, webhook_id).await?.into()))
}

/// Change, enable or disable a webhook
#[utoipa::path(
    patch, path = "/v1/webhooks/{id}", operation_id = "update_webhook", tag = "Webhooks",
    params(Id<WebhookId>),
    request_body = WebhookBody,
    responses((status = 200, body = WebhookResponse, description = "The webhook as it is now.")),
    security(("operator_key" = [])),
    extensions(("x-scopes" = json!(["admin"]))),
)]
pub async fn patch(
    State(webhooks): State<Webhooks>,
    OperatorOnly(operator): OperatorOnly,
    Id(webhook_id): Id<WebhookId>,
    Body(body): Body<WebhookBody>,
) -> Result<Json<WebhookResponse>, ApiError> {
    Ok(Json(webhooks.update(&operator, webhook_id, body.try_into()?).await?.into()))
}

/// Forget a webhook
#[utoipa::path(
    delete, path = "/v1/webhooks/{id}", operation_id = "delete_webhook", tag = "Webhooks",
    params(Id<WebhookId>),
    responses((status = 204, description = "Nothing is delivered to it any more.")),
    security(("operator_key" = [])),
    extensions(("x-scopes" = json!(["admin"]))),
)]
pub async fn remove(
    State(webhooks): State<Webhooks>,
    OperatorOnly(operator): OperatorOnly,
    Id(webhook_id): Id<WebhookId>,
) -> Result<StatusCode, ApiError> {
    webhooks.delete(&operator, webhook_id).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// Rotate a webhook's secret
///
/// Takes no body, and answers with the new secret. For 24 hours the old one signs too.
#[utoipa::path(
    post, path = "/v1/webhooks/{id}/rotate_secret", operation_id = "rotate_secret", tag = "Webhooks",
    params(Id<WebhookId>),
    responses((status = 200, body = NewSecretResponse, description = "The webhook and its new secret.")),
    security(("operator_key" = [])),
    extensions(("x-scopes" = json!(["admin"])), ("x-errors" = json!([Code::NotConfigured]))),
)]
pub async fn rotate_secret(
    State(webhooks): State<Webhooks>,
    OperatorOnly(operator): OperatorOnly,
    Id(webhook_id): Id<WebhookId>,
    Draw(drawn): Draw,
) -> Result<ShownOnce<NewSecretResponse>, ApiError> {
    let rotated = webhooks.rotate_secret(&operator, webhook_id, drawn).await?;
    Ok(ShownOnce(StatusCode::OK, rotated.into()))
}
