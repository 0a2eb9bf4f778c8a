use std::net::IpAddr;

use crate::chain::ChainError;
use crate::domain::{Counterparties, Invalid, Network, QuotaExceeded};
use crate::store::StoreError;

/// Why a service refused or could not do what was asked. Transfers that end badly are transfers, not errors.
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
    #[error("the idempotency key was used for another transfer")]
    IdempotencyConflict,
    /// As many transfers of the account or of its operator are pending as may be. Nothing was claimed.
    #[error("too many transfers are pending")]
    TooManyPending,
    /// The operator has as many streams open as it may have.
    #[error("too many streams are open")]
    TooManyStreams,
    /// An agent met the key of another agent of its operator.
    #[error("the idempotency key belongs to another account's transfer")]
    KeyOfOtherAccount,
    /// The name of a request stands for another one.
    #[error("{0:?}")]
    RequestConflict(RequestConflict),
    /// A request under this name is being carried out.
    #[error("a request under this idempotency key is being carried out")]
    RequestRunning,
    /// The policy is another one than the change was meant for, or became so on the way. Nothing was changed.
    #[error("the policy has changed")]
    PolicyChanged,
    /// Says what the recipient is, and what to pay instead where that is known.
    #[error("{0}")]
    InvalidRecipient(String),
    /// A server that something is bought from asks for what cannot or may not be paid. Nothing was paid.
    #[error("{0}")]
    OfferRefused(String),
    /// Such a server did not answer; says why, to follow "The server". Nothing was paid.
    #[error("the server {0}")]
    NotFetched(&'static str),
    /// The chain could not be asked or did not answer. `retryable` is false where something may have been done.
    #[error("the chain is unavailable")]
    ChainUnavailable { retryable: bool },
    /// The database cannot be used now, and what was asked for may have been done.
    #[error("the database is unavailable")]
    StoreUnavailable,
    /// The operator's admin has named other keys than ours. Nothing was done.
    #[error("the operator names none of our keys")]
    AuthorityRotated,
    /// The service's own wallet has too little SOL. Nothing was done.
    #[error("the fee payer has no SOL")]
    FeePayerEmpty,
    /// Whoever keeps our key did not sign. Nothing that was asked for was done.
    #[error("the signer is unavailable")]
    SignerUnavailable,
    #[error("{0:?}")]
    QuotaExceeded(QuotaExceeded),
    /// The service was set up without what this needs.
    #[error("this is not configured")]
    NotConfigured,
    /// A fault of ours; its cause was logged where it was met.
    #[error("internal error")]
    Internal,
}

/// Why a key opens nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unauthorized {
    MissingKey,
    UnknownKey,
    KeyOfOtherCell,
    ExpiredKey,
    RevokedKey,
}

/// What an agent key may not do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Forbidden {
    OperatorKeyNeeded,
    OtherAccount,
    /// The key is for other addresses. `None`: the address is not known.
    OtherAddress(Option<IpAddr>),
}

/// Why a request's name is not good for it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RequestConflict {
    OtherRequest,
    /// The answer shows a secret, or is still to be made, and another API key asked for it.
    OtherApiKey,
}

/// A thing that is looked up by its id.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Resource {
    Account,
    /// The account that a request is to pay from.
    Payer,
    Transfer,
    Key,
    Event,
    Webhook,
    /// A policy that waits.
    PendingPolicy,
}

impl From<StoreError> for ServiceError {
    fn from(error: StoreError) -> Self {
        match error {
            StoreError::QuotaExceeded(exceeded) => Self::QuotaExceeded(exceeded),
            StoreError::Unavailable { .. } => {
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

/// What an answer of the chain means to a caller whose request did nothing yet (`retryable`) or may have done something.
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
        // Said in the log by whoever looks after the keys.
        ChainError::AuthorityRotated { .. } => ServiceError::AuthorityRotated,
        ChainError::FeePayerEmpty { .. } => ServiceError::FeePayerEmpty,
        ChainError::SignerUnavailable { .. } => ServiceError::SignerUnavailable,
        ChainError::RentOfAnother { rent_payer, .. } => {
            let message = format!(
                "may not get longer through the service: the account was made by another wallet, {rent_payer}, which would                  get the rent of the entries. Add them with the admin's wallet"
            );
            Counterparties::invalid(message).into()
        }
        ChainError::Rejected { .. } | ChainError::NotFound { .. } | ChainError::Misconfigured(_) => {
            tracing::error!(%network, %error, "the chain refused what it should have taken");
            ServiceError::Internal
        }
    }
}

/// Something was written, so trying again is no longer free of effect.
pub(super) fn after_writing(error: ServiceError) -> ServiceError {
    match error {
        ServiceError::ChainUnavailable { .. } => ServiceError::ChainUnavailable { retryable: false },
        other => other,
    }
}
