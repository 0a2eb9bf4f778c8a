//! How an error is answered: its body, `Retry-After`, and what else its cause knows.

use std::any::Any;

use axum::Json;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde::Serialize;
use utoipa::ToSchema;

use super::error::{ApiError, Code};
use super::request_id::RequestId;
use super::unpaid::{Unpaid, refused_and_open};
use purser_base::tasks::panic_message;
use purser_model::wire::CheckBody;
use purser_model::wire::schema::{Message, RequestIdText};
use purser_model::{FailureCode, Timestamp, TransferId, TransferState, TransferStatus};
use purser_service::{INTERNAL, Resource, ServiceError};

/// An error's body without the request's id, carried to the outermost layer in the response's extensions.
#[derive(Debug, Clone)]
pub(crate) struct ErrorAnswer(ErrorBody);

/// An error as it is answered.
#[derive(Debug, Clone, Serialize, ToSchema)]
#[schema(as = ErrorBody)]
pub struct ErrorBody {
    error: Code,
    pub(crate) message: Message,
    /// As in the header `X-Request-Id`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(required, nullable = false)]
    request_id: Option<RequestIdText>,
    /// What is wrong, by its path: `policy.paused`, `allowed_counterparties[3]`. `body` is the body as a whole.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false, max_length = 65536)]
    param: Option<String>,
    /// The transfer that ended so, that the idempotency key stands for, or that this one looks like.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    transfer_id: Option<TransferId>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    status: Option<TransferStatus>,
    /// `true`: nothing was done, and the same request may simply be sent again, a transfer under the same key.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    retryable: Option<bool>,
    /// When the rolling window has room for the amount, or the account for one more payment, if nothing else is paid.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    retry_at: Option<Timestamp>,
    /// `true`: a person can approve it, if it is sent again under the same idempotency key with `"approval": "request"`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    approvable: Option<bool>,
    /// The rent of a USDC token account, if the wallet has none.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    rent_lamports: Option<u64>,
    /// What every rule said, in the order in which they win.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false, max_items = 16)]
    checks: Option<Vec<CheckBody>>,
}

impl ErrorAnswer {
    /// The response with its body, now that the request's id is known.
    pub(crate) fn into_response(self, id: RequestId, answered: Response) -> Response {
        let (parts, _) = answered.into_parts();
        let mut response =
            (parts.status, Json(ErrorBody { request_id: Some(id.to_string().into()), ..self.0 }))
                .into_response();
        for (name, value) in &parts.headers {
            if name != header::CONTENT_TYPE && name != header::CONTENT_LENGTH {
                response.headers_mut().append(name, value.clone());
            }
        }
        response
    }
}

impl ErrorBody {
    fn new(code: Code, message: impl Into<Message>) -> Self {
        Self {
            error: code,
            message: message.into(),
            request_id: None,
            param: None,
            transfer_id: None,
            status: None,
            retryable: code.retryable().0,
            retry_at: None,
            approvable: None,
            rent_lamports: None,
            checks: None,
        }
    }
}

impl ApiError {
    /// The whole body for request `id`, and after how many seconds to try again.
    pub fn into_body(self, id: RequestId) -> (ErrorBody, Option<u64>) {
        let (body, retry_after) = self.answer();
        (ErrorBody { request_id: Some(id.to_string().into()), ..body }, retry_after)
    }

    /// For a page: the status, the message, and the parameter at fault.
    pub fn in_words(self) -> (StatusCode, String, Option<String>) {
        let body = body_of(&self);
        (body.error.status(), body.message.0, body.param)
    }

    fn answer(&self) -> (ErrorBody, Option<u64>) {
        let cause = match self {
            Self::Service(ServiceError::PauseHolds(cause)) => Some(&**cause),
            Self::Service(cause) => Some(cause),
            _ => None,
        };
        let known = match (self, cause) {
            (Self::RateLimited { retry_after_seconds }, _)
            | (
                _,
                Some(
                    ServiceError::TooManyRefusals { retry_after_seconds }
                    | ServiceError::TooManyRequests { retry_after_seconds }
                    | ServiceError::TooManyActions { retry_after_seconds, .. },
                ),
            ) => Some(*retry_after_seconds),
            (Self::TooManyUnknownKeys, _) => Some(1),
            _ => None,
        };
        let body = body_of(self);
        let retry_after = known.or(body.error.retryable().1);
        (body, retry_after)
    }
}

