//! The table of rules, for relayer, dashboard, scripts and audit.

use crate::{Allowlist, AsAllowlist, Limit, PolicyOver, Waived};

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
    /// The name in reports that print bare numbers.
    name_with_unit: &'static str,
    title: &'static str,
    /// Unit of a typed value; empty for other values.
    unit: &'static str,
    /// Lets a payment pass the rule; [`Waived::NOTHING`] if no grant can.
    waiver: Waived,
}

macro_rules! row {
    ($name:literal, $title:literal, $waiver:ident) => {
        Row { name: $name, name_with_unit: $name, title: $title, unit: "", waiver: Waived::$waiver }
    };
    ($name:literal, $title:literal, $waiver:ident, "USDC") => {
        Row { name_with_unit: concat!($name, "_usdc"), unit: "USDC", ..row!($name, $title, $waiver) }
    };
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
        match self {
            Self::Paused => row!("paused", "Paused", NOTHING),
            Self::RequireMemo => row!("require_memo", "Memo needed", NOTHING),
            Self::AllowedCounterparties => row!("allowed_counterparties", "Who may be paid", ALLOWLIST),
            Self::MaxSingleTransfer => row!("max_single_transfer", "Limit per payment", SINGLE_LIMIT, "USDC"),
            Self::MaxDailySpend => row!("max_daily_spend", "Daily limit", DAILY_LIMIT, "USDC"),
        }
    }

    /// Name of the policy's field, and of the rule in answers, scripts and reports.
    pub const fn name(self) -> &'static str {
        self.row().name
    }

    /// The name in reports that print bare numbers: a limit's ends in its unit.
    pub const fn name_with_unit(self) -> &'static str {
        self.row().name_with_unit
    }

    /// Heading for people.
    pub const fn title(self) -> &'static str {
        self.row().title
    }

    /// Unit of a typed value; empty for other values.
    pub const fn unit(self) -> &'static str {
        self.row().unit
    }

    /// Returns the waiver that lets a payment pass this rule; [`Waived::NOTHING`] if no grant can.
    pub const fn waiver(self) -> Waived {
        self.row().waiver
    }

    /// Returns whether a grant can waive this rule.
    pub const fn is_waivable(self) -> bool {
        self.waiver().bits() != 0
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
