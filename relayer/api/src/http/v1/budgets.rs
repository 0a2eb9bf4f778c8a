use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};

use crate::web::OnRecord;
use crate::web::auth::OperatorOnly;
use crate::web::body::Json as Body;
use crate::web::error::{ApiError, Code};
use crate::web::page::{Id, LIMIT_DEFAULT, ListQuery, PageResponse, list_parameters};
use purser_model::{BudgetId, UpdateBudget};
use purser_service::{BudgetView, Inside, budgets};

list_parameters!(BudgetsParameters(LIMIT_DEFAULT) {});

/// List budgets
///
/// By their numbers, as they stand on the chain. The operator's admin makes and closes them, with its own wallet.
#[utoipa::path(
    get, path = "/v1/budgets", operation_id = "list_budgets", tag = "Budgets",
    params(BudgetsParameters),
    responses((status = 200, body = PageResponse<BudgetView>, description = "A page of budgets.")),
    security(("operator_key" = [])),
    extensions(("x-scopes" = json!(["read"])), ("x-errors" = json!([Code::SolanaUnavailable]))),
)]
pub async fn list(
    State(inside): State<Arc<Inside>>,
    OperatorOnly(operator): OperatorOnly,
    query: ListQuery,
) -> Result<Json<PageResponse<BudgetView>>, ApiError> {
    let request = query.page(LIMIT_DEFAULT)?;
    Ok(Json(budgets::list(&inside, &operator, request).await?.into()))
}

/// Get a budget
#[utoipa::path(
    get, path = "/v1/budgets/{id}", operation_id = "get_budget", tag = "Budgets",
    params(Id<BudgetId>),
    responses((status = 200, body = BudgetView, description = "The budget.")),
    security(("operator_key" = [])),
    extensions(("x-scopes" = json!(["read"])), ("x-errors" = json!([Code::SolanaUnavailable]))),
)]
pub async fn get(
    State(inside): State<Arc<Inside>>,
    OperatorOnly(operator): OperatorOnly,
    Id(id): Id<BudgetId>,
) -> Result<Json<BudgetView>, ApiError> {
    Ok(Json(budgets::get(&inside, &operator, id).await?))
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
        (status = 200, body = BudgetView, description = "The budget, with the caps that are now in force."),
        (status = 202, body = BudgetView, description = "It raises something and is pending: see `pending`."),
    ),
    security(("operator_key" = [])),
    extensions(("x-scopes" = json!(["policy"])), ("x-errors" = json!([
        Code::SolanaUnavailable, Code::AuthorityRotated, Code::FeePayerEmpty, Code::SignerUnavailable
    ]))),
)]
pub async fn patch(
    State(inside): State<Arc<Inside>>,
    OnRecord { scope, .. }: OnRecord,
    OperatorOnly(operator): OperatorOnly,
    Id(id): Id<BudgetId>,
    Body(update): Body<UpdateBudget>,
) -> Result<Response, ApiError> {
    let budget = budgets::update(&inside, &operator, id, update, &scope).await?;
    let status = if budget.waits() { StatusCode::ACCEPTED } else { StatusCode::OK };
    Ok((status, Json(budget)).into_response())
}
