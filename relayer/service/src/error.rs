use std::net::IpAddr;

use purser_core::{ChainFault, LedgerError, PaymentError};

use crate::audit_scope::StopsOnly;
use purser_chain::ChainError;
use purser_model::{
    Counterparties, Invalid, Network, NoTokenAccount, QuotaExceeded, Scopes, TransferId, TransferStatus,
};
use purser_store::StoreError;

/// Why a service refused a request or could not do it. Transfers that end badly are transfers, not errors.
#[derive(Debug, Clone, thiserror::Error)]
pub enum ServiceError {
    #[error(transparent)]
    Invalid(#[from] Invalid),
    #[error("{0:?}")]
    Unauthorized(Unauthorized),
    #[error("{0:?}")]
    Forbidden(Forbidden),
    /// Unknown, or another operator's: the same answer.
    #[error("no such {0:?}")]
    NotFound(Resource),
    /// Holds the transfer under the key, where the asker may see it.
    #[error("the idempotency key was used for another transfer")]
    IdempotencyConflict(Option<TransferId>),
    /// It looks like this transfer under another key, and is not said to be meant as well. Nothing was claimed.
    #[error("it looks like another transfer")]
    LikelyDuplicate(TransferId),
    /// The account or its operator already has the maximum of pending transfers. Nothing was claimed.
    #[error("too many transfers are pending")]
    TooManyPending,
    /// It would be refused, and as many were in the last 24 hours as may be; nothing was claimed.
    #[error("too many transfers were refused")]
    TooManyRefusals { retry_after_seconds: u64 },
    /// The operator's keys look at the chain more often than they may. Nothing was done.
    #[error("too many reads")]
    TooManyReads,
    /// The key has made as many changes in 24 hours as are kept on record. Nothing was done.
    #[error("too many actions")]
    TooManyActions { most: u32, retry_after_seconds: u64 },
    /// A pause was carried out at a request that came too soon for anything else.
    #[error("too many requests")]
    TooManyRequests { retry_after_seconds: u64 },
    /// The record of the change could not be written, so it was not begun.
    #[error("the change cannot be recorded")]
    Unrecorded,
    /// The account is paused, as the request asked; the rest of the change failed.
    #[error("the pause holds, the rest failed: {0}")]
    PauseHolds(Box<ServiceError>),
    /// The operator already has the maximum of open streams.
    #[error("too many streams are open")]
    TooManyStreams,
    /// An agent used an idempotency key that belongs to another agent of its operator.
    #[error("the idempotency key belongs to another account's transfer")]
    KeyOfOtherAccount,
    /// The request's name already stands for a different request.
    #[error("{0:?}")]
    RequestConflict(RequestConflict),
    /// A request under this name is in flight.
    #[error("a request under this idempotency key is being carried out")]
    RequestRunning,
    /// The policy is not the version that the change was meant for, or changed on the way. Nothing was changed.
    #[error("the policy has changed")]
    PolicyChanged,
    /// The transfer does not wait for a person: it is in this state.
    #[error("the approval is closed")]
    ApprovalClosed(TransferStatus),
    /// Says what the recipient is and, where known, what to pay instead.
    #[error("{0}")]
    InvalidRecipient(String),
    /// The wallet that is to be paid has no token account, and the service creates none for this payment. Nothing was claimed.
    #[error("{0}")]
    NoTokenAccount(NoTokenAccount),
    /// The chain did not answer or could not be reached. `retryable` is false when something may have been done.
    #[error("the chain is unavailable")]
    ChainUnavailable { retryable: bool },
    /// The database is unavailable, and the request may have taken effect.
    #[error("the database is unavailable")]
    StoreUnavailable,
    /// The operator's admin has replaced our keys with others. Nothing was done.
    #[error("the operator names none of our keys")]
    AuthorityRotated,
    /// The service's own wallet has too little SOL. Nothing was done.
    #[error("the fee payer has no SOL")]
    FeePayerEmpty,
    /// The key service did not sign. Nothing was done.
    #[error("the signer is unavailable")]
    SignerUnavailable,
    #[error("{0:?}")]
    QuotaExceeded(QuotaExceeded),
    /// This service is not configured for the request.
    #[error("this is not configured")]
    NotConfigured,
    /// A fault of ours; its cause was logged where it occurred.
    #[error("internal error")]
    Internal,
}

/// Why a key was not accepted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unauthorized {
    MissingKey,
    UnknownKey,
    KeyOfOtherCell,
    ExpiredKey,
    RevokedKey,
}

