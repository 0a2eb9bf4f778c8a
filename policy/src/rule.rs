//! The table of rules. Relayer, dashboard, scripts and audit take from it what they say of a rule.

use crate::{Limit, PolicyOver, Waived};

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

/// What holds of a rule everywhere.
struct Row {
    name: &'static str,
    title: &'static str,
    waiver: Waived,
}

/// What a policy says by one rule.
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

    /// All of them in the order in which people set them.
    pub const AS_SET: [Self; Self::ALL.len()] = [
        Self::MaxSingleTransfer,
        Self::MaxDailySpend,
        Self::AllowedCounterparties,
        Self::RequireMemo,
        Self::Paused,
    ];

    const fn row(self) -> Row {
        match self {
            Self::Paused => Row { name: "paused", title: "Paused", waiver: Waived::NOTHING },
            Self::RequireMemo => Row { name: "require_memo", title: "Memo needed", waiver: Waived::NOTHING },
            Self::AllowedCounterparties => {
                Row { name: "allowed_counterparties", title: "Who may be paid", waiver: Waived::ALLOWLIST }
            }
            Self::MaxSingleTransfer => {
                Row { name: "max_single_transfer", title: "Limit per payment", waiver: Waived::SINGLE_LIMIT }
            }
            Self::MaxDailySpend => {
                Row { name: "max_daily_spend", title: "Daily limit", waiver: Waived::DAILY_LIMIT }
            }
        }
    }

    /// The policy's field, and the rule's name in answers, scripts and reports.
    pub const fn name(self) -> &'static str {
        self.row().name
    }

    /// Its heading for people.
    pub const fn title(self) -> &'static str {
        self.row().title
    }

    /// What a grant has to waive for a payment to pass it; [`Waived::NOTHING`] if none can.
    pub const fn waiver(self) -> Waived {
        self.row().waiver
    }

    /// Whether a grant may let a payment pass it.
    pub const fn is_waivable(self) -> bool {
        self.waiver().bits() != 0
    }
}

impl<A> PolicyOver<A> {
    /// What it says by a rule.
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
