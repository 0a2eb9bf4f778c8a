use std::error::Error;
use std::net::IpAddr;

use purser_core::{ChainFault, LedgerError, PaymentError};

use crate::audit_scope::StopsOnly;
use purser_chain::ChainError;
use purser_model::{
    Counterparties, Invalid, NoTokenAccount, QuotaExceeded, Scopes, TransferId, TransferStatus,
};
use purser_store::StoreError;

/// A refused or failed request, with the sentence that the client reads. A transfer that ends unpaid is no error: it is a transfer.
#[derive(Debug, Clone, thiserror::Error)]
pub enum ServiceError {
    #[error(transparent)]
    Invalid(#[from] Invalid),
    #[error("{0}")]
    Unauthorized(Unauthorized),
    #[error("{0}")]
    Forbidden(Forbidden),
    /// Unknown, or another operator's: the same answer.
    #[error("{0}")]
    NotFound(Resource),
    /// Holds the transfer under the key, where the asker may see it.
    #[error(
        "The idempotency key was used within the last 24 hours for a transfer with other parameters{}.",
        named(*.0)
    )]
    IdempotencyConflict(Option<TransferId>),
    /// It looks like this transfer under another key, and is not said to be meant as well. Nothing was claimed.
    #[error(
        "This looks like {0}: the same payee, amount and memo under another idempotency key, in the last ten minutes or still under \
         way. Nothing was paid now. If both are meant, send it again with `duplicate_of` set to that id."
    )]
    LikelyDuplicate(TransferId),
    /// The account or its operator already has the maximum of pending transfers. Nothing was claimed.
    #[error(
        "Too many transfers of this account or operator are pending; nothing was claimed. Send the same request again after \
         `Retry-After`."
    )]
    TooManyPending,
    /// It would be refused, and as many were in the last 24 hours as may be; nothing was claimed.
    #[error(
        "This transfer would be refused, and this account or operator has had as many refusals in the last 24 hours as it may have; \
         nothing was claimed. `POST /v1/transfers/preview` says why; what can be paid is still paid."
    )]
    TooManyRefusals { retry_after_seconds: u64 },
    /// The operator's keys look at the chain more often than they may. Nothing was done.
    #[error(
        "The operator's keys together ask for more reads of the chain than they may. Nothing was done. Send the same request again \
         after `Retry-After`."
    )]
    TooManyReads,
    /// The key has made as many changes in 24 hours as are kept on record. Nothing was done.
    #[error(
        "This key has made {most} changes in 24 hours, and may not make more. Nothing was done. Halts, pauses, revocations and \
         rejections stay possible."
    )]
    TooManyActions { most: u32, retry_after_seconds: u64 },
    /// A pause was carried out at a request that came too soon for anything else.
    #[error(
        "The key, or all keys of its operator, ask faster than they may. Send the same request again after `Retry-After`."
    )]
    TooManyRequests { retry_after_seconds: u64 },
    /// The record of the change could not be written, so it was not begun.
    #[error(
        "The service cannot write the audit record right now and changes nothing without it. Send the change again later."
    )]
    Unrecorded,
    /// The account is paused, as the request asked; the rest of the change failed.
    #[error("The pause holds. The rest of the change failed: {0}")]
    PauseHolds(Box<ServiceError>),
    /// The operator already has the maximum of open streams.
    #[error(
        "The operator has {0} streams of events open, and may have no more. Close one: several readers can \
         share what one stream sends."
    )]
    TooManyStreams(usize),
    /// An agent used an idempotency key that belongs to another agent of its operator.
    #[error(
        "The idempotency key belongs to a transfer of another account: all accounts of an operator share its keys. Use one that no \
         other account uses, such as one that begins with your account's id."
    )]
    KeyOfOtherAccount,
    /// The request's name already stands for a different request.
    #[error("{0}")]
    RequestConflict(RequestConflict),
    /// A request under this name is in flight.
    #[error(
        "A request under this idempotency key is being carried out. Send the same again after `Retry-After` to have its answer."
    )]
    RequestRunning,
    /// The policy is not the version that the change was meant for, or changed on the way. Nothing was changed.
    #[error(
        "The policy is at another version than this change was meant for; nothing was changed. Read the policy again, and decide by \
         what it says now."
    )]
    PolicyChanged,
    /// The transfer does not wait for a person: it is in this state.
    #[error("The transfer does not wait for approval: it is `{0}`. Nothing was done.")]
    ApprovalClosed(TransferStatus),
    /// Says what the recipient is and, where known, what to pay instead.
    #[error("{0}")]
    InvalidRecipient(String),
    /// The wallet that is to be paid has no token account, and the service creates none for this payment. Nothing was claimed.
    #[error("{0}")]
    NoTokenAccount(NoTokenAccount),
    /// The chain did not answer or could not be reached. `retryable` is false when something may have been done.
    #[error("{}", unavailable(*.retryable))]
    ChainUnavailable { retryable: bool },
    /// The database is unavailable, and the request may have taken effect.
    #[error(
        "The service cannot reach its database right now. Send a transfer again under the same idempotency key; read the state \
         before anything else that writes is tried again."
    )]
    StoreUnavailable,
    /// The operator's admin has replaced our keys with others. Nothing was done.
    #[error(
        "The operator's account no longer names the keys of this service; nothing was done. Try again once they agree."
    )]
    AuthorityRotated,
    /// The service's own wallet has too little SOL. Nothing was done.
    #[error("The service's wallet has too little SOL for this right now; nothing was done. Try again later.")]
    FeePayerEmpty,
    /// The key service did not sign. Nothing was done.
    #[error(
        "The service that keeps the signing key does not sign right now; nothing was done. Try again with backoff."
    )]
    SignerUnavailable,
    #[error("{0}")]
    QuotaExceeded(QuotaExceeded),
    /// This service is not configured for the request.
    #[error(
        "This service has no key for this: whoever operates it sets `webhooks.secret_key_file` for webhooks, `denials.keypair` for \
         signed refusals."
    )]
    NotConfigured,
    /// A fault of ours; its cause was logged where it occurred.
    #[error("{INTERNAL}")]
    Internal,
}

