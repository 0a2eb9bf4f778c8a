use purser_policy::{Limit, Rule, RuleOutcome, UsdcAmount, Violation};

use super::{Halt, Timestamp, usdc_text};

/// For a halt without known details.
const HALTED: &str = "The account or its operator was halted when the transfer arrived. Only the operator's admin can \
                      resume it, with its own wallet.";

/// Why policy refused, and the result of every rule.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rejection {
    pub reason: RejectionReason,
    /// Names the violated limit, for people.
    pub message: String,
    pub checks: Checks,
    /// The policy that decided; `None` when the chain refused and its state was not read.
    pub policy_version: Option<u64>,
    /// When the rolling window frees enough, if waiting helps.
    pub retry_at: Option<Timestamp>,
    pub rejected_at: Timestamp,
}

impl Rejection {
    /// Whether a grant would let the payment pass: it exceeds none of the bounds, which no grant waives.
    pub fn is_approvable(&self) -> bool {
        let stands = |check: &RuleCheck| !check.ok && check.rule.is_bound();
        self.reason.is_approvable() && !self.checks.0.iter().any(stands)
    }

    /// Whether an approver's grant would: past the daily limit goes only one of the admin, whatever was refused before it.
    pub fn is_for_approvers(&self) -> bool {
        let is_daily = |check: &RuleCheck| !check.ok && check.rule == CheckedRule::MaxDailySpend;
        self.is_approvable() && !self.checks.0.iter().any(is_daily)
    }
}

words! {
    /// What refused: the kinds of [`Violation`], except for a payment that was already made.
    pub enum RejectionReason = "RejectionReason": "Which rule refused." {
        /// The account or its operator is halted, whatever the policy says.
        Halted = "halted",
        Paused = "paused",
        MemoRequired = "memo_required",
        MemoTooLong = "memo_too_long",
        RecipientNotAllowed = "recipient_not_allowed",
        SingleLimitExceeded = "single_limit_exceeded",
        DailyLimitExceeded = "daily_limit_exceeded",
        /// Not by the policy: the account pays by grants alone, and none covers this.
        GrantRequired = "grant_required",
        /// Nor: the account's cap for 30 days.
        MonthLimitExceeded = "month_limit_exceeded",
        /// Nor: the budget that the account pays through.
        BudgetExceeded = "budget_exceeded",
    }
}

impl RejectionReason {
    /// Returns the rule that refused.
    pub const fn rule(self) -> CheckedRule {
        match self {
            Self::Halted | Self::Paused => CheckedRule::Paused,
            Self::MemoRequired | Self::MemoTooLong => CheckedRule::RequireMemo,
            Self::RecipientNotAllowed => CheckedRule::AllowedCounterparties,
            Self::SingleLimitExceeded => CheckedRule::MaxSingleTransfer,
            Self::DailyLimitExceeded => CheckedRule::MaxDailySpend,
            Self::GrantRequired => CheckedRule::ByGrantOnly,
            Self::MonthLimitExceeded => CheckedRule::Max30DaySpend,
            Self::BudgetExceeded => CheckedRule::Budget,
        }
    }

    /// Returns whether a grant can allow the payment.
    pub fn is_approvable(self) -> bool {
        let rule = self.rule();
        rule == CheckedRule::ByGrantOnly || rule.of_policy().is_some_and(Rule::is_waivable)
    }

