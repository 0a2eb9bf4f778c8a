use axum::Json;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use purser_core::{AskedTransfer, Duplicates};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::web::auth::AnyKey;
use crate::web::body::Json as Body;
use crate::web::error::{failure_code, rejection_code};
use crate::web::once::{idempotency_header, mark_replayed};
use crate::web::{ApiError, Code, Id, IdempotencyKeyHeader, TransferResponse, named_once, required};
use purser_model::wire::CheckBody;
use purser_model::wire::schema::{Message, UsdcText, changed, one_of, written};
use purser_model::{
    AccountId, Approval, AskedPayee, FailureCode, IdempotencyKey, Invalid, Memo, Principal, Timestamp,
    TransferId, TransferRequest, TransferState,
};
use purser_service::{Preview, ServiceError, TransferAnswer, Transfers};

written! {
    ApprovalWord = "ApprovalRequest": one_of(
        "`request`: a person is asked, and the transfer waits as `pending_approval`; `never`: it is rejected.", ["never", "request"]
    );
}

enum ApprovalWord {}

/// A payment to be made.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = CreateTransfer)]
pub struct CreateTransferBody {
    /// The account that pays.
    from: AccountId,
    to: AskedPayee,
    amount: UsdcText,
    #[schema(required, nullable = false)]
    idempotency_key: Option<IdempotencyKey>,
    memo: Option<Memo>,
    /// Refuses it with 409 `likely_duplicate` where one with the same payee, amount and memo settled under another idempotency
    /// key in the last ten minutes, or is under way. The account's `duplicates` may say otherwise.
    refuse_duplicate: Option<bool>,
    /// The transfer that this one repeats on purpose: it is not refused for looking like that one.
    duplicate_of: Option<TransferId>,
    /// What becomes of it where policy refuses it by a rule that a grant may waive: the payee, the largest transfer or the daily limit.
    #[schema(value_type = Option<ApprovalWord>)]
    approval: Option<String>,
    /// Lets the service create the USDC token account of a wallet that has none, if it can pay afterwards and its quotas allow it. The
    /// default is the account's `create_token_accounts`. The rent then belongs to the payee.
    create_token_account: Option<bool>,
}

impl CreateTransferBody {
    /// What is to be paid, which is all that a preview needs, and the key. `header` is the `Idempotency-Key` header; if the body
    /// has one too, both must agree.
    fn parse(
        self,
        header: Option<String>,
        (transfers, principal): (&Transfers, &Principal),
    ) -> Result<(TransferRequest, Option<IdempotencyKey>), ServiceError> {
        let Self { from, to, amount, memo, idempotency_key, .. } = self;
        let key = named_once(idempotency_key, header)?;
        let to = transfers.recipient(principal, to)?;
        Ok((TransferRequest { from, to, amount: amount.0, memo }, key))
    }

    fn into_request(
        self,
        header: Option<String>,
        asker: (&Transfers, &Principal),
    ) -> Result<AskedTransfer, ServiceError> {
        let approval = match self.approval.as_deref() {
            None | Some("never") => Approval::Never,
            Some("request") => Approval::Request,
            Some(_) => return Err(Invalid::new("approval", "must be `never` or `request`").into()),
        };
        let duplicates =
            Duplicates { are_refused: self.refuse_duplicate.unwrap_or(false), meant: self.duplicate_of };
        let (request, key) = self.parse(header, asker)?;
        let idempotency_key = required("idempotency_key", key)?;
        Ok(AskedTransfer { idempotency_key, request, duplicates, approval })
    }

    fn into_preview(
        self,
        header: Option<String>,
        asker: (&Transfers, &Principal),
    ) -> Result<TransferRequest, ServiceError> {
        self.parse(header, asker).map(|(asked, _)| asked)
    }
}

/// The same body, of a preview, which needs no key.
#[derive(Deserialize)]
#[serde(transparent)]
pub struct PreviewTransferBody(CreateTransferBody);

written! {
    PreviewTransferBody = "PreviewTransfer": changed::<CreateTransferBody>(|body| {
        body.required.retain(|field| field != "idempotency_key");
        body.description = Some("A payment to be judged.".to_owned());
    }), like CreateTransferBody;
}

/// 200: settled. 202: submitted.
fn answer(answer: TransferAnswer) -> Response {
    let replayed = answer.replayed;
    let is_settled = matches!(answer.view.transfer.state, TransferState::Settled(_));
    let status = if is_settled { StatusCode::OK } else { StatusCode::ACCEPTED };
    let answered = TransferResponse::try_from(answer).map(|transfer| (status, Json(transfer)));
    let mut response = answered.into_response();
    if replayed {
        mark_replayed(&mut response);
    }
    response
}

