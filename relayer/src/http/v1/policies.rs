use axum::Json;
use axum::extract::State;
use serde::Serialize;
use serde_json::value::RawValue;

use super::text;
use crate::domain::{AccountId, PolicyUpdate, SpendingPolicy, limit_to_json};
use crate::http::auth::OperatorOnly;
use crate::http::body::JsonText;
use crate::http::error::ApiError;
use crate::http::page::Id;
use crate::service::{Policies, PolicyChange, PolicyView};

/// The five policy fields. Limits are JSON numbers, written from integers.
#[derive(Debug, Serialize)]
pub struct PolicyFields {
    max_single_transfer: Box<RawValue>,
    max_daily_spend: Box<RawValue>,
    allowed_counterparties: Option<Vec<String>>,
    require_memo: bool,
    paused: bool,
}

impl From<&SpendingPolicy> for PolicyFields {
    fn from(policy: &SpendingPolicy) -> Self {
        Self {
            max_single_transfer: limit_to_json(policy.max_single_transfer),
            max_daily_spend: limit_to_json(policy.max_daily_spend),
            allowed_counterparties: policy.allowed_counterparties.texts(),
            require_memo: policy.require_memo,
            paused: policy.paused,
        }
    }
}

/// An account's policy; `tx_signature` where it was just written.
#[derive(Serialize)]
pub struct PolicyResponse {
    account_id: String,
    #[serde(flatten)]
    policy: PolicyFields,
    updated_at: String,
    version: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    tx_signature: Option<String>,
}

impl From<PolicyView> for PolicyResponse {
    fn from(view: PolicyView) -> Self {
        Self {
            account_id: view.account_id.to_string(),
            policy: PolicyFields::from(&view.policy),
            updated_at: text(view.updated_at),
            version: view.version,
            tx_signature: None,
        }
    }
}

impl From<PolicyChange> for PolicyResponse {
    fn from(change: PolicyChange) -> Self {
        Self { tx_signature: Some(change.tx_signature), ..change.view.into() }
    }
}

/// `GET /v1/accounts/{id}/policy`
pub async fn get(
    State(policies): State<Policies>,
    OperatorOnly(operator): OperatorOnly,
    Id(account_id): Id<AccountId>,
) -> Result<Json<PolicyResponse>, ApiError> {
    Ok(Json(policies.get(&operator, account_id).await?.into()))
}

/// `PUT /v1/accounts/{id}/policy`
pub async fn put(
    State(policies): State<Policies>,
    OperatorOnly(operator): OperatorOnly,
    Id(account_id): Id<AccountId>,
    JsonText(body): JsonText,
) -> Result<Json<PolicyResponse>, ApiError> {
    let update = PolicyUpdate::from_json(&body)?;
    Ok(Json(policies.put(&operator, account_id, update).await?.into()))
}

/// `PATCH /v1/accounts/{id}/policy`
pub async fn patch(
    State(policies): State<Policies>,
    OperatorOnly(operator): OperatorOnly,
    Id(account_id): Id<AccountId>,
    JsonText(body): JsonText,
) -> Result<Json<PolicyResponse>, ApiError> {
    let update = PolicyUpdate::from_json(&body)?;
    Ok(Json(policies.patch(&operator, account_id, update).await?.into()))
}
