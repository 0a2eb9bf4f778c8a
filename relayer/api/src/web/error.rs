//! Every error that a client can see: what it comes from, and its code with status, text, whether to send again, when it is
//! answered and what to do about it. `docs/build/errors.md` has the details. A code that is missing here cannot be answered.

use std::borrow::Cow;

use axum::http::StatusCode;
use serde::{Serialize, Serializer};

use super::BODY_BYTES_MAX;
use super::unpaid::{EXAMPLE_AT, Unpaid, example_transfer, failed, refused_and_open, rejected};
use purser_model::wire::schema::{one_of, written};
use purser_model::{
    CheckedRule, FailureCode, Invalid, QuotaExceeded, RejectionReason, Timestamp, TransferState,
    TransferStatus,
};
use purser_service::{Forbidden, INTERNAL, Resource, ServiceError, Unauthorized};

macro_rules! codes {
    ($($name:ident $status:ident $text:literal $(retryable $retryable:literal $(after $seconds:literal)?)?
        $when:literal $what_to_do:literal => $example:expr;)*) => {
        /// An error code.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
        pub enum Code {
            $(#[doc = $when] $name,)*
        }

        impl Code {
            pub const ALL: &'static [Self] = &[$(Self::$name,)*];

            /// The HTTP status that it comes with.
            pub const fn status(self) -> StatusCode {
                match self {
                    $(Self::$name => StatusCode::$status,)*
                }
            }

            /// As it stands in `error`.
            pub const fn as_str(self) -> &'static str {
                match self {
                    $(Self::$name => $text,)*
                }
            }

            /// `retryable`, and the seconds of `Retry-After`, unless the error itself knows better. Longer where somebody has to
            /// send SOL or name keys. `None`: the answer has none.
            pub const fn retryable(self) -> (Option<bool>, Option<u64>) {
                let (retryable, after): (&[bool], &[u64]) = match self {
                    $(Self::$name => (&[$($retryable)?], &[$($($seconds)?)?]),)*
                };
                (retryable.first().copied(), after.first().copied())
            }

            /// When it is answered, and what to do about it.
            pub const fn description(self) -> (&'static str, &'static str) {
                match self {
                    $(Self::$name => ($when, $what_to_do),)*
                }
            }

            /// An error that is answered with it, for the OpenAPI document.
            pub(crate) fn example(self) -> ApiError {
                match self {
                    $(Self::$name => ApiError::from($example),)*
                }
            }
        }
    };
}

