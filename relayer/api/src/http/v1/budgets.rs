use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use serde::Serialize;
use utoipa::ToSchema;

use super::limits::{DailyLimitBody, MonthLimitBody};
use crate::web::auth::OperatorOnly;
use crate::web::body::Json as Body;
use crate::web::code::Code;
use crate::web::error::ApiError;
use crate::web::page::{Id, LIMIT_DEFAULT, ListQuery, PageResponse, list_parameters};
use purser_model::wire::WarningBody;
use purser_model::wire::schema::{Signature, UsdcLimit};
use purser_model::{Address, BudgetId, Timestamp, UpdateBudget};
use purser_service::{BudgetChange, BudgetView, Budgets, PendingCaps, budgets_filter};

/// What several accounts may spend together. They name it in their policies.
#[derive(Serialize, ToSchema)]
#[schema(as = Budget)]
pub struct BudgetResponse {
    budget_id: BudgetId,
    /// Among the operator's budgets, as its own commands name it.
    #[schema(minimum = 0)]
    number: u64,
    solana_address: Address,
    /// Most that may leave through it in any 24 hours.
    max_daily_spend: UsdcLimit,
    /// Most in any 30 days; `null` for no limit.
    #[schema(required)]
    max_30_day_spend: Option<UsdcLimit>,
    limits: BudgetUse,
    /// Higher caps that wait to take these ones' place; `null` without any.
    #[schema(required)]
    pending: Option<PendingCapsBody>,
    /// By which transaction its caps were just changed.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    tx_signature: Option<Signature>,
    /// Of a change: the rules that can never match with these caps. They hold all the same.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false, max_items = 8)]
    warnings: Option<Vec<WarningBody>>,
}

/// How much of a budget is used, whichever account paid.
#[derive(Serialize, ToSchema)]
pub(super) struct BudgetUse {
    max_daily_spend: DailyLimitBody,
    max_30_day_spend: MonthLimitBody,
}

/// Caps that wait.
#[derive(Serialize, ToSchema)]
#[schema(as = PendingBudget)]
struct PendingCapsBody {
    max_daily_spend: UsdcLimit,
    #[schema(required)]
    max_30_day_spend: Option<UsdcLimit>,
    /// When they take effect; `null`: never, with the operator's delay as it is.
    #[schema(required)]
    effective_at: Option<Timestamp>,
}

impl From<PendingCaps> for PendingCapsBody {
    fn from(pending: PendingCaps) -> Self {
        Self {
            max_daily_spend: UsdcLimit(pending.caps.max_daily_spend),
            max_30_day_spend: pending.caps.max_30_day_spend.map(UsdcLimit),
            effective_at: pending.effective_at,
        }
    }
}

impl From<BudgetView> for BudgetResponse {
    fn from(view: BudgetView) -> Self {
        Self {
            budget_id: view.id,
            number: view.number,
            solana_address: view.id.0,
            max_daily_spend: UsdcLimit(view.caps.max_daily_spend),
            max_30_day_spend: view.caps.max_30_day_spend.map(UsdcLimit),
            limits: BudgetUse {
                max_daily_spend: view.daily.into(),
                max_30_day_spend: Some(view.month).into(),
            },
            pending: view.pending.map(PendingCapsBody::from),
            tx_signature: None,
            warnings: None,
        }
    }
}

list_parameters!(BudgetsParameters(LIMIT_DEFAULT) {});

/// List budgets
///
/// By their numbers, as they stand on the chain. The operator's admin makes and closes them, with its own wallet.
#[utoipa::path(
    get, path = "/v1/budgets", operation_id = "list_budgets", tag = "Budgets",
    params(BudgetsParameters),
    responses((status = 200, body = PageResponse<BudgetResponse>, description = "A page of budgets.")),
    security(("operator_key" = [])),
    extensions(("x-scopes" = json!(["read"])), ("x-errors" = json!([Code::SolanaUnavailable]))),
)]
pub async fn list(
    State(budgets): State<Budgets>,
    OperatorOnly(operator): OperatorOnly,
    query: ListQuery,
) -> Result<Json<PageResponse<BudgetResponse>>, ApiError> {
    let request = query.page(LIMIT_DEFAULT, &budgets_filter(operator.id))?;
    Ok(Json(budgets.list(&operator, request).await?.map(BudgetResponse::from).into()))
}

/// Get a budget
#[utoipa::path(
    get, path = "/v1/budgets/{id}", operation_id = "get_budget", tag = "Budgets",
    params(Id<BudgetId>),
    responses((status = 200, body = BudgetResponse, description = "The budget.")),
    security(("operator_key" = [])),
    extensions(("x-scopes" = json!(["read"])), ("x-errors" = json!([Code::SolanaUnavailable]))),
)]
pub async fn get(
    State(budgets): State<Budgets>,
    OperatorOnly(operator): OperatorOnly,
    Id(id): Id<BudgetId>,
) -> Result<Json<BudgetResponse>, ApiError> {
    Ok(Json(budgets.get(&operator, id).await?.into()))
}

/// Change a budget's caps
///
/// What is lowered holds at once. What is raised waits for the operator's loosening delay, if it has one (202): until then the lower
/// of the two holds. Either drops what waited before.
#[utoipa::path(
    patch, path = "/v1/budgets/{id}", operation_id = "update_budget", tag = "Budgets",
    params(Id<BudgetId>),
    request_body = UpdateBudget,
    responses(
        (status = 200, body = BudgetResponse, description = "The budget, with the caps that are now in force."),
        (status = 202, body = BudgetResponse, description = "It raises something and is pending: see `pending`."),
    ),
    security(("operator_key" = [])),
    extensions(("x-scopes" = json!(["policy"])), ("x-errors" = json!([
        Code::SolanaUnavailable, Code::AuthorityRotated, Code::FeePayerEmpty, Code::SignerUnavailable
    ]))),
)]
pub async fn patch(
    State(budgets): State<Budgets>,
    OperatorOnly(operator): OperatorOnly,
    Id(id): Id<BudgetId>,
    Body(update): Body<UpdateBudget>,
) -> Result<Response, ApiError> {
    let BudgetChange { view, waits, tx_signature, warnings } = budgets.update(&operator, id, update).await?;
    let warnings = Some(WarningBody::all(&warnings));
    let answer = BudgetResponse { tx_signature: tx_signature.map(Signature::from), warnings, ..view.into() };
    let status = if waits { StatusCode::ACCEPTED } else { StatusCode::OK };
    Ok((status, Json(answer)).into_response())
}
