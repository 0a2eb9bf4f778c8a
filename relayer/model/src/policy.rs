use purser_policy::{AllowedRecipients, Limit, SpendingPolicy};

use super::{BudgetId, Counterparties, PolicyReason};

/// Whether an account with this policy and nothing beside it may pay anyone any amount.
pub fn has_no_limit(policy: &SpendingPolicy) -> bool {
    let limits = [policy.max_single_transfer, policy.max_daily_spend];
    limits == [Limit::Unlimited; 2] && policy.allowlist.lists().is_none()
}

/// A policy from PUT or PATCH: `None` for an omitted field.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PolicyUpdate {
    pub max_single_transfer: Option<Limit>,
    pub max_daily_spend: Option<Limit>,
    pub allowed_counterparties: Option<Counterparties>,
    pub require_memo: Option<bool>,
    pub paused: Option<bool>,
    /// What binds the account beside its policy: left out, it stays, also in a PUT.
    pub max_30_day_spend: Option<Limit>,
    /// Likewise; `Some(None)`: no budget.
    pub budget: Option<Option<BudgetId>>,
    /// The only version that it may change.
    pub expected_version: Option<u64>,
    /// Why.
    pub reason: Option<PolicyReason>,
}

impl PolicyUpdate {
    /// `Some(paused)` when `paused` is the only field: PUT and PATCH then change nothing else.
    pub fn only_paused(&self) -> Option<bool> {
        match self {
            Self {
                max_single_transfer: None,
                max_daily_spend: None,
                allowed_counterparties: None,
                require_memo: None,
                max_30_day_spend: None,
                budget: None,
                paused,
                expected_version: _,
                reason: _,
            } => *paused,
            Self { .. } => None,
        }
    }

    /// Whether it pauses. That part is carried out first, at any version, and needs no record; the rest of the change does.
    pub fn pauses(&self) -> bool {
        self.paused == Some(true)
    }

    /// The pause alone, without the rest of the change.
    pub fn pause_alone(&self) -> Self {
        Self { paused: Some(true), reason: self.reason.clone(), ..Self::default() }
    }

    /// The policy after a PUT, with what its allowlist means on the chain: omitted fields take their defaults. The one
    /// exception is `paused` alone, which leaves the other fields as they are.
    pub fn replace(&self, allowlist: Option<AllowedRecipients>, current: &SpendingPolicy) -> SpendingPolicy {
        match self.only_paused() {
            Some(_) => self.merge(allowlist, current),
            None => self.merge(allowlist, &SpendingPolicy::default()),
        }
    }

    /// The policy after a PATCH, with what its allowlist means on the chain: omitted fields stay.
    pub fn merge(&self, allowlist: Option<AllowedRecipients>, current: &SpendingPolicy) -> SpendingPolicy {
        SpendingPolicy {
            max_single_transfer: self.max_single_transfer.unwrap_or(current.max_single_transfer),
            max_daily_spend: self.max_daily_spend.unwrap_or(current.max_daily_spend),
            allowlist: allowlist.unwrap_or_else(|| current.allowlist.clone()),
            require_memo: self.require_memo.unwrap_or(current.require_memo),
            paused: self.paused.unwrap_or(current.paused),
        }
    }
}
