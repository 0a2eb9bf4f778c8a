use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use serde::Serialize;
use utoipa::ToSchema;

use crate::web::OnRecord;
use crate::web::auth::{AnyKey, OperatorOnly};
use crate::web::body::Json as Body;
use crate::web::error::ApiError;
use crate::web::once::{RequestRandom, ShownOnce};
use crate::web::page::{Id, LIMIT_DEFAULT, ListQuery, PageResponse, list_parameters};
use purser_model::wire::schema::PlainKeyText;
use purser_model::{AccountId, ApiKey, CreateKey, CreateOperatorKey, KeyHolder, KeyId};
use purser_service::{Inside, NewKey, keys};

/// A new key: the only answer that shows it.
#[derive(Serialize, ToSchema)]
#[schema(as = NewKey)]
pub struct NewKeyResponse {
    #[serde(flatten)]
    record: ApiKey,
    #[schema(value_type = PlainKeyText)]
    key: String,
}

impl From<NewKey> for NewKeyResponse {
    fn from(new: NewKey) -> Self {
        Self { record: new.record, key: new.plain.expose().to_owned() }
    }
}

/// Make an agent key
///
/// It opens this account alone, and never its policy. The answer shows it, and nothing else ever does. A key makes none that may
/// do more than itself.
#[utoipa::path(
    post, path = "/v1/accounts/{id}/keys", operation_id = "create_key", tag = "Keys",
    params(Id<AccountId>),
    request_body = CreateKey,
    responses((status = 201, body = NewKeyResponse, description = "The key.")),
    security(("operator_key" = [])),
    extensions(("x-scopes" = json!(["pay", "policy", "halt", "reject-approvals"]))),
)]
pub async fn create(
    State(inside): State<Arc<Inside>>,
    OnRecord { scope, .. }: OnRecord,
    _: OperatorOnly,
    AnyKey(caller): AnyKey,
    Id(account_id): Id<AccountId>,
    RequestRandom(drawn): RequestRandom,
    Body(asked): Body<CreateKey>,
) -> Result<ShownOnce<NewKeyResponse>, ApiError> {
    let created = keys::create(&inside, &caller, KeyHolder::Agent(account_id), asked, drawn, &scope).await?;
    Ok(ShownOnce(StatusCode::CREATED, created.into()))
}

/// Make an operator key
///
/// It may do no more than the key that asks, ends no later, and is used from no other addresses; a key with `read` alone makes none.
/// The answer shows it, and nothing else ever does. Whoever runs the service makes the first one (`purser key create`).
#[utoipa::path(
    post, path = "/v1/keys", operation_id = "create_operator_key", tag = "Keys",
    request_body = CreateOperatorKey,
    responses((status = 201, body = NewKeyResponse, description = "The key.")),
    security(("operator_key" = [])),
    extensions(("x-scopes" = json!(["pay", "policy", "halt", "reject-approvals"]))),
)]
pub async fn create_operators(
    State(inside): State<Arc<Inside>>,
    OnRecord { scope, .. }: OnRecord,
    _: OperatorOnly,
    AnyKey(caller): AnyKey,
    RequestRandom(drawn): RequestRandom,
    Body(asked): Body<CreateOperatorKey>,
) -> Result<ShownOnce<NewKeyResponse>, ApiError> {
    let created = keys::create(&inside, &caller, KeyHolder::Operator, asked.into(), drawn, &scope).await?;
    Ok(ShownOnce(StatusCode::CREATED, created.into()))
}

list_parameters!(KeysParameters(LIMIT_DEFAULT) {});

/// List an account's keys
///
/// Newest first, revoked and expired ones too.
#[utoipa::path(
    get, path = "/v1/accounts/{id}/keys", operation_id = "list_keys", tag = "Keys",
    params(Id<AccountId>, KeysParameters),
    responses((status = 200, body = PageResponse<ApiKey>, description = "A page of keys.")),
    security(("operator_key" = [])),
    extensions(("x-scopes" = json!(["read"]))),
)]
pub async fn list(
    State(inside): State<Arc<Inside>>,
    OperatorOnly(operator): OperatorOnly,
    Id(account_id): Id<AccountId>,
    query: ListQuery,
) -> Result<Json<PageResponse<ApiKey>>, ApiError> {
    let holder = KeyHolder::Agent(account_id);
    let request = query.page(LIMIT_DEFAULT)?;
    Ok(Json(keys::list(&inside, &operator, holder, request).await?.into()))
}

/// List the operator's own keys
///
/// Newest first, revoked and expired ones too, but for those of agents.
#[utoipa::path(
    get, path = "/v1/keys", operation_id = "list_operator_keys", tag = "Keys",
    params(KeysParameters),
    responses((status = 200, body = PageResponse<ApiKey>, description = "A page of keys.")),
    security(("operator_key" = [])),
    extensions(("x-scopes" = json!(["read"]))),
)]
pub async fn list_operators(
    State(inside): State<Arc<Inside>>,
    OperatorOnly(operator): OperatorOnly,
    query: ListQuery,
) -> Result<Json<PageResponse<ApiKey>>, ApiError> {
    let holder = KeyHolder::Operator;
    let request = query.page(LIMIT_DEFAULT)?;
    Ok(Json(keys::list(&inside, &operator, holder, request).await?.into()))
}

/// Revoke a key
///
/// The key that asks, a key that it made, directly or through others, and with the scope `admin` any key of an agent. Another key is
/// 403: who stole one key cannot take the others away. Whoever runs the service revokes those (`purser key revoke`). What a
/// revoked key made lives on.
#[utoipa::path(
    delete, path = "/v1/keys/{id}", operation_id = "revoke_key", tag = "Keys",
    params(Id<KeyId>),
    responses((status = 204, description = "The key is revoked.")),
    security(("operator_key" = [])),
    extensions(("x-scopes" = json!(["read", "pay", "policy", "halt", "reject-approvals"]))),
)]
pub async fn revoke(
    State(inside): State<Arc<Inside>>,
    OnRecord { scope, .. }: OnRecord,
    _: OperatorOnly,
    AnyKey(caller): AnyKey,
    Id(key_id): Id<KeyId>,
) -> Result<StatusCode, ApiError> {
    keys::revoke(&inside, &caller, key_id, &scope).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// Revoke the key that asks
///
/// Whoever has it gives it back, an agent too. It opens nothing from then on, so asking again with it is 401. Payments that it
/// asked for go on.
#[utoipa::path(
    delete, path = "/v1/keys/self", operation_id = "revoke_own_key", tag = "Keys",
    responses((status = 204, description = "The key is revoked.")),
    security(("operator_key" = []), ("agent_key" = [])),
    extensions(("x-scopes" = json!(["read", "pay", "policy", "halt", "reject-approvals"]))),
)]
pub async fn revoke_own(
    State(inside): State<Arc<Inside>>,
    OnRecord { scope, .. }: OnRecord,
    AnyKey(caller): AnyKey,
) -> Result<StatusCode, ApiError> {
    keys::revoke(&inside, &caller, caller.key_id(), &scope).await?;
    Ok(StatusCode::NO_CONTENT)
}
