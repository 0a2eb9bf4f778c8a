use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::value::RawValue;
use utoipa::ToSchema;

use super::halts::HaltBody;
use crate::web::auth::{AnyKey, OperatorOnly};
use crate::web::body::Json as Body;
use crate::web::code::Code;
use crate::web::error::ApiError;
use crate::web::once::Draw;
use crate::web::page::{Id, LIMIT_DEFAULT, ListQuery, PageResponse, list_parameters};
use purser_model::wire::schema::{self, Usdc, changed, written};
use purser_model::wire::{PolicyFields, PolicyUpdateFields};
use purser_model::{
    AccountChange, AccountFilter, AccountId, AccountName, AccountStatus, ApprovalRule, DuplicateRule,
    Invalid, Metadata, MetadataChange, PolicyUpdate, ShownStatus, Tag, Tags,
};
use purser_service::{AccountView, Accounts, BalanceView, CreateAccount, accounts_filter};

/// A new account.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = CreateAccount)]
pub struct CreateAccountBody {
    #[schema(value_type = AccountName, required)]
    name: Option<String>,
    #[schema(value_type = Option<Metadata>)]
    metadata: Option<Box<RawValue>>,
    /// Words of yours, by which accounts are chosen.
    #[schema(value_type = Option<Vec<Tag>>, max_items = 20)]
    tags: Option<Vec<String>>,
    /// What the account begins with, with at most 15 different entries in its allowlist.
    #[schema(value_type = Option<FirstPolicy>)]
    policy: Option<Box<RawValue>>,
}

/// What the first policy of an account does not say.
const NOT_AT_FIRST: [&str; 4] = ["expected_version", "reason", "max_30_day_spend", "budget_id"];

/// The policy of a new account: it does not change an earlier one.
enum FirstPolicy {}

written! {
    FirstPolicy = "FirstPolicy": changed::<PolicyUpdateFields>(|policy| {
        policy.description = Some("The policy of a new account.".to_owned());
        policy.properties.retain(|name, _| !NOT_AT_FIRST.contains(&name.as_str()));
    }), like PolicyUpdateFields;
}

impl TryFrom<CreateAccountBody> for CreateAccount {
    type Error = Invalid;

    fn try_from(body: CreateAccountBody) -> Result<Self, Invalid> {
        let name = body.name.ok_or_else(|| Invalid::new("name", "is required"))?;
        let metadata = body.metadata.map(|json| Metadata::parse(&json)).transpose()?;
        let tags = read_tags(body.tags)?.unwrap_or_default();
        let policy = body.policy.map_or_else(|| Ok(PolicyUpdate::default()), |json| first_policy(&json))?;
        Ok(Self { name: AccountName::parse(name)?, metadata, tags, policy })
    }
}

fn read_tags(texts: Option<Vec<String>>) -> Result<Option<Tags>, Invalid> {
    texts.map(|texts| Tags::parse(texts.iter().map(String::as_str))).transpose()
}

/// What to change of an account. What is left out stays as it is.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = UpdateAccount)]
pub struct UpdateAccountBody {
    #[serde(default, deserialize_with = "given")]
    #[schema(value_type = AccountName)]
    name: Option<String>,
    /// Keys to set; a value that is `null` or `""` removes its key. `null` or `""` in place of the object removes all.
    #[serde(default, deserialize_with = "given")]
    #[schema(value_type = Option<Metadata>)]
    metadata: Option<Box<RawValue>>,
    /// All of them, in place of those that it has.
    #[serde(default, deserialize_with = "given")]
    #[schema(value_type = Vec<Tag>, max_items = 20)]
    tags: Option<Vec<String>>,
    #[serde(default, deserialize_with = "given")]
    #[schema(value_type = DuplicateRule)]
    duplicates: Option<String>,
    #[serde(default, deserialize_with = "given")]
    #[schema(value_type = ApprovalRule)]
    approvals: Option<String>,
}

/// Distinguishes `null` from a missing field.
fn given<'de, T: Deserialize<'de>, D: Deserializer<'de>>(value: D) -> Result<Option<T>, D::Error> {
    T::deserialize(value).map(Some)
}

