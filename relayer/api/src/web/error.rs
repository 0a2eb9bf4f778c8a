//! Every error that a client can see, and its code from the table in `code.rs`.

use std::any::Any;
use std::borrow::Cow;

use axum::Json;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde::Serialize;
use utoipa::ToSchema;

use super::BODY_BYTES_MAX;
use super::code::Code;
use super::request_id::RequestId;
use purser_base::tasks::panic_message;
use purser_model::wire::CheckBody;
use purser_model::wire::schema::{Message, RequestIdText};
use purser_model::{
    Approval, Checks, FailureCode, Invalid, RejectionReason, Timestamp, Transfer, TransferId, TransferState,
    TransferStatus,
};
use purser_service::{INTERNAL, Resource, ServiceError};

/// An error before it has a body.
#[derive(Debug, Clone, thiserror::Error)]
pub enum ApiError {
    #[error(transparent)]
    Service(#[from] ServiceError),
    /// A transfer that was rejected, failed or refused by a seller, with its checks.
    #[error("The transfer {} was not paid.", .0.id)]
    Transfer(Box<Unpaid>, Option<Checks>),
    #[error("The body is over {BODY_BYTES_MAX} bytes.")]
    BodyTooLarge,
    #[error("The body did not arrive in time.")]
    BodyTimeout,
    #[error("Send the body as JSON with `Content-Type: application/json`.")]
    UnsupportedMediaType,
    #[error("The body has a `Content-Encoding`. Send it as it is, without that header.")]
    EncodedBody,
    #[error("There is no such path.")]
    RouteNotFound,
    #[error("The path does not take this method; see the `Allow` header.")]
    MethodNotAllowed,
    /// Seconds until the next is taken.
    #[error("Too many requests under this key; see `Retry-After`.")]
    RateLimited { retry_after_seconds: u64 },
    /// Too many are being tried.
    #[error("Too many requests with unknown keys; this key was not looked up. See `Retry-After`.")]
    TooManyUnknownKeys,
    /// What an extension refuses by itself, in its words.
    #[error("{1}")]
    OfExtension(Code, Cow<'static, str>),
    #[error(
        "The answer took too long. What was asked for may still be done; ask for its state, or repeat a transfer under the same \
         idempotency key."
    )]
    Timeout,
    #[error("{INTERNAL}")]
    Panic,
}

/// What is said of a transfer that was not paid.
#[derive(Debug, Clone)]
pub struct Unpaid {
    pub id: TransferId,
    pub state: TransferState,
    /// What a seller said who did not take its bytes.
    pub refusal: Option<String>,
    pub approval: Approval,
}

impl From<Transfer> for Unpaid {
    fn from(transfer: Transfer) -> Self {
        let Transfer { id, state, refusal, approval, .. } = transfer;
        Self { id, state, refusal, approval }
    }
}

impl From<Invalid> for ApiError {
    fn from(error: Invalid) -> Self {
        Self::Service(error.into())
    }
}

/// The code for a refusal by the policy.
pub const fn rejection_code(reason: RejectionReason) -> Code {
    if matches!(reason, RejectionReason::Halted | RejectionReason::Paused) {
        Code::AccountPaused
    } else {
        Code::PolicyViolation
    }
}

/// The code for a failure.
pub const fn failure_code(code: FailureCode) -> Code {
    match code {
        FailureCode::InsufficientBalance => Code::InsufficientBalance,
        FailureCode::AccountFrozen => Code::AccountFrozen,
        FailureCode::InvalidRecipient => Code::InvalidRecipient,
        FailureCode::RecipientHasNoTokenAccount => Code::RecipientHasNoTokenAccount,
        FailureCode::TransferFailed => Code::TransferFailed,
        FailureCode::PaymentRefused => Code::PaymentRefused,
        FailureCode::SolanaUnavailable | FailureCode::TransferExpired | FailureCode::Interrupted => {
            Code::SolanaUnavailable
        }
        FailureCode::ApprovalRejected | FailureCode::ApprovalWithdrawn => Code::ApprovalRejected,
        FailureCode::ApprovalExpired => Code::ApprovalExpired,
        FailureCode::ApprovalVoid => Code::ApprovalVoid,
        FailureCode::AuthorityRotated => Code::AuthorityRotated,
        FailureCode::FeePayerEmpty => Code::FeePayerEmpty,
        FailureCode::SignerUnavailable => Code::SignerUnavailable,
        FailureCode::AccountFull => Code::AccountFull,
    }
}

