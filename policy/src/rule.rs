//! The table of rules, for relayer, dashboard, scripts and audit. Waivers are in `grant.rs`.

use crate::{Allowlist, AsAllowlist, Limit, PolicyOver};

/// The rules of a policy, in order of precedence.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Rule {
    /// Neither paused by the policy nor halted.
    Paused,
    RequireMemo,
    AllowedCounterparties,
    MaxSingleTransfer,
    MaxDailySpend,
}

/// A row of the table.
struct Row {
    name: &'static str,
    title: &'static str,
    /// Unit of a typed value; empty for other values.
    unit: &'static str,
}

/// A policy's value for one rule.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RuleValue<'a, A> {
    Flag(bool),
    Limit(Limit),
    Payees(&'a A),
}

impl Rule {
    pub const ALL: [Self; 5] = [
        Self::Paused,
        Self::RequireMemo,
        Self::AllowedCounterparties,
        Self::MaxSingleTransfer,
        Self::MaxDailySpend,
    ];

    /// All rules, in the order in which people set them.
    pub const AS_SET: [Self; Self::ALL.len()] = [
        Self::MaxSingleTransfer,
        Self::MaxDailySpend,
        Self::AllowedCounterparties,
        Self::RequireMemo,
        Self::Paused,
    ];

    const fn row(self) -> Row {
        let (name, title, unit) = match self {
            Self::Paused => ("paused", "Paused", ""),
            Self::RequireMemo => ("require_memo", "Memo needed", ""),
            Self::AllowedCounterparties => ("allowed_counterparties", "Who may be paid", ""),
            Self::MaxSingleTransfer => ("max_single_transfer", "Limit per payment", "USDC"),
            Self::MaxDailySpend => ("max_daily_spend", "Daily limit", "USDC"),
        };
        Row { name, title, unit }
    }

    /// Name of the policy's field, and of the rule in answers, scripts and reports.
    pub const fn name(self) -> &'static str {
        self.row().name
    }

    /// Heading for people.
    pub const fn title(self) -> &'static str {
        self.row().title
    }

    /// Unit of a typed value; empty for other values.
    pub const fn unit(self) -> &'static str {
        self.row().unit
    }
}

impl<A: AsAllowlist> RuleValue<'_, A> {
    /// Returns whether the rule can refuse anything.
    pub fn is_set(&self) -> bool {
        match self {
            Self::Flag(is_on) => *is_on,
            Self::Limit(limit) => *limit != Limit::Unlimited,
            Self::Payees(payees) => payees.as_allowlist() != Allowlist::Anyone,
        }
    }
}

impl<A> PolicyOver<A> {
    /// Returns the value for a rule.
    pub const fn value(&self, rule: Rule) -> RuleValue<'_, A> {
        match rule {
            Rule::Paused => RuleValue::Flag(self.paused),
            Rule::RequireMemo => RuleValue::Flag(self.require_memo),
            Rule::AllowedCounterparties => RuleValue::Payees(&self.allowlist),
            Rule::MaxSingleTransfer => RuleValue::Limit(self.max_single_transfer),
            Rule::MaxDailySpend => RuleValue::Limit(self.max_daily_spend),
        }
    }
}
