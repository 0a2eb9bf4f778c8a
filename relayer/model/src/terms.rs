use super::Address;

/// What somebody else asks for who sends our signed bytes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Terms {
    /// Pays the fee, and signs after us.
    pub fee_payer: Address,
    /// Stands in the transaction beside our own.
    pub memo: Option<String>,
}
