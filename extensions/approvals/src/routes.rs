use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use purser_api::web::{
    AnyKey, ApiError, Code, Id, LIMIT_DEFAULT, ListQuery, NoFields, Nothing, OnRecord, OperatorOnly,
    PageResponse, page_parameters, query_parameter,
};
use purser_model::wire::CheckBody;
use purser_model::wire::schema::{ApprovalLink, ExplorerLink, Message, Signature, Usdc};
use purser_model::{
    AccountId, Address, ApprovalEnd, ApprovalFilter, ApprovalState, GrantTerms, IdempotencyKey, Invalid,
    Memo, PaidBefore, Recipient, RejectionReason, Timestamp, TransferId, TransferState,
};
use purser_service::{ServiceError, TransferView};
use serde::Serialize;
use utoipa::openapi::path::{Parameter, ParameterIn};
use utoipa::{IntoParams, ToSchema};

use crate::approvals::{ApprovalView, Approvals};

/// A transfer that policy refused and about which a person was asked.
#[derive(Serialize, ToSchema)]
#[schema(as = Approval)]
pub struct ApprovalResponse {
    transfer_id: TransferId,
    state: ApprovalState,
    /// The account that pays.
    account_id: AccountId,
    /// As submitted.
    to: Recipient,
    /// The wallet that was named as the payee; `to` is its USDC token account then.
    to_wallet: Option<Address>,
    amount_usdc: Usdc,
    #[schema(required)]
    memo: Option<Memo>,
    idempotency_key: IdempotencyKey,
    /// Why policy refused it.
    rejection_reason: RejectionReason,
    /// While it waits: the limit that refused it. Otherwise how it ended, unless it was paid.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    message: Option<Message>,
    /// While it waits: what every rule said, in the order in which they win.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false, max_items = 16)]
    checks: Option<Vec<CheckBody>>,
    requested_at: Timestamp,
    /// Until when it can be approved.
    expires_at: Timestamp,
    /// The page to show to whoever approves it, where the service has a `server.public_url`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    approval_url: Option<ApprovalLink>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    tx_signature: Option<Signature>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    solana_explorer_url: Option<ExplorerLink>,
    /// The wallet that approved it: whoever signed the grant on the chain, an approver or the operator's admin. `null` until a grant
    /// lets it through, and for a moment after.
    #[schema(required)]
    approved_by: Option<Address>,
    /// Of the transaction in which it did.
    #[schema(required)]
    grant_tx_signature: Option<Signature>,
    /// Of one that waits, where it is asked for by its id.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    grant: Option<GrantTerms>,
    /// Likewise: what the account had paid to the same payee, however it named it, when somebody first looked at this approval.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    paid_before: Option<PaidBefore>,
}

impl ApprovalResponse {
    /// `None`: nobody was asked about it.
    fn of(view: &TransferView) -> Option<Self> {
        let TransferView { transfer, explorer, approval_url, approved_by } = view;
        let requested = transfer.approval.requested()?;
        let request = &transfer.request;
        let rejection = match &transfer.state {
            TransferState::PendingApproval(wanted) => Some(&wanted.rejection),
            TransferState::Rejected(rejection) => Some(rejection),
            _ => None,
        };
        let failed = match &transfer.state {
            TransferState::Failed(failure) => Some(failure.message.as_str()),
            _ => None,
        };
        let message = rejection.map(|rejection| rejection.message.as_str()).or(failed);
        Some(Self {
            transfer_id: transfer.id,
            state: ApprovalState::of(transfer),
            account_id: request.from,
            to: request.to.clone(),
            to_wallet: request.to.wallet(),
            amount_usdc: request.amount.into(),
            memo: request.memo.clone(),
            idempotency_key: transfer.idempotency_key.clone(),
            rejection_reason: requested.reason,
            message: message.map(Message::from),
            checks: rejection.map(|rejection| CheckBody::list(&rejection.checks)),
            requested_at: transfer.created_at,
            expires_at: requested.expires_at,
            approval_url: approval_url.clone().map(ApprovalLink),
            tx_signature: transfer.tx_signature().map(Signature::from),
            solana_explorer_url: transfer.tx_signature().map(|signature| explorer.of(signature).into()),
            approved_by: approved_by.as_ref().map(|by| by.signer),
            grant_tx_signature: approved_by.as_ref().map(|by| by.signature.as_str().into()),
            grant: None,
            paid_before: None,
        })
    }
}

fn shown(view: &TransferView) -> Result<ApprovalResponse, ApiError> {
    ApprovalResponse::of(view).ok_or_else(|| ServiceError::Internal.into())
}

fn filter(query: &mut ListQuery) -> Result<ApprovalFilter, Invalid> {
    Ok(ApprovalFilter { account: query.read("account_id")?, state: query.read("state")? })
}

