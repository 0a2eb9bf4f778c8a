use axum::Json;
use axum::extract::State;
use serde::Serialize;
use utoipa::ToSchema;

use super::text;
use crate::domain::{AccountId, Principal, UsdcAmount};
use crate::http::error::ApiError;
use crate::http::page::Id;
use crate::service::{LimitsView, Transfers};

/// An account's limits and what is left of them. Amounts are decimal strings; `null` where there is no limit.
#[derive(Serialize, ToSchema)]
pub struct LimitsResponse {
    account_id: String,
    max_single_transfer: SingleLimitBody,
    max_daily_spend: DailyLimitBody,
}

#[derive(Serialize, ToSchema)]
struct SingleLimitBody {
    #[schema(required)]
    limit: Option<String>,
    #[schema(required)]
    remaining: Option<String>,
}

#[derive(Serialize, ToSchema)]
struct DailyLimitBody {
    #[schema(required)]
    limit: Option<String>,
    /// What left in the last 24 hours.
    used: String,
    #[schema(required)]
    remaining: Option<String>,
    /// When the oldest of it stops counting; `null` when nothing counts.
    #[schema(required)]
    frees_at: Option<String>,
}

impl From<LimitsView> for LimitsResponse {
    fn from(view: LimitsView) -> Self {
        let amount = |amount: Option<UsdcAmount>| amount.map(|amount| amount.to_string());
        Self {
            account_id: view.account_id.to_string(),
            max_single_transfer: SingleLimitBody {
                limit: amount(view.single_limit),
                remaining: amount(view.single_limit),
            },
            max_daily_spend: DailyLimitBody {
                limit: amount(view.daily_limit),
                used: view.used.to_string(),
                remaining: amount(view.daily_limit.map(|limit| limit.saturating_sub(view.used))),
                frees_at: view.frees_at.map(text),
            },
        }
    }
}

/// `GET /v1/accounts/{id}/limits`
pub async fn get(
    State(transfers): State<Transfers>,
    principal: Principal,
    Id(account_id): Id<AccountId>,
) -> Result<Json<LimitsResponse>, ApiError> {
    Ok(Json(transfers.limits(&principal, account_id).await?.into()))
}
