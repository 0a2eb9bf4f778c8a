//! The chain wins: what a payment in an account's history, or the loss of one, makes of a transfer. Pure, and the one arrow that
//! leads from the history back to transfers.

use std::time::Duration;

use super::{
    AccountId, Address, Settlement, SignedTransfer, Timestamp, Transfer, TransferId, TransferState,
    UsdcAmount,
};

/// How long after its block's time a payment may claim to be requested; beyond that the clocks disagree.
const ASKED_LATER_MAX: Duration = Duration::from_secs(300);

/// A payment that stands on the chain.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PaymentMade {
    /// The transfer that its signer named. Another try under the same key is another transfer, with the same tag.
    pub transfer_id: TransferId,
    /// The account that paid.
    pub account_id: AccountId,
    /// Base58.
    pub signature: String,
    pub slot: u64,
    pub made_at: Timestamp,
    pub amount: UsdcAmount,
    /// The token account that was paid.
    pub recipient: Address,
    /// Empty when there is no memo.
    pub memo: String,
}

/// What a payment under a transfer's own id means for the transfer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PaymentMeans {
    /// Nothing new: this payment has settled it.
    Known,
    /// This payment is what was asked for, so it settles the transfer, whatever we thought of it.
    Settles(Settlement),
    /// It is something else, or a second payment: not of our making, and never a settlement.
    Contradicts,
}

/// A payment that bears a transfer's id and is not that transfer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Contradiction {
    pub transfer_id: TransferId,
    /// Base58.
    pub signature: String,
}

impl Transfer {
    /// Whether a payment with its tag is what it asks for. `destination`: the token account that its recipient stands for.
    pub fn equals(&self, payment: &PaymentMade, destination: Option<Address>) -> bool {
        payment.account_id == self.request.from
            && payment.amount == self.request.amount
            && Some(payment.recipient) == destination
            && payment.memo == self.request.memo()
    }

    /// What the history's payment with its id means for it.
    pub fn met_by(&self, payment: &PaymentMade, destination: Option<Address>) -> PaymentMeans {
        match &self.state {
            TransferState::Settled(settlement) if settlement.signature == payment.signature => {
                PaymentMeans::Known
            }
            TransferState::Settled(_) => PaymentMeans::Contradicts,
            TransferState::Claimed
            | TransferState::PendingApproval(_)
            | TransferState::Signed(_)
            | TransferState::Sent { .. }
            | TransferState::Rejected(_)
            | TransferState::Failed(_)
                if self.equals(payment, destination) =>
            {
                PaymentMeans::Settles(Settlement {
                    signature: payment.signature.clone(),
                    settled_at: payment.made_at,
                    slot: payment.slot,
                    number: None,
                })
            }
            TransferState::Claimed
            | TransferState::PendingApproval(_)
            | TransferState::Signed(_)
            | TransferState::Sent { .. }
            | TransferState::Rejected(_)
            | TransferState::Failed(_) => PaymentMeans::Contradicts,
        }
    }

    /// The transfer after a fork dropped the payment with this signature, which had settled it: open again. `bytes`: those stored
    /// with it, which may still land; without any, everything is decided anew. `None`: it is not concerned.
    pub fn reopened_by_loss(
        &self,
        signature: &str,
        bytes: Option<SignedTransfer>,
        now: Timestamp,
    ) -> Option<Self> {
        match &self.state {
            TransferState::Settled(settlement) if settlement.signature == signature => Some(Self {
                state: bytes
                    .map_or(TransferState::Claimed, |signed| TransferState::Sent { signed, sent_at: now }),
                reopened: self.reopened.saturating_add(1),
                updated_at: now,
                ..self.clone()
            }),
            TransferState::Claimed
            | TransferState::PendingApproval(_)
            | TransferState::Signed(_)
            | TransferState::Sent { .. }
            | TransferState::Settled(_)
            | TransferState::Rejected(_)
            | TransferState::Failed(_) => None,
        }
    }
}

