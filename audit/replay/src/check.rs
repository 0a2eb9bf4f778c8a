//! The checks of an audit, by name.

use purser_policy::{Rule, Violation};
use serde::Serialize;

macro_rules! checks {
    ($($name:ident = $title:literal: $means:literal,)*) => {
        /// The checks, in the order of the report.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
        #[serde(rename_all = "snake_case")]
        pub enum Check {
            $($name,)*
        }

        impl Check {
            pub const ALL: [Self; [$($title),*].len()] = [$(Self::$name),*];

            /// Its heading.
            pub const fn title(self) -> &'static str {
                match self {
                    $(Self::$name => $title,)*
                }
            }

            /// The sentence for a check that holds.
            pub const fn means(self) -> &'static str {
                match self {
                    $(Self::$name => $means,)*
                }
            }
        }
    };
}

checks! {
    Nodes = "Several nodes":
        "The nodes list the same transactions, and say the same of each.",
    Network = "Network and mint":
        "The mint is the USDC of this public network.",
    Program = "Program":
        "A program stands at the address; at Purser's own address, it is the committed build.",
    Dates = "Dates":
        "Block dates never run backwards, fit the seconds that the program wrote down, and end when the audit did.",
    Signatures = "Signatures":
        "Each transaction carries valid signatures of exactly what was read of it.",
    Signer = "Signers":
        "Each instruction was signed by a key that had the right to it at that moment.",
    Numbering = "Numbering":
        "Payments are numbered from 1 without a gap, so none was left out.",
    PaidOnce = "Paid once":
        "No tag was paid twice within 24 hours, and none that could have been forgotten.",
    Halted = "Halts and pauses":
        "Nothing was paid while the operator or the account was halted or paused.",
    Memo = "Memo":
        "Where the policy requires a memo, each payment has one.",
    Allowlist = "Allowlist":
        "Each recipient was on the allowlist that was in force.",
    SingleLimit = "Single limit":
        "No payment was above the single limit that was in force.",
    DailyLimit = "Daily limit, as the program counts":
        "The program's own rule, run again, allows each payment and gives the sums that were logged.",
    RollingDay = "Daily limit, true 24 hours":
        "In no 24 hours did more leave by payments than the daily limit that was in force.",
    PolicyChanges = "Policy changes":
        "Each policy replaced the version that it was written against, and what loosens one waited as the operator said.",
    Log = "Log":
        "What the program logged is what the signed instructions give.",
    Balances = "Balances":
        "Each balance follows from the one before, and money left by instructions of the program alone.",
    Recipients = "Recipients":
        "The token program moved what each instruction says to whom it says; nobody got a right over an account's money.",
    State = "Accounts on the chain":
        "Operator, accounts, policies, spend windows and drafts on the chain are what the signed instructions add up to.",
    History = "The relayer's history":
        "The relayer's history says the same, entry by entry.",
    Solvency = "The relayer's balances":
        "Each balance that the relayer states is what the account's token account holds.",
}

impl Check {
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
}

/// The words for a rule that a policy has: a limit behind its amount; and for one that it has no longer, or less of.
pub(crate) const fn words(rule: Rule) -> (&'static str, &'static str) {
    match rule {
        Rule::Paused => ("paused", "the pause was lifted"),
        Rule::RequireMemo => ("with a memo", "a memo is not needed"),
        Rule::AllowedCounterparties => ("to anyone", "anyone may be paid"),
        Rule::MaxSingleTransfer => ("at once", "the single limit"),
        Rule::MaxDailySpend => ("in 24 hours", "the daily limit"),
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
