use axum::Json;
use axum::extract::State;
use serde::Serialize;
use utoipa::ToSchema;

use crate::web::auth::OperatorOnly;
use crate::web::error::ApiError;
use crate::web::page::{Id, LIMIT_DEFAULT, ListQuery, PageResponse, list_parameters};
use purser_model::wire::PolicyFields;
use purser_model::wire::schema::{PolicyVersionNumber, Signature};
use purser_model::{AccountId, ActionId, Address, KeyId, PolicyReason, PolicyVersion, Timestamp};
use purser_service::{Policies, policy_versions_filter};

/// A version of a policy, and what set it.
#[derive(Serialize, ToSchema)]
#[schema(as = PolicySet)]
pub struct PolicyVersionResponse {
    version: PolicyVersionNumber,
    set_at: Timestamp,
    /// Whose key signed it; `null` if unknown.
    #[schema(required)]
    signer: Option<Address>,
    tx_signature: Signature,
    /// The API key that asked for it, where it came by the API.
    #[schema(required)]
    key_id: Option<KeyId>,
    #[schema(required)]
    reason: Option<PolicyReason>,
    /// The action on record that it was; `null` where a wallet set it without the service.
    #[schema(required)]
    action_id: Option<ActionId>,
    /// Its recipients as they stand on the chain; `null` where it could not be read any more.
    #[schema(required)]
    policy: Option<PolicyFields>,
}

impl From<PolicyVersion> for PolicyVersionResponse {
    fn from(version: PolicyVersion) -> Self {
        let (key_id, reason) = version.asking.map(|asking| (asking.key_id, asking.reason)).unzip();
        Self {
            version: PolicyVersionNumber(version.version),
            set_at: version.by.at,
            signer: version.by.signer,
            tx_signature: version.by.signature.into(),
            key_id,
            reason: reason.flatten(),
            action_id: version.action_id,
            policy: version.policy.map(PolicyFields),
        }
    }
}

list_parameters!(PolicyVersionsParameters(LIMIT_DEFAULT) {});

/// List the versions of an account's policy
///
/// Newest first, those that somebody set with an own wallet too.
#[utoipa::path(
    get, path = "/v1/accounts/{id}/policy/versions", operation_id = "list_policy_versions", tag = "Policies",
    params(Id<AccountId>, PolicyVersionsParameters),
    responses((status = 200, body = PageResponse<PolicyVersionResponse>, description = "A page of versions.")),
    security(("operator_key" = [])),
    extensions(("x-scopes" = json!(["read"]))),
)]
pub async fn list(
    State(policies): State<Policies>,
    OperatorOnly(operator): OperatorOnly,
    Id(account_id): Id<AccountId>,
    query: ListQuery,
) -> Result<Json<PageResponse<PolicyVersionResponse>>, ApiError> {
    let filter = policy_versions_filter(operator.id, account_id);
    let request = query.page(LIMIT_DEFAULT, &filter)?;
    Ok(Json(policies.versions(&operator, account_id, request).await?.map(PolicyVersionResponse::from).into()))
}
