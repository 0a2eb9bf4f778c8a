use axum::Json;
use axum::extract::State;
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde::Serialize;
use utoipa::ToSchema;
use utoipa::openapi::{RefOr, Schema};

use super::policy_read_only::{self, READ_ONLY, ReadOnly};
use crate::http::openapi::headers::IfMatch;
use crate::web::auth::{AnyKey, OperatorOnly};
use crate::web::body::JsonText;
use crate::web::code::Code;
use crate::web::error::ApiError;
use crate::web::page::Id;
use purser_model::wire::schema::{PolicyVersionNumber, Signature, UsdcLimit, changed, written};
use purser_model::wire::{PolicyFields, WarningBody};
use purser_model::{AccountId, BudgetId, Invalid, KeyId, Operator, PolicyUpdate, Timestamp};
use purser_service::{PendingView, Policies, PolicyChange, PolicyView, ServiceError};

/// An account's policy; `tx_signature` where it was just put in force, `effective_at` where the change has to wait, and `warnings`
/// in the answer to a change.
#[derive(Serialize, ToSchema)]
#[schema(as = AccountPolicy)]
pub struct PolicyResponse {
    account_id: AccountId,
    #[serde(flatten)]
    policy: PolicyFields,
    /// Most that may leave in any 30 days; `null` for no limit. No grant goes past it. Neither this nor `budget_id` is part of a
    /// version.
    #[schema(required)]
    max_30_day_spend: Option<UsdcLimit>,
    /// The budget that the account pays through; `null` for none.
    #[schema(required)]
    budget_id: Option<BudgetId>,
    /// Whether it pays by grants alone. Set by the admin's own commands.
    by_grant_only: bool,
    updated_at: Timestamp,
    version: PolicyVersionNumber,
    /// The policy that waits to take this one's place; `null` without one.
    #[schema(required)]
    pending: Option<PendingResponse>,
    /// When the change takes effect, where it has to wait.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    effective_at: Option<Timestamp>,
    /// By which transaction it was just put in force.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    tx_signature: Option<Signature>,
    /// Of a change: the rules in it that can never match. They hold all the same. A pause alone is not looked at.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false, max_items = 8)]
    warnings: Option<Vec<WarningBody>>,
}

/// A policy that waits.
#[derive(Serialize, ToSchema)]
#[schema(as = PendingPolicy)]
struct PendingResponse {
    #[serde(flatten)]
    policy: PolicyFields,
    /// When it can take effect.
    effective_at: Timestamp,
}

/// The body of a change: the fields that can be set, and read-only ones from an earlier answer.
pub enum PolicyBody {}

written! {
    PolicyBody = "PolicyChange": changed::<PolicyUpdate>(|body| {
        let read = [
            <PolicyFields as utoipa::PartialSchema>::schema(),
            <PolicyResponse as utoipa::PartialSchema>::schema(),
        ];
        let properties = read.iter().flat_map(properties_of);
        body.properties.extend(properties.filter(|(name, _)| READ_ONLY.contains(&name.as_str())));
    }), like PolicyResponse;
}

/// The properties of an object, and of the objects that it is composed of.
fn properties_of(schema: &RefOr<Schema>) -> Vec<(String, RefOr<Schema>)> {
    match schema {
        RefOr::T(Schema::Object(object)) => object.properties.clone().into_iter().collect(),
        RefOr::T(Schema::AllOf(parts)) => parts.items.iter().flat_map(properties_of).collect(),
        _ => Vec::new(),
    }
}

impl From<PendingView> for PendingResponse {
    fn from(view: PendingView) -> Self {
        Self { policy: PolicyFields::from(&view.policy), effective_at: view.effective_at }
    }
}

impl From<PolicyView> for PolicyResponse {
    fn from(view: PolicyView) -> Self {
        Self {
            account_id: view.account_id,
            policy: PolicyFields::from(&view.policy),
            max_30_day_spend: view.bounds.max_30_day_spend.map(UsdcLimit),
            budget_id: view.bounds.budget,
            by_grant_only: view.bounds.by_grant_only,
            updated_at: view.updated_at,
            version: PolicyVersionNumber(view.version),
            pending: view.pending.map(PendingResponse::from),
            effective_at: None,
            tx_signature: None,
            warnings: None,
        }
    }
}

impl IntoResponse for PolicyResponse {
    fn into_response(self) -> Response {
        let tag = HeaderValue::from_str(&format!("\"{}\"", self.version.0));
        let mut response = Json(self).into_response();
        if let Ok(tag) = tag {
            response.headers_mut().insert(header::ETAG, tag);
        }
        response
    }
}

