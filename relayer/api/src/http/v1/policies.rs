use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use utoipa::openapi::{RefOr, Schema};

use super::policy_read_only::{self, READ_ONLY, ReadOnly};
use crate::http::openapi::headers::IfMatch;
use crate::web::OnRecord;
use crate::web::auth::{AnyKey, OperatorOnly};
use crate::web::body::JsonText;
use crate::web::error::{ApiError, Code};
use crate::web::page::Id;
use purser_model::wire::PolicyFields;
use purser_model::wire::schema::{changed, written};
use purser_model::{AccountId, Invalid, KeyId, Operator, PolicyUpdate};
use purser_service::audit_scope::AuditScope;
use purser_service::{Inside, PolicyView, ServiceError, policies};

/// The body of a change: the fields that can be set, and read-only ones from an earlier answer.
pub enum PolicyBody {}

written! {
    PolicyBody = "PolicyChange": changed::<PolicyUpdate>(|body| {
        let read = [
            <PolicyFields as utoipa::PartialSchema>::schema(),
            <PolicyView as utoipa::PartialSchema>::schema(),
        ];
        let properties = read.iter().flat_map(properties_of);
        body.properties.extend(properties.filter(|(name, _)| READ_ONLY.contains(&name.as_str())));
    }), like PolicyView;
}

/// The properties of an object, and of the objects that it is composed of.
fn properties_of(schema: &RefOr<Schema>) -> Vec<(String, RefOr<Schema>)> {
    match schema {
        RefOr::T(Schema::Object(object)) => object.properties.clone().into_iter().collect(),
        RefOr::T(Schema::AllOf(parts)) => parts.items.iter().flat_map(properties_of).collect(),
        _ => Vec::new(),
    }
}

/// 200: in force. 202: it waits. `ETag` is its version.
fn answer(view: PolicyView) -> Response {
    let status = if view.effective_at.is_some() { StatusCode::ACCEPTED } else { StatusCode::OK };
    let tag = HeaderValue::from_str(&format!("\"{}\"", view.version.0));
    let mut response = (status, Json(view)).into_response();
    if let Ok(tag) = tag {
        response.headers_mut().insert(header::ETAG, tag);
    }
    response
}

/// The change with the version that it is meant for, from the body or from `If-Match`; if both are given, they must agree. If the
/// body carries read-only fields, they are checked against the current policy.
async fn bound(
    inside: &Arc<Inside>,
    (operator, id): (&Operator, AccountId),
    headers: &HeaderMap,
    (update, read_only): (PolicyUpdate, ReadOnly),
) -> Result<PolicyUpdate, ApiError> {
    let expected_version = match (update.expected_version, if_match(headers)?) {
        (Some(body), Some(header)) if body != header => {
            return Err(Invalid::new("expected_version", "differs from the header `If-Match`").into());
        }
        (body, header) => body.or(header),
    };
    if read_only.is_empty() {
        return Ok(PolicyUpdate { expected_version, ..update });
    }
    let current = policies::get(inside, operator, id).await?;
    read_only.check(&current)?;
    // Bound to the version that was checked.
    Ok(PolicyUpdate { expected_version: expected_version.or(Some(current.version.0)), ..update })
}

/// The change as it is to be made. A pause is bound to no version: it comes first where the rest is refused here.
async fn checked_update(
    inside: &Arc<Inside>,
    (operator, id, by): (&Operator, AccountId, (KeyId, &AuditScope)),
    headers: &HeaderMap,
    body: &[u8],
) -> Result<PolicyUpdate, ApiError> {
    let (update, read_only) = policy_read_only::read(body)?;
    if update.only_paused() == Some(true) {
        return Ok(update);
    }
    let pause = update.pauses().then(|| update.pause_alone());
    match (bound(inside, (operator, id), headers, (update, read_only)).await, pause) {
        (Err(ApiError::Service(error)), Some(pause)) => {
            policies::change(inside, operator, id, pause, by, policies::UpdateMode::Merge).await?;
            Err(ServiceError::PauseHolds(Box::new(error)).into())
        }
        (bound, _) => bound,
    }
}

/// `*` asks for no version. A proxy that compresses answers makes `W/"7"` of an `ETag` of `"7"`.
fn if_match(headers: &HeaderMap) -> Result<Option<u64>, Invalid> {
    let mut values = headers.get_all(header::IF_MATCH).iter();
    let Some(value) = values.next() else { return Ok(None) };
    let invalid = || Invalid::new("If-Match", "must be one version of the policy, such as \"7\"");
    let text = value.to_str().map_err(|_| invalid())?.trim();
    let tag = text.strip_prefix("W/").filter(|tag| tag.starts_with('"')).unwrap_or(text);
    let bare = tag.strip_prefix('"').and_then(|tag| tag.strip_suffix('"')).unwrap_or(tag);
    if text == "*" && values.next().is_none() {
        return Ok(None);
    }
    if values.next().is_some() || !bare.bytes().all(|byte| byte.is_ascii_digit()) {
        return Err(invalid());
    }
    bare.parse().map(Some).map_err(|_| invalid())
}

