//! Rules that can never match, or that look like a pause and are none. They are allowed: whoever sets them is told.

use crate::{Address, Allowlist, Limit, Policy, UsdcAmount};

/// A rule that can never match, or a limit that nothing passes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Warning {
    AllowlistPaysNobody,
    AllowlistBesideGrants,
    SingleLimitAboveDaily,
    SingleLimitAbove30Day,
    SingleLimitAboveBudget,
    DailyLimitAbove30Day,
    ZeroLimitWithoutPause,
    BudgetBelowSingleLimits,
}

impl Warning {
    pub const ALL: [Self; 8] = [
        Self::AllowlistPaysNobody,
        Self::AllowlistBesideGrants,
        Self::SingleLimitAboveDaily,
        Self::SingleLimitAbove30Day,
        Self::SingleLimitAboveBudget,
        Self::DailyLimitAbove30Day,
        Self::ZeroLimitWithoutPause,
        Self::BudgetBelowSingleLimits,
    ];

    /// Identifies it to programs.
    pub const fn code(self) -> &'static str {
        self.texts().0
    }

    /// A sentence for people.
    pub const fn sentence(self) -> &'static str {
        self.texts().1
    }

    const fn texts(self) -> (&'static str, &'static str) {
        match self {
            Self::AllowlistPaysNobody => (
                "allowlist_pays_nobody",
                "The allowlist names only this account itself or closed accounts, so it lets nobody be paid.",
            ),
            Self::AllowlistBesideGrants => (
                "allowlist_beside_grants_only",
                "The account pays by grants alone, so its allowlist lets nobody be paid: it only binds grants that do not waive it.",
            ),
            Self::SingleLimitAboveDaily => (
                "single_limit_above_daily_limit",
                "The limit for a single transfer is above the daily limit, so it never applies.",
            ),
            Self::SingleLimitAbove30Day => (
                "single_limit_above_30_day_limit",
                "The limit for a single transfer is above the limit for 30 days, so it never applies.",
            ),
            Self::SingleLimitAboveBudget => (
                "single_limit_above_budget",
                "The limit for a single transfer is above a cap of the account's budget, so it never applies.",
            ),
            Self::DailyLimitAbove30Day => (
                "daily_limit_above_30_day_limit",
                "The daily limit is above the limit for 30 days, so it never applies.",
            ),
            Self::ZeroLimitWithoutPause => (
                "zero_limit_without_pause",
                "A limit of 0 USDC stops payments, but nothing shows as paused. To stop an account, pause it.",
            ),
            Self::BudgetBelowSingleLimits => (
                "budget_below_single_limits",
                "A cap of the budget is below the single-transfer limit of every account that has one, so those limits never apply.",
            ),
        }
    }
}

/// Everything that bounds an account's payments, and what is known of its allowlist.
#[derive(Clone, Copy, Debug)]
pub struct AccountRules<'a> {
    pub policy: Policy<'a>,
    /// The account and its token account.
    pub own: [Address; 2],
    /// Accounts on the allowlist that are closed, and their token accounts.
    pub closed: &'a [Address],
    pub by_grant_only: bool,
    pub max_30_day_spend: Limit,
    /// Caps of the account's budget.
    pub budget: [Limit; 2],
}

impl AccountRules<'_> {
    /// In the order of [`Warning::ALL`].
    pub fn warnings(&self) -> impl Iterator<Item = Warning> + '_ {
        Warning::ALL.into_iter().filter(|warning| self.deserve(*warning))
    }

    fn deserve(&self, warning: Warning) -> bool {
        let Policy { max_single_transfer: single, max_daily_spend: daily, .. } = self.policy;
        let month = self.max_30_day_spend;
        match warning {
            Warning::AllowlistPaysNobody => self.allowlist_pays_nobody(),
            Warning::AllowlistBesideGrants => {
                self.by_grant_only && self.policy.allowlist != Allowlist::Anyone
            }
            Warning::SingleLimitAboveDaily => never_applies(single, daily),
            Warning::SingleLimitAbove30Day => never_applies(single, month),
            Warning::SingleLimitAboveBudget => self.budget.iter().any(|cap| never_applies(single, *cap)),
            Warning::DailyLimitAbove30Day => never_applies(daily, month),
            Warning::ZeroLimitWithoutPause => {
                !self.policy.paused && [single, daily, month].into_iter().chain(self.budget).any(is_zero)
            }
            Warning::BudgetBelowSingleLimits => false,
        }
    }

    /// An empty list says so itself.
    fn allowlist_pays_nobody(&self) -> bool {
        let (wallets, token_accounts) = self.policy.allowlist.entries();
        let mut entries = wallets.iter().chain(token_accounts).peekable();
        entries.peek().is_some()
            && entries.all(|entry| self.own.contains(entry) || self.closed.contains(entry))
    }
}

/// Warnings about a budget's caps, with the single-transfer limits of the accounts that pay through it.
pub fn budget_warnings(caps: [Limit; 2], single_limits: &[Limit]) -> impl Iterator<Item = Warning> {
    let mut limits = single_limits.iter().filter(|limit| **limit != Limit::Unlimited).peekable();
    let has_limits = limits.peek().is_some();
    let is_below = has_limits && limits.all(|limit| caps.iter().any(|cap| never_applies(*limit, *cap)));
    let is_zero = caps.into_iter().any(is_zero);
    let deserved = [(Warning::ZeroLimitWithoutPause, is_zero), (Warning::BudgetBelowSingleLimits, is_below)];
    deserved.into_iter().filter_map(|(warning, deserved)| deserved.then_some(warning))
}

/// Whether `cap` refuses whatever `limit` refuses. A cap of 0 has a warning of its own.
fn never_applies(limit: Limit, cap: Limit) -> bool {
    match (limit, cap) {
        (Limit::AtMost(limit), Limit::AtMost(cap)) => limit > cap && cap > UsdcAmount::ZERO,
        (Limit::Unlimited, _) | (_, Limit::Unlimited) => false,
    }
}

fn is_zero(limit: Limit) -> bool {
    limit == Limit::AtMost(UsdcAmount::ZERO)
}
