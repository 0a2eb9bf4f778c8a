use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use serde::Serialize;
use utoipa::ToSchema;

use super::halts::HaltBody;
use crate::web::OnRecord;
use crate::web::auth::{AnyKey, OperatorOnly};
use crate::web::body::Json as Body;
use crate::web::error::{ApiError, Code};
use crate::web::once::RequestRandom;
use crate::web::page::{Id, LIMIT_DEFAULT, ListQuery, PageResponse, list_parameters};
use purser_model::wire::schema::Usdc;
use purser_model::wire::{PolicyFields, WarningBody};
use purser_model::{
    AccountChange, AccountFilter, AccountId, AccountStatus, Address, ApprovalRule, Balance, BudgetId,
    CreateAccount, DuplicateRule, Label, Metadata, ShownStatus, Tag, Tags, Timestamp,
};
use purser_service::{AccountView, Inside, SeenAccount, accounts};

/// An account.
#[derive(Serialize, ToSchema)]
#[schema(as = Account)]
pub struct AccountResponse {
    account_id: AccountId,
    name: Label,
    /// The PDA that owns the money. Never fund this address: see `usdc_token_account`.
    solana_address: Address,
    /// Where USDC is sent to fund the account.
    usdc_token_account: Address,
    balance_usdc: Usdc,
    /// When it held that much: a moment ago, or, in a list while the chain does not answer, when it was last seen.
    balance_as_of: Timestamp,
    /// `unknown` only in a list while the chain does not answer: the account may be paused or halted.
    status: ShownStatus,
    /// The halt that is in force, apart from the policy; `null` without one, and where `status` is `unknown`.
    #[schema(required)]
    halted: Option<HaltBody>,
    /// Operators see the policy, unless the chain does not answer; agents see their limits.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    policy: Option<PolicyFields>,
    /// In a list while the chain does not answer: how the account was when this service last read it, if it has since its start. It
    /// may be paused, halted or changed by now.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    last_seen: Option<LastSeenBody>,
    #[schema(required)]
    metadata: Option<Metadata>,
    /// Each once, in order of the alphabet.
    #[schema(value_type = Vec<Tag>, max_items = 20)]
    tags: Tags,
    duplicates: DuplicateRule,
    approvals: ApprovalRule,
    /// The default of `create_token_account` for its payments.
    create_token_accounts: bool,
    created_at: Timestamp,
    /// Rules of the policy that can never match, in the answer that creates the account. They are in force all the same.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false, max_items = 8)]
    warnings: Option<Vec<WarningBody>>,
}

/// An account as it was last read from the chain.
#[derive(Serialize, ToSchema)]
#[schema(as = AccountLastSeen)]
pub struct LastSeenBody {
    /// When it was read.
    at: Timestamp,
    status: AccountStatus,
    /// The halt that was in force; `null` without one.
    #[schema(required)]
    halted: Option<HaltBody>,
    /// What had left in the 24 hours before.
    spent_24h_usdc: Usdc,
    /// The budget that it paid through; `null` without one.
    #[schema(required)]
    budget_id: Option<BudgetId>,
    policy: PolicyFields,
}

impl From<&SeenAccount> for LastSeenBody {
    fn from(seen: &SeenAccount) -> Self {
        Self {
            at: seen.at,
            status: seen.status,
            halted: seen.halt.map(|halt| HaltBody::new(halt, None)),
            spent_24h_usdc: seen.spent.into(),
            budget_id: seen.budget,
            policy: PolicyFields(seen.policy.clone()),
        }
    }
}

impl From<AccountView> for AccountResponse {
    fn from(view: AccountView) -> Self {
        let AccountView {
            account, balance, as_of, status, halt, halt_action, policy, seen, warnings, ..
        } = view;
        Self {
            account_id: account.id,
            name: account.name,
            solana_address: account.address,
            usdc_token_account: account.token_account,
            balance_usdc: balance.into(),
            balance_as_of: as_of,
            status: status.into(),
            halted: halt.map(|halt| HaltBody::new(halt, halt_action)),
            policy: policy.map(PolicyFields),
            last_seen: seen.as_deref().map(LastSeenBody::from),
            metadata: account.metadata,
            tags: account.tags,
            duplicates: account.duplicates,
            approvals: account.approvals,
            create_token_accounts: account.create_token_accounts,
            created_at: account.created_at,
            warnings: warnings.map(|warnings| WarningBody::all(&warnings)),
        }
    }
}

list_parameters!(AccountsParameters(LIMIT_DEFAULT) {
    "status": AccountStatus = "Only accounts of this status, and those whose status is `unknown`.";
    "tag": Tag = "Only accounts with this tag.";
});

