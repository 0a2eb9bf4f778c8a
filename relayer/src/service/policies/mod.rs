//! Spending policies: read, changed, and changed later where a loosening has to wait.

mod apply;
mod change;
mod pending;
mod turns;
mod versions;

use self::turns::Writers;
pub use self::versions::policy_versions_filter;
use super::Parts;
use super::error::{Resource, ServiceError};
use super::reads::{read_agent, read_operator};
use super::submitted::as_submitted;
use crate::chain::{AgentOnChain, OnChainPolicy, OperatorOnChain};
use crate::domain::{
    Account, AccountId, Counterparties, KeyId, Operator, PolicyUpdate, SpendingPolicy, Timestamp,
};

/// An account's policy as the chain has it, its allowlist as submitted.
#[derive(Debug, Clone)]
pub struct PolicyView {
    pub account_id: AccountId,
    pub policy: SpendingPolicy,
    /// Grows by one with every change.
    pub version: u64,
    pub updated_at: Timestamp,
    /// What is to take its place.
    pub pending: Option<PendingView>,
}

/// A policy that waits.
#[derive(Debug, Clone)]
pub struct PendingView {
    pub policy: SpendingPolicy,
    /// When it can take effect.
    pub effective_at: Timestamp,
}

/// What came of a change.
#[derive(Debug, Clone)]
pub enum PolicyChange {
    /// It is in force. Base58, of the transaction that put it there.
    InForce { view: PolicyView, tx_signature: String },
    /// It loosens something, and waits.
    Waits(PolicyView),
}

/// What a change would do.
#[derive(Debug, Clone)]
pub struct PolicyComparison {
    pub before: SpendingPolicy,
    pub after: SpendingPolicy,
    /// How many seconds it would wait; `None`: not at all.
    pub waits: Option<u32>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Omitted {
    /// PUT
    TakeDefaults,
    /// PATCH
    StayAsTheyAre,
}

/// An account and its operator as they stand on the chain.
struct Standing {
    account: Account,
    agent: AgentOnChain,
    operator: OperatorOnChain,
}

impl Standing {
    /// Whether a policy would let anything pass that the one in force refuses.
    fn is_loosened_by(&self, policy: &OnChainPolicy) -> bool {
        policy.as_policy().loosens(&self.agent.policy.as_policy())
    }
}

/// Spending policies. The chain is the truth; the database only remembers how an allowlist was written.
#[derive(Clone)]
pub struct Policies {
    parts: Parts,
    writers: Writers,
}

impl Policies {
    pub(super) fn new(parts: Parts) -> Self {
        Self { parts, writers: Writers::default() }
    }

    /// The policy in force, and what waits. NotFound: the account.
    pub async fn get(&self, operator: &Operator, id: AccountId) -> Result<PolicyView, ServiceError> {
        let standing = self.stand(operator, id).await?;
        let pending = self.pending(operator, &standing).await?;
        self.view(operator, &standing.account, &standing.agent, pending)
    }

    /// Replaces the policy, as whoever holds this key asks; `paused` alone changes only that. In force when this returns, unless it loosens something
    /// and the operator has such changes wait. NotFound: the account. Invalid: an allowlist entry that cannot be.
    /// PolicyChanged: another version is in force than was expected, or came into force before a pause could be lifted.
    pub async fn put(
        &self,
        operator: &Operator,
        id: AccountId,
        update: PolicyUpdate,
        key_id: KeyId,
    ) -> Result<PolicyChange, ServiceError> {
        self.change(operator, id, update, key_id, Omitted::TakeDefaults).await
    }

    /// Changes the given fields and leaves the others. As [`Policies::put`]; PolicyChanged also when somebody else changed
    /// the policy at the same time.
    pub async fn patch(
        &self,
        operator: &Operator,
        id: AccountId,
        update: PolicyUpdate,
        key_id: KeyId,
    ) -> Result<PolicyChange, ServiceError> {
        self.change(operator, id, update, key_id, Omitted::StayAsTheyAre).await
    }

    async fn stand(&self, operator: &Operator, id: AccountId) -> Result<Standing, ServiceError> {
        let account = self.find(operator, id).await?;
        let (agent, operator) = tokio::try_join!(
            read_agent(&self.parts, operator, &account),
            read_operator(&self.parts, operator)
        )?;
        Ok(Standing { account, agent, operator })
    }

    async fn find(&self, operator: &Operator, id: AccountId) -> Result<Account, ServiceError> {
        let account = self.parts.store.find_account(operator.id, id).await?;
        account.ok_or(ServiceError::NotFound(Resource::Account))
    }

    fn view(
        &self,
        operator: &Operator,
        account: &Account,
        agent: &AgentOnChain,
        pending: Option<PendingView>,
    ) -> Result<PolicyView, ServiceError> {
        Ok(PolicyView {
            account_id: account.id,
            policy: self.submitted(operator, &agent.policy, &account.counterparties)?,
            version: agent.policy_version,
            updated_at: Timestamp::from_unix_seconds(agent.policy_updated_at),
            pending,
        })
    }

    fn submitted(
        &self,
        operator: &Operator,
        policy: &OnChainPolicy,
        submitted: &Counterparties,
    ) -> Result<SpendingPolicy, ServiceError> {
        let chain = self.parts.chains.get(operator.network)?.chain.as_ref();
        Ok(as_submitted(chain, operator, policy, submitted))
    }
}