/// Get an account's policy
///
/// As it stands on the chain, and what waits to take its place. `ETag` is its version.
#[utoipa::path(
    get, path = "/v1/accounts/{id}/policy", operation_id = "get_policy", tag = "Policies",
    params(Id<AccountId>),
    responses((status = 200, body = PolicyView, description = "The policy.")),
    security(("operator_key" = [])),
    extensions(("x-scopes" = json!(["read"])), ("x-errors" = json!([Code::SolanaUnavailable]))),
)]
pub async fn get(
    State(inside): State<Arc<Inside>>,
    OperatorOnly(operator): OperatorOnly,
    Id(account_id): Id<AccountId>,
) -> Result<Response, ApiError> {
    Ok(answer(policies::get(&inside, &operator, account_id).await?))
}

/// What a change can fail with, besides what every request can.
const CHANGE_ERRORS: [Code; 6] = [
    Code::PolicyChanged,
    Code::QuotaExceeded,
    Code::SolanaUnavailable,
    Code::AuthorityRotated,
    Code::FeePayerEmpty,
    Code::SignerUnavailable,
];

/// Replace an account's policy
///
/// Fields that are left out take their defaults. The one exception: `paused` alone leaves the others as they are. The policy is on the chain when this answers, and holds from the next transfer on. `max_30_day_spend` and `budget_id` stay where they
/// are left out; they come first, in a transaction of their own, and under a loosening delay only the operator's admin loosens them
/// (403), with its own wallet. `paused: true` holds at once and at any
/// version, whatever `If-Match` says, and also where the rest of the body has to wait (202) or is refused; the error then says so.
#[utoipa::path(
    put, path = "/v1/accounts/{id}/policy", operation_id = "replace_policy", tag = "Policies",
    params(Id<AccountId>, IfMatch),
    request_body = PolicyBody,
    responses(
        (status = 200, body = PolicyView, description = "The policy that is now in force."),
        (status = 202, body = PolicyView, description = "It loosens something and is pending: see `pending`."),
    ),
    security(("operator_key" = [])),
    extensions(("x-scopes" = json!(["policy"])), ("x-errors" = json!(CHANGE_ERRORS))),
)]
pub async fn put(
    State(inside): State<Arc<Inside>>,
    OnRecord { scope, .. }: OnRecord,
    OperatorOnly(operator): OperatorOnly,
    AnyKey(asker): AnyKey,
    Id(account_id): Id<AccountId>,
    headers: HeaderMap,
    JsonText(body): JsonText,
) -> Result<Response, ApiError> {
    let by = (asker.key_id(), &scope);
    let update = checked_update(&inside, (&operator, account_id, by), &headers, &body).await?;
    Ok(answer(
        policies::change(&inside, &operator, account_id, update, by, policies::UpdateMode::Replace).await?,
    ))
}

/// Change fields of an account's policy
///
/// Fields that are left out stay as they are. `paused: true` holds at once and at any version, whatever `If-Match` says, and
/// also where the rest of the body has to wait (202) or is refused; the error then says so.
#[utoipa::path(
    patch, path = "/v1/accounts/{id}/policy", operation_id = "update_policy", tag = "Policies",
    params(Id<AccountId>, IfMatch),
    request_body = PolicyBody,
    responses(
        (status = 200, body = PolicyView, description = "The policy that is now in force."),
        (status = 202, body = PolicyView, description = "It loosens something and is pending: see `pending`."),
    ),
    security(("operator_key" = [])),
    extensions(("x-scopes" = json!(["policy"])), ("x-errors" = json!(CHANGE_ERRORS))),
)]
pub async fn patch(
    State(inside): State<Arc<Inside>>,
    OnRecord { scope, .. }: OnRecord,
    OperatorOnly(operator): OperatorOnly,
    AnyKey(asker): AnyKey,
    Id(account_id): Id<AccountId>,
    headers: HeaderMap,
    JsonText(body): JsonText,
) -> Result<Response, ApiError> {
    let by = (asker.key_id(), &scope);
    let update = checked_update(&inside, (&operator, account_id, by), &headers, &body).await?;
    Ok(answer(
        policies::change(&inside, &operator, account_id, update, by, policies::UpdateMode::Merge).await?,
    ))
}

/// Drop the policy that waits
#[utoipa::path(
    delete, path = "/v1/accounts/{id}/policy/pending", operation_id = "drop_pending_policy", tag = "Policies",
    params(Id<AccountId>),
    responses((status = 200, body = PolicyView, description = "The policy that stays in force.")),
    security(("operator_key" = [])),
    extensions(("x-scopes" = json!(["policy"])), ("x-errors" = json!([
        Code::PolicyChanged, Code::SolanaUnavailable, Code::AuthorityRotated, Code::FeePayerEmpty,
        Code::SignerUnavailable
    ]))),
)]
pub async fn drop_pending(
    State(inside): State<Arc<Inside>>,
    OnRecord { scope, .. }: OnRecord,
    OperatorOnly(operator): OperatorOnly,
    Id(account_id): Id<AccountId>,
) -> Result<Response, ApiError> {
    Ok(answer(policies::drop_pending(&inside, &operator, account_id, &scope).await?))
}
