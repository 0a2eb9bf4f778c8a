use axum::Json;
use axum::extract::State;
use serde::Serialize;
use utoipa::ToSchema;

use super::text;
use crate::domain::schema::{self, Usdc};
use crate::domain::{AccountId, Principal, UsdcAmount};
use crate::http::code::Code;
use crate::http::error::ApiError;
use crate::http::page::Id;
use crate::service::{LimitsView, Transfers};

/// An account's limits and what is left of them. Amounts are decimal strings; `null` where there is no limit.
#[derive(Serialize, ToSchema)]
#[schema(as = Limits)]
pub struct LimitsResponse {
    #[schema(value_type = schema::AccountId)]
    account_id: String,
    max_single_transfer: SingleLimitBody,
    max_daily_spend: DailyLimitBody,
}

/// Of each transfer by itself.
#[derive(Serialize, ToSchema)]
#[schema(as = SingleLimit)]
struct SingleLimitBody {
    /// Most of a single transfer.
    #[schema(value_type = Option<Usdc>, required)]
    limit: Option<String>,
    /// The same: no transfer uses it up.
    #[schema(value_type = Option<Usdc>, required)]
    remaining: Option<String>,
}

/// Of a rolling window of 24 hours.
#[derive(Serialize, ToSchema)]
#[schema(as = DailyLimit)]
struct DailyLimitBody {
    /// Most that may leave in any 24 hours.
    #[schema(value_type = Option<Usdc>, required)]
    limit: Option<String>,
    /// What left in the last 24 hours.
    #[schema(value_type = Usdc)]
    used: String,
    /// What may still leave now.
    #[schema(value_type = Option<Usdc>, required)]
    remaining: Option<String>,
    /// When the oldest of it stops counting; `null` when nothing counts.
    #[schema(value_type = Option<schema::Timestamp>, required)]
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

/// Get an account's limits
///
/// Each limit of its policy, what is used of it and when that frees. This is what agents see of their policy.
#[utoipa::path(
    get, path = "/v1/accounts/{id}/limits", operation_id = "get_limits", tag = "Transfers",
    params(Id<AccountId>),
    responses((status = 200, body = LimitsResponse, description = "The limits.")),
    security(("operator_key" = []), ("agent_key" = [])),
    extensions(("x-errors" = json!([Code::SolanaUnavailable]))),
)]
pub async fn get(
    State(transfers): State<Transfers>,
    principal: Principal,
    Id(account_id): Id<AccountId>,
) -> Result<Json<LimitsResponse>, ApiError> {
    Ok(Json(transfers.limits(&principal, account_id).await?.into()))
}
