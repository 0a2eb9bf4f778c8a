use super::{AccountId, Address, OperatorId, Timestamp};

/// A pending policy, as the database knows it: when to look at it, and whether it was announced. Its content is on the chain.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PendingPolicy {
    pub operator_id: OperatorId,
    pub account_id: AccountId,
    /// The proposal's identifier on the chain.
    pub hash: [u8; 32],
    /// It can only replace this policy version.
    pub expected_version: u64,
    /// Entries of its allowlist, which count for the operator's quota.
    pub allowlist_entries: u64,
    /// When to look at it: when it can take effect, as far as known. Unix seconds by the chain's clock.
    pub due_at: i64,
    /// It was seen pending and announced. Before that it may never have reached the chain.
    pub is_announced: bool,
    pub created_at: Timestamp,
    /// The wallet that sealed it past this service, which then only watches it; `None`: this service did, on request.
    pub sealed_by: Option<Address>,
}

impl PendingPolicy {
    /// When it can take effect, as last seen.
    pub fn effective_at(&self) -> Timestamp {
        Timestamp::from_unix_seconds(self.due_at)
    }
}
