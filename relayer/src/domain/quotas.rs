/// The most on-chain state of one operator for which the service pays rent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Quotas {
    pub accounts: u32,
    /// In all its accounts together, including pending policies.
    pub allowlist_entries: u32,
}

impl Default for Quotas {
    /// About 9 SOL of rent for the accounts, and 2 for the entries.
    fn default() -> Self {
        Self { accounts: 1_000, allowlist_entries: 10_000 }
    }
}

/// An exhausted quota, with its number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum QuotaExceeded {
    Accounts(u32),
    AllowlistEntries(u32),
}
