use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use serde::{Deserialize, Serialize};

use super::text;
use crate::domain::{AccountId, ApiKey, Invalid, KeyId, KeyScope};
use crate::http::auth::OperatorOnly;
use crate::http::body::Json as Body;
use crate::http::error::ApiError;
use crate::http::once::{Draw, ShownOnce};
use crate::http::page::{Id, PageResponse, Query};
use crate::service::{CreateKey, Keys, NewKey, keys_filter};

const LIMIT_DEFAULT: u32 = 20;
const LIMIT_MAX: u32 = 100;

/// The body of `POST /v1/accounts/{id}/keys`.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CreateKeyBody {
    name: Option<String>,
    expires_at: Option<String>,
    /// From where it may be used; without it, from anywhere.
    allowed_cidrs: Option<Vec<String>>,
}

impl TryFrom<CreateKeyBody> for CreateKey {
    type Error = Invalid;

    fn try_from(body: CreateKeyBody) -> Result<Self, Invalid> {
        CreateKey::parse(body.name, body.expires_at, body.allowed_cidrs)
    }
}

/// An agent key, without the key itself.
#[derive(Serialize)]
pub struct KeyResponse {
    id: String,
    account_id: Option<String>,
    name: Option<String>,
    hint: String,
    created_at: String,
    expires_at: Option<String>,
    revoked_at: Option<String>,
    /// About a minute late.
    last_used_at: Option<String>,
    allowed_cidrs: Option<Vec<String>>,
}

impl From<ApiKey> for KeyResponse {
    fn from(key: ApiKey) -> Self {
        let account_id = match key.scope {
            KeyScope::Operator => None,
            KeyScope::Agent(account_id) => Some(account_id.to_string()),
        };
        Self {
            id: key.id.to_string(),
            account_id,
            name: key.name,
            hint: key.hint.as_str().to_owned(),
            created_at: text(key.created_at),
            expires_at: key.expires_at.map(text),
            revoked_at: key.revoked_at.map(text),
            last_used_at: key.last_used_at.map(text),
            allowed_cidrs: key.allowed_cidrs.map(|cidrs| cidrs.texts()),
        }
    }
}

/// A new key: the only answer that shows it.
#[derive(Serialize)]
pub struct NewKeyResponse {
    #[serde(flatten)]
    record: KeyResponse,
    key: String,
}

impl From<NewKey> for NewKeyResponse {
    fn from(new: NewKey) -> Self {
        Self { record: new.record.into(), key: new.plain.expose().to_owned() }
    }
}

/// `POST /v1/accounts/{id}/keys`
pub async fn create(
    State(keys): State<Keys>,
    OperatorOnly(operator): OperatorOnly,
    Id(account_id): Id<AccountId>,
    Draw(drawn): Draw,
    Body(body): Body<CreateKeyBody>,
) -> Result<ShownOnce<NewKeyResponse>, ApiError> {
    let created = keys.create(&operator, account_id, body.try_into()?, drawn).await?;
    Ok(ShownOnce(StatusCode::CREATED, created.into()))
}

/// `GET /v1/accounts/{id}/keys`
pub async fn list(
    State(keys): State<Keys>,
    OperatorOnly(operator): OperatorOnly,
    Id(account_id): Id<AccountId>,
    mut query: Query,
) -> Result<Json<PageResponse<KeyResponse>>, ApiError> {
    let request = query.page(LIMIT_DEFAULT, LIMIT_MAX, &keys_filter(operator.id, account_id))?;
    query.finish()?;
    Ok(Json(keys.list(&operator, account_id, request).await?.map(KeyResponse::from).into()))
}

/// `DELETE /v1/keys/{id}`
pub async fn revoke(
    State(keys): State<Keys>,
    OperatorOnly(operator): OperatorOnly,
    Id(key_id): Id<KeyId>,
) -> Result<StatusCode, ApiError> {
    keys.revoke(&operator, key_id).await?;
    Ok(StatusCode::NO_CONTENT)
}
