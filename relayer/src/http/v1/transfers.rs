use std::borrow::Cow;

use axum::Json;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use serde::{Deserialize, Serialize};
use utoipa::openapi::{RefOr, Schema};
use utoipa::{PartialSchema, ToSchema};

use super::checks::CheckBody;
use super::text;
use crate::domain::schema::{self, ExplorerLink, Message, RecipientText, Signature, Usdc, UsdcText};
use crate::domain::{
    AccountId, IdempotencyKey, Invalid, Memo, Principal, Recipient, Transfer, TransferId, TransferRequest,
    TransferState, UsdcAmount, amount_from_text,
};
use crate::http::body::Json as Body;
use crate::http::code::Code;
use crate::http::error::{ApiError, failure_code, refused_and_open, rejection_code};
use crate::http::once::{idempotency_header, mark_replayed};
use crate::http::openapi::headers::IdempotencyKeyHeader;
use crate::http::page::Id;
use crate::service::{ExplorerUrl, Preview, PreviewRequest, TransferAnswer, TransferView, Transfers};

/// A payment to be made.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = CreateTransfer)]
pub struct CreateTransferBody {
    /// The account that pays.
    #[schema(required, value_type = schema::AccountId)]
    from: Option<String>,
    #[schema(required, value_type = RecipientText)]
    to: Option<String>,
    #[schema(required, value_type = UsdcText)]
    amount: Option<String>,
    #[schema(required, value_type = schema::IdempotencyKey)]
    idempotency_key: Option<String>,
    #[schema(value_type = Option<schema::Memo>)]
    memo: Option<String>,
}

pub(super) fn required<T>(param: &str, value: Option<T>) -> Result<T, Invalid> {
    value.ok_or_else(|| Invalid::new(param, "is required"))
}

/// The idempotency key, from the body or from the header.
pub(super) fn named_once(body: Option<String>, header: Option<String>) -> Result<Option<String>, Invalid> {
    match (body, header) {
        (Some(body), Some(header)) if body != header => {
            Err(Invalid::new("idempotency_key", "differs from the header `Idempotency-Key`"))
        }
        (Some(key), _) | (None, Some(key)) => Ok(Some(key)),
        (None, None) => Ok(None),
    }
}

/// The parts of a transfer that a preview needs too.
struct TransferTerms {
    from: AccountId,
    to: Recipient,
    amount: UsdcAmount,
    memo: Option<Memo>,
    idempotency_key: Option<IdempotencyKey>,
}

impl CreateTransferBody {
    /// `header` is the `Idempotency-Key` header; if the body has one too, both must agree.
    fn parse(self, header: Option<String>) -> Result<TransferTerms, Invalid> {
        let key = named_once(self.idempotency_key, header)?;
        Ok(TransferTerms {
            from: Invalid::unless("from", &required("from", self.from)?)?,
            to: Recipient::parse(required("to", self.to)?)?,
            amount: amount_from_text("amount", &required("amount", self.amount)?)?,
            memo: self.memo.map(Memo::parse).transpose()?,
            idempotency_key: key.map(IdempotencyKey::parse).transpose()?,
        })
    }

    pub(crate) fn into_request(self, header: Option<String>) -> Result<TransferRequest, Invalid> {
        let TransferTerms { from, to, amount, memo, idempotency_key } = self.parse(header)?;
        let idempotency_key = required("idempotency_key", idempotency_key)?;
        Ok(TransferRequest { from, to, amount, memo, idempotency_key })
    }

    /// A preview needs no key.
    pub(crate) fn into_preview(self, header: Option<String>) -> Result<PreviewRequest, Invalid> {
        let TransferTerms { from, to, amount, memo, .. } = self.parse(header)?;
        Ok(PreviewRequest { from, to, amount, memo })
    }
}

/// The same body, of a preview, which needs no key.
#[derive(Deserialize)]
#[serde(transparent)]
pub struct PreviewTransferBody(CreateTransferBody);

