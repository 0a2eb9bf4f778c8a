use axum::Json;
use axum::extract::State;

use super::transfers::TransferResponse;
use crate::domain::{
    AccountId, IdempotencyKey, Invalid, Principal, Timestamp, TransferFilter, TransferStatus,
};
use crate::http::error::ApiError;
use crate::http::page::{PageResponse, Query};
use crate::service::Transfers;

const LIMIT_DEFAULT: u32 = 20;
const LIMIT_MAX: u32 = 100;

fn filter(query: &mut Query) -> Result<TransferFilter, Invalid> {
    let account = query.take("account_id").map(|text| text.parse::<AccountId>()).transpose();
    let mut moment = |param: &str| {
        let at = query.take(param).map(|text| text.parse::<Timestamp>()).transpose();
        at.map_err(|error| Invalid::new(param, error.to_string()))
    };
    let (since, until) = (moment("since")?, moment("until")?);
    Ok(TransferFilter {
        account: account.map_err(|error| Invalid::new("account_id", error.to_string()))?,
        status: query.take("status").map(|text| text.parse::<TransferStatus>()).transpose()?,
        idempotency_key: query.take("idempotency_key").map(IdempotencyKey::parse).transpose()?,
        since,
        until,
    })
}

/// `GET /v1/transfers`
pub async fn list(
    State(transfers): State<Transfers>,
    principal: Principal,
    mut query: Query,
) -> Result<Json<PageResponse<TransferResponse>>, ApiError> {
    let filter = filter(&mut query)?;
    let request = query.page(LIMIT_DEFAULT, LIMIT_MAX, &filter.text(principal.operator_id()))?;
    query.finish()?;
    Ok(Json(transfers.list(&principal, filter, request).await?.map(TransferResponse::from).into()))
}