impl TryFrom<UpdateAccountBody> for AccountChange {
    type Error = Invalid;

    fn try_from(body: UpdateAccountBody) -> Result<Self, Invalid> {
        Ok(Self {
            name: body.name.map(AccountName::parse).transpose()?,
            metadata: body.metadata.map(|json| MetadataChange::parse(&json)).transpose()?,
            tags: read_tags(body.tags)?,
            duplicates: body.duplicates.map(|word| Invalid::unless("duplicates", &word)).transpose()?,
            approvals: body.approvals.map(|word| Invalid::unless("approvals", &word)).transpose()?,
        })
    }
}

/// The first policy of an account: missing fields take their defaults.
fn first_policy(json: &RawValue) -> Result<PolicyUpdate, Invalid> {
    let update = PolicyUpdate::from_json(json.get().as_bytes()).map_err(|error| error.within("policy"))?;
    if update.expected_version.is_some() {
        return Err(Invalid::new("policy.expected_version", "is of no use for a new account"));
    }
    let bound =
        [("max_30_day_spend", update.max_30_day_spend.is_some()), ("budget_id", update.budget.is_some())];
    if let Some((field, _)) = bound.into_iter().find(|(_, is_given)| *is_given) {
        let message = "is set once the account is there: PATCH its policy";
        return Err(Invalid::new(field, message).within("policy"));
    }
    if update.reason.is_some() {
        return Err(Invalid::new("policy.reason", "is for changes of a policy"));
    }
    Ok(update)
}

/// An account.
#[derive(Serialize, ToSchema)]
#[schema(as = Account)]
pub struct AccountResponse {
    account_id: schema::AccountId,
    name: AccountName,
    /// The PDA that owns the money. Never fund this address: see `usdc_token_account`.
    solana_address: schema::Address,
    /// Where USDC is sent to fund the account.
    usdc_token_account: schema::Address,
    balance_usdc: Usdc,
    /// When it held that much: a moment ago, or, in a list while the chain does not answer, when it was last seen.
    balance_as_of: schema::Timestamp,
    /// `unknown` only in a list while the chain does not answer: the account may be paused or halted.
    status: ShownStatus,
    /// The halt that is in force, apart from the policy; `null` without one, and where `status` is `unknown`.
    #[schema(required)]
    halted: Option<HaltBody>,
    /// Operators see the policy, unless the chain does not answer; agents see their limits.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    policy: Option<PolicyFields>,
    #[schema(required)]
    metadata: Option<Metadata>,
    /// Each once, in order of the alphabet.
    #[schema(value_type = Vec<Tag>, max_items = 20)]
    tags: Tags,
    duplicates: DuplicateRule,
    approvals: ApprovalRule,
    created_at: schema::Timestamp,
}

impl From<AccountView> for AccountResponse {
    fn from(view: AccountView) -> Self {
        let AccountView { account, balance, as_of, status, halt, halt_action, policy, .. } = view;
        Self {
            account_id: account.id.into(),
            name: account.name,
            solana_address: account.address.into(),
            usdc_token_account: account.token_account.into(),
            balance_usdc: balance.into(),
            balance_as_of: as_of.into(),
            status: status.into(),
            halted: halt.map(|halt| HaltBody::new(halt, halt_action)),
            policy: policy.as_ref().map(PolicyFields::from),
            metadata: account.metadata,
            tags: account.tags,
            duplicates: account.duplicates,
            approvals: account.approvals,
            created_at: account.created_at.into(),
        }
    }
}

/// An account's live balance.
#[derive(Serialize, ToSchema)]
#[schema(as = Balance)]
pub struct BalanceResponse {
    account_id: schema::AccountId,
    balance_usdc: Usdc,
    /// When it was read from the chain.
    last_updated: schema::Timestamp,
}