/// Create an account
///
/// Makes an agent account on the chain, with the policy that is given or without limits. It is answered when it stands there.
#[utoipa::path(
    post, path = "/v1/accounts", operation_id = "create_account", tag = "Accounts",
    request_body = CreateAccount,
    responses((status = 201, body = AccountResponse, description = "The account, with its policy.")),
    security(("operator_key" = [])),
    extensions(("x-scopes" = json!(["admin"])), ("x-errors" = json!([
        Code::QuotaExceeded, Code::SolanaUnavailable, Code::AuthorityRotated, Code::FeePayerEmpty,
        Code::SignerUnavailable
    ]))),
)]
pub async fn create(
    State(inside): State<Arc<Inside>>,
    OnRecord { scope, .. }: OnRecord,
    OperatorOnly(operator): OperatorOnly,
    RequestRandom(drawn): RequestRandom,
    Body(asked): Body<CreateAccount>,
) -> Result<(StatusCode, Json<AccountResponse>), ApiError> {
    let created = accounts::create(&inside, operator, asked, drawn, &scope).await?;
    Ok((StatusCode::CREATED, Json(created.into())))
}

/// List accounts
///
/// Newest first. While the chain does not answer, balances are the last ones known, as `balance_as_of` says, and there are
/// no policies: `last_seen` is what this service last read.
#[utoipa::path(
    get, path = "/v1/accounts", operation_id = "list_accounts", tag = "Accounts",
    params(AccountsParameters),
    responses((status = 200, body = PageResponse<AccountResponse>, description = "A page of accounts.")),
    security(("operator_key" = [])),
    extensions(("x-scopes" = json!(["read"]))),
)]
pub async fn list(
    State(inside): State<Arc<Inside>>,
    OperatorOnly(operator): OperatorOnly,
    mut query: ListQuery,
) -> Result<Json<PageResponse<AccountResponse>>, ApiError> {
    let filter = AccountFilter { status: query.read("status")?, tag: query.read("tag")? };
    let request = query.page(LIMIT_DEFAULT)?;
    Ok(Json(accounts::list(&inside, &operator, filter, request).await?.map(AccountResponse::from).into()))
}

/// Get an account
///
/// As the chain has it now; where it does not answer, 503 and no older state.
#[utoipa::path(
    get, path = "/v1/accounts/{id}", operation_id = "get_account", tag = "Accounts",
    params(Id<AccountId>),
    responses((status = 200, body = AccountResponse, description = "The account.")),
    security(("operator_key" = []), ("agent_key" = [])),
    extensions(("x-scopes" = json!(["read"])), ("x-errors" = json!([Code::SolanaUnavailable]))),
)]
pub async fn get(
    State(inside): State<Arc<Inside>>,
    AnyKey(principal): AnyKey,
    Id(account_id): Id<AccountId>,
) -> Result<Json<AccountResponse>, ApiError> {
    Ok(Json(accounts::get(&inside, &principal, account_id).await?.into()))
}

/// Change an account's name, metadata, tags and rules for duplicates and approvals
#[utoipa::path(
    patch, path = "/v1/accounts/{id}", operation_id = "update_account", tag = "Accounts",
    params(Id<AccountId>),
    request_body = AccountChange,
    responses((status = 200, body = AccountResponse, description = "The account as it is now.")),
    security(("operator_key" = [])),
    extensions(("x-scopes" = json!(["admin"])), ("x-errors" = json!([Code::SolanaUnavailable]))),
)]
pub async fn patch(
    State(inside): State<Arc<Inside>>,
    OnRecord { scope, .. }: OnRecord,
    OperatorOnly(operator): OperatorOnly,
    Id(account_id): Id<AccountId>,
    Body(change): Body<AccountChange>,
) -> Result<Json<AccountResponse>, ApiError> {
    Ok(Json(accounts::update(&inside, &operator, account_id, change, &scope).await?.into()))
}

/// Get an account's balance
///
/// Read from the chain, now.
#[utoipa::path(
    get, path = "/v1/accounts/{id}/balance", operation_id = "get_balance", tag = "Accounts",
    params(Id<AccountId>),
    responses((status = 200, body = Balance, description = "The balance.")),
    security(("operator_key" = []), ("agent_key" = [])),
    extensions(("x-scopes" = json!(["read"])), ("x-errors" = json!([Code::SolanaUnavailable]))),
)]
pub async fn balance(
    State(inside): State<Arc<Inside>>,
    AnyKey(principal): AnyKey,
    Id(account_id): Id<AccountId>,
) -> Result<Json<Balance>, ApiError> {
    Ok(Json(accounts::balance(&inside, &principal, account_id).await?))
}
