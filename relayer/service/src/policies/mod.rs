//! Spending policies: read and changed, with a delay for changes that loosen.

mod apply;
mod bounds;
mod change;
mod pending;
mod plan;
mod versions;
mod warnings;

pub(crate) use self::apply::reconcile;
pub use self::change::{change, compare};
pub use self::pending::{drop_pending, list_waiting};
pub use self::plan::plan;
pub use self::versions::{version, versions};
pub(crate) use self::warnings::warnings;

use std::sync::Arc;

use serde::Serialize;
use utoipa::ToSchema;

use super::error::{Resource, ServiceError};
use super::reads::{read_agent, read_operator};
use crate::Inside;
use purser_chain::{AccountBounds, AgentOnChain, OperatorOnChain};
use purser_model::wire::schema::{PolicyVersionNumber, Signature, UsdcLimit};
use purser_model::wire::{PolicyFields, WarningBody};
use purser_model::{Account, AccountId, BudgetId, Operator, SpendingPolicy, Timestamp};
use purser_policy::Warning;

/// An account's policy; `tx_signature` where it was just put in force, `effective_at` where the change has to wait, and `warnings`
/// in the answer to a change.
#[derive(Debug, Clone, Serialize, ToSchema)]
#[schema(as = AccountPolicy)]
pub struct PolicyView {
    account_id: AccountId,
    #[serde(flatten)]
    pub policy: PolicyFields,
    /// Most that may leave in any 30 days; `null` for no limit. No grant goes past it. Neither this nor `budget_id` is part of a
    /// version.
    #[schema(required)]
    max_30_day_spend: Option<UsdcLimit>,
    /// The budget that the account pays through; `null` for none.
    #[schema(required)]
    budget_id: Option<BudgetId>,
    /// Whether it pays by grants alone. Set by the admin's own commands.
    by_grant_only: bool,
    pub updated_at: Timestamp,
    pub version: PolicyVersionNumber,
    /// The policy that waits to take this one's place; `null` without one.
    #[schema(required)]
    pub pending: Option<PendingView>,
    /// When the change takes effect, where it has to wait.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub effective_at: Option<Timestamp>,
    /// By which transaction it was just put in force.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub tx_signature: Option<Signature>,
    /// Of a change: the rules in it that can never match. They hold all the same. A pause alone is not looked at.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false, max_items = 8)]
    warnings: Option<Vec<WarningBody>>,
}

/// A policy that waits.
#[derive(Debug, Clone, Serialize, ToSchema)]
#[schema(as = PendingPolicy)]
pub struct PendingView {
    #[serde(flatten)]
    pub policy: PolicyFields,
    /// When it can take effect.
    pub effective_at: Timestamp,
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

/// The fate of the fields that a change does not name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum UpdateMode {
    /// PUT: they take their defaults.
    Replace,
    /// PATCH: they stay as they are.
    Merge,
    /// PATCH of one account among many. Their plan has taken the operator's turn.
    MergePlanned,
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

/// The policy in force, and the pending one. NotFound: the account. TooManyReads: the operator's turn does not come soon.
pub async fn get(
    inside: &Arc<Inside>,
    operator: &Operator,
    id: AccountId,
) -> Result<PolicyView, ServiceError> {
    inside.read_limiter.take(operator.id).await?;
    let current = read(inside, operator, id).await?;
    let pending = pending::pending(inside, operator, &current).await?;
    Ok(PolicyView::new(id, &current.agent, pending))
}

async fn read(inside: &Arc<Inside>, operator: &Operator, id: AccountId) -> Result<ReadAccount, ServiceError> {
    let account = find(inside, operator, id).await?;
    let (agent, operator) = tokio::try_join!(
        read_agent(&inside.chains, operator, &account),
        read_operator(&inside.chains, operator)
    )?;
    Ok(ReadAccount { account, agent, operator })
}

async fn find(inside: &Arc<Inside>, operator: &Operator, id: AccountId) -> Result<Account, ServiceError> {
    let account = inside.store.accounts.find_account(operator.id, id).await?;
    account.ok_or(ServiceError::NotFound(Resource::Account))
}

impl PolicyView {
    fn new(id: AccountId, agent: &AgentOnChain, pending: Option<PendingView>) -> Self {
        let AccountBounds { max_30_day_spend, budget, by_grant_only } = agent.bounds();
        Self {
            account_id: id,
            policy: PolicyFields(agent.policy.clone()),
            max_30_day_spend: max_30_day_spend.map(UsdcLimit),
            budget_id: budget,
            by_grant_only,
            updated_at: Timestamp::from_unix_seconds(agent.policy_updated_at),
            version: PolicyVersionNumber(agent.policy_version),
            pending,
            effective_at: None,
            tx_signature: None,
            warnings: None,
        }
    }

    /// What binds the account beside its policy.
    pub fn bounds(&self) -> AccountBounds {
        AccountBounds {
            max_30_day_spend: self.max_30_day_spend.map(|cap| cap.0),
            budget: self.budget_id,
            by_grant_only: self.by_grant_only,
        }
    }
}
