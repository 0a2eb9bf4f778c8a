//! Every error that a client can see, and its code from the table in `code.rs`.

use std::any::Any;
use std::borrow::Cow;

use axum::Json;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde::Serialize;
use utoipa::ToSchema;

use super::code::Code;
use super::request_id::RequestId;
use purser_base::tasks::panic_message;
use purser_model::wire::CheckBody;
use purser_model::wire::schema::{Message, RequestIdText};
use purser_model::{
    Approval, Checks, FailureCode, Invalid, QuotaExceeded, RejectionReason, Timestamp, Transfer, TransferId,
    TransferState, TransferStatus,
};
use purser_service::{
    Forbidden, RequestConflict, Resource, STREAMS_PER_OPERATOR_MAX, ServiceError, Unauthorized,
};

/// An error before it has a body.
#[derive(Debug, Clone)]
pub enum ApiError {
    Service(ServiceError),
    /// A transfer that was rejected, failed or refused by a seller, with its checks.
    Transfer(Box<Unpaid>, Option<Checks>),
    BodyTooLarge,
    BodyTimeout,
    UnsupportedMediaType,
    /// A `Content-Encoding`, which we do not read.
    EncodedBody,
    RouteNotFound,
    MethodNotAllowed,
    /// Too many requests under one key: seconds until the next is taken.
    RateLimited {
        retry_after_seconds: u64,
    },
    /// Too many unknown keys are being tried: this one was not looked up.
    TooManyUnknownKeys,
    /// What an extension refuses by itself, in its words.
    OfExtension(Code, Cow<'static, str>),
    Timeout,
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
pub(crate) struct ErrorBody {
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
    pub(crate) fn into_body(self, id: RequestId) -> (ErrorBody, Option<u64>) {
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
    match error {
        ApiError::Service(error) => service_body(error),
        ApiError::Transfer(transfer, checks) => unpaid_body(&transfer, checks),
        ApiError::BodyTooLarge => ErrorBody::new(
            Code::PayloadTooLarge,
            format!("The body is over {} bytes.", super::BODY_BYTES_MAX),
        ),
        ApiError::BodyTimeout => ErrorBody::new(Code::RequestTimeout, "The body did not arrive in time."),
        ApiError::EncodedBody => ErrorBody::new(
            Code::UnsupportedMediaType,
            "The body has a `Content-Encoding`. Send it as it is, without that header.",
        ),
        ApiError::UnsupportedMediaType => ErrorBody::new(
            Code::UnsupportedMediaType,
            "Send the body as JSON with `Content-Type: application/json`.",
        ),
        ApiError::RouteNotFound => ErrorBody::new(Code::NotFound, "There is no such path."),
        ApiError::MethodNotAllowed => ErrorBody::new(
            Code::MethodNotAllowed,
            "The path does not take this method; see the `Allow` header.",
        ),
        ApiError::OfExtension(code, message) => ErrorBody::new(code, message),
        ApiError::RateLimited { .. } => {
            ErrorBody::new(Code::RateLimited, "Too many requests under this key; see `Retry-After`.")
        }
        ApiError::TooManyUnknownKeys => ErrorBody::new(
            Code::RateLimited,
            "Too many requests with unknown keys; this key was not looked up. See `Retry-After`.",
        ),
        ApiError::Timeout => ErrorBody::new(
            Code::Timeout,
            "The answer took too long. What was asked for may still be done; ask for its state, or repeat a transfer \
             under the same idempotency key.",
        ),
        ApiError::Panic => ErrorBody::new(Code::InternalError, INTERNAL),
    }
}

const INTERNAL: &str = "Something went wrong on our side; it has been logged under this request id.";

fn service_body(error: ServiceError) -> ErrorBody {
    match error {
        ServiceError::Invalid(invalid) => {
            ErrorBody::new(Code::InvalidRequest, invalid.to_string()).about(invalid.param())
        }
        ServiceError::Unauthorized(reason) => ErrorBody::new(
            Code::Unauthorized,
            match reason {
                Unauthorized::MissingKey => "Send an API key as `Authorization: Bearer <API_KEY>`.",
                Unauthorized::UnknownKey => "The API key is not valid.",
                Unauthorized::KeyOfOtherCell => {
                    "The API key is not valid here: by its beginning it belongs to another cell of the service."
                }
                Unauthorized::ExpiredKey => "The API key has expired.",
                Unauthorized::RevokedKey => "The API key has been revoked.",
            },
        ),
        ServiceError::Forbidden(reason) => ErrorBody::new(Code::Forbidden, forbidden(reason)),
        ServiceError::NotFound(Resource::Payer) => {
            ErrorBody::new(Code::NotFound, missing(Resource::Payer)).about("from")
        }
        ServiceError::NotFound(resource) => ErrorBody::new(Code::NotFound, missing(resource)),
        ServiceError::IdempotencyConflict(held) => {
            let named = held.map_or(String::new(), |id| format!(", {id}"));
            let body = ErrorBody::new(
                Code::IdempotencyConflict,
                format!(
                    "The idempotency key was used within the last 24 hours for a transfer with other parameters{named}."
                ),
            );
            ErrorBody { transfer_id: held, ..body }
        }
        ServiceError::LikelyDuplicate(earlier) => {
            let body = ErrorBody::new(
                Code::LikelyDuplicate,
                format!(
                    "This looks like {earlier}: the same payee, amount and memo under another idempotency key, in the last ten \
                     minutes or still under way. Nothing was paid now. If both are meant, send it again with `duplicate_of` set to \
                     that id."
                ),
            );
            ErrorBody { transfer_id: Some(earlier), ..body }
        }
        ServiceError::TooManyPending => ErrorBody::new(
            Code::TooManyPending,
            "Too many transfers of this account or operator are pending; nothing was claimed. Send the same request again \
             after `Retry-After`.",
        ),
        ServiceError::TooManyRefusals { .. } => ErrorBody::new(
            Code::TooManyRefusals,
            "This transfer would be refused, and this account or operator has had as many refusals in the last 24 \
             hours as it may have; nothing was claimed. `POST /v1/transfers/preview` says why; what can be paid is \
             still paid.",
        ),
        ServiceError::TooManyStreams => ErrorBody::new(
            Code::RateLimited,
            format!(
                "The operator has {STREAMS_PER_OPERATOR_MAX} streams of events open, and may have no more. Close one: several \
                 readers can share what one stream sends."
            ),
        ),
        ServiceError::KeyOfOtherAccount => ErrorBody::new(
            Code::IdempotencyConflict,
            "The idempotency key belongs to a transfer of another account: all accounts of an operator share its keys. \
             Use one that no other account uses, such as one that begins with your account's id.",
        ),
        ServiceError::RequestConflict(conflict) => ErrorBody::new(
            Code::IdempotencyConflict,
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
        ServiceError::RequestRunning => ErrorBody::new(
            Code::IdempotencyInProgress,
            "A request under this idempotency key is being carried out. Send the same again after `Retry-After` to have its \
             answer.",
        ),
        ServiceError::PolicyChanged => ErrorBody::new(
            Code::PolicyChanged,
            "The policy is at another version than this change was meant for; nothing was changed. Read the policy \
                 again, and decide by what it says now.",
        ),
        ServiceError::ApprovalClosed(status) => ErrorBody {
            status: Some(status),
            ..ErrorBody::new(
                Code::ApprovalClosed,
                format!("The transfer does not wait for approval: it is `{status}`. Nothing was done."),
            )
        },
        ServiceError::InvalidRecipient(message) => ErrorBody::new(Code::InvalidRecipient, message),
        ServiceError::TooManyReads => ErrorBody::new(
            Code::RateLimited,
            "The operator's keys together ask for more reads of the chain than they may. Nothing was done. Send the same \
             request again after `Retry-After`.",
        ),
        ServiceError::ChainUnavailable { retryable: true } => ErrorBody::new(
            Code::SolanaUnavailable,
            "Solana cannot be reached right now; nothing was done. Try again with backoff.",
        ),
        ServiceError::ChainUnavailable { retryable: false } => ErrorBody {
            retryable: Some(false),
            ..ErrorBody::new(
                Code::SolanaUnavailable,
                "Solana stopped answering before the result was known. Read the state before trying again.",
            )
        },
        ServiceError::StoreUnavailable => ErrorBody::new(
            Code::ServiceUnavailable,
            "The service cannot reach its database right now. Send a transfer again under the same idempotency key; \
                 read the state before anything else that writes is tried again.",
        ),
        ServiceError::AuthorityRotated => ErrorBody::new(
            Code::AuthorityRotated,
            "The operator's account no longer names the keys of this service; nothing was done. Try again once they agree.",
        ),
        ServiceError::FeePayerEmpty => ErrorBody::new(
            Code::FeePayerEmpty,
            "The service's wallet has too little SOL for this right now; nothing was done. Try again later.",
        ),
        ServiceError::SignerUnavailable => ErrorBody::new(
            Code::SignerUnavailable,
            "The service that keeps the signing key does not sign right now; nothing was done. Try again with backoff.",
        ),
        ServiceError::QuotaExceeded(exceeded) => {
            let (param, message) = match exceeded {
                QuotaExceeded::Accounts(most) => {
                    ("body", format!("The operator has {most} accounts and may not have more."))
                }
                QuotaExceeded::AllowlistEntries(most) => (
                    "allowed_counterparties",
                    format!(
                        "The operator may have {most} allowlist entries in all of its accounts; these are too many."
                    ),
                ),
            };
            ErrorBody::new(Code::QuotaExceeded, message).about(param)
        }
        ServiceError::NoTokenAccount(reason) => ErrorBody {
            approvable: Some(false),
            rent_lamports: FailureCode::RecipientHasNoTokenAccount.rent_lamports(),
            ..ErrorBody::new(Code::RecipientHasNoTokenAccount, reason.to_string())
        },
        ServiceError::NotConfigured => ErrorBody::new(
            Code::NotConfigured,
            "This service has no key for this: whoever operates it sets `webhooks.secret_key_file` for webhooks, \
             `denials.keypair` for signed refusals.",
        ),
        ServiceError::Unrecorded => ErrorBody::new(
            Code::ServiceUnavailable,
            "The service cannot write the audit record right now and changes nothing without it. Send the change again later.",
        ),
        ServiceError::TooManyActions { most, .. } => ErrorBody::new(
            Code::RateLimited,
            format!(
                "This key has made {most} changes in 24 hours, and may not make more. Nothing was done. Halts, pauses, \
                 revocations and rejections stay possible."
            ),
        ),
        ServiceError::TooManyRequests { .. } => ErrorBody::new(
            Code::RateLimited,
            "The key, or all keys of its operator, ask faster than they may. Send the same request again after `Retry-After`.",
        ),
        ServiceError::PauseHolds(cause) => {
            let body = service_body(*cause);
            let message = format!("The pause holds. The rest of the change failed: {}", body.message);
            ErrorBody { message: message.into(), retryable: Some(false), ..body }
        }
        ServiceError::Internal => ErrorBody::new(Code::InternalError, INTERNAL),
    }
}

fn forbidden(reason: Forbidden) -> Cow<'static, str> {
    match reason {
        Forbidden::OperatorKeyNeeded => "This needs an operator key; an agent key may not do it.".into(),
        Forbidden::OtherAccount => "An agent key is good for its own account only.".into(),
        Forbidden::OtherKey => {
            "A key revokes itself and the keys that it made; with the scope `admin` agents' keys too. Another one is revoked on \
             the service's own machine: `purser key revoke KEY_ID`."
                .into()
        }
        Forbidden::ScopeNeeded(scopes) => {
            let words: Vec<String> = scopes.list().map(|scope| format!("`{scope}`")).collect();
            match words.as_slice() {
                [] => "No key opens this.".into(),
                [scope] => format!("This needs the scope {scope}, which this key does not have.").into(),
                _ => format!(
                    "This needs one of the scopes {}, of which this key has none.",
                    words.join(", ")
                )
                .into(),
            }
        }
        Forbidden::MoreThanItself(field) => {
            format!("A key makes none that may do more than itself, and in `{field}` this one would.").into()
        }
        Forbidden::AdminNeeded => {
            "The operator has a loosening delay, under which only its admin raises or lifts an account's cap for 30 days, or has it \
             pay through another budget or none, with its own wallet. Nothing was changed."
                .into()
        }
        Forbidden::Halted => {
            "It is halted: what loosens something begins to wait after its operator's admin has resumed it. Nothing was changed."
                .into()
        }
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
        Resource::Approval => "There is no such approval: nobody was asked about such a transfer.",
        Resource::Key => "There is no such key.",
        Resource::Event => "There is no such event.",
        Resource::Webhook => "There is no such webhook.",
        Resource::PendingPolicy => "No policy is pending for this account.",
        Resource::Budget => "There is no such budget.",
        Resource::Grant => "There is no such grant of this account.",
        Resource::Session => "There is no such session, or it has ended.",
        Resource::Passkey => "There is no such passkey, or its key has ended.",
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