/// The sentence for internal errors; the log has their cause.
pub const INTERNAL: &str = "Something went wrong on our side; it has been logged under this request id.";

/// The id of a transfer, after the sentence that it belongs to.
fn named(held: Option<TransferId>) -> String {
    held.map_or(String::new(), |id| format!(", {id}"))
}

const fn unavailable(retryable: bool) -> &'static str {
    if retryable {
        "Solana cannot be reached right now; nothing was done. Try again with backoff."
    } else {
        "Solana stopped answering before the result was known. Read the state before trying again."
    }
}

/// Why a key was not accepted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Unauthorized {
    #[error("Send an API key as `Authorization: Bearer <API_KEY>`.")]
    MissingKey,
    #[error("The API key is not valid.")]
    UnknownKey,
    #[error("The API key is not valid here: by its beginning it belongs to another cell of the service.")]
    KeyOfOtherCell,
    #[error("The API key has expired.")]
    ExpiredKey,
    #[error("The API key has been revoked.")]
    RevokedKey,
}

/// What a valid key may not do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Forbidden {
    #[error("This needs an operator key; an agent key may not do it.")]
    OperatorKeyNeeded,
    #[error("An agent key is good for its own account only.")]
    OtherAccount,
    #[error(
        "A key revokes itself and the keys that it made; with the scope `admin` agents' keys too. Another one is revoked on the \
         service's own machine: `purser key revoke KEY_ID`."
    )]
    OtherKey,
    /// The key has none of these scopes. Without any, no key opens what was asked for.
    #[error("{}", scope_needed(*.0))]
    ScopeNeeded(Scopes),
    /// In this field it would.
    #[error("A key makes none that may do more than itself, and in `{0}` this one would.")]
    MoreThanItself(&'static str),
    /// What this loosens waits where the operator has a delay, and the program lets it wait nowhere.
    #[error(
        "The operator has a loosening delay, under which only its admin raises or lifts an account's cap for 30 days, or has it pay \
         through another budget or none, with its own wallet. Nothing was changed."
    )]
    AdminNeeded,
    /// The operator or the account.
    #[error(
        "It is halted: what loosens something begins to wait after its operator's admin has resumed it. Nothing was changed."
    )]
    Halted,
    /// The key is restricted to other addresses. `None`: the caller's address is unknown.
    #[error("This key may be used from its `allowed_cidrs` only{}.", came_from(*.0))]
    OtherAddress(Option<IpAddr>),
}

fn scope_needed(scopes: Scopes) -> String {
    let words: Vec<String> = scopes.list().map(|scope| format!("`{scope}`")).collect();
    match words.as_slice() {
        [] => "No key opens this.".to_owned(),
        [scope] => format!("This needs the scope {scope}, which this key does not have."),
        _ => format!("This needs one of the scopes {}, of which this key has none.", words.join(", ")),
    }
}

fn came_from(address: Option<IpAddr>) -> String {
    match address {
        Some(address) => format!("; the request came from {address}"),
        None => ", and the address that the request came from is not known".to_owned(),
    }
}

/// Why a request's name cannot be used for it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum RequestConflict {
    #[error(
        "The idempotency key was used within the last 24 hours for another request: another path, or a body that is not the same \
         byte by byte. Use a new one."
    )]
    OtherRequest,
    #[error(
        "The idempotency key was used with another API key, and no other is answered: the answer shows a secret, or is still to be \
         made. Use that API key, or a new idempotency key."
    )]
    OtherApiKey,
}