impl PartialSchema for PreviewTransferBody {
    fn schema() -> RefOr<Schema> {
        let mut schema = CreateTransferBody::schema();
        if let RefOr::T(Schema::Object(body)) = &mut schema {
            body.required.retain(|field| field != "idempotency_key");
            body.description = Some("A payment to be judged.".to_owned());
        }
        schema
    }
}

impl ToSchema for PreviewTransferBody {
    fn name() -> Cow<'static, str> {
        "PreviewTransfer".into()
    }

    fn schemas(schemas: &mut Vec<(String, RefOr<Schema>)>) {
        CreateTransferBody::schemas(schemas);
    }
}

/// A transfer in any state.
#[derive(Serialize, ToSchema)]
#[schema(as = Transfer)]
pub struct TransferResponse {
    #[schema(value_type = schema::TransferId)]
    transfer_id: String,
    #[schema(value_type = schema::TransferStatus)]
    status: &'static str,
    /// The account that pays.
    #[schema(value_type = schema::AccountId)]
    from: String,
    /// As submitted.
    #[schema(value_type = schema::Recipient)]
    to: String,
    #[schema(value_type = Usdc)]
    amount_usdc: String,
    #[schema(value_type = Option<schema::Memo>, required)]
    memo: Option<String>,
    #[schema(value_type = schema::IdempotencyKey)]
    idempotency_key: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Signature)]
    tx_signature: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = ExplorerLink)]
    solana_explorer_url: Option<String>,
    /// Of what is settled.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = schema::Timestamp)]
    settled_at: Option<String>,
    #[schema(value_type = schema::Timestamp)]
    created_at: String,
    /// Of what was rejected or failed, or what a seller refused.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Code)]
    error: Option<Code>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Message)]
    message: Option<String>,
    /// When the rolling window has room for the amount, if nothing else is spent.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = schema::Timestamp)]
    retry_at: Option<String>,
    /// Of what was rejected: what every rule said, in the order in which they win.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Vec<CheckBody>, max_items = 6)]
    checks: Option<Vec<CheckBody>>,
}

impl TransferResponse {
    pub(super) const fn status(&self) -> &'static str {
        self.status
    }

    fn new(transfer: &Transfer, explorer: &ExplorerUrl) -> Self {
        let request = &transfer.request;
        let bare = Self {
            transfer_id: transfer.id.to_string(),
            status: transfer.state.status().as_str(),
            from: request.from.to_string(),
            to: request.to.text(),
            amount_usdc: request.amount.to_string(),
            memo: request.memo.as_ref().map(|memo| memo.as_str().to_owned()),
            idempotency_key: request.idempotency_key.as_str().to_owned(),
            tx_signature: transfer.tx_signature().map(str::to_owned),
            solana_explorer_url: transfer.tx_signature().map(|signature| explorer.of(signature)),
            settled_at: None,
            created_at: text(transfer.created_at),
            error: None,
            message: None,
            retry_at: None,
            checks: None,
        };
        match &transfer.state {
            TransferState::Claimed | TransferState::Signed(_) | TransferState::Sent { .. } => {
                let message = refused_and_open(transfer);
                Self { error: message.as_ref().map(|_| Code::PaymentRefused), message, ..bare }
            }
            TransferState::Settled(settlement) => {
                Self { settled_at: Some(text(settlement.settled_at)), ..bare }
            }
            TransferState::Rejected(rejection) => Self {
                error: Some(rejection_code(rejection.reason)),
                message: Some(rejection.message.clone()),
                retry_at: rejection.retry_at.map(text),
                checks: Some(CheckBody::list(&rejection.checks)),
                ..bare
            },
            TransferState::Failed(failure) => Self {
                error: Some(failure_code(failure.code)),
                message: Some(failure.message.clone()),
                ..bare
            },
        }
    }
}

impl From<TransferView> for TransferResponse {
    fn from(view: TransferView) -> Self {
        Self::new(&view.transfer, &view.explorer)
    }
}

