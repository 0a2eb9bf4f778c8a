use std::sync::Arc;

use axum::Json;
use axum::extract::State;

use crate::web::auth::OperatorOnly;
use crate::web::error::ApiError;
use crate::web::page::{Id, LIMIT_DEFAULT, ListQuery, PageResponse, list_parameters};
use purser_model::AccountId;
use purser_model::wire::PolicyVersion;
use purser_service::{Inside, policies};

list_parameters!(PolicyVersionsParameters(LIMIT_DEFAULT) {});

/// List the versions of an account's policy
///
/// Newest first, those that somebody set with an own wallet too.
#[utoipa::path(
    get, path = "/v1/accounts/{id}/policy/versions", operation_id = "list_policy_versions", tag = "Policies",
    params(Id<AccountId>, PolicyVersionsParameters),
    responses((status = 200, body = PageResponse<PolicyVersion>, description = "A page of versions.")),
    security(("operator_key" = [])),
    extensions(("x-scopes" = json!(["read"]))),
)]
pub async fn list(
    State(inside): State<Arc<Inside>>,
    OperatorOnly(operator): OperatorOnly,
    Id(account_id): Id<AccountId>,
    query: ListQuery,
) -> Result<Json<PageResponse<PolicyVersion>>, ApiError> {
    let request = query.page(LIMIT_DEFAULT)?;
    Ok(Json(policies::versions(&inside, &operator, account_id, request).await?.into()))
}
