use super::{Address, OperatorId, SignedTransfer, Timestamp, TransferId};

/// How many there are of one approval at most.
pub const CO_SIGNATURES_MAX: u32 = 3;

/// A transaction that opens a grant, which the service has signed as its payer. An approver still has to sign it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CoSigned {
    /// The address of the grant.
    pub grant: Address,
    pub signed: SignedTransfer,
}

/// One that was given out, or is about to be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CoSignature {
    pub operator_id: OperatorId,
    pub transfer_id: TransferId,
    /// From 1 to [`CO_SIGNATURES_MAX`], among those of its transfer.
    pub number: u32,
    pub approver: Address,
    pub co_signed: CoSigned,
    pub created_at: Timestamp,
}
