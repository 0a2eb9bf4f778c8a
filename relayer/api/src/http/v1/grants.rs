use std::sync::Arc;

use axum::Json;
use axum::extract::{FromRequestParts, Path, State};
use axum::http::StatusCode;
use axum::http::request::Parts;
use purser_policy::{Rule, Waived};
use serde::{Serialize, Serializer};
use utoipa::openapi::Required;
use utoipa::openapi::path::{Parameter, ParameterBuilder, ParameterIn};
use utoipa::{IntoParams, PartialSchema, ToSchema};

use crate::web::OnRecord;
use crate::web::auth::{AnyKey, OperatorOnly};
use crate::web::error::{ApiError, Code};
use crate::web::page::{Id, LIMIT_DEFAULT, ListQuery, PageResponse, list_parameters};
use purser_model::wire::schema::{Usdc, one_of, written};
use purser_model::{AccountId, Address, CounterpartyKind, GrantId, GrantOpener, GrantState, Timestamp};
use purser_service::{GrantOnChain, Inside, Resource, ServiceError, grants};

/// A rule that a grant can waive.
struct Beyond(Rule);

impl Beyond {
    fn all() -> impl Iterator<Item = Rule> {
        Rule::ALL.into_iter().filter(|rule| rule.is_waivable())
    }

    /// Lists the rules that a grant waives.
    fn of(waived: Waived) -> Vec<Self> {
        Self::all().filter(|rule| waived.has(rule.waiver())).map(Self).collect()
    }
}

impl Serialize for Beyond {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.0.name())
    }
}

written! {
    Beyond = "GrantBeyond": one_of("A rule that a payment by the grant may pass.", Self::all().map(Rule::name));
}

/// Leave to pay one payee past the account's policy, as it stands on the chain.
#[derive(Serialize, ToSchema)]
#[schema(as = Grant)]
pub struct GrantResponse {
    grant_id: GrantId,
    solana_address: Address,
    state: GrantState,
    /// From when it pays; `null` if it does not.
    #[schema(required)]
    effective_at: Option<Timestamp>,
    /// Who may be paid.
    payee: Address,
    payee_kind: CounterpartyKind,
    /// What may still be paid.
    left_usdc: Usdc,
    expires_at: Timestamp,
    /// The rules that a payment by it may pass.
    #[schema(max_items = 16)]
    beyond: Vec<Beyond>,
    /// Whether it is for one payment, of all that is left.
    one_payment: bool,
    opened_by: GrantOpener,
    opened_at: Timestamp,
}

impl From<GrantOnChain> for GrantResponse {
    fn from(grant: GrantOnChain) -> Self {
        Self {
            grant_id: GrantId(grant.address),
            solana_address: grant.address,
            state: grant.state,
            effective_at: grant.effective_at.map(Timestamp::from_unix_seconds),
            payee: grant.payee,
            payee_kind: grant.payee_kind,
            left_usdc: grant.left.into(),
            expires_at: Timestamp::from_unix_seconds(grant.expires_at),
            beyond: Beyond::of(grant.waived),
            one_payment: grant.is_for_one_payment,
            opened_by: grant.opened_by,
            opened_at: Timestamp::from_unix_seconds(grant.opened_at),
        }
    }
}

/// An account and one of its grants, in the path.
pub struct GrantOf(AccountId, GrantId);

impl<S: Send + Sync> FromRequestParts<S> for GrantOf {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, ApiError> {
        let unknown = |resource| ApiError::Service(ServiceError::NotFound(resource));
        let read = Path::<(String, String)>::from_request_parts(parts, state).await;
        let Path((account, grant)) = read.map_err(|_| unknown(Resource::Account))?;
        let account = account.parse().map_err(|_| unknown(Resource::Account))?;
        Ok(Self(account, grant.parse().map_err(|_| unknown(Resource::Grant))?))
    }
}

impl IntoParams for GrantOf {
    fn into_params(_: impl Fn() -> Option<ParameterIn>) -> Vec<Parameter> {
        let in_path = |name: &str| ParameterBuilder::new().name(name).parameter_in(ParameterIn::Path);
        let account = in_path("id").required(Required::True).schema(Some(AccountId::schema()));
        let grant = in_path("grant_id").required(Required::True).schema(Some(GrantId::schema()));
        vec![account.build(), grant.build()]
    }
}

list_parameters!(GrantsParameters(LIMIT_DEFAULT) {});

/// List an account's grants
///
/// Newest first, as they stand on the chain. Nobody opens one over this interface: approvers and the admin do, with their own
/// wallets.
#[utoipa::path(
    get, path = "/v1/accounts/{id}/grants", operation_id = "list_grants", tag = "Policies",
    params(Id<AccountId>, GrantsParameters),
    responses((status = 200, body = PageResponse<GrantResponse>, description = "A page of grants.")),
    security(("operator_key" = []), ("agent_key" = [])),
    extensions(("x-scopes" = json!(["read"])), ("x-errors" = json!([Code::SolanaUnavailable]))),
)]
pub async fn list(
    State(inside): State<Arc<Inside>>,
    AnyKey(principal): AnyKey,
    Id(account_id): Id<AccountId>,
    query: ListQuery,
) -> Result<Json<PageResponse<GrantResponse>>, ApiError> {
    let request = query.page(LIMIT_DEFAULT)?;
    Ok(Json(grants::list(&inside, &principal, account_id, request).await?.map(GrantResponse::from).into()))
}

/// Take all of an account's grants back
///
/// Those that were opened until now pay nothing any more, from the next transfer on. Transfers that wait for a person go on waiting.
#[utoipa::path(
    delete, path = "/v1/accounts/{id}/grants", operation_id = "void_grants", tag = "Policies",
    params(Id<AccountId>),
    responses((status = 204, description = "They are void.")),
    security(("operator_key" = [])),
    extensions(("x-scopes" = json!(["policy", "halt"])), ("x-errors" = json!([
        Code::SolanaUnavailable, Code::AuthorityRotated, Code::FeePayerEmpty, Code::SignerUnavailable
    ]))),
)]
pub async fn void(
    State(inside): State<Arc<Inside>>,
    OnRecord { scope, .. }: OnRecord,
    _: OperatorOnly,
    AnyKey(principal): AnyKey,
    Id(account_id): Id<AccountId>,
) -> Result<StatusCode, ApiError> {
    grants::void(&inside, &principal, account_id, &scope).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// Take a grant back
///
/// It is closed on the chain, and its rent goes back to whoever paid it.
#[utoipa::path(
    delete, path = "/v1/accounts/{id}/grants/{grant_id}", operation_id = "close_grant", tag = "Policies",
    params(GrantOf),
    responses((status = 204, description = "It is closed.")),
    security(("operator_key" = [])),
    extensions(("x-scopes" = json!(["policy", "halt"])), ("x-errors" = json!([
        Code::SolanaUnavailable, Code::AuthorityRotated, Code::FeePayerEmpty, Code::SignerUnavailable
    ]))),
)]
pub async fn close(
    State(inside): State<Arc<Inside>>,
    OnRecord { scope, .. }: OnRecord,
    _: OperatorOnly,
    AnyKey(principal): AnyKey,
    GrantOf(account_id, grant_id): GrantOf,
) -> Result<StatusCode, ApiError> {
    grants::close(&inside, &principal, account_id, grant_id, &scope).await?;
    Ok(StatusCode::NO_CONTENT)
}
