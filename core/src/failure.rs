use super::Timestamp;

/// Why a transfer ended without a payment, other than by policy.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Failure {
    pub code: FailureCode,
    /// For people; never a node's own text.
    pub message: String,
    pub failed_at: Timestamp,
    /// When waiting will have helped, if it is known to.
    pub retry_at: Option<Timestamp>,
}

/// The rent of a token account, which its creator pays.
pub const TOKEN_ACCOUNT_RENT_LAMPORTS: u64 = 2_039_280;

impl FailureCode {
    /// The rent that somebody has to pay before the same request can be paid.
    pub fn rent_lamports(self) -> Option<u64> {
        (self == Self::RecipientHasNoTokenAccount).then_some(TOKEN_ACCOUNT_RENT_LAMPORTS)
    }
}

words! {
    /// Kinds of failure. All but three may be retried under the same idempotency key, as `claim.rs` says.
    pub enum FailureCode {
        InsufficientBalance = "insufficient_balance",
        /// The issuer of USDC has frozen the paying token account.
        AccountFrozen = "account_frozen",
        InvalidRecipient = "invalid_recipient",
        /// Everything else allows it, and the wallet that is to be paid has no USDC token account.
        RecipientHasNoTokenAccount = "recipient_has_no_token_account",
        SolanaUnavailable = "solana_unavailable",
        /// Landed on the chain and failed there, other than by policy.
        TransferFailed = "transfer_failed",
        /// Never landed and never can.
        TransferExpired = "transfer_expired",
        /// Whoever was to send the bytes did not take them, and they have expired. Not retried.
        PaymentRefused = "payment_refused",
        /// The process that held the claim stopped before it signed.
        Interrupted = "interrupted",
        /// A person was asked, and said no. Not retried.
        ApprovalRejected = "approval_rejected",
        /// A person was asked, and the question was taken back. Not retried.
        ApprovalWithdrawn = "approval_withdrawn",
        /// A person was asked, and did not answer in time.
        ApprovalExpired = "approval_expired",
        /// A person was asked, and what they were asked about holds no longer: the policy has changed, or the account was stopped.
        ApprovalVoid = "approval_void",
        /// The operator's admin has replaced our transfer authorities with others.
        AuthorityRotated = "authority_rotated",
        /// The wallets that could pay the fee have no SOL.
        FeePayerEmpty = "fee_payer_empty",
        /// The key service did not sign.
        SignerUnavailable = "signer_unavailable",
        /// The account remembers as many payments of a day as it has room for, and may not be given more.
        AccountFull = "account_full",
    }
}
