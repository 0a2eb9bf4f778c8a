use purser_policy::{REQUEST_AHEAD_SECONDS, REQUEST_SECONDS};
use sha2::{Digest, Sha256};

use super::{
    AccountId, Address, Approval, Fingerprint, IDEMPOTENCY_SECONDS, IdempotencyKey, KeyId, Memo, Network,
    OperatorId, Recipient, Timestamp, TransferId, TransferState, UsdcAmount,
};

/// A requested transfer whose fields all have a valid form.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TransferRequest {
    pub from: AccountId,
    pub to: Recipient,
    /// More than zero.
    pub amount: UsdcAmount,
    pub memo: Option<Memo>,
}

impl TransferRequest {
    /// Empty where there is none, which is the same on the chain.
    pub fn memo(&self) -> &str {
        self.memo.as_ref().map_or("", |memo| memo.as_str())
    }
}

impl Fingerprint {
    /// The fingerprint of a request; an empty memo counts as none, as on the chain. A wallet and its token account are two requests.
    pub fn of(request: &TransferRequest) -> Self {
        let (domain, to) = match request.to.wallet() {
            Some(wallet) => ("purser:fingerprint:wallet:v1", wallet.to_string()),
            None => ("purser:fingerprint:v1", request.to.text()),
        };
        let mut hash = Sha256::new();
        hash.update(domain);
        hash.update(request.from.bytes());
        hash.update(request.amount.micros().to_le_bytes());
        hash.update((to.len() as u64).to_le_bytes());
        hash.update(to.as_bytes());
        hash.update(request.memo().as_bytes());
        Self::from_digest(hash.finalize().into())
    }
}

/// One try to carry out a request. A retry under the same idempotency key is another transfer with the same tag.
#[derive(Debug, Clone)]
pub struct Transfer {
    pub id: TransferId,
    pub operator_id: OperatorId,
    pub network: Network,
    /// The API key that asked for it.
    pub key_id: KeyId,
    pub idempotency_key: IdempotencyKey,
    pub request: TransferRequest,
    /// Set for a transfer that others send: who pays its fee and sends it. The signature stored with its bytes is then
    /// only the transfer authority's; the transaction's is known once it has landed.
    pub fee_payer: Option<Address>,
    /// Why whoever was to send its bytes did not take them, as a sentence. They may land all the same until they expire.
    pub refusal: Option<String>,
    /// Whether a person is asked where policy refuses it.
    pub approval: Approval,
    /// The version of its account's policy that judged it last: the one whose rules had all passed before it was signed, or
    /// the one that rejected it. `None`: none has judged it, or which one is not known.
    pub policy_version: Option<u64>,
    /// How often a fork dropped the payment that had settled it.
    pub reopened: u32,
    /// The chain's second before its claim, the same in all bytes that are signed for it: the program takes them for an hour after it. Of a
    /// transfer that waited for a person, the second of its first signature. `None`: stored by a version without it, so it is too old.
    pub asked_at: Option<i64>,
    /// The highest last valid block height of the bytes that were signed for it before those that it holds now. `None`: those are its
    /// only ones.
    pub earlier_valid_until: Option<u64>,
    pub state: TransferState,
    pub created_at: Timestamp,
    pub updated_at: Timestamp,
}

impl Transfer {
    /// Whether the program takes bytes of it at this second of the account's clock: from five minutes before its claim until an hour
    /// after it.
    pub fn can_pay_at(&self, now: i64) -> bool {
        let age = self.asked_at.map(|asked_at| now.saturating_sub(asked_at));
        age.is_some_and(|age| (-REQUEST_AHEAD_SECONDS..REQUEST_SECONDS).contains(&age))
    }

    /// A payment with its tag that was made after this Unix second is its own, or one of the same key: 24 hours before it was asked for.
    pub fn paid_after(&self) -> i64 {
        let asked_at = self.asked_at.unwrap_or_else(|| self.created_at.unix_seconds());
        asked_at.saturating_sub(IDEMPOTENCY_SECONDS)
    }

    /// Payments with its tag whose bytes name a second after this one were made after [`Self::paid_after`]: the program takes bytes
    /// at most five minutes early.
    pub fn asked_after(&self) -> i64 {
        self.paid_after().saturating_add(REQUEST_AHEAD_SECONDS)
    }

    /// Where a person approved it, it is signed before this second of the account's clock, a day after its claim. It lands within an hour of
    /// that, when the account still knows a payment that was made under its tag since the claim. The chain's clock is so many seconds
    /// `ahead` of the host's: if it was not at the claim, one of them was wrong, and the earlier one counts. `None`: no node was asked then.
    pub fn approved_before(&self, ahead: i64) -> Option<i64> {
        let (claimed_at, created_at) = (self.asked_at?, self.created_at.unix_seconds());
        let differs =
            claimed_at.saturating_sub(created_at).abs_diff(ahead) > REQUEST_AHEAD_SECONDS.unsigned_abs();
        let claimed_at = if differs { claimed_at.min(created_at) } else { claimed_at };
        Some(claimed_at.saturating_add(IDEMPOTENCY_SECONDS - REQUEST_AHEAD_SECONDS))
    }

