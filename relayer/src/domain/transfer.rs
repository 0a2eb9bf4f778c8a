use super::{
    AccountId, Address, IdempotencyKey, KeyId, Memo, Network, OperatorId, Recipient, Timestamp, TransferId,
    TransferState, TransferStatus, UsdcAmount,
};

/// A requested transfer whose fields all have a valid form.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TransferRequest {
    pub from: AccountId,
    pub to: Recipient,
    /// More than zero.
    pub amount: UsdcAmount,
    pub memo: Option<Memo>,
    pub idempotency_key: IdempotencyKey,
}

/// One try to carry out a request. A retry under the same idempotency key is another transfer with the same tag.
#[derive(Debug, Clone)]
pub struct Transfer {
    pub id: TransferId,
    pub operator_id: OperatorId,
    pub network: Network,
    /// The API key that asked for it.
    pub key_id: KeyId,
    pub request: TransferRequest,
    /// Set for a transfer that others send: who pays its fee and sends it. The signature stored with its bytes is then
    /// only the transfer authority's; the transaction's is known once it has landed.
    pub fee_payer: Option<Address>,
    /// Why a seller that holds its bytes did not take them, as a sentence. They may land all the same until they expire.
    pub refusal: Option<String>,
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
            TransferState::Claimed | TransferState::Rejected(_) | TransferState::Failed(_) => None,
        }
    }
}

/// Which transfers a list shows; `None` shows all.
#[derive(Debug, Clone, Default)]
pub struct TransferFilter {
    /// The paying account.
    pub account: Option<AccountId>,
    pub status: Option<TransferStatus>,
    pub idempotency_key: Option<IdempotencyKey>,
    /// Only transfers requested after this time.
    pub since: Option<Timestamp>,
    /// Only transfers requested up to this time.
    pub until: Option<Timestamp>,
}

impl TransferFilter {
    /// Binds a cursor of the list to its operator and filter. The key comes last: it may contain any character.
    pub fn text(&self, operator_id: OperatorId) -> String {
        let moment = |at: Option<Timestamp>| at.map_or_else(String::new, |at| at.to_string());
        format!(
            "transfers|{operator_id}|{}|{}|{}|{}|{}",
            self.account.map_or_else(String::new, |id| id.to_string()),
            self.status.map_or("", TransferStatus::as_str),
            moment(self.since),
            moment(self.until),
            self.idempotency_key.as_ref().map_or("", IdempotencyKey::as_str),
        )
    }
}