impl IntoResponse for ApiError {
    fn into_response(self) -> Response {
        let unauthorized = matches!(self, Self::Service(ServiceError::Unauthorized(_)));
        let (body, retry_after) = self.answer();
        let mut response = body.error.status().into_response();
        if unauthorized {
            let challenge = HeaderValue::from_static("Bearer");
            response.headers_mut().insert(header::WWW_AUTHENTICATE, challenge);
        }
        if let Some(seconds) = retry_after {
            response.headers_mut().insert(header::RETRY_AFTER, HeaderValue::from(seconds));
        }
        response.extensions_mut().insert(ErrorAnswer(body));
        response
    }
}

/// The answer to a request whose work panicked.
pub(crate) fn after_panic(panic: Box<dyn Any + Send + 'static>) -> Response {
    tracing::error!(panic = panic_message(&*panic), "a request panicked");
    ApiError::Panic.into_response()
}

fn body_of(error: &ApiError) -> ErrorBody {
    let body = ErrorBody::new(error.code(), error.to_string());
    match error {
        ApiError::Service(error) => service_body(error, body),
        ApiError::Transfer(transfer) => unpaid_body(transfer, body),
        ApiError::BodyTooLarge
        | ApiError::BodyTimeout
        | ApiError::EncodedBody
        | ApiError::UnsupportedMediaType
        | ApiError::RouteNotFound
        | ApiError::MethodNotAllowed
        | ApiError::OfExtension(..)
        | ApiError::RateLimited { .. }
        | ApiError::TooManyUnknownKeys
        | ApiError::Timeout
        | ApiError::Panic => body,
    }
}

/// The body with what its cause knows beside code and sentence.
fn service_body(error: &ServiceError, mut body: ErrorBody) -> ErrorBody {
    if let ServiceError::PauseHolds(cause) = error {
        return ErrorBody { retryable: Some(false), ..service_body(cause, body) };
    }
    if let ServiceError::Invalid(invalid) = error {
        body.param = Some(invalid.param().to_owned());
    }
    if let ServiceError::QuotaExceeded(exceeded) = error {
        body.param = Some(exceeded.param().to_owned());
    }
    if let ServiceError::NotFound(Resource::Payer) = error {
        body.param = Some("from".to_owned());
    }
    if let ServiceError::IdempotencyConflict(held) = error {
        body.transfer_id = *held;
    }
    if let ServiceError::LikelyDuplicate(earlier) = error {
        body.transfer_id = Some(*earlier);
    }
    if let ServiceError::ApprovalClosed(status) = error {
        body.status = Some(*status);
    }
    if let ServiceError::ChainUnavailable { retryable: false } = error {
        body.retryable = Some(false);
    }
    if let ServiceError::NoTokenAccount(_) = error {
        body.rent_lamports = FailureCode::RecipientHasNoTokenAccount.rent_lamports();
        // No person can approve rent away.
        body.approvable = Some(false);
    }
    body
}

fn unpaid_body(transfer: &Unpaid, body: ErrorBody) -> ErrorBody {
    let body = match &transfer.state {
        TransferState::Rejected(rejection) => ErrorBody {
            message: rejection.message.clone().into(),
            retry_at: rejection.retry_at,
            checks: Some(CheckBody::list(&rejection.checks)),
            approvable: transfer.approval.would_help(rejection).then_some(true),
            ..body
        },
        TransferState::Failed(failed) => {
            let is_of_payment = body.error.status() == StatusCode::PAYMENT_REQUIRED;
            let rent_lamports = failed.code.rent_lamports();
            ErrorBody {
                message: failed.message.clone().into(),
                checks: transfer.checks.as_ref().filter(|_| is_of_payment).map(CheckBody::list),
                retryable: body.retryable.or(Some(false)),
                retry_at: failed.retry_at,
                // No person can approve rent away.
                approvable: rent_lamports.map(|_| false),
                rent_lamports,
                ..body
            }
        }
        // The others are answered as transfers; see `TransferResponse`.
        TransferState::Claimed
        | TransferState::PendingApproval(_)
        | TransferState::Signed(_)
        | TransferState::Sent { .. }
        | TransferState::Settled(_) => {
            let refused = refused_and_open(transfer.refusal.as_ref(), &transfer.state);
            ErrorBody { message: refused.map_or(INTERNAL.into(), Into::into), ..body }
        }
    };
    ErrorBody { transfer_id: Some(transfer.id), status: Some(transfer.state.status()), ..body }
}
