use axum::Json;
use axum::extract::State;

use crate::web::auth::AnyKey;
use crate::web::page::{LIMIT_DEFAULT, ListQuery, PageResponse, list_parameters};
use crate::web::{ApiError, TransferResponse};
use purser_model::{AccountId, IdempotencyKey, Invalid, Timestamp, TransferFilter, TransferStatus};
use purser_service::Transfers;

fn filter(query: &mut ListQuery) -> Result<TransferFilter, Invalid> {
    Ok(TransferFilter {
        account: query.read("account_id")?,
        status: query.read("status")?,
        idempotency_key: query.take("idempotency_key").map(IdempotencyKey::parse).transpose()?,
        since: query.read("since")?,
        until: query.read("until")?,
        ..TransferFilter::default()
    })
}

list_parameters!(TransfersParameters(LIMIT_DEFAULT) {
    "account_id": AccountId = "Only what this account pays. Agents see their own account only.";
    "status": TransferStatus = "Only transfers in this state.";
    "idempotency_key": IdempotencyKey = "Only transfers under this key.";
    "since": Timestamp = "Only what was asked for after this time.";
    "until": Timestamp = "Only what was asked for up to this time.";
});

/// List transfers
///
/// In every state, newest first.
#[utoipa::path(
    get, path = "/v1/transfers", operation_id = "list_transfers", tag = "Transfers",
    params(TransfersParameters),
    responses((status = 200, body = PageResponse<TransferResponse>, description = "A page of transfers.")),
    security(("operator_key" = []), ("agent_key" = [])),
    extensions(("x-scopes" = json!(["read"]))),
)]
pub async fn list(
    State(transfers): State<Transfers>,
    AnyKey(principal): AnyKey,
    mut query: ListQuery,
) -> Result<Json<PageResponse<TransferResponse>>, ApiError> {
    let filter = filter(&mut query)?;
    let request = query.page(LIMIT_DEFAULT)?;
    Ok(Json(transfers.list(&principal, filter, request).await?.map(TransferResponse::from).into()))
}
