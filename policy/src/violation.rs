//! Why a transfer is refused.

use crate::{Rule, SpendWindow, UsdcAmount};

/// A broken rule, with the numbers that broke it. The variants are in order of precedence:
/// if several rules are broken, the first one here is the answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Violation {
    /// A transfer with this tag was made within the last 24 hours.
    DuplicateTransfer,
    /// The operator or the agent account is halted. Only the admin resumes it.
    Halted,
    /// The policy pauses the account.
    Paused,
    MemoRequired,
    /// The memo has more than [`MEMO_BYTES_MAX`](crate::MEMO_BYTES_MAX) bytes.
    MemoTooLong,
    /// Neither the recipient's token account nor the wallet that owns it is on the allowlist.
    RecipientNotAllowed,
    SingleLimitExceeded {
        limit: UsdcAmount,
        amount: UsdcAmount,
    },
    /// `used` left in the last 24 hours; `amount` more would exceed `limit`.
    DailyLimitExceeded {
        limit: UsdcAmount,
        used: UsdcAmount,
        amount: UsdcAmount,
    },
    /// The account has no room to remember one more payment for 24 hours.
    PaidTagsFull,
}

impl Violation {
    /// Returns the broken rule; `None` if the payment was already made, or the account has no room for it.
    pub const fn rule(&self) -> Option<Rule> {
        match self {
            Self::DuplicateTransfer | Self::PaidTagsFull => None,
            Self::Halted | Self::Paused => Some(Rule::Paused),
            Self::MemoRequired | Self::MemoTooLong => Some(Rule::RequireMemo),
            Self::RecipientNotAllowed => Some(Rule::AllowedCounterparties),
            Self::SingleLimitExceeded { .. } => Some(Rule::MaxSingleTransfer),
            Self::DailyLimitExceeded { .. } => Some(Rule::MaxDailySpend),
        }
    }

    /// Returns the Unix second from which the same payment passes this rule, if waiting helps.
    pub fn passes_at(&self, window: &SpendWindow, now: i64) -> Option<i64> {
        let Self::DailyLimitExceeded { limit, amount, .. } = self else { return None };
        window.frees_at(now, *limit, *amount)
    }
}
