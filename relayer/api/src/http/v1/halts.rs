use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use serde::Serialize;
use utoipa::ToSchema;

use crate::web::OnRecord;
use crate::web::auth::OperatorOnly;
use crate::web::body::{NoFields, Nothing};
use crate::web::error::{ApiError, Code};
use crate::web::page::Id;
use purser_model::{AccountId, ActionId, Halt, HaltScope, Halted, HaltedBy};
use purser_service::{Inside, halts};

/// A halt that is in force on an account.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Halt)]
pub struct HaltBody {
    by: HaltedBy,
    scope: HaltScope,
    /// The action on record that it was; `null` where a wallet halted it without the service, for agents, and for a moment after the
    /// halt.
    #[schema(required)]
    action_id: Option<ActionId>,
}

impl HaltBody {
    pub fn new(halt: Halt, action: Option<ActionId>) -> Self {
        Self { by: halt.by, scope: halt.scope, action_id: action }
    }
}

/// Halt every account
///
/// Stops all that leaves the operator's accounts, at once. Only the operator's admin resumes them, with its own wallet.
#[utoipa::path(
    post, path = "/v1/halt", operation_id = "halt", tag = "Halts",
    request_body = Option<Nothing>,
    responses((status = 200, body = Halted, description = "The operator is halted.")),
    security(("operator_key" = [])),
    extensions(("x-scopes" = json!(["halt"])), ("x-errors" = json!([
        Code::SolanaUnavailable, Code::AuthorityRotated, Code::FeePayerEmpty,
        Code::SignerUnavailable
    ]))),
)]
pub async fn create(
    State(inside): State<Arc<Inside>>,
    OnRecord { scope, .. }: OnRecord,
    OperatorOnly(operator): OperatorOnly,
    NoFields: NoFields,
) -> Result<Json<Halted>, ApiError> {
    Ok(Json(halts::halt_all(&inside, &operator, &scope).await?))
}

/// Halt one account
///
/// Stops all that leaves it, apart from its policy and from every other account. Only the operator's admin resumes it, with its own
/// wallet.
#[utoipa::path(
    post, path = "/v1/accounts/{id}/halt", operation_id = "halt_account", tag = "Halts",
    params(Id<AccountId>),
    request_body = Option<Nothing>,
    responses((status = 200, body = Halted, description = "The account is halted.")),
    security(("operator_key" = [])),
    extensions(("x-scopes" = json!(["halt"])), ("x-errors" = json!([
        Code::SolanaUnavailable, Code::AuthorityRotated, Code::FeePayerEmpty,
        Code::SignerUnavailable
    ]))),
)]
pub async fn create_for_account(
    State(inside): State<Arc<Inside>>,
    OnRecord { scope, .. }: OnRecord,
    OperatorOnly(operator): OperatorOnly,
    Id(account_id): Id<AccountId>,
    NoFields: NoFields,
) -> Result<Json<Halted>, ApiError> {
    Ok(Json(halts::halt_account(&inside, &operator, account_id, &scope).await?))
}
