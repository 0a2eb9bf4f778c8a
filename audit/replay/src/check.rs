//! The checks of an audit, by name.

use purser_policy::{Rule, Violation};
use serde::Serialize;

/// The checks, in the order of the report.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Check {
    Nodes,
    Network,
    Program,
    Dates,
    Signatures,
    Signer,
    Numbering,
    PaidOnce,
    Halted,
    Memo,
    Allowlist,
    SingleLimit,
    DailyLimit,
    RollingDay,
    PolicyChanges,
    Log,
    Balances,
    Recipients,
    State,
    History,
    Solvency,
}

impl Check {
    pub const ALL: [Self; 21] = [
        Self::Nodes,
        Self::Network,
        Self::Program,
        Self::Dates,
        Self::Signatures,
        Self::Signer,
        Self::Numbering,
        Self::PaidOnce,
        Self::Halted,
        Self::Memo,
        Self::Allowlist,
        Self::SingleLimit,
        Self::DailyLimit,
        Self::RollingDay,
        Self::PolicyChanges,
        Self::Log,
        Self::Balances,
        Self::Recipients,
        Self::State,
        Self::History,
        Self::Solvency,
    ];

    /// Returns the check that covers a policy rule.
    pub const fn of(rule: Rule) -> Self {
        match rule {
            Rule::Paused => Self::Halted,
            Rule::RequireMemo => Self::Memo,
            Rule::AllowedCounterparties => Self::Allowlist,
            Rule::MaxSingleTransfer => Self::SingleLimit,
            Rule::MaxDailySpend => Self::DailyLimit,
        }
    }

    /// Its heading.
    pub const fn title(self) -> &'static str {
        match self {
            Self::Nodes => "Several nodes",
            Self::Network => "Network and mint",
            Self::Program => "Program",
            Self::Dates => "Dates",
            Self::Signatures => "Signatures",
            Self::Signer => "Signers",
            Self::Numbering => "Numbering",
            Self::PaidOnce => "Paid once",
            Self::Halted => "Halts and pauses",
            Self::Memo => "Memo",
            Self::Allowlist => "Allowlist",
            Self::SingleLimit => "Single limit",
            Self::DailyLimit => "Daily limit, as the program counts",
            Self::RollingDay => "Daily limit, true 24 hours",
            Self::PolicyChanges => "Policy changes",
            Self::Log => "Log",
            Self::Balances => "Balances",
            Self::Recipients => "Recipients",
            Self::State => "Accounts on the chain",
            Self::History => "The relayer's history",
            Self::Solvency => "The relayer's balances",
        }
    }

    /// The sentence for a check that holds.
    pub const fn means(self) -> &'static str {
        match self {
            Self::Nodes => "The nodes list the same transactions, and say the same of each.",
            Self::Network => "The mint is the USDC of this public network.",
            Self::Program => {
                "A program stands at the address; at Purser's own address, it is the committed build."
            }
            Self::Dates => {
                "Block dates never run backwards, fit the seconds that the program wrote down, and end when the audit did."
            }
            Self::Signatures => "Each transaction carries valid signatures of exactly what was read of it.",
            Self::Signer => "Each instruction was signed by a key that had the right to it at that moment.",
            Self::Numbering => "Payments are numbered from 1 without a gap, so none was left out.",
            Self::PaidOnce => {
                "No tag was paid twice within 24 hours, and none that could have been forgotten."
            }
            Self::Halted => "Nothing was paid while the operator or the account was halted or paused.",
            Self::Memo => "Where the policy requires a memo, each payment has one.",
            Self::Allowlist => "Each recipient was on the allowlist that was in force.",
            Self::SingleLimit => "No payment was above the single limit that was in force.",
            Self::DailyLimit => {
                "The program's own rule, run again, allows each payment and gives the sums that were logged."
            }
            Self::RollingDay => {
                "In no 24 hours did more leave by payments than the daily limit that was in force."
            }
            Self::PolicyChanges => {
                "Each policy replaced the version that it was written against, and what loosens one waited as the operator said."
            }
            Self::Log => "What the program logged is what the signed instructions give.",
            Self::Balances => {
                "Each balance follows from the one before, and money left by instructions of the program alone."
            }
            Self::Recipients => {
                "The token program moved what each instruction says to whom it says; nobody got a right over an account's money."
            }
            Self::State => {
                "Operator, accounts, policies, spend windows and drafts on the chain are what the signed instructions add up to."
            }
            Self::History => "The relayer's history says the same, entry by entry.",
            Self::Solvency => {
                "Each balance that the relayer states is what the account's token account holds."
            }
        }
    }
}

/// Describes how a payment broke a rule.
pub(crate) fn broken(violation: &Violation) -> String {
    match violation {
        Violation::DuplicateTransfer => "its tag was paid within the last 24 hours".to_owned(),
        Violation::Halted => "the operator or the account was halted".to_owned(),
        Violation::Paused => "the account was paused".to_owned(),
        Violation::MemoRequired | Violation::MemoTooLong => "it has no memo, or too long a one".to_owned(),
        Violation::RecipientNotAllowed => "its recipient is not on the allowlist".to_owned(),
        Violation::SingleLimitExceeded { limit, .. } => format!("at most {limit} USDC at once"),
        Violation::DailyLimitExceeded { limit, used, .. } => {
            format!("at most {limit} USDC in 24 hours, of which {used} had left")
        }
        Violation::PaidTagsFull => "the account had no room to remember it".to_owned(),
    }
}