    /// The highest last valid block height of all bytes that were ever signed for it.
    pub fn may_land_until(&self) -> Option<u64> {
        let signed = self.state.signed().map(|signed| signed.last_valid_block_height);
        signed.max(self.earlier_valid_until)
    }

    /// In its next state. A refusal names the policy that decided, if that was read.
    pub fn moved(&self, next: TransferState, now: Timestamp) -> Self {
        let (policy_version, approval) = match &next {
            TransferState::Rejected(rejection) => (rejection.policy_version, self.approval),
            TransferState::PendingApproval(wanted) => (wanted.rejection.policy_version, wanted.requested()),
            TransferState::Claimed
            | TransferState::Signed(_)
            | TransferState::Sent { .. }
            | TransferState::Settled(_)
            | TransferState::Failed(_) => (self.policy_version, self.approval),
        };
        Self { state: next, policy_version, approval, updated_at: now, ..self.clone() }
    }

    /// This transfer before it is signed once more: the bytes that it holds are earlier ones from then on.
    pub(crate) fn before_signing(self) -> Self {
        Self { earlier_valid_until: self.may_land_until(), ..self }
    }

    /// The signature (base58) of its transaction, once known.
    pub fn tx_signature(&self) -> Option<&str> {
        match &self.state {
            TransferState::Signed(signed) | TransferState::Sent { signed, .. } => {
                self.fee_payer.is_none().then_some(&signed.signature)
            }
            TransferState::Settled(settlement) => Some(&settlement.signature),
            TransferState::Claimed
            | TransferState::PendingApproval(_)
            | TransferState::Rejected(_)
            | TransferState::Failed(_) => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::SignedTransfer;

    fn transfer(asked_at: Option<i64>, state: TransferState) -> Transfer {
        Transfer {
            id: TransferId::from_bytes([1; 16]),
            operator_id: OperatorId::from_bytes([2; 16]),
            network: Network::Test,
            key_id: KeyId::from_bytes([3; 16]),
            idempotency_key: IdempotencyKey::parse("k").expect("valid"),
            request: TransferRequest {
                from: AccountId::from_bytes([4; 16]),
                to: Recipient::TokenAccount(Address::from_bytes([5; 32])),
                amount: UsdcAmount::from_micros(5),
                memo: None,
            },
            fee_payer: None,
            refusal: None,
            approval: Approval::Never,
            policy_version: None,
            reopened: 0,
            asked_at,
            earlier_valid_until: None,
            state,
            created_at: Timestamp::from_unix_seconds(1_000),
            updated_at: Timestamp::from_unix_seconds(1_000),
        }
    }

    #[test]
    fn transfer_can_pay_for_an_hour_and_never_without_its_second() {
        let asked = transfer(Some(1_000), TransferState::Claimed);
        let ages = [
            i64::MIN,
            -REQUEST_AHEAD_SECONDS - 1,
            -REQUEST_AHEAD_SECONDS,
            0,
            REQUEST_SECONDS - 1,
            REQUEST_SECONDS,
            i64::MAX,
        ];
        let can_pay = ages.map(|age| asked.can_pay_at(age.saturating_add(1_000)));
        assert_eq!(can_pay, [false, false, true, true, true, false, false]);
        assert!(!transfer(None, TransferState::Claimed).can_pay_at(1_000));
    }

    #[test]
    fn clock_that_was_ahead_at_the_claim_alone_gives_an_approval_no_more_time() {
        const DAY: i64 = 86_400;
        let end = |asked_at, ahead| {
            let claimed = transfer(Some(asked_at), TransferState::Claimed);
            claimed.approved_before(ahead).expect("a second") - DAY + 300
        };
        // The host's clock said 1,000.
        assert_eq!([end(1_000, 0), end(1_100, -100)], [1_000, 1_100]);
        assert_eq!(end(1_000 + DAY, DAY + 200), 1_000 + DAY, "a chain that is always a day ahead");
        assert_eq!(end(1_000 + DAY, 0), 1_000, "a node was");
        assert_eq!(end(1_000 + DAY, 2 * DAY), 1_000, "and now the host's is behind");
        assert_eq!(end(1_000 - DAY, 0), 1_000 - DAY, "the host's was ahead, or a node's behind");
        assert_eq!(transfer(None, TransferState::Claimed).approved_before(0), None);
    }

    #[test]
    fn no_bytes_are_forgotten_when_a_transfer_is_signed_again() {
        let signed = |last_valid_block_height| {
            TransferState::Signed(SignedTransfer {
                bytes: vec![1],
                signature: "s".into(),
                last_valid_block_height,
            })
        };
        let first = transfer(Some(1_000), TransferState::Claimed).before_signing();
        assert_eq!((first.earlier_valid_until, first.may_land_until()), (None, None));
        let first = Transfer { state: signed(9), ..first };
        assert_eq!(first.may_land_until(), Some(9));
        // The block of the second signature is older than that of the first one.
        let second = Transfer { state: signed(7), ..first.before_signing() };
        assert_eq!((second.earlier_valid_until, second.may_land_until()), (Some(9), Some(9)));
        let third = Transfer { state: signed(12), ..second.before_signing() };
        assert_eq!((third.earlier_valid_until, third.may_land_until()), (Some(9), Some(12)));
        assert_eq!(third.before_signing().earlier_valid_until, Some(12));
    }
}