impl From<BalanceView> for BalanceResponse {
    fn from(view: BalanceView) -> Self {
        Self {
            account_id: view.account_id.into(),
            balance_usdc: view.balance.into(),
            last_updated: view.read_at.into(),
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
    request_body = CreateAccountBody,
    responses((status = 201, body = AccountResponse, description = "The account, with its policy.")),
    security(("operator_key" = [])),
    extensions(("x-scopes" = json!(["admin"])), ("x-errors" = json!([
        Code::QuotaExceeded, Code::SolanaUnavailable, Code::AuthorityRotated, Code::FeePayerEmpty,
        Code::SignerUnavailable
    ]))),
)]
pub async fn create(
    State(accounts): State<Accounts>,
    OperatorOnly(operator): OperatorOnly,
    Draw(drawn): Draw,
    Body(body): Body<CreateAccountBody>,
) -> Result<(StatusCode, Json<AccountResponse>), ApiError> {
    let created = accounts.create(operator, body.try_into()?, drawn).await?;
    Ok((StatusCode::CREATED, Json(created.into())))
}

/// List accounts
///
/// Newest first. While the chain does not answer, balances are the last ones known, as `balance_as_of` says, and there are
/// no policies.
#[utoipa::path(
    get, path = "/v1/accounts", operation_id = "list_accounts", tag = "Accounts",
    params(AccountsParameters),
    responses((status = 200, body = PageResponse<AccountResponse>, description = "A page of accounts.")),
    security(("operator_key" = [])),
    extensions(("x-scopes" = json!(["read"]))),
)]
pub async fn list(
    State(accounts): State<Accounts>,
    OperatorOnly(operator): OperatorOnly,
    mut query: ListQuery,
) -> Result<Json<PageResponse<AccountResponse>>, ApiError> {
    let filter = AccountFilter { status: query.read("status")?, tag: query.read("tag")? };
    let request = query.page(LIMIT_DEFAULT, &accounts_filter(operator.id, filter.clone()))?;
    Ok(Json(accounts.list(&operator, filter, request).await?.map(AccountResponse::from).into()))
}

/// Get an account
#[utoipa::path(
    get, path = "/v1/accounts/{id}", operation_id = "get_account", tag = "Accounts",
    params(Id<AccountId>),
    responses((status = 200, body = AccountResponse, description = "The account.")),
    security(("operator_key" = []), ("agent_key" = [])),
    extensions(("x-scopes" = json!(["read"])), ("x-errors" = json!([Code::SolanaUnavailable]))),
)]
pub async fn get(
    State(accounts): State<Accounts>,
    AnyKey(principal): AnyKey,
    Id(account_id): Id<AccountId>,
) -> Result<Json<AccountResponse>, ApiError> {
    Ok(Json(accounts.get(&principal, account_id).await?.into()))
}

/// Change an account's name, metadata, tags and rules for duplicates and approvals
#[utoipa::path(
    patch, path = "/v1/accounts/{id}", operation_id = "update_account", tag = "Accounts",
    params(Id<AccountId>),
    request_body = UpdateAccountBody,
    responses((status = 200, body = AccountResponse, description = "The account as it is now.")),
    security(("operator_key" = [])),
    extensions(("x-scopes" = json!(["admin"])), ("x-errors" = json!([Code::SolanaUnavailable]))),
)]
pub async fn patch(
    State(accounts): State<Accounts>,
    OperatorOnly(operator): OperatorOnly,
    Id(account_id): Id<AccountId>,
    Body(body): Body<UpdateAccountBody>,
) -> Result<Json<AccountResponse>, ApiError> {
    Ok(Json(accounts.update(&operator, account_id, body.try_into()?).await?.into()))
}

/// Get an account's balance
///
/// Read from the chain, now.
#[utoipa::path(
    get, path = "/v1/accounts/{id}/balance", operation_id = "get_balance", tag = "Accounts",
    params(Id<AccountId>),
    responses((status = 200, body = BalanceResponse, description = "The balance.")),
    security(("operator_key" = []), ("agent_key" = [])),
    extensions(("x-scopes" = json!(["read"])), ("x-errors" = json!([Code::SolanaUnavailable]))),
)]
pub async fn balance(
    State(accounts): State<Accounts>,
    AnyKey(principal): AnyKey,
    Id(account_id): Id<AccountId>,
) -> Result<Json<BalanceResponse>, ApiError> {
    Ok(Json(accounts.balance(&principal, account_id).await?.into()))
}
