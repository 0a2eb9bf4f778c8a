use std::fmt;

use super::{ApprovalWanted, Failure, Rejection, Timestamp};

/// A transfer's progress. Each variant carries its facts; each method returns the next state or refuses.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TransferState {
    /// Nothing is signed. Every transfer begins here and is stored in its next state; version 0.1.0 stored this one too.
    Claimed,
    /// A person is asked whether it may be paid beyond the policy; nothing is signed.
    PendingApproval(ApprovalWanted),
    /// Stored before the first send: from now on it may be on the chain.
    Signed(SignedTransfer),
    /// A node accepted it.
    Sent { signed: SignedTransfer, sent_at: Timestamp },
    /// Final at the configured commitment.
    Settled(Settlement),
    /// Refused by policy.
    Rejected(Rejection),
    /// Ended otherwise; a retry under the same idempotency key is allowed.
    Failed(Failure),
}

/// Signed bytes and what it takes to follow them to their end.
#[derive(Clone, PartialEq, Eq)]
pub struct SignedTransfer {
    /// The wire form of the transaction.
    pub bytes: Vec<u8>,
    /// Base58.
    pub signature: String,
    /// If the signature is unknown once the finalized height is past this block height, it never lands.
    pub last_valid_block_height: u64,
}

impl fmt::Debug for SignedTransfer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "SignedTransfer({}, until block {})", self.signature, self.last_valid_block_height)
    }
}

/// Where and when a transfer became final.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Settlement {
    /// Base58.
    pub signature: String,
    pub settled_at: Timestamp,
    pub slot: u64,
    /// The payment's number by its event, if that came with the news; the indexer reads it otherwise.
    pub number: Option<u64>,
}

words! {
    /// The status that clients see.
    pub enum TransferStatus = "TransferStatus":
        "The state of a transfer: `submitted` may still settle or fail, the others are end states." {
        Submitted = "submitted",
        PendingApproval = "pending_approval",
        Settled = "settled",
        Rejected = "rejected",
        Failed = "failed",
    }
}

/// A step that the state does not allow.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("a transfer that is {from} cannot become {to}")]
pub struct WrongState {
    pub from: &'static str,
    pub to: &'static str,
}

impl TransferState {
    /// The status that clients see.
    pub const fn status(&self) -> TransferStatus {
        match self {
            Self::Claimed | Self::Signed(_) | Self::Sent { .. } => TransferStatus::Submitted,
            Self::PendingApproval(_) => TransferStatus::PendingApproval,
            Self::Settled(_) => TransferStatus::Settled,
            Self::Rejected(_) => TransferStatus::Rejected,
            Self::Failed(_) => TransferStatus::Failed,
        }
    }

