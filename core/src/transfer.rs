use sha2::{Digest, Sha256};

use super::{
    AccountId, Address, Approval, Fingerprint, IdempotencyKey, KeyId, Memo, Network, OperatorId, Recipient,
    Timestamp, TransferId, TransferState, UsdcAmount,
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
    /// The fingerprint of a request; an empty memo counts as none, as on the chain.
    pub fn of(request: &TransferRequest) -> Self {
        let to = request.to.text();
        let mut hash = Sha256::new();
        hash.update(b"purser:fingerprint:v1");
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
    pub state: TransferState,
    pub created_at: Timestamp,
    pub updated_at: Timestamp,
}

impl Transfer {
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