pub enum ApprovalsParameters {}

impl IntoParams for ApprovalsParameters {
    fn into_params(_: impl Fn() -> Option<ParameterIn>) -> Vec<Parameter> {
        let account = "Only what this account is to pay. Agents see their own account only.";
        let filters = [
            query_parameter::<AccountId>("account_id", account),
            query_parameter::<ApprovalState>("state", "Only approvals in this state."),
        ];
        page_parameters(LIMIT_DEFAULT).into_iter().chain(filters).collect()
    }
}

/// List approvals
///
/// The transfers about which a person was asked, newest first. A transfer asks with `"approval": "request"`.
#[utoipa::path(
    get, path = "/v1/approvals", operation_id = "list_approvals", tag = "Approvals",
    params(ApprovalsParameters),
    responses((status = 200, body = PageResponse<ApprovalResponse>, description = "A page of approvals.")),
    security(("operator_key" = []), ("agent_key" = [])),
    extensions(("x-scopes" = json!(["read"]))),
)]
pub async fn list(
    State(approvals): State<Approvals>,
    AnyKey(principal): AnyKey,
    mut query: ListQuery,
) -> Result<Json<PageResponse<ApprovalResponse>>, ApiError> {
    let filter = filter(&mut query)?;
    let request = query.page(LIMIT_DEFAULT)?;
    let page = approvals.list(&principal, filter, request).await?;
    Ok(Json(page.filter_map(|view| ApprovalResponse::of(&view)).into()))
}

/// Get an approval
///
/// By the id of its transfer. While it waits, `grant` is what an approver's wallet signs; the service never does.
#[utoipa::path(
    get, path = "/v1/approvals/{id}", operation_id = "get_approval", tag = "Approvals",
    params(Id<TransferId>),
    responses((status = 200, body = ApprovalResponse, description = "The approval.")),
    security(("operator_key" = []), ("agent_key" = [])),
    extensions(("x-scopes" = json!(["read", "pay"]))),
)]
pub async fn get(
    State(approvals): State<Approvals>,
    AnyKey(principal): AnyKey,
    Id(transfer_id): Id<TransferId>,
) -> Result<Json<ApprovalResponse>, ApiError> {
    let ApprovalView { transfer, asked } = approvals.get(&principal, transfer_id).await?;
    let (grant, paid_before) = asked.map(|asked| (asked.terms, asked.paid_before)).unzip();
    Ok(Json(ApprovalResponse { grant, paid_before, ..shown(&transfer)? }))
}

/// Reject an approval
///
/// The transfer ends as `failed` with `approval_rejected`, and its idempotency key answers so from then on. The service pays by no
/// grant for it any more; one that is on the chain already stays there until it ends or somebody closes it.
#[utoipa::path(
    post, path = "/v1/approvals/{id}/reject", operation_id = "reject_approval", tag = "Approvals",
    params(Id<TransferId>),
    request_body = Option<Nothing>,
    responses((status = 200, body = ApprovalResponse, description = "It is rejected.")),
    security(("operator_key" = [])),
    extensions(("x-scopes" = json!(["reject-approvals", "policy"])), ("x-errors" = json!([Code::ApprovalClosed]))),
)]
pub async fn reject(
    State(approvals): State<Approvals>,
    OnRecord { scope, .. }: OnRecord,
    _: OperatorOnly,
    AnyKey(principal): AnyKey,
    Id(transfer_id): Id<TransferId>,
    NoFields: NoFields,
) -> Result<Json<ApprovalResponse>, ApiError> {
    Ok(Json(shown(&approvals.end(&principal, transfer_id, ApprovalEnd::Rejected, &scope).await?)?))
}

/// Withdraw a transfer that waits for approval
///
/// For the agent that asked, and for an operator. The approval ends as `withdrawn`; its transfer and its idempotency key answer as if
/// it were rejected.
#[utoipa::path(
    delete, path = "/v1/approvals/{id}", operation_id = "withdraw_approval", tag = "Approvals",
    params(Id<TransferId>),
    responses((status = 204, description = "It waits no longer.")),
    security(("operator_key" = []), ("agent_key" = [])),
    extensions(("x-scopes" = json!(["pay", "reject-approvals", "policy"])), ("x-errors" = json!([Code::ApprovalClosed]))),
)]
pub async fn withdraw(
    State(approvals): State<Approvals>,
    OnRecord { scope, .. }: OnRecord,
    AnyKey(principal): AnyKey,
    Id(transfer_id): Id<TransferId>,
) -> Result<StatusCode, ApiError> {
    approvals.end(&principal, transfer_id, ApprovalEnd::Withdrawn, &scope).await?;
    Ok(StatusCode::NO_CONTENT)
}
