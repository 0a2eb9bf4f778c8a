//! What a used idempotency key allows.

use super::{Approval, FailureCode, IDEMPOTENCY_SECONDS, Transfer, TransferId, TransferState};

/// What a request finds under its idempotency key.
#[derive(Debug, Clone)]
pub enum Claim {
    /// The key was free: the caller carries out this transfer.
    New(Transfer),
    /// The earlier try failed for a reason other than policy. The caller carries out this new try under the same tag.
    Retry(Transfer),
    /// The earlier try settled, or policy rejected it: answer with that.
    Replay(Transfer),
    /// The earlier try is in flight: wait for it.
    InFlight(Transfer),
    /// The key was used for a different request.
    Conflict,
    /// Nothing was claimed: it looks like this transfer under another key. See [`super::Duplicates`].
    Duplicate(TransferId),
    /// Nothing was claimed: it would end unpaid, and as many did in 24 hours as may. There is room for one more a day after this one.
    TooManyRefused(TransferId),
}

/// A used key, and the latest try under it.
#[derive(Debug)]
pub struct UsedKey {
    pub fingerprint: String,
    /// How often it was used, including that try.
    pub uses: i64,
    /// 24 h after its first claim, in Unix seconds.
    pub expires_unix: i64,
    pub transfer: Transfer,
}

/// What a request may do with a used key.
#[derive(Debug)]
pub enum Reuse {
    /// It has expired: the request starts over.
    Expired,
    /// Nothing was paid: the request is the next try.
    Retry,
    /// No new try: this is the answer.
    Answer(Box<Claim>),
}

impl UsedKey {
    /// `agreed`: the Unix seconds that the chain and the host agree on. Without them nothing expires.
    /// `approval`: what the request says.
    pub fn reused_by(&self, fingerprint: &str, agreed: Option<i64>, approval: Approval) -> Reuse {
        let is_same = self.fingerprint == fingerprint;
        let has_expired = agreed.is_some_and(|now| self.expires_at() <= now);
        let transfer = || self.transfer.clone();
        let answer = |claim| Reuse::Answer(Box::new(claim));
        match &self.transfer.state {
            // The try is or will be in flight, so the key stays taken, however old it is.
            TransferState::Claimed
            | TransferState::PendingApproval(_)
            | TransferState::Signed(_)
            | TransferState::Sent { .. } => {
                answer(if is_same { Claim::InFlight(transfer()) } else { Claim::Conflict })
            }
            TransferState::Settled(_) | TransferState::Rejected(_) | TransferState::Failed(_)
                if has_expired =>
            {
                Reuse::Expired
            }
            TransferState::Settled(_) | TransferState::Rejected(_) | TransferState::Failed(_) if !is_same => {
                answer(Claim::Conflict)
            }
            // Nobody was asked about it yet.
            TransferState::Rejected(rejection) if approval.is_wanted(rejection) => Reuse::Retry,
            TransferState::Settled(_) | TransferState::Rejected(_) => answer(Claim::Replay(transfer())),
            // Whoever refuses to send them would get signed bytes at every try; and a person's no stands.
            TransferState::Failed(failure)
                if [
                    FailureCode::PaymentRefused,
                    FailureCode::ApprovalRejected,
                    FailureCode::ApprovalWithdrawn,
                ]
                .contains(&failure.code) =>
            {
                answer(Claim::Replay(transfer()))
            }
            TransferState::Failed(_) => Reuse::Retry,
        }
    }