/// When a payment happened: the block's time, a whole second of the chain's clock, but not before its transfer's
/// creation, which is in its id. An id that is far ahead of the block is ignored.
pub fn happened_at(block: Timestamp, transfer: Option<TransferId>) -> Timestamp {
    let asked = transfer.map_or(block, |id| id.made_by());
    if block.until(asked) <= ASKED_LATER_MAX { block.max(asked) } else { block }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        Checks, Failure, FailureCode, IdempotencyKey, KeyId, Memo, Network, OperatorId, Recipient, Rejection,
        RejectionReason, TransferRequest,
    };

    const AT: fn(i64) -> Timestamp = Timestamp::from_unix_seconds;
    const PAYEE: Address = Address::from_bytes([5; 32]);

    fn signed() -> SignedTransfer {
        SignedTransfer { bytes: vec![1], signature: "one".into(), last_valid_block_height: 9 }
    }

    fn transfer(state: TransferState) -> Transfer {
        Transfer {
            id: TransferId::from_bytes([1; 16]),
            operator_id: OperatorId::from_bytes([2; 16]),
            network: Network::Test,
            key_id: KeyId::from_bytes([3; 16]),
            idempotency_key: IdempotencyKey::parse("k").expect("valid"),
            request: TransferRequest {
                from: AccountId::from_bytes([4; 16]),
                to: Recipient::TokenAccount(PAYEE),
                amount: UsdcAmount::from_micros(5),
                memo: Some(Memo::parse("tea").expect("valid")),
            },
            fee_payer: None,
            refusal: None,
            approval: crate::Approval::Never,
            policy_version: None,
            reopened: 0,
            asked_at: Some(0),
            earlier_valid_until: None,
            state,
            created_at: AT(1),
            updated_at: AT(1),
        }
    }

    fn payment() -> PaymentMade {
        PaymentMade {
            transfer_id: TransferId::from_bytes([1; 16]),
            account_id: AccountId::from_bytes([4; 16]),
            signature: "one".into(),
            slot: 7,
            made_at: AT(50),
            amount: UsdcAmount::from_micros(5),
            recipient: PAYEE,
            memo: "tea".into(),
        }
    }

    fn settled(signature: &str) -> Settlement {
        Settlement { signature: signature.into(), settled_at: AT(50), slot: 7, number: None }
    }

    fn unsettled() -> [TransferState; 5] {
        let failure = Failure {
            code: FailureCode::TransferExpired,
            message: "expired".into(),
            failed_at: AT(2),
            retry_at: None,
        };
        let rejection = Rejection {
            reason: RejectionReason::Paused,
            message: "paused".into(),
            checks: Checks::default(),
            policy_version: Some(1),
            retry_at: None,
            rejected_at: AT(2),
        };
        [
            TransferState::Claimed,
            TransferState::Signed(signed()),
            TransferState::Sent { signed: signed(), sent_at: AT(2) },
            TransferState::Failed(failure),
            TransferState::Rejected(rejection),
        ]
    }

    #[test]
    fn a_payment_that_equals_a_transfer_settles_it_whatever_we_thought_of_it() {
        for state in unsettled() {
            let means = transfer(state.clone()).met_by(&payment(), Some(PAYEE));
            assert_eq!(means, PaymentMeans::Settles(settled("one")), "{state:?}");
        }
        let known = transfer(TransferState::Settled(settled("one")));
        assert_eq!(known.met_by(&payment(), Some(PAYEE)), PaymentMeans::Known);
    }

    #[test]
    fn a_payment_that_differs_in_anything_settles_nothing() {
        let others = [
            PaymentMade { amount: UsdcAmount::from_micros(1), ..payment() },
            PaymentMade { recipient: Address::from_bytes([6; 32]), ..payment() },
            PaymentMade { memo: String::new(), ..payment() },
            PaymentMade { account_id: AccountId::from_bytes([9; 16]), ..payment() },
        ];
        for (state, other) in
            unsettled().into_iter().flat_map(|state| others.clone().map(|it| (state.clone(), it)))
        {
            let means = transfer(state.clone()).met_by(&other, Some(PAYEE));
            assert_eq!(means, PaymentMeans::Contradicts, "{state:?} {other:?}");
        }
        // Its recipient is no account that can be paid.
        assert_eq!(transfer(TransferState::Claimed).met_by(&payment(), None), PaymentMeans::Contradicts);
        // It is paid already, by another transaction.
        let paid = transfer(TransferState::Settled(settled("two")));
        assert_eq!(paid.met_by(&payment(), Some(PAYEE)), PaymentMeans::Contradicts);
    }

    #[test]
    fn only_the_loss_of_its_own_payment_opens_a_transfer_again() {
        let paid = transfer(TransferState::Settled(settled("one")));
        let open = paid.reopened_by_loss("one", Some(signed()), AT(9)).expect("open again");
        assert_eq!(open.state, TransferState::Sent { signed: signed(), sent_at: AT(9) });
        assert_eq!((open.reopened, open.updated_at), (1, AT(9)));
        // Other bytes than its own had paid it.
        assert_eq!(
            paid.reopened_by_loss("one", None, AT(9)).expect("open again").state,
            TransferState::Claimed
        );
        assert!(paid.reopened_by_loss("two", Some(signed()), AT(9)).is_none());
        for state in unsettled() {
            assert!(transfer(state).reopened_by_loss("one", None, AT(9)).is_none());
        }
    }

    #[test]
    fn entry_is_not_older_than_its_request_and_an_id_far_ahead_is_ignored() {
        let block = Timestamp::from_unix_seconds(1_000);
        let asked = |milliseconds: i64| {
            let at = Timestamp::from_unix_micros(milliseconds * 1_000);
            happened_at(block, Some(TransferId::with_tag(at, 0, 7))).unix_micros()
        };
        assert_eq!(happened_at(block, None), block);
        // The end of its millisecond.
        assert_eq!(asked(1_000_700), 1_000_701_000);
        assert_eq!(asked(999_000), block.unix_micros());
        assert_eq!(asked(1_299_999), 1_300_000_000);
        assert_eq!(asked(1_300_000), block.unix_micros());
        assert_eq!(happened_at(block, Some(TransferId::from_bytes([0xff; 16]))), block);
    }
}
