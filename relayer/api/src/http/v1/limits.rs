use axum::Json;
use axum::extract::State;
use serde::Serialize;
use utoipa::ToSchema;

use crate::web::auth::AnyKey;
use crate::web::code::Code;
use crate::web::error::ApiError;
use crate::web::page::Id;
use purser_model::wire::schema::{Text, Usdc};
use purser_model::{AccountId, BudgetId, Timestamp};
use purser_service::{BudgetLimits, LimitUse, LimitsView, Transfers};

/// An account's limits and what is left of them. Amounts are decimal strings; `null` where there is no limit.
#[derive(Serialize, ToSchema)]
#[schema(as = Limits)]
pub struct LimitsResponse {
    account_id: AccountId,
    max_single_transfer: SingleLimitBody,
    max_daily_spend: DailyLimitBody,
    max_30_day_spend: MonthLimitBody,
    /// What the account pays through together with others; `null` without a budget.
    #[schema(required)]
    budget: Option<BudgetLimitBody>,
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
pub(super) struct DailyLimitBody {
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
    frees_at: Option<Timestamp>,
}

/// Of 30 days, by calendar days in UTC: a spend counts for 30 days and for less than a day longer.
#[derive(Serialize, ToSchema)]
#[schema(as = MonthLimit)]
pub(super) struct MonthLimitBody {
    /// Most that may leave in any 30 days.
    #[schema(required)]
    limit: Option<Usdc>,
    /// What left in the last 30 days; `null` for an account without this limit, of which nothing is counted.
    #[schema(required)]
    used: Option<Usdc>,
    /// What may still leave now.
    #[schema(required)]
    remaining: Option<Usdc>,
    /// When the oldest of it stops counting; `null` when nothing counts.
    #[schema(required)]
    frees_at: Option<Timestamp>,
}

/// Of the account's budget. What other accounts paid through it counts too.
#[derive(Serialize, ToSchema)]
#[schema(as = BudgetLimit)]
struct BudgetLimitBody {
    budget_id: BudgetId,
    max_daily_spend: DailyLimitBody,
    max_30_day_spend: MonthLimitBody,
}

impl From<LimitUse> for DailyLimitBody {
    fn from(of: LimitUse) -> Self {
        Self {
            limit: of.limit.map(Text),
            used: of.used.into(),
            remaining: of.remaining().map(Text),
            frees_at: of.frees_at,
        }
    }
}

impl From<Option<LimitUse>> for MonthLimitBody {
    fn from(of: Option<LimitUse>) -> Self {
        Self {
            limit: of.and_then(|of| of.limit).map(Text),
            used: of.map(|of| of.used.into()),
            remaining: of.and_then(|of| of.remaining()).map(Text),
            frees_at: of.and_then(|of| of.frees_at),
        }
    }
}

impl From<BudgetLimits> for BudgetLimitBody {
    fn from(of: BudgetLimits) -> Self {
        Self { budget_id: of.id, max_daily_spend: of.daily.into(), max_30_day_spend: Some(of.month).into() }
    }
}

impl From<LimitsView> for LimitsResponse {
    fn from(view: LimitsView) -> Self {
        Self {
            account_id: view.account_id,
            max_single_transfer: SingleLimitBody {
                limit: view.single_limit.map(Text),
                remaining: view.single_limit.map(Text),
            },
            max_daily_spend: view.daily.into(),
            max_30_day_spend: view.month.into(),
            budget: view.budget.map(BudgetLimitBody::from),
        }
    }
}

/// Get an account's limits
///
/// Each limit of its policy, its cap for 30 days and its budget, what is used of them and when that frees. This is what agents see of
/// their policy.
#[utoipa::path(
    get, path = "/v1/accounts/{id}/limits", operation_id = "get_limits", tag = "Transfers",
    params(Id<AccountId>),
    responses((status = 200, body = LimitsResponse, description = "The limits.")),
    security(("operator_key" = []), ("agent_key" = [])),
    extensions(("x-scopes" = json!(["read"])), ("x-errors" = json!([Code::SolanaUnavailable]))),
)]
pub async fn get(
    State(transfers): State<Transfers>,
    AnyKey(principal): AnyKey,
    Id(account_id): Id<AccountId>,
) -> Result<Json<LimitsResponse>, ApiError> {
    Ok(Json(transfers.limits(&principal, account_id).await?.into()))
}
