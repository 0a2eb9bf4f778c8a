use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use serde::Serialize;
use utoipa::ToSchema;

use crate::web::OnRecord;
use crate::web::auth::OperatorOnly;
use crate::web::body::Json as Body;
use crate::web::error::{ApiError, Code};
use crate::web::once::{RequestRandom, ShownOnce};
use crate::web::page::{Id, LIMIT_DEFAULT, ListQuery, PageResponse, list_parameters};
use purser_model::wire::schema::{UsdcLimit, WebhookSecretText, WebhookUrlText};
use purser_model::{
    AccountId, CreateWebhook, Delivering, DisabledReason, EventType, Timestamp, UpdateWebhook, Webhook,
    WebhookId, WebhookStatus,
};
use purser_service::{NewSecret, Webhooks};

/// A webhook, without its secret.
#[derive(Serialize, ToSchema)]
#[schema(as = Webhook)]
pub struct WebhookResponse {
    id: WebhookId,
    url: WebhookUrlText,
    /// The event types that it gets.
    #[schema(min_items = 1, max_items = 64)]
    events: Vec<EventType>,
    /// The accounts whose events it gets; empty for all of the operator.
    #[schema(max_items = 1000)]
    account_ids: Vec<AccountId>,
    /// Below which balance `balance.low_threshold` fires.
    #[schema(required)]
    low_balance_threshold_usdc: Option<UsdcLimit>,
    status: Delivering,
    #[schema(required)]
    disabled_reason: Option<DisabledReason>,
    /// Since when it is disabled.
    #[schema(required)]
    disabled_at: Option<Timestamp>,
    /// Since when every attempt failed; `null` while the latest succeeded.
    #[schema(required)]
    failing_since: Option<Timestamp>,
    /// Until when the secret before this one signs too.
    #[schema(required)]
    previous_secret_expires_at: Option<Timestamp>,
    created_at: Timestamp,
    updated_at: Timestamp,
}

impl From<Webhook> for WebhookResponse {
    fn from(webhook: Webhook) -> Self {
        let (disabled_reason, disabled_at) = match webhook.status {
            WebhookStatus::Enabled => (None, None),
            WebhookStatus::Disabled { reason, since } => (Some(reason), Some(since)),
        };
        let subscription = &webhook.subscription;
        Self {
            id: webhook.id,
            url: webhook.url.as_str().into(),
            events: subscription.events().to_vec(),
            account_ids: subscription.accounts().to_vec(),
            low_balance_threshold_usdc: subscription.threshold().map(UsdcLimit),
            status: webhook.status.delivering(),
            disabled_reason,
            disabled_at,
            failing_since: webhook.health.failing_since,
            previous_secret_expires_at: webhook.previous_secret_until,
            created_at: webhook.created_at,
            updated_at: webhook.updated_at,
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
    request_body = CreateWebhook,
    responses((status = 201, body = NewSecretResponse, description = "The webhook and its secret.")),
    security(("operator_key" = [])),
    extensions(("x-scopes" = json!(["admin"])), ("x-errors" = json!([Code::NotConfigured]))),
)]
pub async fn create(
    State(webhooks): State<Webhooks>,
    OnRecord { scope, .. }: OnRecord,
    OperatorOnly(operator): OperatorOnly,
    RequestRandom(drawn): RequestRandom,
    Body(asked): Body<UpdateWebhook>,
) -> Result<ShownOnce<NewSecretResponse>, ApiError> {
    let created = webhooks.create(&operator, asked, drawn, &scope).await?;
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
    let request = query.page(LIMIT_DEFAULT)?;
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
    request_body = UpdateWebhook,
    responses((status = 200, body = WebhookResponse, description = "The webhook as it is now.")),
    security(("operator_key" = [])),
    extensions(("x-scopes" = json!(["admin"]))),
)]
pub async fn patch(
    State(webhooks): State<Webhooks>,
    OnRecord { scope, .. }: OnRecord,
    OperatorOnly(operator): OperatorOnly,
    Id(webhook_id): Id<WebhookId>,
    Body(asked): Body<UpdateWebhook>,
) -> Result<Json<WebhookResponse>, ApiError> {
    Ok(Json(webhooks.update(&operator, webhook_id, asked, &scope).await?.into()))
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
    OnRecord { scope, .. }: OnRecord,
    OperatorOnly(operator): OperatorOnly,
    Id(webhook_id): Id<WebhookId>,
) -> Result<StatusCode, ApiError> {
    webhooks.delete(&operator, webhook_id, &scope).await?;
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
    OnRecord { scope, .. }: OnRecord,
    OperatorOnly(operator): OperatorOnly,
    Id(webhook_id): Id<WebhookId>,
    RequestRandom(drawn): RequestRandom,
) -> Result<ShownOnce<NewSecretResponse>, ApiError> {
    let rotated = webhooks.rotate_secret(&operator, webhook_id, drawn, &scope).await?;
    Ok(ShownOnce(StatusCode::OK, rotated.into()))
}
