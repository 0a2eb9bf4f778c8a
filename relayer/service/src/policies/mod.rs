//! Spending policies: read and changed, with a delay for changes that loosen.

mod apply;
mod bounds;
mod change;
mod pending;
mod plan;
mod versions;
mod warnings;

pub use self::versions::policy_versions_filter;
use std::sync::Arc;

use super::error::{Resource, ServiceError};
use super::reads::{read_agent, read_operator};
use super::stops::Stops;
use super::turns::OneAtATime;
use crate::Inside;
use purser_chain::{AccountBounds, AgentOnChain, OperatorOnChain};
use purser_model::{Account, AccountId, KeyId, Operator, PolicyUpdate, SpendingPolicy, Timestamp};
use purser_policy::Warning;

/// An account's policy from the chain.
#[derive(Debug, Clone)]
pub struct PolicyView {
    pub account_id: AccountId,
    pub policy: SpendingPolicy,
    /// Grows by one with every change.
    pub version: u64,
    pub updated_at: Timestamp,
    /// What binds the account beside it.
    pub bounds: AccountBounds,
    /// The pending policy that is to replace it.
    pub pending: Option<PendingView>,
    /// Of a change: the rules in it that can never match. A pause alone is not looked at.
    pub warnings: Vec<Warning>,
}

/// A pending policy.
#[derive(Debug, Clone)]
pub struct PendingView {
    pub policy: SpendingPolicy,
    /// When it can take effect.
    pub effective_at: Timestamp,
}

/// The outcome of a change.
#[derive(Debug, Clone)]
pub enum PolicyChange {
    /// In force. The signature, in Base58, is of the transaction that set it.
    InForce { view: PolicyView, tx_signature: String },
    /// It loosens something, so it is pending.
    Waits(PolicyView),
}

/// What a change would do.
#[derive(Debug, Clone)]
pub struct PolicyComparison {
    pub before: SpendingPolicy,
    pub after: SpendingPolicy,
    /// What binds the account beside it, which never waits.
    pub bounds_before: AccountBounds,
    pub bounds_after: AccountBounds,
    /// Rules in it that can never match.
    pub warnings: Vec<Warning>,
    /// The delay in seconds; `None`: none.
    pub waits: Option<u32>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Omitted {
    /// PUT
    TakeDefaults,
    /// PATCH
    StayAsTheyAre,
}

/// An account and its operator as the chain has them.
struct ReadAccount {
    account: Account,
    agent: AgentOnChain,
    operator: OperatorOnChain,
}

impl ReadAccount {
    /// Whether a policy would allow anything that the policy in force refuses.
    fn is_loosened_by(&self, policy: &SpendingPolicy) -> bool {
        policy.as_policy().loosens(&self.agent.policy.as_policy())
    }
}

/// Spending policies. The chain is the truth.
#[derive(Clone)]
pub struct Policies {
    inside: Arc<Inside>,
    stops: Stops,
    writers: OneAtATime<AccountId>,
}

impl Policies {
    pub(super) fn new(inside: Arc<Inside>, stops: Stops) -> Self {
        Self { inside, stops, writers: OneAtATime::default() }
    }

    /// The policy in force, and the pending one. NotFound: the account. TooManyReads: the operator's turn does not come soon.
    pub async fn get(&self, operator: &Operator, id: AccountId) -> Result<PolicyView, ServiceError> {
        self.inside.looks.take(operator.id).await?;
        let current = self.read(operator, id).await?;
        let pending = self.pending(operator, &current).await?;
        Ok(view(id, &current.agent, pending))
    }

    /// Replaces the policy on behalf of this key; `paused` alone changes only that. The policy is in force on return,
    /// unless it loosens something and the operator delays loosening. NotFound: the account. Invalid: an impossible
    /// allowlist entry, or no reason where the operator requires one. PolicyChanged: the version in force is not the expected one, or another one came into force
    /// before a pause was lifted. TooManyReads: the operator's turn to change something does not come soon; a pause waits for none.
    pub async fn put(
        &self,
        operator: &Operator,
        id: AccountId,
        update: PolicyUpdate,
        key_id: KeyId,
    ) -> Result<PolicyChange, ServiceError> {
        self.change(operator, id, update, key_id, (Omitted::TakeDefaults, true)).await
    }

    /// Changes the given fields and keeps the others. As [`Policies::put`]; PolicyChanged also when somebody else
    /// changes the policy at the same time.
    pub async fn patch(
        &self,
        operator: &Operator,
        id: AccountId,
        update: PolicyUpdate,
        key_id: KeyId,
    ) -> Result<PolicyChange, ServiceError> {
        self.change(operator, id, update, key_id, (Omitted::StayAsTheyAre, true)).await
    }

    /// As [`Policies::patch`], for one of many whose plan had the operator's turn.
    pub(super) async fn patch_planned(
        &self,
        operator: &Operator,
        id: AccountId,
        update: PolicyUpdate,
        key_id: KeyId,
    ) -> Result<PolicyChange, ServiceError> {
        self.change(operator, id, update, key_id, (Omitted::StayAsTheyAre, false)).await
    }

    async fn read(&self, operator: &Operator, id: AccountId) -> Result<ReadAccount, ServiceError> {
        let account = self.find(operator, id).await?;
        let (agent, operator) = tokio::try_join!(
            read_agent(&self.inside.chains, operator, &account),
            read_operator(&self.inside.chains, operator)
        )?;
        Ok(ReadAccount { account, agent, operator })
    }

    async fn find(&self, operator: &Operator, id: AccountId) -> Result<Account, ServiceError> {
        let account = self.inside.store.accounts.find_account(operator.id, id).await?;
        account.ok_or(ServiceError::NotFound(Resource::Account))
    }
}

fn view(id: AccountId, agent: &AgentOnChain, pending: Option<PendingView>) -> PolicyView {
    PolicyView {
        account_id: id,
        policy: agent.policy.clone(),
        version: agent.policy_version,
        updated_at: Timestamp::from_unix_seconds(agent.policy_updated_at),
        bounds: agent.bounds(),
        pending,
        warnings: Vec::new(),
    }
}
