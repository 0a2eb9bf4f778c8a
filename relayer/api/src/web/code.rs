//! The error codes of the interface: status, text, whether to send again, when each is answered and what to do about it.
//! `docs/build/errors.md` has the details. A code that is missing here cannot be answered.

use axum::http::StatusCode;
use serde::{Serialize, Serializer};

use purser_model::wire::schema::{one_of, written};

macro_rules! codes {
    ($($name:ident $status:ident $text:literal $(retryable $retryable:literal $(after $seconds:literal)?)?
        $when:literal $what_to_do:literal;)*) => {
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

            /// Whether the same request may simply be sent again, and after how many seconds, unless the error itself knows
            /// better. Longer where somebody has to send SOL or name keys. `None`: it is not said.
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
        }
    };
}

codes! {
    InvalidRequest BAD_REQUEST "invalid_request"
        "The request does not have the form described here."
        "Correct what `param` names. Nothing was done, and no idempotency key was used up.";
    QuotaExceeded BAD_REQUEST "quota_exceeded"
        "The operator has as many accounts or allowlist entries as it may have."
        "Close accounts, shorten lists, or ask whoever operates the service.";
    Unauthorized UNAUTHORIZED "unauthorized"
        "There is no key, or it is unknown, expired or revoked."
        "Send a valid key as `Authorization: Bearer <API_KEY>`.";
    PolicyViolation PAYMENT_REQUIRED "policy_violation" retryable false
        "The account's policy refuses the transfer. Nothing was sent."
        "See `checks`. Change the request, wait until `retry_at`, or have the operator change the policy; then use a new \
         idempotency key.";
    AccountPaused PAYMENT_REQUIRED "account_paused" retryable false
        "The account is paused, or it or its operator is halted. Nothing was sent."
        "Have the operator end that, then use a new idempotency key.";
    InsufficientBalance PAYMENT_REQUIRED "insufficient_balance" retryable false
        "Policy allows the transfer, and the account holds less than the amount."
        "Fund `usdc_token_account`, and send again under the same idempotency key.";
    AccountFrozen PAYMENT_REQUIRED "account_frozen" retryable false
        "The issuer of USDC has frozen the account's token account."
        "Only the issuer can thaw it. Send again after that, under the same idempotency key.";
    ApprovalRejected PAYMENT_REQUIRED "approval_rejected" retryable false
        "A person was asked about the transfer, and said no; or it was withdrawn. Nothing was sent."
        "Do not ask again for the same. What is different takes a new idempotency key.";
    ApprovalExpired PAYMENT_REQUIRED "approval_expired" retryable false
        "A person was asked about the transfer, and did not approve it in time. Nothing was sent."
        "Send the same request again, under the same idempotency key, to ask once more.";
    ApprovalVoid PAYMENT_REQUIRED "approval_void" retryable false
        "What a person was asked about holds no longer: the policy was changed, the account stopped, or the grant taken back. \
         Nothing was sent."
        "Send the same request again, under the same idempotency key, to have it decided anew.";
    Forbidden FORBIDDEN "forbidden"
        "The key may not do this: an agent key outside its own account, or an operator key at `/mcp`."
        "Use the right key.";
    NotFound NOT_FOUND "not_found"
        "What the id or the path names does not exist, or is another operator's."
        "Check the id and the path.";
    MethodNotAllowed METHOD_NOT_ALLOWED "method_not_allowed"
        "The path does not take the method."
        "Use one that the header `Allow` names.";
    RequestTimeout REQUEST_TIMEOUT "request_timeout"
        "The body did not arrive within 10 seconds."
        "Send it again.";
    IdempotencyConflict CONFLICT "idempotency_conflict"
        "The idempotency key was used within the last 24 hours for something else."
        "Use a new key for a new request.";
    LikelyDuplicate CONFLICT "likely_duplicate" retryable false
        "A transfer with the same payee, amount and memo settled under another idempotency key in the last ten minutes, or is \
         under way: `transfer_id`. Nothing was paid."
        "See what became of that one. If this one is meant as well, send it again with `duplicate_of`; no idempotency key was used up.";
    IdempotencyInProgress CONFLICT "idempotency_in_progress" retryable true after 2
        "A request under the same idempotency key is being carried out."
        "Send the same again after `Retry-After` seconds to have its answer.";
    PolicyChanged CONFLICT "policy_changed" retryable false
        "The policy is at another version than the change was meant for. Nothing was changed."
        "Read the policy again, and decide by what it says now.";
    ApprovalClosed CONFLICT "approval_closed" retryable false
        "The transfer does not wait for a person, or not any more: it was granted, or it has ended."
        "Ask for the transfer. To stop a payment that is granted, pause or halt the account.";
    PayloadTooLarge PAYLOAD_TOO_LARGE "payload_too_large"
        "The body is over 64 KiB."
        "Send less.";
    UnsupportedMediaType UNSUPPORTED_MEDIA_TYPE "unsupported_media_type"
        "The body is not declared as `application/json`, or it is encoded."
        "Set `Content-Type: application/json`, and no `Content-Encoding`.";
    InvalidRecipient UNPROCESSABLE_ENTITY "invalid_recipient"
        "`to` is neither an account that can be paid nor a USDC token account, or it names a wallet and is none."
        "Correct `to` and use a new idempotency key; where `message` says so, name the wallet as `{\"wallet\": \"...\"}`.";
    RecipientHasNoTokenAccount UNPROCESSABLE_ENTITY "recipient_has_no_token_account" retryable false
        "Policy and balance allow the transfer, and the wallet that it pays has no USDC token account. Nothing was paid."
        "Have somebody create it, which costs `rent_lamports`, and send again under the same idempotency key.";
    OfferRefused UNPROCESSABLE_ENTITY "offer_refused" retryable false
        "The seller asks for more than `max_amount`, or for a payment that cannot be made. Nothing was paid."
        "See `message`. No idempotency key was used up.";
    PaymentRefused UNPROCESSABLE_ENTITY "payment_refused" retryable false
        "The seller has the signed payment and did not take it: `message` quotes its reason. Facilitators that take no smart wallets refuse every account. With the \
         status `submitted` the payment can still land until it expires, about a minute; with `failed` nothing was paid."
        "See `message`. Do not buy there again under a new key before the transfer has ended: both could be paid. Nothing more is \
         signed under this one.";
    RateLimited TOO_MANY_REQUESTS "rate_limited" retryable true after 2
        "Too many requests with one key, or too many with unknown keys."
        "Send it again after `Retry-After` seconds.";
    TooManyPending TOO_MANY_REQUESTS "too_many_pending" retryable true after 2
        "The account or its operator has as many pending transfers as it may have. Nothing was claimed."
        "Send the same request again after `Retry-After` seconds.";
    TooManyRefusals TOO_MANY_REQUESTS "too_many_refusals" retryable true
        "The transfer would be refused, and the account or its operator has had as many refusals in the last 24 hours \
         as it may have. Nothing was claimed."
        "Correct the transfer: what can be paid is still paid. After `Retry-After` seconds refusals are recorded again.";
    AccountFull TOO_MANY_REQUESTS "account_full" retryable false
        "The account has made as many payments in a day as it has room to remember, and may not be given more. Nothing was paid."
        "Send the same request again at `retry_at`, under the same idempotency key, or have the operator give the account more room.";
    InternalError INTERNAL_SERVER_ERROR "internal_error"
        "A fault of ours, which is logged under `request_id`."
        "Ask for the state, or send a transfer again under the same idempotency key.";
    NotConfigured NOT_IMPLEMENTED "not_configured"
        "The service runs without the key that keeps webhook secrets, or without the one that signs refusals."
        "Ask whoever operates the service.";
    TransferFailed BAD_GATEWAY "transfer_failed" retryable false
        "The transfer failed on the chain for a reason other than policy, balance or recipient. Nothing was paid."
        "See `message`, and send again under the same idempotency key.";
    ServerUnreachable BAD_GATEWAY "server_unreachable" retryable true
        "The seller does not answer. Nothing was paid."
        "See `message`. Send the same request again; no idempotency key was used up.";
    ServiceUnavailable SERVICE_UNAVAILABLE "service_unavailable" retryable false after 2
        "The service cannot use its database. What was asked for may have been done."
        "After `Retry-After` seconds, send a transfer again under the same idempotency key; read the state before anything \
         else that writes.";
    SolanaUnavailable SERVICE_UNAVAILABLE "solana_unavailable" retryable true after 2
        "The chain cannot be reached, or did not take a transaction in time."
        "Send again after `Retry-After` seconds, with backoff. With `retryable` false, read the state first.";
    AuthorityRotated SERVICE_UNAVAILABLE "authority_rotated" retryable true after 30
        "The operator's account on the chain names none of the service's keys for this. Nothing was done."
        "Have the admin and whoever operates the service agree on keys, and send again.";
    FeePayerEmpty SERVICE_UNAVAILABLE "fee_payer_empty" retryable true after 30
        "The service's wallet has too little SOL. Nothing was done."
        "Have whoever operates the service send it SOL, and send again.";
    SignerUnavailable SERVICE_UNAVAILABLE "signer_unavailable" retryable true after 2
        "The service that keeps the signing key does not sign, or not in time. Nothing was done."
        "Send again after `Retry-After` seconds, with backoff.";
    Timeout GATEWAY_TIMEOUT "timeout"
        "There was no answer within the server's limit. What was asked for may still be done."
        "Ask for the state, or send a transfer again under the same idempotency key.";
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
