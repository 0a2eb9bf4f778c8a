use axum::Json;
use axum::extract::State;
use serde::Serialize;
use utoipa::ToSchema;

use crate::domain::{AccountId, Principal};
use crate::service::{LimitsView, Transfers};
use crate::web::code::Code;
use crate::web::error::ApiError;
use crate::web::page::Id;
use crate::wire::schema::{self, Text, Usdc};

/// An account's limits and what is left of them. Amounts are decimal strings; `null` where there is no limit.
#[derive(Serialize, ToSchema)]
#[schema(as = Limits)]
pub struct LimitsResponse {
    account_id: schema::AccountId,
    max_single_transfer: SingleLimitBody,
    max_daily_spend: DailyLimitBody,
}

/// Of each transfer by itself.
#[derive(Serialize, ToSchema)]
#[schema(as = SingleLimit)]
struct SingleLimitBody {
    /// Most of a single transfer.
    #[schema(required)]
    limit: Option<Usdc>,
    /// The same: no transfer uses it up.
    #[schema(required)]
    remaining: Option<Usdc>,
}

/// Of a rolling window of 24 hours.
#[derive(Serialize, ToSchema)]
#[schema(as = DailyLimit)]
struct DailyLimitBody {
    /// Most that may leave in any 24 hours.
    #[schema(required)]
    limit: Option<Usdc>,
    /// What left in the last 24 hours.
    used: Usdc,
    /// What may still leave now.
    #[schema(required)]
    remaining: Option<Usdc>,
    /// When the oldest of it stops counting; `null` when nothing counts.
    #[schema(required)]
    frees_at: Option<schema::Timestamp>,
}

impl From<LimitsView> for LimitsResponse {
    fn from(view: LimitsView) -> Self {
        Self {
            account_id: view.account_id.into(),
            max_single_transfer: SingleLimitBody {
                limit: view.single_limit.map(Text),
                remaining: view.single_limit.map(Text),
            },
            max_daily_spend: DailyLimitBody {
                limit: view.daily_limit.map(Text),
                used: view.used.into(),
                remaining: view.daily_limit.map(|limit| limit.saturating_sub(view.used).into()),
                frees_at: view.frees_at.map(Text),
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
    extensions(("x-scopes" = json!(["read"])), ("x-errors" = json!([Code::SolanaUnavailable]))),
)]
pub async fn get(
    State(transfers): State<Transfers>,
    principal: Principal,
    Id(account_id): Id<AccountId>,
) -> Result<Json<LimitsResponse>, ApiError> {
    Ok(Json(transfers.limits(&principal, account_id).await?.into()))
}
