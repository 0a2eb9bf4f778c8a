//! Every error that a client can see. The only place with status codes and error strings; `docs/errors.md` is its table.

use std::borrow::Cow;

use axum::Json;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde::Serialize;

use super::request_id::RequestId;
use super::v1::checks::CheckBody;
use crate::domain::{Checks, FailureCode, Invalid, QuotaExceeded, RejectionReason, Transfer, TransferState};
use crate::service::{
    Forbidden, RequestConflict, Resource, STREAMS_PER_OPERATOR_MAX, ServiceError, Unauthorized,
};

/// Seconds after which a client may try again when the chain does not answer, and when somebody has to send SOL or name keys.
const RETRY_AFTER_SECONDS: u64 = 2;
const RETRY_AFTER_MENDING_SECONDS: u64 = 30;

/// An error before it has a body.
#[derive(Debug, Clone)]
pub enum ApiError {
    Service(ServiceError),
    /// A transfer that was rejected or failed, with the checks that were made.
    Transfer(Box<Transfer>, Option<Checks>),
    BodyTooLarge,
    /// The request line or a header is not HTTP.
    MalformedHead,
    /// Request line and headers are longer, or more, than are read.
    HeadTooLarge,
    BodyTimeout,
    UnsupportedMediaType,
    RouteNotFound,
    MethodNotAllowed,
    /// Too many requests under one key: seconds until the next is taken.
    RateLimited {
        retry_after_seconds: u64,
    },
    /// Too many keys that are not known: this one was not looked up.
    TooManyUnknownKeys,
    /// An operator key where only agents are served.
    AgentKeyNeeded,
    /// A session that this key did not open.
    SessionUnknown,
    Timeout,
    Panic,
}

impl From<ServiceError> for ApiError {
    fn from(error: ServiceError) -> Self {
        Self::Service(error)
    }
}

impl From<Invalid> for ApiError {
    fn from(error: Invalid) -> Self {
        Self::Service(error.into())
    }
}