/// A rejected or failed transfer is an error.
impl TryFrom<TransferAnswer> for TransferResponse {
    type Error = ApiError;

    fn try_from(answer: TransferAnswer) -> Result<Self, ApiError> {
        let TransferAnswer { view, checks, .. } = answer;
        match &view.transfer.state {
            TransferState::Claimed | TransferState::Signed(_) | TransferState::Sent { .. }
                if view.transfer.refusal.is_some() =>
            {
                Err(ApiError::Transfer(Box::new(view.transfer), checks))
            }
            TransferState::Claimed
            | TransferState::Signed(_)
            | TransferState::Sent { .. }
            | TransferState::Settled(_) => Ok(view.into()),
            TransferState::Rejected(_) | TransferState::Failed(_) => {
                Err(ApiError::Transfer(Box::new(view.transfer), checks))
            }
        }
    }
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
        (status = 202, body = TransferResponse, description = "Submitted, and not settled yet.",
            headers(("Idempotent-Replayed" = String, description = "`true` for a repeated request."))),
    ),
    security(("operator_key" = []), ("agent_key" = [])),
    extensions(("x-errors" = json!([
        Code::PolicyViolation, Code::AccountPaused, Code::InsufficientBalance, Code::AccountFrozen, Code::NotFound,
        Code::IdempotencyConflict, Code::InvalidRecipient, Code::TooManyPending, Code::TooManyRefusals, Code::TransferFailed,
        Code::SolanaUnavailable, Code::AuthorityRotated, Code::FeePayerEmpty,
        Code::SignerUnavailable
    ]))),
)]
pub async fn create(
    State(transfers): State<Transfers>,
    principal: Principal,
    headers: HeaderMap,
    Body(body): Body<CreateTransferBody>,
) -> Result<Response, ApiError> {
    let request = body.into_request(idempotency_header(&headers)?)?;
    // Boxed: every layer around a handler copies its future.
    Ok(answer(Box::pin(transfers.create(&principal, request)).await?))
}

/// Get a transfer
#[utoipa::path(
    get, path = "/v1/transfers/{id}", operation_id = "get_transfer", tag = "Transfers",
    params(Id<TransferId>),
    responses((status = 200, body = TransferResponse, description = "The transfer, in whatever state.")),
    security(("operator_key" = []), ("agent_key" = [])),
)]
pub async fn get(
    State(transfers): State<Transfers>,
    principal: Principal,
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
    #[schema(max_items = 6)]
    checks: Vec<CheckBody>,
    /// What it would be refused with.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Code)]
    error: Option<Code>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Message)]
    message: Option<String>,
    /// When the rolling window has room for the amount, if nothing else is spent.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = schema::Timestamp)]
    retry_at: Option<String>,
}

impl From<Preview> for PreviewResponse {
    fn from(preview: Preview) -> Self {
        match preview {
            Preview::Allowed(checks) => Self {
                allowed: true,
                checks: CheckBody::list(&checks),
                error: None,
                message: None,
                retry_at: None,
            },
            Preview::Rejected(rejection) => Self {
                allowed: false,
                checks: CheckBody::list(&rejection.checks),
                error: Some(rejection_code(rejection.reason)),
                message: Some(rejection.message),
                retry_at: rejection.retry_at.map(text),
            },
            Preview::Failing(failure, checks) => Self {
                allowed: false,
                checks: CheckBody::list(&checks),
                error: Some(failure_code(failure.code)),
                message: Some(failure.message),
                retry_at: None,
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
    extensions(("x-errors" = json!([Code::NotFound, Code::InvalidRecipient, Code::SolanaUnavailable]))),
)]
pub async fn preview(
    State(transfers): State<Transfers>,
    principal: Principal,
    headers: HeaderMap,
    Body(PreviewTransferBody(body)): Body<PreviewTransferBody>,
) -> Result<Json<PreviewResponse>, ApiError> {
    let request = body.into_preview(idempotency_header(&headers)?)?;
    Ok(Json(transfers.preview(&principal, request).await?.into()))
}
