use super::{
    AccountId, IdempotencyKey, KeyId, Memo, Network, OperatorId, Recipient, Timestamp, TransferId,
    TransferState, UsdcAmount,
};

/// A transfer as asked for, every field of valid form.
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
    /// 1 for the first try under its idempotency key.
    pub attempt: u32,
    pub state: TransferState,
    pub created_at: Timestamp,
    pub updated_at: Timestamp,
}