codes! {
    InvalidRequest BAD_REQUEST "invalid_request"
        "The request does not have the form described here."
        "Correct what `param` names. Nothing was done, and no idempotency key was used up."
        => Invalid::new("amount", "must be at least 0.000001");
    QuotaExceeded BAD_REQUEST "quota_exceeded"
        "The operator has as many accounts or allowlist entries as it may have."
        "Close accounts, shorten lists, or ask whoever operates the service."
        => ServiceError::QuotaExceeded(QuotaExceeded::Accounts(10_000));
    Unauthorized UNAUTHORIZED "unauthorized"
        "There is no key, or it is unknown, expired or revoked."
        "Send a valid key as `Authorization: Bearer <API_KEY>`."
        => ServiceError::Unauthorized(Unauthorized::UnknownKey);
    PolicyViolation PAYMENT_REQUIRED "policy_violation" retryable false
        "The account's policy refuses the transfer. Nothing was sent."
        "See `checks`. Change the request, wait until `retry_at`, or have the operator change the policy; then use a new \
         idempotency key."
        => rejected(
            RejectionReason::DailyLimitExceeded,
            "15.00 USDC is over what is left of the account's daily limit: 44.00 of 50.00 USDC were spent in the last \
             24 hours.",
            CheckedRule::MaxDailySpend,
            Some(Timestamp::from_unix_seconds(EXAMPLE_AT + 3_600))
        );
    AccountPaused PAYMENT_REQUIRED "account_paused" retryable false
        "The account is paused, or it or its operator is halted. Nothing was sent."
        "Have the operator end that, then use a new idempotency key."
        => rejected(
            RejectionReason::Paused,
            "The account's policy has paused all outgoing transfers.",
            CheckedRule::Paused,
            None
        );
    InsufficientBalance PAYMENT_REQUIRED "insufficient_balance" retryable false
        "Policy allows the transfer, and the account holds less than the amount."
        "Fund `usdc_token_account`, and send again under the same idempotency key."
        => failed(FailureCode::InsufficientBalance, "The account holds 1.000000.");
    AccountFrozen PAYMENT_REQUIRED "account_frozen" retryable false
        "The issuer of USDC has frozen the account's token account."
        "Only the issuer can thaw it. Send again after that, under the same idempotency key."
        => failed(FailureCode::AccountFrozen, "The issuer of USDC has frozen the account.");
    ApprovalRejected PAYMENT_REQUIRED "approval_rejected" retryable false
        "A person was asked about the transfer, and said no; or it was withdrawn. Nothing was sent."
        "Do not ask again for the same. What is different takes a new idempotency key."
        => failed(FailureCode::ApprovalRejected, "The operator rejected it; nothing was paid.");
    ApprovalExpired PAYMENT_REQUIRED "approval_expired" retryable false
        "A person was asked about the transfer, and did not approve it in time. Nothing was sent."
        "Send the same request again, under the same idempotency key, to ask once more."
        => failed(FailureCode::ApprovalExpired, "Nobody approved it in time; nothing was paid.");
    ApprovalVoid PAYMENT_REQUIRED "approval_void" retryable false
        "What a person was asked about holds no longer: the policy was changed, the account stopped, or the grant taken back. \
         Nothing was sent."
        "Send the same request again, under the same idempotency key, to have it decided anew."
        => failed(FailureCode::ApprovalVoid, "The policy was changed while it waited for approval. Nothing was paid.");
    Forbidden FORBIDDEN "forbidden"
        "The key may not do this: an agent key outside its own account, or an operator key at `/mcp`."
        "Use the right key."
        => ServiceError::Forbidden(Forbidden::OperatorKeyNeeded);
    NotFound NOT_FOUND "not_found"
        "What the id or the path names does not exist, or is another operator's."
        "Check the id and the path."
        => ServiceError::NotFound(Resource::Account);
    MethodNotAllowed METHOD_NOT_ALLOWED "method_not_allowed"
        "The path does not take the method."
        "Use one that the header `Allow` names."
        => ApiError::MethodNotAllowed;
    RequestTimeout REQUEST_TIMEOUT "request_timeout"
        "The body did not arrive within 10 seconds."
        "Send it again."
        => ApiError::BodyTimeout;
    IdempotencyConflict CONFLICT "idempotency_conflict"
        "The idempotency key was used within the last 24 hours for something else."
        "Use a new key for a new request."
        => ServiceError::IdempotencyConflict(None);
    LikelyDuplicate CONFLICT "likely_duplicate" retryable false
        "A transfer with the same payee, amount and memo settled under another idempotency key in the last ten minutes, or is \
         under way: `transfer_id`. Nothing was paid."
        "See what became of that one. If this one is meant as well, send it again with `duplicate_of`; no idempotency key was used up."
        => ServiceError::LikelyDuplicate(example_transfer());
    IdempotencyInProgress CONFLICT "idempotency_in_progress" retryable true after 2
        "A request under the same idempotency key is being carried out."
        "Send the same again after `Retry-After` seconds to have its answer."
        => ServiceError::RequestRunning;
    PolicyChanged CONFLICT "policy_changed" retryable false
        "The policy is at another version than the change was meant for. Nothing was changed."
        "Read the policy again, and decide by what it says now."
        => ServiceError::PolicyChanged;
    ApprovalClosed CONFLICT "approval_closed" retryable false
        "The transfer does not wait for a person, or not any more: it was granted, or it has ended."
        "Ask for the transfer. To stop a payment that is granted, pause or halt the account."
        => ServiceError::ApprovalClosed(TransferStatus::Settled);
    PayloadTooLarge PAYLOAD_TOO_LARGE "payload_too_large"
        "The body is over 64 KiB."
        "Send less."
        => ApiError::BodyTooLarge;
    UnsupportedMediaType UNSUPPORTED_MEDIA_TYPE "unsupported_media_type"
        "The body is not declared as `application/json`, or it is encoded."
        "Set `Content-Type: application/json`, and no `Content-Encoding`."
        => ApiError::UnsupportedMediaType;
    InvalidRecipient UNPROCESSABLE_ENTITY "invalid_recipient"
        "`to` is neither an account that can be paid nor a USDC token account, or it names a wallet and is none."
        "Correct `to` and use a new idempotency key; where `message` says so, name the wallet as `{\"wallet\": \"...\"}`."
        => failed(FailureCode::InvalidRecipient, "The recipient is not a USDC token account.");
    RecipientHasNoTokenAccount UNPROCESSABLE_ENTITY "recipient_has_no_token_account" retryable false
        "Policy and balance allow the transfer, and the wallet that it pays has no USDC token account. Nothing was paid."
        "Have somebody create it, which costs `rent_lamports`, and send again under the same idempotency key."
        => failed(
            FailureCode::RecipientHasNoTokenAccount,
            "The wallet has no USDC token account yet; nothing was paid."
        );
    OfferRefused UNPROCESSABLE_ENTITY "offer_refused" retryable false
        "The seller asks for more than `max_amount`, or for a payment that cannot be made. Nothing was paid."
        "See `message`. No idempotency key was used up."
        => ApiError::OfExtension(
            Code::OfferRefused,
            "The offer asks for 2.000000 USDC, which is more than `max_amount`, 1.000000.".into()
        );
    PaymentRefused UNPROCESSABLE_ENTITY "payment_refused" retryable false
        "The seller has the signed payment and did not take it: `message` quotes its reason. Facilitators that take no smart wallets refuse every account. With the \
         status `submitted` the payment can still land until it expires, about a minute; with `failed` nothing was paid."
        "See `message`. Do not buy there again under a new key before the transfer has ended: both could be paid. Nothing more is \
         signed under this one."
        => failed(
            FailureCode::PaymentRefused,
            "The seller refused the payment with status 402: \"invalid_exact_svm_payload\". Nothing was paid."
        );
    RateLimited TOO_MANY_REQUESTS "rate_limited" retryable true after 2
        "Too many requests with one key, or too many with unknown keys."
        "Send it again after `Retry-After` seconds."
        => ApiError::RateLimited { retry_after_seconds: 1 };
    TooManyPending TOO_MANY_REQUESTS "too_many_pending" retryable true after 2
        "The account or its operator has as many pending transfers as it may have. Nothing was claimed."
        "Send the same request again after `Retry-After` seconds."
        => ServiceError::TooManyPending;
    TooManyRefusals TOO_MANY_REQUESTS "too_many_refusals" retryable true
        "The transfer would be refused, and the account or its operator has had as many refusals in the last 24 hours \
         as it may have. Nothing was claimed."
        "Correct the transfer: what can be paid is still paid. After `Retry-After` seconds refusals are recorded again."
        => ServiceError::TooManyRefusals { retry_after_seconds: 3_600 };
    AccountFull TOO_MANY_REQUESTS "account_full" retryable false
        "The account has made as many payments in a day as it has room to remember, and may not be given more. Nothing was paid."
        "Send the same request again at `retry_at`, under the same idempotency key, or have the operator give the account more room."
        => failed(
            FailureCode::AccountFull,
            "The account has made as many payments in a day as it has room to remember; nothing was paid."
        );
    InternalError INTERNAL_SERVER_ERROR "internal_error"
        "A fault of ours, which is logged under `request_id`."
        "Ask for the state, or send a transfer again under the same idempotency key."
        => ServiceError::Internal;
    NotConfigured NOT_IMPLEMENTED "not_configured"
        "The service runs without the key that keeps webhook secrets, or without the one that signs refusals."
        "Ask whoever operates the service."
        => ServiceError::NotConfigured;
    TransferFailed BAD_GATEWAY "transfer_failed" retryable false
        "The transfer failed on the chain for a reason other than policy, balance or recipient. Nothing was paid."
        "See `message`, and send again under the same idempotency key."
        => failed(FailureCode::TransferFailed, "The transaction failed on the chain.");
    ServerUnreachable BAD_GATEWAY "server_unreachable" retryable true
        "The seller does not answer. Nothing was paid."
        "See `message`. Send the same request again; no idempotency key was used up."
        => ApiError::OfExtension(
            Code::ServerUnreachable,
            "The server did not answer in time. Nothing was paid.".into()
        );
    ServiceUnavailable SERVICE_UNAVAILABLE "service_unavailable" retryable false after 2
        "The service cannot use its database. What was asked for may have been done."
        "After `Retry-After` seconds, send a transfer again under the same idempotency key; read the state before anything \
         else that writes."
        => ServiceError::StoreUnavailable;
    SolanaUnavailable SERVICE_UNAVAILABLE "solana_unavailable" retryable true after 2
        "The chain cannot be reached, or did not take a transaction in time."
        "Send again after `Retry-After` seconds, with backoff. With `retryable` false, read the state first."
        => ServiceError::ChainUnavailable { retryable: true };
    AuthorityRotated SERVICE_UNAVAILABLE "authority_rotated" retryable true after 30
        "The operator's account on the chain names none of the service's keys for this. Nothing was done."
        "Have the admin and whoever operates the service agree on keys, and send again."
        => ServiceError::AuthorityRotated;
    FeePayerEmpty SERVICE_UNAVAILABLE "fee_payer_empty" retryable true after 30
        "The service's wallet has too little SOL. Nothing was done."
        "Have whoever operates the service send it SOL, and send again."
        => ServiceError::FeePayerEmpty;
    SignerUnavailable SERVICE_UNAVAILABLE "signer_unavailable" retryable true after 2
        "The service that keeps the signing key does not sign, or not in time. Nothing was done."
        "Send again after `Retry-After` seconds, with backoff."
        => ServiceError::SignerUnavailable;
    Timeout GATEWAY_TIMEOUT "timeout"
        "There was no answer within the server's limit. What was asked for may still be done."
        "Ask for the state, or send a transfer again under the same idempotency key."
        => ApiError::Timeout;
}

