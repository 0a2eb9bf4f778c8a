//! A transfer that asks for its idempotency key.

use std::time::Duration;

use super::{
    Address, Approval, ApprovalWanted, Fingerprint, IDEMPOTENCY_SECONDS, IdempotencyKey,
    REQUEST_AHEAD_SECONDS, Timestamp, Transfer, TransferId, TransferRequest, TransferState, UsedKey,
};

/// A request under its idempotency key, and what its caller wants done where it is in doubt.
#[derive(Debug, Clone)]
pub struct AskedTransfer {
    pub idempotency_key: IdempotencyKey,
    pub request: TransferRequest,
    pub duplicates: Duplicates,
    pub approval: Approval,
}

/// A transfer that asks for its idempotency key, with its first step.
#[derive(Debug, Clone)]
pub struct NewTransfer {
    /// Its id ends in the tag of its key. Its state is `Claimed`, which is stored nowhere.
    pub transfer: Transfer,
    /// Signed, refused, failed, or waiting for a person: stored with the claim.
    pub next: TransferState,
    /// What is asked for, where that is more than the payment: see [`OtherSender`].
    pub fingerprint: Option<Fingerprint>,
    pub duplicates: Duplicates,
    pub refusals: RefusalLimits,
}

impl NewTransfer {
    /// What a later request under its key must equal.
    pub fn fingerprint(&self) -> Fingerprint {
        self.fingerprint.unwrap_or_else(|| Fingerprint::of(&self.transfer.request))
    }

    /// The transfer that the claim stores.
    pub fn claimed(&self, key_use: KeyUse, now: Timestamp) -> Transfer {
        let next = match self.next.clone() {
            // The key is older where it was refused before. A grant must not outlive it: what reuses the key has the same tag.
            TransferState::PendingApproval(wanted) => {
                let last = key_use.expires_unix.saturating_sub(REQUEST_AHEAD_SECONDS);
                let expires_at = wanted.expires_at.min(Timestamp::from_unix_seconds(last));
                TransferState::PendingApproval(ApprovalWanted { expires_at, ..wanted })
            }
            next @ (TransferState::Claimed
            | TransferState::Signed(_)
            | TransferState::Sent { .. }
            | TransferState::Settled(_)
            | TransferState::Rejected(_)
            | TransferState::Failed(_)) => next,
        };
        self.transfer.moved(next, now)
    }
}

/// How many transfers of an account, and of all accounts of an operator, may be rejected or fail in 24 hours. Each is kept, with an
/// entry, an event and a denial, so whoever has one agent key could fill the disk with them. What can be paid is paid as ever.
#[derive(Debug, Clone, Copy)]
pub struct RefusalLimits {
    pub per_account: u32,
    pub per_operator: u32,
}

/// How long ago a payment under another key may have settled, by our clock, to pass for the same one.
pub const DUPLICATE_WITHIN: Duration = Duration::from_secs(600);

/// What becomes of a duplicate: a new payment where one of the same account with the same payee, amount and memo is under way
/// under another key, or settled within [`DUPLICATE_WITHIN`]. A retry is none.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Duplicates {
    pub are_refused: bool,
    /// The payment that this one repeats on purpose.
    pub meant: Option<TransferId>,
}

impl Duplicates {
    /// The payment because of which a new one is refused: `latest` is the last one like it.
    pub fn refused_for(self, latest: Option<TransferId>) -> Option<TransferId> {
        latest.filter(|_| self.are_refused && self.meant != latest)
    }
}

/// Somebody else who sends a transfer's bytes.
#[derive(Debug, Clone, Copy)]
pub struct OtherSender {
    /// See [`super::Transfer::fee_payer`].
    pub fee_payer: Address,
    /// The fingerprint of what is asked for, used instead of the payment's.
    pub fingerprint: Fingerprint,
}

/// The two clocks of a claim: leases use the one that relayers share; idempotency keys use the chain's, if that one agrees.
#[derive(Debug, Clone, Copy)]
pub struct ClaimClock {
    pub now: Timestamp,
    /// The caller holds the claim until then; after that another worker may take it over.
    pub lease_expires_at: Timestamp,
    /// Unix seconds that the chain's clock and ours agree on. `None`: nothing expires.
    pub agreed: Option<i64>,
}

impl ClaimClock {
    /// When the key was first used. While the clocks disagree our time will do, since nothing expires before they agree.
    fn born(self) -> i64 {
        self.agreed.unwrap_or_else(|| self.now.unix_seconds())
    }
}

/// Which use of its idempotency key a transfer is, and the earliest time at which the key expires.
#[derive(Debug, Clone, Copy)]
pub struct KeyUse {
    pub number: i64,
    pub expires_unix: i64,
}

impl KeyUse {
    /// A free key, or an expired one that starts over after this many uses.
    pub fn begins(uses: i64, clock: ClaimClock) -> Self {
        Self { number: uses + 1, expires_unix: clock.born().saturating_add(IDEMPOTENCY_SECONDS) }
    }

    /// The next try. It does not prolong the key.
    pub const fn goes_on(used: &UsedKey) -> Self {
        Self { number: used.uses + 1, expires_unix: used.expires_unix }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_duplicate_is_paid_only_where_the_latest_one_is_named() {
        let [first, second] = [1, 2].map(|byte| TransferId::from_bytes([byte; 16]));
        let refused = |meant, latest| Duplicates { are_refused: true, meant }.refused_for(latest);
        assert_eq!(refused(None, None), None);
        assert_eq!(refused(None, Some(first)), Some(first));
        assert_eq!(refused(Some(first), Some(first)), None);
        // Whoever names the first does not know of the second.
        assert_eq!(refused(Some(first), Some(second)), Some(second));
        assert_eq!(Duplicates::default().refused_for(Some(first)), None);
    }
}
