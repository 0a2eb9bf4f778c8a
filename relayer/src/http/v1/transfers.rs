use axum::Json;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::checks::CheckBody;
use super::text;
use crate::domain::{
    AccountId, IdempotencyKey, Invalid, Memo, Principal, Recipient, Transfer, TransferId, TransferRequest,
    TransferState, UsdcAmount, amount_from_text,
};
use crate::http::body::Json as Body;
use crate::http::error::{ApiError, failure_code, rejection_code};
use crate::http::once::{idempotency_header, mark_replayed};
use crate::http::page::Id;
use crate::service::{ExplorerUrl, Preview, PreviewRequest, TransferAnswer, TransferView, Transfers};

/// The body of `POST /v1/transfers` and of its preview.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct CreateTransferBody {
    /// The account that pays.
    #[schema(required, value_type = String)]
    from: Option<String>,
    /// Who is paid: an account id, or the address of a USDC token account.
    #[schema(required, value_type = String)]
    to: Option<String>,
    /// USDC as a decimal string with at most six fractional digits: JSON numbers lose digits on their way.
    #[schema(required, value_type = String)]
    amount: Option<String>,
    /// The name of this payment. Keep it when you retry; a new one is a second payment.
    #[schema(value_type = String)]
    idempotency_key: Option<String>,
    /// At most 200 characters; anyone can read it on the chain.
    memo: Option<String>,
}

fn required<T>(param: &str, value: Option<T>) -> Result<T, Invalid> {
    value.ok_or_else(|| Invalid::new(param, "is required"))
}

/// The parts of a transfer that a preview needs too.
struct Asked {
    from: AccountId,
    to: Recipient,
    amount: UsdcAmount,
    memo: Option<Memo>,
    idempotency_key: Option<IdempotencyKey>,
}

impl CreateTransferBody {
    /// `header` is the `Idempotency-Key` header; with both given, both must say the same.
    fn parse(self, header: Option<String>) -> Result<Asked, Invalid> {
        let from = required("from", self.from)?;
        let from = from.parse().map_err(|error| Invalid::new("from", format!("{error}")));
        let key = match (self.idempotency_key, header) {
            (Some(body), Some(header)) if body != header => {
                return Err(Invalid::new("idempotency_key", "differs from the header `Idempotency-Key`"));
            }
            (Some(key), _) | (None, Some(key)) => Some(key),
            (None, None) => None,
        };
        Ok(Asked {
            from: from?,
            to: Recipient::parse(required("to", self.to)?)?,
            amount: amount_from_text("amount", &required("amount", self.amount)?)?,
            memo: self.memo.map(Memo::parse).transpose()?,
            idempotency_key: key.map(IdempotencyKey::parse).transpose()?,
        })
    }

    pub(crate) fn into_request(self, header: Option<String>) -> Result<TransferRequest, Invalid> {
        let Asked { from, to, amount, memo, idempotency_key } = self.parse(header)?;
        let idempotency_key = required("idempotency_key", idempotency_key)?;
        Ok(TransferRequest { from, to, amount, memo, idempotency_key })
    }

    /// A preview takes the same body and needs no key.
    pub(crate) fn into_preview(self, header: Option<String>) -> Result<PreviewRequest, Invalid> {
        let Asked { from, to, amount, memo, .. } = self.parse(header)?;
        Ok(PreviewRequest { from, to, amount, memo })
    }
}

/// A transfer in any state.
#[derive(Serialize, ToSchema)]
pub struct TransferResponse {
    transfer_id: String,
    status: &'static str,
    from: String,
    to: String,
    amount_usdc: String,
    #[schema(required)]
    memo: Option<String>,
    idempotency_key: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = String)]
    tx_signature: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = String)]
    solana_explorer_url: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = String)]
    settled_at: Option<String>,
    created_at: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = String)]
    error: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = String)]
    message: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = String)]
    retry_at: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Vec<CheckBody>)]
    checks: Option<Vec<CheckBody>>,
}

impl TransferResponse {
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
            tx_signature: None,
            solana_explorer_url: None,
            settled_at: None,
            created_at: text(transfer.created_at),
            error: None,
            message: None,
            retry_at: None,
            checks: None,
        };
        match &transfer.state {
            TransferState::Claimed => bare,
            TransferState::Signed(signed) | TransferState::Sent { signed, .. } => Self {
                solana_explorer_url: Some(explorer.of(&signed.signature)),
                tx_signature: Some(signed.signature.clone()),
                ..bare
            },
            TransferState::Settled(settlement) => Self {
                solana_explorer_url: Some(explorer.of(&settlement.signature)),
                tx_signature: Some(settlement.signature.clone()),
                settled_at: Some(text(settlement.settled_at)),
                ..bare
            },
            TransferState::Rejected(rejection) => Self {
                error: Some(rejection_code(rejection.reason).1),
                message: Some(rejection.message.clone()),
                retry_at: rejection.retry_at.map(text),
                checks: Some(CheckBody::list(&rejection.checks)),
                ..bare
            },
            TransferState::Failed(failure) => Self {
                error: Some(failure_code(failure.code).1),
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

/// 200 settled, 202 submitted.
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

/// `POST /v1/transfers`
pub async fn create(
    State(transfers): State<Transfers>,
    principal: Principal,
    headers: HeaderMap,
    Body(body): Body<CreateTransferBody>,
) -> Result<Response, ApiError> {
    let request = body.into_request(idempotency_header(&headers)?)?;
    // Boxed: every layer around a handler copies what it is.
    Ok(answer(Box::pin(transfers.create(&principal, request)).await?))
}

/// `GET /v1/transfers/{id}`
pub async fn get(
    State(transfers): State<Transfers>,
    principal: Principal,
    Id(transfer_id): Id<TransferId>,
) -> Result<Json<TransferResponse>, ApiError> {
    Ok(Json(transfers.get(&principal, transfer_id).await?.into()))
}

/// What would become of a transfer now.
#[derive(Serialize, ToSchema)]
pub struct PreviewResponse {
    allowed: bool,
    checks: Vec<CheckBody>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = String)]
    error: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = String)]
    message: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = String)]
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
                error: Some(rejection_code(rejection.reason).1),
                message: Some(rejection.message),
                retry_at: rejection.retry_at.map(text),
            },
            Preview::Failing(failure, checks) => Self {
                allowed: false,
                checks: CheckBody::list(&checks),
                error: Some(failure_code(failure.code).1),
                message: Some(failure.message),
                retry_at: None,
            },
        }
    }
}

/// `POST /v1/transfers/preview`
pub async fn preview(
    State(transfers): State<Transfers>,
    principal: Principal,
    headers: HeaderMap,
    Body(body): Body<CreateTransferBody>,
) -> Result<Json<PreviewResponse>, ApiError> {
    let request = body.into_preview(idempotency_header(&headers)?)?;
    Ok(Json(transfers.preview(&principal, request).await?.into()))
}