impl Serialize for Code {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}

written! {
    Code = "ErrorCode": one_of(
        "Decide by this. There may be others later: treat one that you do not know by its HTTP status.",
        Self::ALL.iter().map(|code| code.as_str())
    );
}

/// An error before it has a body.
#[derive(Debug, Clone, thiserror::Error)]
pub enum ApiError {
    #[error(transparent)]
    Service(#[from] ServiceError),
    /// A transfer that was rejected, failed or refused by a seller.
    #[error("The transfer {} was not paid.", .0.id)]
    Transfer(Box<Unpaid>),
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

impl From<Invalid> for ApiError {
    fn from(error: Invalid) -> Self {
        Self::Service(error.into())
    }
}

impl From<Unpaid> for ApiError {
    fn from(transfer: Unpaid) -> Self {
        Self::Transfer(Box::new(transfer))
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

/// The code for an error of the service.
fn service_code(error: &ServiceError) -> Code {
    match error {
        ServiceError::Invalid(_) => Code::InvalidRequest,
        ServiceError::Unauthorized(_) => Code::Unauthorized,
        ServiceError::Forbidden(_) => Code::Forbidden,
        ServiceError::NotFound(_) => Code::NotFound,
        ServiceError::IdempotencyConflict(_)
        | ServiceError::KeyOfOtherAccount
        | ServiceError::RequestConflict(_) => Code::IdempotencyConflict,
        ServiceError::LikelyDuplicate(_) => Code::LikelyDuplicate,
        ServiceError::RequestRunning => Code::IdempotencyInProgress,
        ServiceError::TooManyPending => Code::TooManyPending,
        ServiceError::TooManyRefusals { .. } => Code::TooManyRefusals,
        ServiceError::TooManyStreams(_)
        | ServiceError::TooManyReads
        | ServiceError::TooManyActions { .. }
        | ServiceError::TooManyRequests { .. } => Code::RateLimited,
        ServiceError::PolicyChanged => Code::PolicyChanged,
        ServiceError::ApprovalClosed(_) => Code::ApprovalClosed,
        ServiceError::InvalidRecipient(_) => Code::InvalidRecipient,
        ServiceError::NoTokenAccount(_) => Code::RecipientHasNoTokenAccount,
        ServiceError::ChainUnavailable { .. } => Code::SolanaUnavailable,
        ServiceError::StoreUnavailable | ServiceError::Unrecorded => Code::ServiceUnavailable,
        ServiceError::AuthorityRotated => Code::AuthorityRotated,
        ServiceError::FeePayerEmpty => Code::FeePayerEmpty,
        ServiceError::SignerUnavailable => Code::SignerUnavailable,
        ServiceError::QuotaExceeded(_) => Code::QuotaExceeded,
        ServiceError::NotConfigured => Code::NotConfigured,
        ServiceError::PauseHolds(cause) => service_code(cause),
        ServiceError::Internal => Code::InternalError,
    }
}

impl ApiError {
    pub(crate) fn code(&self) -> Code {
        match self {
            Self::Service(error) => service_code(error),
            Self::Transfer(transfer) => match &transfer.state {
                TransferState::Rejected(rejection) => rejection_code(rejection.reason),
                TransferState::Failed(failed) => failure_code(failed.code),
                // The others are answered as transfers; see `TransferResponse`.
                TransferState::Claimed
                | TransferState::PendingApproval(_)
                | TransferState::Signed(_)
                | TransferState::Sent { .. }
                | TransferState::Settled(_) => {
                    let refused = refused_and_open(transfer.refusal.as_ref(), &transfer.state);
                    if refused.is_some() { Code::PaymentRefused } else { Code::InternalError }
                }
            },
            Self::BodyTooLarge => Code::PayloadTooLarge,
            Self::BodyTimeout => Code::RequestTimeout,
            Self::EncodedBody | Self::UnsupportedMediaType => Code::UnsupportedMediaType,
            Self::RouteNotFound => Code::NotFound,
            Self::MethodNotAllowed => Code::MethodNotAllowed,
            Self::OfExtension(code, _) => *code,
            Self::RateLimited { .. } | Self::TooManyUnknownKeys => Code::RateLimited,
            Self::Timeout => Code::Timeout,
            Self::Panic => Code::InternalError,
        }
    }
}
