use super::Timestamp;

/// Why a transfer ended without a payment, other than by policy.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Failure {
    pub code: FailureCode,
    /// For people; never a node's own text.
    pub message: String,
    pub failed_at: Timestamp,
}

/// Kinds of failure. All but one may be retried under the same idempotency key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FailureCode {
    InsufficientBalance,
    /// The issuer of USDC has frozen the paying token account.
    AccountFrozen,
    InvalidRecipient,
    SolanaUnavailable,
    /// Landed on the chain and failed there, other than by policy.
    TransferFailed,
    /// Never landed and never can.
    TransferExpired,
    /// Whoever was to send the bytes did not take them, and they have expired. Not retried.
    PaymentRefused,
    /// The process that held the claim stopped before it signed.
    Interrupted,
    /// The operator's admin has replaced our transfer authorities with others.
    AuthorityRotated,
    /// The wallets that could pay the fee have no SOL.
    FeePayerEmpty,
    /// The key service did not sign.
    SignerUnavailable,
}

impl FailureCode {
    pub const ALL: [Self; 11] = [
        Self::InsufficientBalance,
        Self::AccountFrozen,
        Self::InvalidRecipient,
        Self::SolanaUnavailable,
        Self::TransferFailed,
        Self::TransferExpired,
        Self::PaymentRefused,
        Self::Interrupted,
        Self::AuthorityRotated,
        Self::FeePayerEmpty,
        Self::SignerUnavailable,
    ];

    /// As stored.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::InsufficientBalance => "insufficient_balance",
            Self::AccountFrozen => "account_frozen",
            Self::InvalidRecipient => "invalid_recipient",
            Self::SolanaUnavailable => "solana_unavailable",
            Self::TransferFailed => "transfer_failed",
            Self::TransferExpired => "transfer_expired",
            Self::PaymentRefused => "payment_refused",
            Self::Interrupted => "interrupted",
            Self::AuthorityRotated => "authority_rotated",
            Self::FeePayerEmpty => "fee_payer_empty",
            Self::SignerUnavailable => "signer_unavailable",
        }
    }

    /// From its stored form.
    pub fn from_stored(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|code| code.as_str() == text)
    }
}
