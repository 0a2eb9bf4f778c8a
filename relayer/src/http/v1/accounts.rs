use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::value::RawValue;
use utoipa::ToSchema;

use super::halts::HaltBody;
use super::text;
use crate::domain::{
    AccountChange, AccountId, AccountName, AccountStatus, Invalid, Metadata, MetadataChange, PolicyFields,
    PolicyUpdate, Principal, SpendingPolicy,
};
use crate::http::auth::OperatorOnly;
use crate::http::body::Json as Body;
use crate::http::error::ApiError;
use crate::http::once::Draw;
use crate::http::page::{Id, PageResponse, Query};
use crate::service::{AccountView, Accounts, BalanceView, CreateAccount, accounts_filter};

const LIMIT_DEFAULT: u32 = 20;
const LIMIT_MAX: u32 = 100;

/// The body of `POST /v1/accounts`.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CreateAccountBody {
    name: Option<String>,
    metadata: Option<Box<RawValue>>,
    policy: Option<Box<RawValue>>,
}

impl TryFrom<CreateAccountBody> for CreateAccount {
    type Error = Invalid;

    fn try_from(body: CreateAccountBody) -> Result<Self, Invalid> {
        let name = body.name.ok_or_else(|| Invalid::new("name", "is required"))?;
        let metadata = body.metadata.map(|json| Metadata::parse(&json)).transpose()?;
        let policy = body.policy.map_or_else(|| Ok(SpendingPolicy::default()), |json| first_policy(&json))?;
        Ok(Self { name: AccountName::parse(name)?, metadata, policy })
    }
}

/// The body of `PATCH /v1/accounts/{id}`.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct UpdateAccountBody {
    #[serde(default, deserialize_with = "given")]
    name: Option<String>,
    #[serde(default, deserialize_with = "given")]
    metadata: Option<Box<RawValue>>,
}

/// Tells `null` from a field that is not there.
fn given<'de, T: Deserialize<'de>, D: Deserializer<'de>>(value: D) -> Result<Option<T>, D::Error> {
    T::deserialize(value).map(Some)
}

impl TryFrom<UpdateAccountBody> for AccountChange {
    type Error = Invalid;

    fn try_from(body: UpdateAccountBody) -> Result<Self, Invalid> {
        Ok(Self {
            name: body.name.map(AccountName::parse).transpose()?,
            metadata: body.metadata.map(|json| MetadataChange::parse(&json)).transpose()?,
        })
    }
}

/// What an account begins with: fields that are not given take their defaults.
fn first_policy(json: &RawValue) -> Result<SpendingPolicy, Invalid> {
    let update = PolicyUpdate::from_json(json.get().as_bytes()).map_err(|error| error.within("policy"))?;
    if update.expected_version.is_some() {
        return Err(Invalid::new("policy.expected_version", "is of no use for a new account"));
    }
    if update.reason.is_some() {
        return Err(Invalid::new("policy.reason", "is for changes of a policy"));
    }
    Ok(update.merge(SpendingPolicy::default()))
}

/// An account.
#[derive(Serialize, ToSchema)]
pub struct AccountResponse {
    account_id: String,
    name: String,
    solana_address: String,
    usdc_token_account: String,
    balance_usdc: String,
    /// When it held that much: a moment ago, or, in a list while the chain does not answer, when it was last seen.
    balance_as_of: String,
    /// `paused` where the account may not pay, by its policy or by a halt.
    status: &'static str,
    #[schema(required)]
    halted: Option<HaltBody>,
    /// Operators see the policy, unless the chain does not answer; agents see their limits.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Object)]
    policy: Option<PolicyFields>,
    #[schema(value_type = Option<Object>, required)]
    metadata: Box<RawValue>,
    created_at: String,
}

impl From<AccountView> for AccountResponse {
    fn from(view: AccountView) -> Self {
        let AccountView { account, balance, as_of, status, halt, policy } = view;
        let metadata = account.metadata.map(|metadata| metadata.json().to_owned());
        Self {
            account_id: account.id.to_string(),
            name: account.name.as_str().to_owned(),
            solana_address: account.address.to_string(),
            usdc_token_account: account.token_account.to_string(),
            balance_usdc: balance.to_string(),
            balance_as_of: text(as_of),
            status: status.as_str(),
            halted: halt.map(HaltBody::from),
            policy: policy.as_ref().map(PolicyFields::from),
            metadata: metadata.unwrap_or_else(|| RawValue::NULL.to_owned()),
            created_at: text(account.created_at),
        }
    }
}

/// An account's live balance.
#[derive(Serialize, ToSchema)]
pub struct BalanceResponse {
    account_id: String,
    balance_usdc: String,
    last_updated: String,
}

impl From<BalanceView> for BalanceResponse {
    fn from(view: BalanceView) -> Self {
        Self {
            account_id: view.account_id.to_string(),
            balance_usdc: view.balance.to_string(),
            last_updated: text(view.read_at),
        }
    }
}

/// `POST /v1/accounts`
pub async fn create(
    State(accounts): State<Accounts>,
    OperatorOnly(operator): OperatorOnly,
    Draw(drawn): Draw,
    Body(body): Body<CreateAccountBody>,
) -> Result<(StatusCode, Json<AccountResponse>), ApiError> {
    let created = accounts.create(operator, body.try_into()?, drawn).await?;
    Ok((StatusCode::CREATED, Json(created.into())))
}

/// `GET /v1/accounts`
pub async fn list(
    State(accounts): State<Accounts>,
    OperatorOnly(operator): OperatorOnly,
    mut query: Query,
) -> Result<Json<PageResponse<AccountResponse>>, ApiError> {
    let status = query.take("status").map(|text| text.parse::<AccountStatus>()).transpose()?;
    let request = query.page(LIMIT_DEFAULT, LIMIT_MAX, &accounts_filter(operator.id, status))?;
    query.finish()?;
    Ok(Json(accounts.list(&operator, status, request).await?.map(AccountResponse::from).into()))
}

/// `GET /v1/accounts/{id}`
pub async fn get(
    State(accounts): State<Accounts>,
    principal: Principal,
    Id(account_id): Id<AccountId>,
) -> Result<Json<AccountResponse>, ApiError> {
    Ok(Json(accounts.get(&principal, account_id).await?.into()))
}

/// `PATCH /v1/accounts/{id}`
pub async fn patch(
    State(accounts): State<Accounts>,
    OperatorOnly(operator): OperatorOnly,
    Id(account_id): Id<AccountId>,
    Body(body): Body<UpdateAccountBody>,
) -> Result<Json<AccountResponse>, ApiError> {
    Ok(Json(accounts.update(&operator, account_id, body.try_into()?).await?.into()))
}

/// `GET /v1/accounts/{id}/balance`
pub async fn balance(
    State(accounts): State<Accounts>,
    principal: Principal,
    Id(account_id): Id<AccountId>,
) -> Result<Json<BalanceResponse>, ApiError> {
    Ok(Json(accounts.balance(&principal, account_id).await?.into()))
}