    /// 24 h after the claim, but not before the chain has forgotten the tag of the payment under the key.
    fn expires_at(&self) -> i64 {
        match &self.transfer.state {
            TransferState::Settled(settlement) => {
                // The block's time is one node's word; we recorded the settlement by our own clock.
                let settled = settlement.settled_at.max(self.transfer.updated_at);
                let forgotten = settled.unix_seconds().saturating_add(IDEMPOTENCY_SECONDS);
                self.expires_unix.max(forgotten)
            }
            TransferState::Claimed
            | TransferState::PendingApproval(_)
            | TransferState::Signed(_)
            | TransferState::Sent { .. }
            | TransferState::Rejected(_)
            | TransferState::Failed(_) => self.expires_unix,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        AccountId, Address, Failure, FailureCode, IdempotencyKey, KeyId, Network, OperatorId, Recipient,
        Settlement, SignedTransfer, Timestamp, TransferId, TransferRequest, UsdcAmount,
    };

    const CLAIMED_AT: i64 = 1_700_000_000;
    const AT: fn(i64) -> Timestamp = Timestamp::from_unix_seconds;

    fn used(state: TransferState) -> UsedKey {
        let transfer = Transfer {
            id: TransferId::from_bytes([1; 16]),
            operator_id: OperatorId::from_bytes([2; 16]),
            network: Network::Test,
            key_id: KeyId::from_bytes([3; 16]),
            idempotency_key: IdempotencyKey::parse("k").expect("valid"),
            request: TransferRequest {
                from: AccountId::from_bytes([4; 16]),
                to: Recipient::TokenAccount(Address::from_bytes([5; 32])),
                amount: UsdcAmount::from_micros(1_500_000),
                memo: None,
            },
            fee_payer: None,
            refusal: None,
            approval: Approval::Never,
            policy_version: None,
            reopened: 0,
            asked_at: Some(0),
            earlier_valid_until: None,
            state,
            created_at: AT(CLAIMED_AT),
            updated_at: AT(CLAIMED_AT),
        };
        let expires_unix = CLAIMED_AT + IDEMPOTENCY_SECONDS;
        UsedKey { fingerprint: "f".into(), uses: 1, expires_unix, transfer }
    }

    fn settled_after(seconds: i64) -> UsedKey {
        let settled_at = AT(CLAIMED_AT + seconds);
        used(TransferState::Settled(Settlement { signature: "s".into(), settled_at, slot: 3, number: None }))
    }

    fn answered(reuse: Reuse) -> Claim {
        match reuse {
            Reuse::Answer(claim) => *claim,
            Reuse::Expired | Reuse::Retry => panic!("{reuse:?}"),
        }
    }

    fn failed() -> UsedKey {
        let failed_at = AT(CLAIMED_AT);
        used(TransferState::Failed(Failure {
            code: FailureCode::TransferExpired,
            message: "expired".into(),
            failed_at,
            retry_at: None,
        }))
    }

    #[test]
    fn a_settled_key_outlives_the_tag_of_its_payment() {
        let key = settled_after(100);
        let forgotten = CLAIMED_AT + 100 + IDEMPOTENCY_SECONDS;
        assert!(matches!(
            answered(key.reused_by("f", Some(forgotten - 1), Approval::Never)),
            Claim::Replay(_)
        ));
        assert!(matches!(key.reused_by("f", Some(forgotten), Approval::Never), Reuse::Expired));
        // Nor does it expire sooner than 24 h after its claim.
        let early = settled_after(-100);
        let claimed = CLAIMED_AT + IDEMPOTENCY_SECONDS;
        assert!(matches!(
            answered(early.reused_by("f", Some(claimed - 1), Approval::Never)),
            Claim::Replay(_)
        ));
    }

    #[test]
    fn a_block_time_hours_before_the_settlement_was_recorded_shortens_nothing() {
        let mut key = settled_after(0);
        key.transfer.updated_at = AT(CLAIMED_AT + 3 * 3_600);
        let forgotten = CLAIMED_AT + 3 * 3_600 + IDEMPOTENCY_SECONDS;
        assert!(matches!(
            answered(key.reused_by("f", Some(forgotten - 1), Approval::Never)),
            Claim::Replay(_)
        ));
        assert!(matches!(key.reused_by("f", Some(forgotten), Approval::Never), Reuse::Expired));
    }

    #[test]
    fn nothing_expires_while_the_clocks_disagree() {
        assert!(matches!(answered(settled_after(0).reused_by("f", None, Approval::Never)), Claim::Replay(_)));
        assert!(matches!(failed().reused_by("f", None, Approval::Never), Reuse::Retry));
    }

    #[test]
    fn another_request_conflicts_until_the_key_expires() {
        for key in [settled_after(0), failed()] {
            assert!(matches!(
                answered(key.reused_by("g", Some(CLAIMED_AT), Approval::Never)),
                Claim::Conflict
            ));
            assert!(matches!(key.reused_by("g", Some(i64::MAX), Approval::Never), Reuse::Expired));
        }
    }

    #[test]
    fn transfer_in_flight_keeps_its_key_however_old_it_is() {
        let signed = SignedTransfer { bytes: vec![1], signature: "s".into(), last_valid_block_height: 9 };
        for state in [TransferState::Claimed, TransferState::Signed(signed)] {
            let key = used(state);
            assert!(matches!(
                answered(key.reused_by("f", Some(i64::MAX), Approval::Never)),
                Claim::InFlight(_)
            ));
            assert!(matches!(answered(key.reused_by("g", Some(i64::MAX), Approval::Never)), Claim::Conflict));
        }
    }
}
