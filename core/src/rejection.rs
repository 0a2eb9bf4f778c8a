use purser_policy::{Limit, Rule, RuleOutcome, UsdcAmount, Violation};

use super::Timestamp;

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
    /// Whether a grant may let such a payment pass.
    pub const fn is_approvable(self) -> bool {
        match self {
            Self::RecipientNotAllowed
            | Self::SingleLimitExceeded
            | Self::DailyLimitExceeded
            | Self::GrantRequired => true,
            Self::Halted
            | Self::Paused
            | Self::MemoRequired
            | Self::MemoTooLong
            | Self::MonthLimitExceeded
            | Self::BudgetExceeded => false,
        }
    }

    /// The reason for a violation; `None` for `DuplicateTransfer`, which means that the payment was made.
    pub const fn of(violation: &Violation) -> Option<Self> {
        match violation {
            Violation::DuplicateTransfer | Violation::PaidTagsFull => None,
            Violation::Halted => Some(Self::Halted),
            Violation::Paused => Some(Self::Paused),
            Violation::MemoRequired => Some(Self::MemoRequired),
            Violation::MemoTooLong => Some(Self::MemoTooLong),
            Violation::RecipientNotAllowed => Some(Self::RecipientNotAllowed),
            Violation::SingleLimitExceeded { .. } => Some(Self::SingleLimitExceeded),
            Violation::DailyLimitExceeded { .. } => Some(Self::DailyLimitExceeded),
        }
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