/// Pay
///
/// Paid exactly once per idempotency key, which is the body's `idempotency_key` or the header `Idempotency-Key`, and where
/// both are given the same in both. Answered when the chain has settled it, or as `submitted` when that takes longer: then
/// ask for it by its id, or send it again under the same key. Never send a payment again under a new key before you know
/// how it ended. A 402 is a refusal, not an offer.
#[utoipa::path(
    post, path = "/v1/transfers", operation_id = "create_transfer", tag = "Transfers",
    params(IdempotencyKeyHeader),
    request_body = CreateTransferBody,
    responses(
        (status = 200, body = TransferResponse, description = "Settled, now or under this key before.",
            headers(("Idempotent-Replayed" = String, description = "`true` for a repeated request."))),
        (status = 202, body = TransferResponse, description = "Submitted and not settled yet, or `pending_approval`.",
            headers(("Idempotent-Replayed" = String, description = "`true` for a repeated request."))),
    ),
    security(("operator_key" = []), ("agent_key" = [])),
    extensions(("x-scopes" = json!(["pay"])), ("x-errors" = json!([
        Code::PolicyViolation, Code::AccountPaused, Code::ApprovalRejected, Code::ApprovalExpired, Code::ApprovalVoid,
        Code::InsufficientBalance, Code::AccountFrozen, Code::NotFound,
        Code::IdempotencyConflict, Code::LikelyDuplicate, Code::InvalidRecipient, Code::RecipientHasNoTokenAccount, Code::TooManyPending, Code::TooManyRefusals,
        Code::AccountFull, Code::TransferFailed,
        Code::SolanaUnavailable, Code::AuthorityRotated, Code::FeePayerEmpty,
        Code::SignerUnavailable
    ]))),
)]
pub async fn create(
    State(transfers): State<Transfers>,
    AnyKey(principal): AnyKey,
    headers: HeaderMap,
    Body(body): Body<CreateTransferBody>,
) -> Result<Response, ApiError> {
    let create_token_account = body.create_token_account;
    let asked = body.into_request(idempotency_header(&headers)?, (&transfers, &principal))?;
    // Boxed: every layer around a handler copies its future.
    Ok(answer(Box::pin(transfers.create(&principal, asked, create_token_account)).await?))
}

/// Get a transfer
#[utoipa::path(
    get, path = "/v1/transfers/{id}", operation_id = "get_transfer", tag = "Transfers",
    params(Id<TransferId>),
    responses((status = 200, body = TransferResponse, description = "The transfer, in whatever state.")),
    security(("operator_key" = []), ("agent_key" = [])),
    extensions(("x-scopes" = json!(["read", "pay"]))),
)]
pub async fn get(
    State(transfers): State<Transfers>,
    AnyKey(principal): AnyKey,
    Id(transfer_id): Id<TransferId>,
) -> Result<Json<TransferResponse>, ApiError> {
    Ok(Json(transfers.get(&principal, transfer_id).await?.into()))
}

/// What would become of a transfer now.
#[derive(Serialize, ToSchema)]
#[schema(as = Preview)]
pub struct PreviewResponse {
    /// Whether it would be sent.
    allowed: bool,
    /// What every rule says, in the order in which they win.
    #[schema(max_items = 16)]
    checks: Vec<CheckBody>,
    /// What it would be refused with.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    error: Option<Code>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    message: Option<Message>,
    /// When the rolling window has room for the amount, if nothing else is spent.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    retry_at: Option<Timestamp>,
    /// The rent of a USDC token account, if the wallet has none. An allowed payment has the service create it first and pay this rent,
    /// which then belongs to the payee.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    rent_lamports: Option<u64>,
}

const CREATING: &str = "The wallet has no USDC token account. The service would create it first and pay its rent, which belongs to the \
                        payee from then on.";

impl From<Preview> for PreviewResponse {
    fn from(preview: Preview) -> Self {
        match preview {
            Preview::Allowed(checks) => Self {
                allowed: true,
                checks: CheckBody::list(&checks),
                error: None,
                message: None,
                retry_at: None,
                rent_lamports: None,
            },
            Preview::Creating(checks) => Self {
                allowed: true,
                checks: CheckBody::list(&checks),
                error: None,
                message: Some(CREATING.to_owned().into()),
                retry_at: None,
                rent_lamports: FailureCode::RecipientHasNoTokenAccount.rent_lamports(),
            },
            Preview::Rejected(rejection) => Self {
                allowed: false,
                checks: CheckBody::list(&rejection.checks),
                error: Some(rejection_code(rejection.reason)),
                message: Some(rejection.message.into()),
                retry_at: rejection.retry_at,
                rent_lamports: None,
            },
            Preview::Failing(failure, checks) => Self {
                allowed: false,
                checks: CheckBody::list(&checks),
                error: Some(failure_code(failure.code)),
                message: Some(failure.message.into()),
                retry_at: None,
                rent_lamports: failure.code.rent_lamports(),
            },
        }
    }
}

/// Ask whether a transfer would be paid
///
/// How every rule would judge it now. Nothing happens.
#[utoipa::path(
    post, path = "/v1/transfers/preview", operation_id = "preview_transfer", tag = "Transfers",
    request_body = PreviewTransferBody,
    responses((status = 200, body = PreviewResponse, description = "Whether it would be paid, and the result of every rule.")),
    security(("operator_key" = []), ("agent_key" = [])),
    extensions(
        ("x-scopes" = json!(["read", "pay"])),
        ("x-errors" = json!([Code::NotFound, Code::InvalidRecipient, Code::SolanaUnavailable])),
    ),
)]
pub async fn preview(
    State(transfers): State<Transfers>,
    AnyKey(principal): AnyKey,
    headers: HeaderMap,
    Body(PreviewTransferBody(body)): Body<PreviewTransferBody>,
) -> Result<Json<PreviewResponse>, ApiError> {
    let create_token_account = body.create_token_account;
    let request = body.into_preview(idempotency_header(&headers)?, (&transfers, &principal))?;
    Ok(Json(transfers.preview(&principal, request, create_token_account).await?.into()))
}