/// A status and an error code.
type Code = (StatusCode, &'static str);

const INVALID_REQUEST: Code = (StatusCode::BAD_REQUEST, "invalid_request");
const UNAUTHORIZED: Code = (StatusCode::UNAUTHORIZED, "unauthorized");
const POLICY_VIOLATION: Code = (StatusCode::PAYMENT_REQUIRED, "policy_violation");
const ACCOUNT_PAUSED: Code = (StatusCode::PAYMENT_REQUIRED, "account_paused");
const INSUFFICIENT_BALANCE: Code = (StatusCode::PAYMENT_REQUIRED, "insufficient_balance");
const ACCOUNT_FROZEN: Code = (StatusCode::PAYMENT_REQUIRED, "account_frozen");
const FORBIDDEN: Code = (StatusCode::FORBIDDEN, "forbidden");
const NOT_FOUND: Code = (StatusCode::NOT_FOUND, "not_found");
const METHOD_NOT_ALLOWED: Code = (StatusCode::METHOD_NOT_ALLOWED, "method_not_allowed");
const REQUEST_TIMEOUT: Code = (StatusCode::REQUEST_TIMEOUT, "request_timeout");
const IDEMPOTENCY_CONFLICT: Code = (StatusCode::CONFLICT, "idempotency_conflict");
const IDEMPOTENCY_IN_PROGRESS: Code = (StatusCode::CONFLICT, "idempotency_in_progress");
const POLICY_CHANGED: Code = (StatusCode::CONFLICT, "policy_changed");
const PAYLOAD_TOO_LARGE: Code = (StatusCode::PAYLOAD_TOO_LARGE, "payload_too_large");
const HEADERS_TOO_LARGE: Code = (StatusCode::REQUEST_HEADER_FIELDS_TOO_LARGE, "headers_too_large");
const UNSUPPORTED_MEDIA_TYPE: Code = (StatusCode::UNSUPPORTED_MEDIA_TYPE, "unsupported_media_type");
const INVALID_RECIPIENT: Code = (StatusCode::UNPROCESSABLE_ENTITY, "invalid_recipient");
const RATE_LIMITED: Code = (StatusCode::TOO_MANY_REQUESTS, "rate_limited");
const TOO_MANY_PENDING: Code = (StatusCode::TOO_MANY_REQUESTS, "too_many_pending");
const INTERNAL_ERROR: Code = (StatusCode::INTERNAL_SERVER_ERROR, "internal_error");
const TRANSFER_FAILED: Code = (StatusCode::BAD_GATEWAY, "transfer_failed");
const SOLANA_UNAVAILABLE: Code = (StatusCode::SERVICE_UNAVAILABLE, "solana_unavailable");
const SERVICE_UNAVAILABLE: Code = (StatusCode::SERVICE_UNAVAILABLE, "service_unavailable");
const AUTHORITY_ROTATED: Code = (StatusCode::SERVICE_UNAVAILABLE, "authority_rotated");
const FEE_PAYER_EMPTY: Code = (StatusCode::SERVICE_UNAVAILABLE, "fee_payer_empty");
const QUOTA_EXCEEDED: Code = (StatusCode::BAD_REQUEST, "quota_exceeded");
const NOT_CONFIGURED: Code = (StatusCode::NOT_IMPLEMENTED, "not_configured");
const TIMEOUT: Code = (StatusCode::GATEWAY_TIMEOUT, "timeout");

/// The status and code of a policy's refusal.
pub fn rejection_code(reason: RejectionReason) -> Code {
    match reason {
        RejectionReason::Halted | RejectionReason::Paused => ACCOUNT_PAUSED,
        RejectionReason::MemoRequired
        | RejectionReason::MemoTooLong
        | RejectionReason::RecipientNotAllowed
        | RejectionReason::SingleLimitExceeded
        | RejectionReason::DailyLimitExceeded => POLICY_VIOLATION,
    }
}

/// The status and code of a failure.
pub fn failure_code(code: FailureCode) -> Code {
    match code {
        FailureCode::InsufficientBalance => INSUFFICIENT_BALANCE,
        FailureCode::AccountFrozen => ACCOUNT_FROZEN,
        FailureCode::InvalidRecipient => INVALID_RECIPIENT,
        FailureCode::SolanaUnavailable | FailureCode::TransferExpired | FailureCode::Interrupted => {
            SOLANA_UNAVAILABLE
        }
        FailureCode::TransferFailed => TRANSFER_FAILED,
        FailureCode::AuthorityRotated => AUTHORITY_ROTATED,
        FailureCode::FeePayerEmpty => FEE_PAYER_EMPTY,
    }
}

/// Whether the same request under the same key may simply be sent again.
fn failure_is_transient(code: FailureCode) -> bool {
    match code {
        FailureCode::SolanaUnavailable
        | FailureCode::TransferExpired
        | FailureCode::Interrupted
        | FailureCode::AuthorityRotated
        | FailureCode::FeePayerEmpty => true,
        FailureCode::InsufficientBalance
        | FailureCode::AccountFrozen
        | FailureCode::InvalidRecipient
        | FailureCode::TransferFailed => false,
    }
}

/// An error's body but for the request's id, carried to the outermost layer in the response's extensions.
#[derive(Debug, Clone)]
pub(super) struct ErrorAnswer(ErrorBody);

/// An error as it is answered.

#[derive(Debug, Clone, Serialize)]
pub(crate) struct ErrorBody {
    error: &'static str,
    pub(crate) message: Cow<'static, str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    request_id: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    param: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    transfer_id: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    status: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    retryable: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    retry_at: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    checks: Option<Vec<CheckBody>>,
}

impl ErrorAnswer {
    pub(super) fn of(error: ApiError) -> Self {
        Self(body_of(error).1)
    }

    /// The body alone.
    pub(super) fn into_json(self, id: RequestId) -> Vec<u8> {
        // Texts, numbers and flags always have a JSON form.
        serde_json::to_vec(&ErrorBody { request_id: Some(id.to_string()), ..self.0 }).unwrap_or_default()
    }

    /// The response with its body, now that the request's id is known.
    pub(super) fn into_response(self, id: RequestId, answered: Response) -> Response {
        let (parts, _) = answered.into_parts();
        let mut response =
            (parts.status, Json(ErrorBody { request_id: Some(id.to_string()), ..self.0 })).into_response();
        for (name, value) in &parts.headers {
            if name != header::CONTENT_TYPE && name != header::CONTENT_LENGTH {
                response.headers_mut().append(name, value.clone());
            }
        }
        response
    }
}

impl ErrorBody {
    fn new(code: Code, message: impl Into<Cow<'static, str>>) -> (StatusCode, Self) {
        let body = Self {
            error: code.1,
            message: message.into(),
            request_id: None,
            param: None,
            transfer_id: None,
            status: None,
            retryable: None,
            retry_at: None,
            checks: None,
        };
        (code.0, body)
    }
}

impl ApiError {
    /// The whole body as the answer to request `id` has it, and after how many seconds to try again.
    pub(crate) fn told(self, id: RequestId) -> (ErrorBody, Option<u64>) {
        let (_, body, retry_after) = self.answer();
        (ErrorBody { request_id: Some(id.to_string()), ..body }, retry_after)
    }

    fn answer(self) -> (StatusCode, ErrorBody, Option<u64>) {
        let retry_after = match &self {
            Self::RateLimited { retry_after_seconds } => Some(*retry_after_seconds),
            Self::Service(
                ServiceError::TooManyPending | ServiceError::TooManyStreams | ServiceError::RequestRunning,
            ) => Some(RETRY_AFTER_SECONDS),
            Self::TooManyUnknownKeys => Some(1),
            _ => None,
        };
        let (status, body) = body_of(self);
        let retry_after = match status {
            StatusCode::SERVICE_UNAVAILABLE => Some(match body.error {
                code if code == AUTHORITY_ROTATED.1 || code == FEE_PAYER_EMPTY.1 => {
                    RETRY_AFTER_MENDING_SECONDS
                }
                _ => RETRY_AFTER_SECONDS,
            }),
            _ => retry_after,
        };
        (status, body, retry_after)
    }
}

impl IntoResponse for ApiError {
    fn into_response(self) -> Response {
        let unauthorized = matches!(self, Self::Service(ServiceError::Unauthorized(_)));
        let (status, body, retry_after) = self.answer();
        let mut response = status.into_response();
        if unauthorized {
            let challenge = HeaderValue::from_static("Bearer");
            response.headers_mut().insert(header::WWW_AUTHENTICATE, challenge);
        }
        if let Some(seconds) = retry_after {
            response.headers_mut().insert(header::RETRY_AFTER, HeaderValue::from(seconds));
        }
        if matches!(status, StatusCode::REQUEST_TIMEOUT) {
            // Half a body is still to come.
            response.headers_mut().insert(header::CONNECTION, HeaderValue::from_static("close"));
        }
        response.extensions_mut().insert(ErrorAnswer(body));
        response
    }
}

fn body_of(error: ApiError) -> (StatusCode, ErrorBody) {
    match error {
        ApiError::Service(error) => service_body(error),
        ApiError::Transfer(transfer, checks) => transfer_body(&transfer, checks),
        ApiError::BodyTooLarge => {
            ErrorBody::new(PAYLOAD_TOO_LARGE, format!("The body is over {} bytes.", super::BODY_BYTES_MAX))
        }
        ApiError::MalformedHead => {
            service_body(Invalid::new("head", "is not HTTP: see the request line and the headers").into())
        }
        ApiError::HeadTooLarge => ErrorBody::new(
            HEADERS_TOO_LARGE,
            format!(
                "Request line and headers may have {} bytes and {} headers in all.",
                super::HEAD_BYTES_MAX,
                super::HEADERS_MAX
            ),
        ),
        ApiError::BodyTimeout => ErrorBody::new(REQUEST_TIMEOUT, "The body did not arrive in time."),
        ApiError::UnsupportedMediaType => ErrorBody::new(
            UNSUPPORTED_MEDIA_TYPE,
            "Send the body as JSON with `Content-Type: application/json`.",
        ),
        ApiError::RouteNotFound => ErrorBody::new(NOT_FOUND, "There is no such path."),
        ApiError::MethodNotAllowed => {
            ErrorBody::new(METHOD_NOT_ALLOWED, "The path does not take this method; see the `Allow` header.")
        }
        ApiError::AgentKeyNeeded => ErrorBody::new(
            FORBIDDEN,
            "This is the door of agents: it needs an agent key, which names the account that pays. Make one with \
             `POST /v1/accounts/:id/keys`; an operator key is for REST.",
        ),
        ApiError::SessionUnknown => ErrorBody::new(
            NOT_FOUND,
            "This key has opened no such session. Send `initialize` again, and go on with what its answer names.",
        ),
        ApiError::RateLimited { .. } => {
            retryable(ErrorBody::new(RATE_LIMITED, "Too many requests under this key; see `Retry-After`."))
        }
        ApiError::TooManyUnknownKeys => retryable(ErrorBody::new(
            RATE_LIMITED,
            "Too many requests with keys that are not known; this key was not looked up. See `Retry-After`.",
        )),
        ApiError::Timeout => ErrorBody::new(
            TIMEOUT,
            "The answer took too long. What was asked for may still be done; ask for its state, or repeat a transfer \
             under the same idempotency key.",
        ),
        ApiError::Panic => ErrorBody::new(INTERNAL_ERROR, INTERNAL),
    }
}

const INTERNAL: &str = "Something went wrong on our side; it has been logged under this request id.";

fn service_body(error: ServiceError) -> (StatusCode, ErrorBody) {
    match error {
        ServiceError::Invalid(invalid) => {
            let (status, body) = ErrorBody::new(INVALID_REQUEST, invalid.to_string());
            (status, ErrorBody { param: Some(invalid.param().to_owned()), ..body })
        }
        ServiceError::Unauthorized(reason) => ErrorBody::new(
            UNAUTHORIZED,
            match reason {
                Unauthorized::MissingKey => "Send an API key as `Authorization: Bearer <API_KEY>`.",
                Unauthorized::UnknownKey => "The API key is not valid.",
                Unauthorized::ExpiredKey => "The API key has expired.",
                Unauthorized::RevokedKey => "The API key has been revoked.",
            },
        ),
        ServiceError::Forbidden(reason) => ErrorBody::new(FORBIDDEN, forbidden(reason)),
        ServiceError::NotFound(resource) => {
            let (status, body) = ErrorBody::new(NOT_FOUND, missing(resource));
            let param = matches!(resource, Resource::Payer).then(|| "from".to_owned());
            (status, ErrorBody { param, ..body })
        }
        ServiceError::IdempotencyConflict => ErrorBody::new(
            IDEMPOTENCY_CONFLICT,
            "The idempotency key was used within the last 24 hours for a transfer with other parameters.",
        ),
        ServiceError::TooManyPending => retryable(ErrorBody::new(
            TOO_MANY_PENDING,
            "Too many transfers of this account or operator are pending; nothing was claimed. Send the same request again \
             after `Retry-After`.",
        )),
        ServiceError::TooManyStreams => retryable(ErrorBody::new(
            RATE_LIMITED,
            format!(
                "The operator has {STREAMS_PER_OPERATOR_MAX} streams of events open, and may have no more. Close one: several \
                 readers can share what one stream tells."
            ),
        )),
        ServiceError::KeyOfOtherAccount => ErrorBody::new(
            IDEMPOTENCY_CONFLICT,
            "The idempotency key belongs to a transfer of another account: all accounts of an operator share its keys. \
             Use one that no other account uses, such as one that begins with your account's id.",
        ),
        ServiceError::RequestConflict(conflict) => ErrorBody::new(
            IDEMPOTENCY_CONFLICT,
            match conflict {
                RequestConflict::OtherRequest => {
                    "The idempotency key was used within the last 24 hours for another request: another path, or a body \
                     that is not the same byte by byte. Use a new one."
                }
                RequestConflict::OtherApiKey => {
                    "The idempotency key was used with another API key, and no other is answered: the answer shows a secret, \
                     or is still to be made. Use that API key, or a new idempotency key."
                }
            },
        ),
        ServiceError::RequestRunning => retryable(ErrorBody::new(
            IDEMPOTENCY_IN_PROGRESS,
            "A request under this idempotency key is being carried out. Send the same again after `Retry-After` to have its \
             answer.",
        )),
        ServiceError::PolicyChanged => {
            let (status, body) = ErrorBody::new(
                POLICY_CHANGED,
                "The policy is at another version than this change was meant for; nothing was changed. Read the policy \
                 again, and decide by what it says now.",
            );
            (status, ErrorBody { retryable: Some(false), ..body })
        }
        ServiceError::InvalidRecipient(message) => ErrorBody::new(INVALID_RECIPIENT, message),
        ServiceError::ChainUnavailable { retryable } => {
            let (status, body) = ErrorBody::new(
                SOLANA_UNAVAILABLE,
                if retryable {
                    "Solana cannot be reached right now; nothing was done. Try again with backoff."
                } else {
                    "Solana stopped answering before the result was known. Read the state before trying again."
                },
            );
            (status, ErrorBody { retryable: Some(retryable), ..body })
        }
        ServiceError::StoreUnavailable => {
            let (status, body) = ErrorBody::new(
                SERVICE_UNAVAILABLE,
                "The service cannot reach its database right now. Send a transfer again under the same idempotency key; \
                 read the state before anything else that writes is tried again.",
            );
            (status, ErrorBody { retryable: Some(false), ..body })
        }
        ServiceError::AuthorityRotated => retryable(ErrorBody::new(
            AUTHORITY_ROTATED,
            "The operator's account no longer names the keys of this service; nothing was done. Try again once they agree.",
        )),
        ServiceError::FeePayerEmpty => retryable(ErrorBody::new(
            FEE_PAYER_EMPTY,
            "The service's wallet has too little SOL for this right now; nothing was done. Try again later.",
        )),
        ServiceError::QuotaExceeded(exceeded) => {
            let (param, message) = match exceeded {
                QuotaExceeded::Accounts(most) => {
                    ("body", format!("The operator may have {most} accounts, and has them."))
                }
                QuotaExceeded::AllowlistEntries(most) => (
                    "allowed_counterparties",
                    format!(
                        "The operator may have {most} allowlist entries in all of its accounts; these are too many."
                    ),
                ),
            };
            let (status, body) = ErrorBody::new(QUOTA_EXCEEDED, message);
            (status, ErrorBody { param: Some(param.to_owned()), ..body })
        }
        ServiceError::NotConfigured => ErrorBody::new(
            NOT_CONFIGURED,
            "This service has no key to keep webhook secrets with: its operation sets `webhooks.secret_key_file`.",
        ),
        ServiceError::Internal => ErrorBody::new(INTERNAL_ERROR, INTERNAL),
    }
}

fn forbidden(reason: Forbidden) -> Cow<'static, str> {
    match reason {
        Forbidden::OperatorKeyNeeded => "This needs an operator key; an agent key may not do it.".into(),
        Forbidden::OtherAccount => "An agent key is good for its own account only.".into(),
        Forbidden::OtherAddress(Some(address)) => {
            format!("This key may be used from its `allowed_cidrs` only; the request came from {address}.").into()
        }
        Forbidden::OtherAddress(None) => {
            "This key may be used from its `allowed_cidrs` only, and the address that the request came from is not known."
                .into()
        }
    }
}

