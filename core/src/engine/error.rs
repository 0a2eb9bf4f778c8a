use crate::{ChainFault, LedgerError, TransferId};

/// Why a transfer was not begun, or could not be carried on. A refusal by policy and a failure are states of the transfer.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PaymentError {
    /// The idempotency key was used for another request.
    #[error("the idempotency key was used for another transfer")]
    KeyTaken,
    /// The chain knows the idempotency key for another transfer.
    #[error("the idempotency key was used on the chain for another transfer")]
    KeyPaidElsewhere,
    /// It looks like this payment under another key, and is not said to be meant as well; nothing was claimed.
    #[error("it looks like {0}")]
    Duplicate(TransferId),
    /// It would be refused, and as many were in the last 24 hours as may be; nothing was claimed.
    #[error("too many transfers were refused")]
    TooManyRefusals { retry_after_seconds: u64 },
    /// Nothing was claimed.
    #[error("the chain is unavailable: {0}")]
    Chain(#[from] ChainFault),
    #[error("the ledger failed: {0}")]
    Ledger(#[from] LedgerError),
    /// Our records hold no such transfer any more.
    #[error("no such transfer")]
    Gone,
    /// Our records contradict themselves; what they miss was logged.
    #[error("{0}")]
    Inconsistent(&'static str),
}

impl PaymentError {
    /// Whether the fault is ours, so that somebody else should try.
    pub(super) fn is_ours(&self) -> bool {
        match self {
            Self::Ledger(error) => match error {
                LedgerError::Unavailable(_) => false,
                LedgerError::Superseded
                | LedgerError::TooManyApprovals
                | LedgerError::WrongState(_)
                | LedgerError::Failed(_) => true,
            },
            Self::Inconsistent(_) => true,
            Self::KeyTaken
            | Self::KeyPaidElsewhere
            | Self::Duplicate(_)
            | Self::TooManyRefusals { .. }
            | Self::Chain(_)
            | Self::Gone => false,
        }
    }
}
