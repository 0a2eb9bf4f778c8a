//! A transfer that asks for its idempotency key.

use std::time::Duration;

use super::{
    Address, Approval, Fingerprint, IDEMPOTENCY_SECONDS, IdempotencyKey, KeyId, Network, OperatorId,
    SignedTransfer, Timestamp, Transfer, TransferId, TransferRequest, TransferState, UsedKey,
};

/// A request under its idempotency key, and what its caller wants done where it is in doubt.
#[derive(Debug, Clone)]
pub struct AskedTransfer {
    pub idempotency_key: IdempotencyKey,
    pub request: TransferRequest,
    pub duplicates: Duplicates,
    pub approval: Approval,
}

/// A transfer that asks for its idempotency key.
#[derive(Debug, Clone)]
pub struct NewTransfer {
    /// Used when the claim is `New` or `Retry`. Ends in the tag of its key.
    pub id: TransferId,
    pub operator_id: OperatorId,
    pub network: Network,
    pub key_id: KeyId,
    pub asked: AskedTransfer,
    /// Set when somebody else sends its bytes.
    pub sender: Option<OtherSender>,
    /// See [`super::Transfer::asked_at`].
    pub asked_at: i64,
    /// See [`SignedAhead`].
    pub signed: Option<SignedAhead>,
}

impl NewTransfer {
    /// What a later request under its key must equal.
    pub fn fingerprint(&self) -> Fingerprint {
        self.sender.map_or_else(|| Fingerprint::of(&self.asked.request), |sender| sender.fingerprint)
    }

    /// A payment with its tag is one of its key if it was made later than this.
    pub fn paid_since(&self) -> Timestamp {
        Timestamp::from_unix_seconds(self.asked_at.saturating_sub(IDEMPOTENCY_SECONDS))
    }

    /// The transfer that the claim makes of it. It is signed if the claim stored the bytes that were signed ahead.
    pub fn claimed(&self, bytes_are_stored: bool, now: Timestamp) -> Transfer {
        let ahead = self.signed.as_ref().filter(|_| bytes_are_stored);
        Transfer {
            id: self.id,
            operator_id: self.operator_id,
            network: self.network,
            key_id: self.key_id,
            idempotency_key: self.asked.idempotency_key.clone(),
            request: self.asked.request.clone(),
            fee_payer: self.sender.map(|sender| sender.fee_payer),
            refusal: None,
            approval: self.asked.approval,
            policy_version: ahead.map(|ahead| ahead.policy_version),
            reopened: 0,
            asked_at: Some(self.asked_at),
            earlier_valid_until: None,
            state: ahead.map_or(TransferState::Claimed, |ahead| TransferState::Signed(ahead.signed.clone())),
            created_at: now,
            updated_at: now,
        }
    }
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

/// Bytes that were signed before the claim. A claim that is `New` or `Retry` stores them with it if our records then
/// hold no payment with the tag. If the claimed transfer holds no bytes, do not send these.
#[derive(Debug, Clone)]
pub struct SignedAhead {
    pub signed: SignedTransfer,
    /// See [`super::Transfer::policy_version`].
    pub policy_version: u64,
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