const fn missing(resource: Resource) -> &'static str {
    match resource {
        Resource::Account => "There is no such account.",
        Resource::Payer => "There is no such account to pay from.",
        Resource::Transfer => "There is no such transfer.",
        Resource::Key => "There is no such key.",
        Resource::Event => "There is no such event.",
        Resource::Webhook => "There is no such webhook.",
        Resource::PendingPolicy => "No policy waits for this account.",
    }
}

fn transfer_body(transfer: &Transfer, checks: Option<Checks>) -> (StatusCode, ErrorBody) {
    let (status, body) = match &transfer.state {
        TransferState::Rejected(rejection) => {
            let (status, body) = ErrorBody::new(rejection_code(rejection.reason), rejection.message.clone());
            let retry_at = rejection.retry_at.map(|at| at.to_string());
            let checks = Some(CheckBody::list(&rejection.checks));
            (status, ErrorBody { retryable: Some(false), retry_at, checks, ..body })
        }
        TransferState::Failed(failure) => {
            let (status, body) = ErrorBody::new(failure_code(failure.code), failure.message.clone());
            let checks = checks.filter(|_| status == StatusCode::PAYMENT_REQUIRED);
            let checks = checks.as_ref().map(CheckBody::list);
            (status, ErrorBody { retryable: Some(failure_is_transient(failure.code)), checks, ..body })
        }
        // Answered as transfers; see `v1::transfers`.
        TransferState::Claimed
        | TransferState::Signed(_)
        | TransferState::Sent { .. }
        | TransferState::Settled(_) => ErrorBody::new(INTERNAL_ERROR, INTERNAL),
    };
    let ended_as = Some(transfer.state.status().as_str());
    (status, ErrorBody { transfer_id: Some(transfer.id.to_string()), status: ended_as, ..body })
}

fn retryable((status, body): (StatusCode, ErrorBody)) -> (StatusCode, ErrorBody) {
    (status, ErrorBody { retryable: Some(true), ..body })
}