/// What a valid key may not do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Forbidden {
    OperatorKeyNeeded,
    OtherAccount,
    /// A key revokes itself and what it made; with `admin` agents' keys too.
    OtherKey,
    /// The key has none of these scopes. Without any, no key opens what was asked for.
    ScopeNeeded(Scopes),
    /// A key makes none that may do more than itself: in this field it would.
    MoreThanItself(&'static str),
    /// What this loosens waits where the operator has a delay, and the program lets it wait nowhere: the admin alone does it.
    AdminNeeded,
    /// The operator or the account is halted: nothing begins to wait.
    Halted,
    /// The key is restricted to other addresses. `None`: the caller's address is unknown.
    OtherAddress(Option<IpAddr>),
}

/// Why a request's name cannot be used for it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RequestConflict {
    OtherRequest,
    /// The answer shows a secret, or is not made yet, and another API key asked for it.
    OtherApiKey,
}

/// A thing that is looked up by its id.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Resource {
    Account,
    /// The account that a request names as its payer.
    Payer,
    Transfer,
    /// A transfer about which a person was asked.
    Approval,
    Key,
    Event,
    Webhook,
    /// A policy that waits.
    PendingPolicy,
    Budget,
    Grant,
    /// A dashboard session.
    Session,
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
        match error {
            StoreError::QuotaExceeded(exceeded) => Self::QuotaExceeded(exceeded),
            StoreError::Unavailable { .. } | StoreError::DiskFull(_) | StoreError::NoRoom => {
                tracing::warn!(%error, "the database is unavailable");
                Self::StoreUnavailable
            }
            error => {
                tracing::error!(%error, "the database failed");
                Self::Internal
            }
        }
    }
}

/// Logs the cause, unless the caller is at fault.
impl From<PaymentError> for ServiceError {
    fn from(error: PaymentError) -> Self {
        match &error {
            PaymentError::Ledger(LedgerError::Unavailable(_)) => {
                tracing::warn!(%error, "the database is unavailable");
            }
            PaymentError::Ledger(_) => tracing::error!(%error, "the database failed"),
            PaymentError::Chain(fault) => log_fault(fault),
            PaymentError::Inconsistent(what) => tracing::error!(what, "our records contradict themselves"),
            PaymentError::KeyTaken
            | PaymentError::KeyPaidElsewhere
            | PaymentError::Duplicate(_)
            | PaymentError::TooManyRefusals { .. }
            | PaymentError::Gone => {}
        }
        told(&error)
    }
}

/// What a caller is told of an error that was logged.
pub(super) fn told(error: &PaymentError) -> ServiceError {
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

/// Translates the fault of a read for a caller whose request did nothing yet.
pub(super) fn from_fault(fault: &ChainFault) -> ServiceError {
    log_fault(fault);
    of_fault(fault)
}

fn log_fault(fault: &ChainFault) {
    match fault {
        ChainFault::Unavailable(_) => tracing::warn!(error = %fault, "the chain is unavailable"),
        ChainFault::Refused(_) => {
            tracing::error!(error = %fault, "the chain rejected what it should have accepted");
        }
        // The signer checks log these.
        ChainFault::AuthorityRotated | ChainFault::FeePayerEmpty | ChainFault::SignerUnavailable => {}
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

/// Translates a chain error for a caller whose request did nothing yet (`retryable`) or may have done something.
pub(super) fn from_chain(network: Network, error: &ChainError, retryable: bool) -> ServiceError {
    match error {
        ChainError::Unavailable { .. } => {
            tracing::warn!(%network, %error, "the chain is unavailable");
            ServiceError::ChainUnavailable { retryable }
        }
        ChainError::Expired => {
            tracing::warn!(%network, %error, "the chain took too long");
            ServiceError::ChainUnavailable { retryable: true }
        }
        ChainError::PolicyChanged => ServiceError::PolicyChanged,
        // The recorder logs this one.
        ChainError::Unrecorded => ServiceError::Unrecorded,
        // The signer checks log this one.
        ChainError::AuthorityRotated { .. } => ServiceError::AuthorityRotated,
        ChainError::FeePayerEmpty { .. } => ServiceError::FeePayerEmpty,
        ChainError::SignerUnavailable { .. } => ServiceError::SignerUnavailable,
        ChainError::RentOfAnother { rent_refund, .. } => {
            let message = format!(
                "may not get longer through the service: another wallet, {rent_refund}, made the account and would get the rent of \
                 the entries. Add them with the admin's wallet"
            );
            Counterparties::invalid(message).into()
        }
        ChainError::Rejected { .. } | ChainError::NotFound { .. } | ChainError::Misconfigured(_) => {
            tracing::error!(%network, %error, "the chain refused a valid request");
            ServiceError::Internal
        }
    }
}

/// Something was written, so a retry may have an effect.
pub(super) fn after_writing(error: ServiceError) -> ServiceError {
    match error {
        ServiceError::ChainUnavailable { .. } => ServiceError::ChainUnavailable { retryable: false },
        other => other,
    }
}
