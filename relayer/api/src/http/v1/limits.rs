use axum::Json;
use axum::extract::State;

use crate::web::auth::AnyKey;
use crate::web::error::{ApiError, Code};
use crate::web::page::Id;
use purser_model::AccountId;
use purser_service::{Limits, Transfers};

/// Get an account's limits
///
/// Each limit of its policy, its cap for 30 days and its budget, what is used of them and when that frees. This is what agents see of
/// their policy.
#[utoipa::path(
    get, path = "/v1/accounts/{id}/limits", operation_id = "get_limits", tag = "Transfers",
    params(Id<AccountId>),
    responses((status = 200, body = Limits, description = "The limits.")),
    security(("operator_key" = []), ("agent_key" = [])),
    extensions(("x-scopes" = json!(["read"])), ("x-errors" = json!([Code::SolanaUnavailable]))),
)]
pub async fn get(
    State(transfers): State<Transfers>,
    AnyKey(principal): AnyKey,
    Id(account_id): Id<AccountId>,
) -> Result<Json<Limits>, ApiError> {
    Ok(Json(transfers.limits(&principal, account_id).await?))
}