    /// Returns the reason and the message for a violation. `None` if the payment was already made, or the account cannot remember
    /// one more.
    pub fn of(violation: &Violation, halt: Option<Halt>) -> Option<(Self, String)> {
        let (reason, message) = match violation {
            Violation::DuplicateTransfer | Violation::PaidTagsFull => return None,
            Violation::Halted => {
                (Self::Halted, halt.map_or_else(|| HALTED.to_owned(), |halt| halt.to_string()))
            }
            Violation::Paused => (Self::Paused, "The account is paused.".to_owned()),
            Violation::MemoRequired => {
                (Self::MemoRequired, "The account's policy requires a memo.".to_owned())
            }
            // Never shown: a request has at most 200 characters.
            Violation::MemoTooLong => {
                (Self::MemoTooLong, "The memo is longer than the program takes.".to_owned())
            }
            Violation::RecipientNotAllowed => {
                let message = "The payee is not on the account's list of allowed payees.";
                (Self::RecipientNotAllowed, message.to_owned())
            }
            Violation::SingleLimitExceeded { limit, amount } => {
                let (amount, limit) = (usdc_text(*amount), usdc_text(*limit));
                let message =
                    format!("{amount} USDC is over the account's limit of {limit} USDC per payment.");
                (Self::SingleLimitExceeded, message)
            }
            Violation::DailyLimitExceeded { limit, used, amount } => {
                let (amount, used, limit) = (usdc_text(*amount), usdc_text(*used), usdc_text(*limit));
                let message = format!(
                    "{amount} USDC is over what is left of the account's daily limit: {used} of {limit} USDC were spent in \
                     the last 24 hours."
                );
                (Self::DailyLimitExceeded, message)
            }
        };
        Some((reason, message))
    }

    /// Returns the message for a refusal by the chain whose numbers can no longer be read.
    pub(crate) fn without_numbers(self) -> String {
        if self == Self::Halted {
            return HALTED.to_owned();
        }
        let rule = self.rule();
        format!("The program refused the transfer by `{rule}` as the policy stood when it arrived.")
    }
}

/// The result of every rule for a transfer, in order of precedence.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Checks(pub Vec<RuleCheck>);

impl Checks {
    /// For a transfer that the chain refused for its balance, which it did not report.
    pub fn without_balance(mut self) -> Self {
        for check in self.0.iter_mut().filter(|check| check.rule == CheckedRule::Balance) {
            (check.ok, check.limit) = (false, Limit::Unlimited);
        }
        self
    }
}

words! {
    /// What a transfer is checked against, in order of precedence: the rules of the policy, the bounds of an account that has any,
    /// then the balance.
    pub enum CheckedRule = "Rule": "What a transfer is checked against." {
        Paused = "paused",
        RequireMemo = "require_memo",
        AllowedCounterparties = "allowed_counterparties",
        MaxSingleTransfer = "max_single_transfer",
        MaxDailySpend = "max_daily_spend",
        /// That a grant covers the payment.
        ByGrantOnly = "by_grant_only",
        Max30DaySpend = "max_30_day_spend",
        Budget = "budget",
        Balance = "balance",
    }
}

impl CheckedRule {
    /// Returns the policy rule, if it is one.
    pub fn of_policy(self) -> Option<Rule> {
        Rule::ALL.into_iter().find(|rule| Self::from(*rule) == self)
    }

    /// Whether it binds an account beside its policy, and no grant waives it.
    pub const fn is_bound(self) -> bool {
        matches!(self, Self::Max30DaySpend | Self::Budget)
    }
}

impl From<Rule> for CheckedRule {
    fn from(rule: Rule) -> Self {
        match rule {
            Rule::Paused => Self::Paused,
            Rule::RequireMemo => Self::RequireMemo,
            Rule::AllowedCounterparties => Self::AllowedCounterparties,
            Rule::MaxSingleTransfer => Self::MaxSingleTransfer,
            Rule::MaxDailySpend => Self::MaxDailySpend,
        }
    }
}

/// The result of one rule for a transfer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RuleCheck {
    pub rule: CheckedRule,
    /// Whether the rule allows the transfer.
    pub ok: bool,
    pub limit: Limit,
    /// What already counted against the limit.
    pub used: UsdcAmount,
}

impl RuleCheck {
    /// What the limit left before this transfer; `None` without a limit.
    pub fn remaining(&self) -> Option<UsdcAmount> {
        match self.limit {
            Limit::Unlimited => None,
            Limit::AtMost(limit) => Some(limit.saturating_sub(self.used)),
        }
    }
}

impl<const N: usize> From<[RuleOutcome; N]> for Checks {
    fn from(outcomes: [RuleOutcome; N]) -> Self {
        Self(
            outcomes
                .iter()
                .map(|outcome| RuleCheck {
                    rule: outcome.rule.into(),
                    ok: outcome.is_ok(),
                    limit: outcome.limit,
                    used: outcome.used,
                })
                .collect(),
        )
    }
}