/// 200: in force. 202: it waits.
fn answer(change: PolicyChange) -> Response {
    match change {
        PolicyChange::InForce { view, tx_signature } => {
            let warnings = Some(WarningBody::all(&view.warnings));
            let tx_signature = Some(tx_signature.into());
            PolicyResponse { tx_signature, warnings, ..view.into() }.into_response()
        }
        PolicyChange::Waits(view) => {
            let effective_at = view.pending.as_ref().map(|pending| pending.effective_at);
            let warnings = Some(WarningBody::all(&view.warnings));
            let waits = PolicyResponse { effective_at, warnings, ..view.into() };
            (StatusCode::ACCEPTED, waits).into_response()
        }
    }
}

/// The change with the version that it is meant for, from the body or from `If-Match`; if both are given, they must agree. If the
/// body carries read-only fields, they are checked against the current policy.
async fn bound(
    policies: &Policies,
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
    let current = PolicyResponse::from(policies.get(operator, id).await?);
    read_only.check(&current)?;
    // Bound to the version that was checked.
    Ok(PolicyUpdate { expected_version: expected_version.or(Some(current.version.0)), ..update })
}

/// The change as it is to be made. A pause is bound to no version: it comes first where the rest is refused here.
async fn checked_update(
    policies: &Policies,
    (operator, id, key_id): (&Operator, AccountId, KeyId),
    headers: &HeaderMap,
    body: &[u8],
) -> Result<PolicyUpdate, ApiError> {
    let (update, read_only) = policy_read_only::read(body)?;
    if update.only_paused() == Some(true) {
        return Ok(update);
    }
    let pause = update.pauses().then(|| update.pause_alone());
    match (bound(policies, (operator, id), headers, (update, read_only)).await, pause) {
        (Err(ApiError::Service(error)), Some(pause)) => {
            policies.patch(operator, id, pause, key_id).await?;
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
    responses((status = 200, body = PolicyResponse, description = "The policy.")),
    security(("operator_key" = [])),
    extensions(("x-scopes" = json!(["read"])), ("x-errors" = json!([Code::SolanaUnavailable]))),
)]
pub async fn get(
    State(policies): State<Policies>,
    OperatorOnly(operator): OperatorOnly,
    Id(account_id): Id<AccountId>,
) -> Result<PolicyResponse, ApiError> {
    Ok(policies.get(&operator, account_id).await?.into())
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
        (status = 200, body = PolicyResponse, description = "The policy that is now in force."),
        (status = 202, body = PolicyResponse, description = "It loosens something and is pending: see `pending`."),
    ),
    security(("operator_key" = [])),
    extensions(("x-scopes" = json!(["policy"])), ("x-errors" = json!(CHANGE_ERRORS))),
)]
pub async fn put(
    State(policies): State<Policies>,
    OperatorOnly(operator): OperatorOnly,
    AnyKey(asker): AnyKey,
    Id(account_id): Id<AccountId>,
    headers: HeaderMap,
    JsonText(body): JsonText,
) -> Result<Response, ApiError> {
    let asked = (&operator, account_id, asker.key_id());
    let update = checked_update(&policies, asked, &headers, &body).await?;
    Ok(answer(policies.put(&operator, account_id, update, asker.key_id()).await?))
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
        (status = 200, body = PolicyResponse, description = "The policy that is now in force."),
        (status = 202, body = PolicyResponse, description = "It loosens something and is pending: see `pending`."),
    ),
    security(("operator_key" = [])),
    extensions(("x-scopes" = json!(["policy"])), ("x-errors" = json!(CHANGE_ERRORS))),
)]
pub async fn patch(
    State(policies): State<Policies>,
    OperatorOnly(operator): OperatorOnly,
    AnyKey(asker): AnyKey,
    Id(account_id): Id<AccountId>,
    headers: HeaderMap,
    JsonText(body): JsonText,
) -> Result<Response, ApiError> {
    let asked = (&operator, account_id, asker.key_id());
    let update = checked_update(&policies, asked, &headers, &body).await?;
    Ok(answer(policies.patch(&operator, account_id, update, asker.key_id()).await?))
}

/// Drop the policy that waits
#[utoipa::path(
    delete, path = "/v1/accounts/{id}/policy/pending", operation_id = "drop_pending_policy", tag = "Policies",
    params(Id<AccountId>),
    responses((status = 200, body = PolicyResponse, description = "The policy that stays in force.")),
    security(("operator_key" = [])),
    extensions(("x-scopes" = json!(["policy"])), ("x-errors" = json!([
        Code::PolicyChanged, Code::SolanaUnavailable, Code::AuthorityRotated, Code::FeePayerEmpty,
        Code::SignerUnavailable
    ]))),
)]
pub async fn drop_pending(
    State(policies): State<Policies>,
    OperatorOnly(operator): OperatorOnly,
    Id(account_id): Id<AccountId>,
) -> Result<PolicyResponse, ApiError> {
    Ok(policies.drop_pending(&operator, account_id).await?.into())
}