    /// As stored.
    pub const fn as_str(&self) -> &'static str {
        match self {
            Self::Claimed => "claimed",
            Self::PendingApproval(_) => "pending_approval",
            Self::Signed(_) => "signed",
            Self::Sent { .. } => "sent",
            Self::Settled(_) => "settled",
            Self::Rejected(_) => "rejected",
            Self::Failed(_) => "failed",
        }
    }

    /// The bytes that may be in flight, if it is signed and has not ended.
    pub const fn signed(&self) -> Option<&SignedTransfer> {
        match self {
            Self::Signed(signed) | Self::Sent { signed, .. } => Some(signed),
            Self::Claimed
            | Self::PendingApproval(_)
            | Self::Settled(_)
            | Self::Rejected(_)
            | Self::Failed(_) => None,
        }
    }

    /// Asks a person, before anything is signed.
    pub fn ask(&self, wanted: ApprovalWanted) -> Result<Self, WrongState> {
        match self {
            Self::Claimed => Ok(Self::PendingApproval(wanted)),
            Self::PendingApproval(_)
            | Self::Signed(_)
            | Self::Sent { .. }
            | Self::Settled(_)
            | Self::Rejected(_)
            | Self::Failed(_) => Err(self.wrong("pending_approval")),
        }
    }

    /// Signs for the first time, or again after the previous bytes expired unseen.
    pub fn sign(&self, signed: SignedTransfer) -> Result<Self, WrongState> {
        match self {
            Self::Claimed | Self::PendingApproval(_) | Self::Signed(_) | Self::Sent { .. } => {
                Ok(Self::Signed(signed))
            }
            Self::Settled(_) | Self::Rejected(_) | Self::Failed(_) => Err(self.wrong("signed")),
        }
    }

    /// Records that a node accepted the bytes.
    pub fn send(&self, sent_at: Timestamp) -> Result<Self, WrongState> {
        match self {
            Self::Signed(signed) => Ok(Self::Sent { signed: signed.clone(), sent_at }),
            Self::Claimed
            | Self::PendingApproval(_)
            | Self::Sent { .. }
            | Self::Settled(_)
            | Self::Rejected(_)
            | Self::Failed(_) => Err(self.wrong("sent")),
        }
    }

    /// Final on the chain. Possible before it is signed, too: the chain may hold the payment of an earlier try.
    pub fn settle(&self, settlement: Settlement) -> Result<Self, WrongState> {
        self.end(Self::Settled(settlement))
    }

    /// Refused by policy, before signing or on the chain.
    pub fn reject(&self, rejection: Rejection) -> Result<Self, WrongState> {
        self.end(Self::Rejected(rejection))
    }

    /// Ended without a payment.
    pub fn fail(&self, failure: Failure) -> Result<Self, WrongState> {
        self.end(Self::Failed(failure))
    }

    fn end(&self, end: Self) -> Result<Self, WrongState> {
        match self {
            Self::Claimed | Self::PendingApproval(_) | Self::Signed(_) | Self::Sent { .. } => Ok(end),
            Self::Settled(_) | Self::Rejected(_) | Self::Failed(_) => Err(self.wrong(end.as_str())),
        }
    }

    const fn wrong(&self, to: &'static str) -> WrongState {
        WrongState { from: self.as_str(), to }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Checks, FailureCode, RejectionReason};

    const AT: fn() -> Timestamp = || Timestamp::from_unix_seconds(1_700_000_000);

    fn signed() -> SignedTransfer {
        SignedTransfer { bytes: vec![1], signature: "sig".into(), last_valid_block_height: 9 }
    }

    fn settlement() -> Settlement {
        Settlement { signature: "sig".into(), settled_at: AT(), slot: 3, number: None }
    }

    fn failure() -> Failure {
        Failure {
            code: FailureCode::TransferExpired,
            message: "expired".into(),
            failed_at: AT(),
            retry_at: None,
        }
    }

    fn rejection() -> Rejection {
        Rejection {
            reason: RejectionReason::Paused,
            message: "paused".into(),
            checks: Checks::default(),
            policy_version: Some(1),
            retry_at: None,
            rejected_at: AT(),
        }
    }

    #[test]
    fn nothing_follows_an_end() {
        for end in [
            TransferState::Settled(settlement()),
            TransferState::Rejected(rejection()),
            TransferState::Failed(failure()),
        ] {
            assert!(end.sign(signed()).is_err());
            assert!(end.send(AT()).is_err());
            assert!(end.settle(settlement()).is_err());
            assert!(end.reject(rejection()).is_err());
            assert!(end.fail(failure()).is_err());
        }
    }

    #[test]
    fn only_signed_bytes_are_sent() {
        assert_eq!(TransferState::Claimed.send(AT()), Err(WrongState { from: "claimed", to: "sent" }));
        let sent = TransferState::Signed(signed()).send(AT()).expect("allowed");
        assert_eq!(sent.signed(), Some(&signed()));
        assert!(sent.send(AT()).is_err());
        assert_eq!(sent.sign(signed()), Ok(TransferState::Signed(signed())));
    }

    #[test]
    fn every_open_state_is_submitted_to_clients() {
        let sent = TransferState::Sent { signed: signed(), sent_at: AT() };
        for open in [TransferState::Claimed, TransferState::Signed(signed()), sent] {
            assert_eq!(open.status(), TransferStatus::Submitted);
            assert_eq!(open.settle(settlement()).map(|end| end.status()), Ok(TransferStatus::Settled));
        }
    }
}
