/// The most of one operator for which the service pays rent, and of one key that it keeps on record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Quotas {
    pub accounts: u32,
    /// In all its accounts together, including pending policies.
    pub allowlist_entries: u32,
    /// Grants that it pays for approvers, in 24 hours.
    pub approvals_daily: u32,
    /// Actions of one key on record, in 24 hours; see [`Action::counted`](super::Action::counted).
    pub actions_daily: u32,
}

impl Default for Quotas {
    /// About 9 SOL of rent for the accounts, 2 for the entries, and 0.25 for the grants.
    fn default() -> Self {
        Self { accounts: 1_000, allowlist_entries: 10_000, approvals_daily: 100, actions_daily: 20_000 }
    }
}

/// An exhausted quota, with its number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum QuotaExceeded {
    Accounts(u32),
    AllowlistEntries(u32),
}
