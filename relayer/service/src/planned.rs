//! What one change would do to each of many accounts.

use super::error::{Resource, ServiceError};
use purser_chain::{AccountBounds, AgentOnChain};
use purser_model::{Account, AccountId, AccountName, SpendingPolicy};
use purser_policy::Warning;

/// What may be paid from an account.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RulesInForce {
    pub policy: SpendingPolicy,
    pub bounds: AccountBounds,
    /// The account itself, apart from its operator.
    pub is_halted: bool,
}

impl RulesInForce {
    pub(super) fn of(agent: &AgentOnChain) -> Self {
        let is_halted = agent.halted_by.is_some();
        Self { policy: agent.policy.clone(), bounds: agent.bounds(), is_halted }
    }
}

/// What will become of an account.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Will {
    Apply,
    /// It loosens something, and the operator has a delay.
    Wait,
    /// It is so already.
    BeUnchanged,
}

/// What the change would do to one account.
#[derive(Debug, Clone)]
pub struct Planned {
    pub id: AccountId,
    /// `None`: there is no such account of the operator.
    pub name: Option<AccountName>,
    /// Of its policy.
    pub version: Option<u64>,
    /// The one version that a policy is changed at.
    pub expected_version: u64,
    /// How long a change waits that loosens something.
    pub delay_seconds: u32,
    /// Before and after.
    pub rules: Option<(RulesInForce, RulesInForce)>,
    pub will: Result<Will, ServiceError>,
    /// Rules after it that can never match.
    pub warnings: Vec<Warning>,
}

impl Planned {
    pub(super) fn not_found(id: AccountId) -> Self {
        Self {
            id,
            name: None,
            version: None,
            expected_version: 0,
            delay_seconds: 0,
            rules: None,
            will: Err(ServiceError::NotFound(Resource::Account)),
            warnings: Vec::new(),
        }
    }
}

/// An account that was chosen.
pub(super) struct Chosen {
    pub id: AccountId,
    pub expected_version: Option<u64>,
    /// `None`: unknown, another operator's, or closed.
    pub found: Option<(Account, AgentOnChain)>,
}