/// An error's body without the request's id, carried to the outermost layer in the response's extensions.
#[derive(Debug, Clone)]
pub(crate) struct ErrorAnswer(ErrorBody);

/// An error as it is answered.
#[derive(Debug, Clone, Serialize, ToSchema)]
#[schema(as = ErrorBody)]
pub struct ErrorBody {
    error: Code,
    #[schema(value_type = Message)]
    pub(crate) message: Cow<'static, str>,
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
    fn new(code: Code, message: impl Into<Cow<'static, str>>) -> Self {
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

    fn about(self, param: impl Into<String>) -> Self {
        Self { param: Some(param.into()), ..self }
    }
}

impl ApiError {
    /// The whole body for request `id`, and after how many seconds to try again.
    pub fn into_body(self, id: RequestId) -> (ErrorBody, Option<u64>) {
        let (body, retry_after) = self.answer();
        (ErrorBody { request_id: Some(id.to_string().into()), ..body }, retry_after)
    }

    /// For a page: the status, the message, and the parameter at fault.
    pub fn in_words(self) -> (StatusCode, Cow<'static, str>, Option<String>) {
        let body = body_of(self);
        (body.error.status(), body.message, body.param)
    }

    fn answer(self) -> (ErrorBody, Option<u64>) {
        let cause = match &self {
            Self::Service(ServiceError::PauseHolds(cause)) => Some(&**cause),
            Self::Service(cause) => Some(cause),
            _ => None,
        };
        let known = match (&self, cause) {
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

fn body_of(error: ApiError) -> ErrorBody {
    let message = error.to_string();
    let body = |code| ErrorBody::new(code, message);
    match error {
        ApiError::Service(error) => service_body(error),
        ApiError::Transfer(transfer, checks) => unpaid_body(&transfer, checks),
        ApiError::BodyTooLarge => body(Code::PayloadTooLarge),
        ApiError::BodyTimeout => body(Code::RequestTimeout),
        ApiError::EncodedBody | ApiError::UnsupportedMediaType => body(Code::UnsupportedMediaType),
        ApiError::RouteNotFound => body(Code::NotFound),
        ApiError::MethodNotAllowed => body(Code::MethodNotAllowed),
        ApiError::OfExtension(code, _) => body(code),
        ApiError::RateLimited { .. } | ApiError::TooManyUnknownKeys => body(Code::RateLimited),
        ApiError::Timeout => body(Code::Timeout),
        ApiError::Panic => body(Code::InternalError),
    }
}

fn service_body(error: ServiceError) -> ErrorBody {
    let message = error.to_string();
    let body = |code| ErrorBody::new(code, message.clone());
    match error {
        ServiceError::Invalid(invalid) => body(Code::InvalidRequest).about(invalid.param()),
        ServiceError::Unauthorized(_) => body(Code::Unauthorized),
        ServiceError::Forbidden(_) => body(Code::Forbidden),
        ServiceError::NotFound(Resource::Payer) => body(Code::NotFound).about("from"),
        ServiceError::NotFound(_) => body(Code::NotFound),
        ServiceError::IdempotencyConflict(held) => {
            ErrorBody { transfer_id: held, ..body(Code::IdempotencyConflict) }
        }
        ServiceError::LikelyDuplicate(earlier) => {
            ErrorBody { transfer_id: Some(earlier), ..body(Code::LikelyDuplicate) }
        }
        ServiceError::KeyOfOtherAccount | ServiceError::RequestConflict(_) => body(Code::IdempotencyConflict),
        ServiceError::RequestRunning => body(Code::IdempotencyInProgress),
        ServiceError::TooManyPending => body(Code::TooManyPending),
        ServiceError::TooManyRefusals { .. } => body(Code::TooManyRefusals),
        ServiceError::TooManyStreams(_)
        | ServiceError::TooManyReads
        | ServiceError::TooManyActions { .. }
        | ServiceError::TooManyRequests { .. } => body(Code::RateLimited),
        ServiceError::PolicyChanged => body(Code::PolicyChanged),
        ServiceError::ApprovalClosed(status) => {
            ErrorBody { status: Some(status), ..body(Code::ApprovalClosed) }
        }
        ServiceError::InvalidRecipient(_) => body(Code::InvalidRecipient),
        ServiceError::NoTokenAccount(_) => ErrorBody {
            approvable: Some(false),
            rent_lamports: FailureCode::RecipientHasNoTokenAccount.rent_lamports(),
            ..body(Code::RecipientHasNoTokenAccount)
        },
        ServiceError::ChainUnavailable { retryable: true } => body(Code::SolanaUnavailable),
        ServiceError::ChainUnavailable { retryable: false } => {
            ErrorBody { retryable: Some(false), ..body(Code::SolanaUnavailable) }
        }
        ServiceError::StoreUnavailable | ServiceError::Unrecorded => body(Code::ServiceUnavailable),
        ServiceError::AuthorityRotated => body(Code::AuthorityRotated),
        ServiceError::FeePayerEmpty => body(Code::FeePayerEmpty),
        ServiceError::SignerUnavailable => body(Code::SignerUnavailable),
        ServiceError::QuotaExceeded(exceeded) => body(Code::QuotaExceeded).about(exceeded.param()),
        ServiceError::NotConfigured => body(Code::NotConfigured),
        ServiceError::PauseHolds(cause) => {
            ErrorBody { message: message.into(), retryable: Some(false), ..service_body(*cause) }
        }
        ServiceError::Internal => body(Code::InternalError),
    }
}

/// What is said of a transfer whose bytes a seller refused, while they can still land.
pub fn refused_and_open(refusal: Option<&String>, state: &TransferState) -> Option<String> {
    let refusal = refusal.filter(|_| state.status() == TransferStatus::Submitted)?;
    Some(format!(
        "{refusal} It may still be paid until it expires, about a minute after it was signed: ask for the transfer."
    ))
}

fn unpaid_body(transfer: &Unpaid, checks: Option<Checks>) -> ErrorBody {
    let body = match &transfer.state {
        TransferState::Rejected(rejection) => ErrorBody {
            retry_at: rejection.retry_at,
            checks: Some(CheckBody::list(&rejection.checks)),
            approvable: transfer.approval.would_help(rejection).then_some(true),
            ..ErrorBody::new(rejection_code(rejection.reason), rejection.message.clone())
        },
        TransferState::Failed(failed) => {
            let body = ErrorBody::new(failure_code(failed.code), failed.message.clone());
            let checks = checks.filter(|_| body.error.status() == StatusCode::PAYMENT_REQUIRED);
            let checks = checks.as_ref().map(CheckBody::list);
            let rent_lamports = failed.code.rent_lamports();
            ErrorBody {
                checks,
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
        | TransferState::Settled(_) => match refused_and_open(transfer.refusal.as_ref(), &transfer.state) {
            Some(message) => ErrorBody::new(Code::PaymentRefused, message),
            None => ErrorBody::new(Code::InternalError, INTERNAL),
        },
    };
    ErrorBody { transfer_id: Some(transfer.id), status: Some(transfer.state.status()), ..body }
}