/// A thing that is looked up by its id, and was not found.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Resource {
    #[error("There is no such account.")]
    Account,
    /// The account that a request names as its payer.
    #[error("There is no such account to pay from.")]
    Payer,
    #[error("There is no such transfer.")]
    Transfer,
    #[error("There is no such approval: nobody was asked about such a transfer.")]
    Approval,
    #[error("There is no such key.")]
    Key,
    #[error("There is no such event.")]
    Event,
    #[error("There is no such webhook.")]
    Webhook,
    #[error("No policy is pending for this account.")]
    PendingPolicy,
    #[error("There is no such budget.")]
    Budget,
    #[error("There is no such grant of this account.")]
    Grant,
    /// Of the dashboard.
    #[error("There is no such session, or it has ended.")]
    Session,
    #[error("There is no such passkey, or its key has ended.")]
    Passkey,
}

impl From<StopsOnly> for ServiceError {
    fn from(reason: StopsOnly) -> Self {
        match reason {
            StopsOnly::Unrecorded => Self::Unrecorded,
            StopsOnly::TooSoon { retry_after_seconds } => Self::TooManyRequests { retry_after_seconds },
        }
    }
}

impl From<StoreError> for ServiceError {
    fn from(error: StoreError) -> Self {
        let meant = match &error {
            StoreError::QuotaExceeded(exceeded) => Self::QuotaExceeded(*exceeded),
            StoreError::Unavailable { .. } | StoreError::DiskFull(_) | StoreError::NoRoom => {
                Self::StoreUnavailable
            }
            _ => Self::Internal,
        };
        meant.logged(&error)
    }
}

impl From<PaymentError> for ServiceError {
    fn from(error: PaymentError) -> Self {
        meant(&error).logged(&error)
    }
}

/// For a request that did nothing yet.
impl From<ChainFault> for ServiceError {
    fn from(fault: ChainFault) -> Self {
        of_fault(&fault).logged(&fault)
    }
}

/// For a request that did nothing yet; see [`after_sending`].
impl From<ChainError> for ServiceError {
    fn from(error: ChainError) -> Self {
        match error {
            ChainError::PolicyChanged => Self::PolicyChanged,
            ChainError::Unrecorded => Self::Unrecorded,
            ChainError::RentOfAnother { rent_refund, .. } => {
                let message = format!(
                    "may not get longer through the service: another wallet, {rent_refund}, made the account and would get the \
                     rent of the entries. Add them with the admin's wallet"
                );
                Counterparties::invalid(message).into()
            }
            ChainError::Unavailable { .. }
            | ChainError::Expired
            | ChainError::AuthorityRotated { .. }
            | ChainError::FeePayerEmpty { .. }
            | ChainError::SignerUnavailable { .. }
            | ChainError::Rejected { .. }
            | ChainError::NotFound { .. }
            | ChainError::Misconfigured(_) => ChainFault::from(error).into(),
        }
    }
}

/// The meaning of a transfer's error to its caller.
pub(super) fn meant(error: &PaymentError) -> ServiceError {
    match error {
        PaymentError::KeyTaken | PaymentError::KeyPaidElsewhere => ServiceError::IdempotencyConflict(None),
        PaymentError::Duplicate(earlier) => ServiceError::LikelyDuplicate(*earlier),
        PaymentError::TooManyRefusals { retry_after_seconds } => {
            ServiceError::TooManyRefusals { retry_after_seconds: *retry_after_seconds }
        }
        PaymentError::Chain(fault) => of_fault(fault),
        PaymentError::Ledger(LedgerError::Unavailable(_)) => ServiceError::StoreUnavailable,
        PaymentError::Gone => ServiceError::NotFound(Resource::Transfer),
        PaymentError::Ledger(_) | PaymentError::Inconsistent(_) => ServiceError::Internal,
    }
}

const fn of_fault(fault: &ChainFault) -> ServiceError {
    match fault {
        ChainFault::Unavailable(_) => ServiceError::ChainUnavailable { retryable: true },
        ChainFault::AuthorityRotated => ServiceError::AuthorityRotated,
        ChainFault::FeePayerEmpty => ServiceError::FeePayerEmpty,
        ChainFault::SignerUnavailable => ServiceError::SignerUnavailable,
        ChainFault::Refused(_) => ServiceError::Internal,
    }
}

impl ServiceError {
    /// Logs the cause of what the people who run the service have to know. Keys, wallets and signers are checked, and logged, by
    /// themselves; the rest is the caller's.
    fn logged(self, cause: &dyn Error) -> Self {
        match &self {
            Self::Internal => tracing::error!(error = %cause, "a fault of ours"),
            Self::StoreUnavailable => tracing::warn!(error = %cause, "the database is unavailable"),
            Self::ChainUnavailable { .. } => tracing::warn!(error = %cause, "the chain is unavailable"),
            _ => {}
        }
        self
    }
}

/// A transaction may have been sent, so a retry may have an effect; one that expired had none.
pub(super) fn after_sending(error: ChainError) -> ServiceError {
    if error == ChainError::Expired { error.into() } else { after_writing(error.into()) }
}

/// Something was written, so a retry may have an effect.
pub(super) fn after_writing(error: ServiceError) -> ServiceError {
    match error {
        ServiceError::ChainUnavailable { .. } => ServiceError::ChainUnavailable { retryable: false },
        other => other,
    }
}
