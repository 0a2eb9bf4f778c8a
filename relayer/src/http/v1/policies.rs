use axum::Json;
use axum::extract::State;
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde::Serialize;

use super::policy_read_only::{self, ReadOnly};
use super::text;
use crate::domain::{AccountId, Invalid, Operator, PolicyFields, PolicyUpdate, Principal};
use crate::http::auth::OperatorOnly;
use crate::http::body::JsonText;
use crate::http::error::ApiError;
use crate::http::page::Id;
use crate::service::{PendingView, Policies, PolicyChange, PolicyView};

/// An account's policy; `tx_signature` where it was just put in force, `effective_at` where the change has to wait.
#[derive(Serialize)]
pub struct PolicyResponse {
    account_id: String,
    #[serde(flatten)]
    policy: PolicyFields,
    updated_at: String,
    version: u64,
    pending: Option<PendingResponse>,
    #[serde(skip_serializing_if = "Option::is_none")]
    effective_at: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tx_signature: Option<String>,
}

/// A policy that waits.
#[derive(Serialize)]
struct PendingResponse {
    #[serde(flatten)]
    policy: PolicyFields,
    effective_at: String,
}

impl From<PendingView> for PendingResponse {
    fn from(view: PendingView) -> Self {
        Self { policy: PolicyFields::from(&view.policy), effective_at: text(view.effective_at) }
    }
}

impl From<PolicyView> for PolicyResponse {
    fn from(view: PolicyView) -> Self {
        Self {
            account_id: view.account_id.to_string(),
            policy: PolicyFields::from(&view.policy),
            updated_at: text(view.updated_at),
            version: view.version,
            pending: view.pending.map(PendingResponse::from),
            effective_at: None,
            tx_signature: None,
        }
    }
}

impl IntoResponse for PolicyResponse {
    fn into_response(self) -> Response {
        let tag = HeaderValue::from_str(&format!("\"{}\"", self.version));
        let mut response = Json(self).into_response();
        if let Ok(tag) = tag {
            response.headers_mut().insert(header::ETAG, tag);
        }
        response
    }
}

/// 200 in force, 202 waits.
fn answer(change: PolicyChange) -> Response {
    match change {
        PolicyChange::InForce { view, tx_signature } => {
            PolicyResponse { tx_signature: Some(tx_signature), ..view.into() }.into_response()
        }
        PolicyChange::Waits(view) => {
            let effective_at = view.pending.as_ref().map(|pending| text(pending.effective_at));
            let waits = PolicyResponse { effective_at, ..view.into() };
            (StatusCode::ACCEPTED, waits).into_response()
        }
    }
}

/// The change with the version that it is meant for, from the body or from `If-Match`; with both given, both must say
/// the same.
fn update(headers: &HeaderMap, body: &[u8]) -> Result<(PolicyUpdate, ReadOnly), Invalid> {
    let (update, read_only) = policy_read_only::read(body)?;
    match (update.expected_version, if_match(headers)?) {
        (Some(body), Some(header)) if body != header => {
            Err(Invalid::new("expected_version", "differs from the header `If-Match`"))
        }
        (body, header) => Ok((PolicyUpdate { expected_version: body.or(header), ..update }, read_only)),
    }
}

/// The same for the policy that stands there now, where the body carries read-only fields of one.
async fn checked_update(
    policies: &Policies,
    operator: &Operator,
    id: AccountId,
    headers: &HeaderMap,
    body: &[u8],
) -> Result<PolicyUpdate, ApiError> {
    let (update, read_only) = update(headers, body)?;
    if read_only.is_empty() {
        return Ok(update);
    }
    let stands = PolicyResponse::from(policies.get(operator, id).await?);
    read_only.check(&stands)?;
    // Bound to what was looked at.
    Ok(PolicyUpdate { expected_version: update.expected_version.or(Some(stands.version)), ..update })
}

fn if_match(headers: &HeaderMap) -> Result<Option<u64>, Invalid> {
    let mut values = headers.get_all(header::IF_MATCH).iter();
    let Some(value) = values.next() else { return Ok(None) };
    let invalid = || Invalid::new("If-Match", "must be one version of the policy, such as \"7\"");
    let text = value.to_str().map_err(|_| invalid())?.trim();
    let bare = text.strip_prefix('"').and_then(|text| text.strip_suffix('"')).unwrap_or(text);
    if values.next().is_some() || !bare.bytes().all(|byte| byte.is_ascii_digit()) {
        return Err(invalid());
    }
    bare.parse().map(Some).map_err(|_| invalid())
}

/// `GET /v1/accounts/{id}/policy`
pub async fn get(
    State(policies): State<Policies>,
    OperatorOnly(operator): OperatorOnly,
    Id(account_id): Id<AccountId>,
) -> Result<PolicyResponse, ApiError> {
    Ok(policies.get(&operator, account_id).await?.into())
}

/// `PUT /v1/accounts/{id}/policy`
pub async fn put(
    State(policies): State<Policies>,
    OperatorOnly(operator): OperatorOnly,
    asker: Principal,
    Id(account_id): Id<AccountId>,
    headers: HeaderMap,
    JsonText(body): JsonText,
) -> Result<Response, ApiError> {
    let update = checked_update(&policies, &operator, account_id, &headers, &body).await?;
    Ok(answer(policies.put(&operator, account_id, update, asker.key_id()).await?))
}

/// `PATCH /v1/accounts/{id}/policy`
pub async fn patch(
    State(policies): State<Policies>,
    OperatorOnly(operator): OperatorOnly,
    asker: Principal,
    Id(account_id): Id<AccountId>,
    headers: HeaderMap,
    JsonText(body): JsonText,
) -> Result<Response, ApiError> {
    let update = checked_update(&policies, &operator, account_id, &headers, &body).await?;
    Ok(answer(policies.patch(&operator, account_id, update, asker.key_id()).await?))
}

/// `DELETE /v1/accounts/{id}/policy/pending`
pub async fn drop_pending(
    State(policies): State<Policies>,
    OperatorOnly(operator): OperatorOnly,
    Id(account_id): Id<AccountId>,
) -> Result<PolicyResponse, ApiError> {
    Ok(policies.drop_pending(&operator, account_id).await?.into())
}
