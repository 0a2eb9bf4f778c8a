use axum::Json;
use axum::extract::State;
use serde::Serialize;
use serde_json::value::RawValue;
use utoipa::ToSchema;

use super::text;
use crate::domain::schema::{self, ReasonText, Signature};
use crate::domain::{AccountId, PolicyFields, PolicyVersion};
use crate::http::auth::OperatorOnly;
use crate::http::error::ApiError;
use crate::http::page::{Id, ListQuery, PageResponse, list_parameters};
use crate::service::{Policies, policy_versions_filter};

const LIMIT_DEFAULT: u32 = 20;
const LIMIT_MAX: u32 = 100;

/// A version of a policy, and what set it.
#[derive(Serialize, ToSchema)]
#[schema(as = PolicySet)]
pub struct PolicyVersionResponse {
    #[schema(value_type = schema::PolicyVersionNumber)]
    version: u64,
    #[schema(value_type = schema::Timestamp)]
    set_at: String,
    /// Whose key signed it; `null` if unknown.
    #[schema(value_type = Option<schema::Address>, required)]
    signer: Option<String>,
    #[schema(value_type = Signature)]
    tx_signature: String,
    /// The API key that asked for it, where it came by the API.
    #[schema(value_type = Option<schema::KeyId>, required)]
    key_id: Option<String>,
    #[schema(value_type = Option<ReasonText>, required)]
    reason: Option<String>,
    /// Its recipients as they stand on the chain; `null` where it could not be read any more.
    #[schema(value_type = Option<PolicyFields>, required)]
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

list_parameters!(PolicyVersionsParameters(LIMIT_DEFAULT, LIMIT_MAX) {});

/// List the versions of an account's policy
///
/// Newest first, those that somebody set with an own wallet too.
#[utoipa::path(
    get, path = "/v1/accounts/{id}/policy/versions", operation_id = "list_policy_versions", tag = "Policies",
    params(Id<AccountId>, PolicyVersionsParameters),
    responses((status = 200, body = PageResponse<PolicyVersionResponse>, description = "A page of versions.")),
    security(("operator_key" = [])),
)]
pub async fn list(
    State(policies): State<Policies>,
    OperatorOnly(operator): OperatorOnly,
    Id(account_id): Id<AccountId>,
    mut query: ListQuery,
) -> Result<Json<PageResponse<PolicyVersionResponse>>, ApiError> {
    let filter = policy_versions_filter(operator.id, account_id);
    let request = query.page(LIMIT_DEFAULT, LIMIT_MAX, &filter)?;
    query.finish()?;
    Ok(Json(policies.versions(&operator, account_id, request).await?.map(PolicyVersionResponse::from).into()))
}
