use super::{AccountId, Counterparties, OperatorId, Timestamp};

/// A policy that loosens something and waits on the chain, as far as the database knows it: how its allowlist was
/// submitted, and when to look at it. What it says is on the chain.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PendingPolicy {
    pub operator_id: OperatorId,
    pub account_id: AccountId,
    /// What the chain calls the proposal.
    pub hash: [u8; 32],
    /// It can take the place of this policy version and of no other.
    pub expected_version: u64,
    /// The allowlist as submitted.
    pub counterparties: Counterparties,
    /// When to look at it: when it can take effect, as far as is known. Unix seconds by the chain's clock.
    pub due_at: i64,
    /// It was seen to wait, and that was announced. Before that it may never have reached the chain.
    pub is_announced: bool,
    pub created_at: Timestamp,
}
