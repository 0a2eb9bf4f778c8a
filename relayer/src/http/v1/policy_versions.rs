use axum::Json;
use axum::extract::State;
use serde::Serialize;
use serde_json::value::RawValue;

use super::text;
use crate::domain::{AccountId, PolicyVersion};
use crate::http::auth::OperatorOnly;
use crate::http::error::ApiError;
use crate::http::page::{Id, PageResponse, Query};
use crate::service::{Policies, policy_versions_filter};

const LIMIT_DEFAULT: u32 = 20;
const LIMIT_MAX: u32 = 100;

/// A version of a policy, and what set it.
#[derive(Serialize)]
pub struct PolicyVersionResponse {
    version: u64,
    set_at: String,
    signer: Option<String>,
    tx_signature: String,
    /// The API key that asked for it, where it came by the API.
    key_id: Option<String>,
    reason: Option<String>,
    /// Its recipients as they stand on the chain; `null` where it could not be read any more.
    policy: Option<Box<RawValue>>,
}

impl From<PolicyVersion> for PolicyVersionResponse {
    fn from(version: PolicyVersion) -> Self {
        let (key_id, reason) = version.asking.map(|asking| (asking.key_id, asking.reason)).unzip();
        Self {
            version: version.version,
            set_at: text(version.set_at),
            signer: version.signer.map(|signer| signer.to_string()),
            tx_signature: version.tx_signature,
            key_id: key_id.map(|id| id.to_string()),
            reason: reason.flatten().map(|reason| reason.as_str().to_owned()),
            policy: version.policy,
        }
    }
}

/// `GET /v1/accounts/{id}/policy/versions`
pub async fn list(
    State(policies): State<Policies>,
    OperatorOnly(operator): OperatorOnly,
    Id(account_id): Id<AccountId>,
    mut query: Query,
) -> Result<Json<PageResponse<PolicyVersionResponse>>, ApiError> {
    let filter = policy_versions_filter(operator.id, account_id);
    let request = query.page(LIMIT_DEFAULT, LIMIT_MAX, &filter)?;
    query.finish()?;
    Ok(Json(policies.versions(&operator, account_id, request).await?.map(PolicyVersionResponse::from).into()))
}
