//! What binds an account beside its policy, as a change of the policy says it: a cap for 30 days, and a budget. It comes before the
//! rest of the change, in a transaction of its own. The program lets nothing of it wait: under a loosening delay, the admin alone
//! loosens it.

use super::ReadAccount;
use crate::Inside;
use crate::ServiceError;
use crate::audit_scope::AuditScope;
use crate::error::{Forbidden, after_sending};
use purser_chain::{AccountBounds, AgentOnChain, ChainError, Confirmed};
use purser_model::{Address, BudgetId, Invalid, Limit, Operator, PolicyUpdate};
use std::sync::Arc;

/// Binds the account as the update says. `None`: it says nothing else than what binds it already. Invalid: the budget is none of
/// the operator's. Forbidden: only the admin may.
pub(super) async fn bind(
    inside: &Arc<Inside>,
    operator: &Operator,
    current: &ReadAccount,
    update: &PolicyUpdate,
    scope: &AuditScope,
) -> Result<Option<Confirmed>, ServiceError> {
    let (bound, asked) = (current.agent.bounds(), asked_bounds(inside, operator, current, update).await?);
    if asked == bound {
        return Ok(None);
    }
    let chain = inside.chain(operator.network)?;
    let set = chain.recorded(scope).set_bounds(&current.operator, &current.agent, &asked).await;
    let confirmed = set.map_err(|error| match error {
        ChainError::RentOfAnother { rent_refund, .. } => {
            let field = if asked.budget == bound.budget { "max_30_day_spend" } else { "budget_id" };
            let message = format!(
                "may not be set through the service: another wallet, {rent_refund}, made the account and would get the rent of \
                 it. Set it with the admin's wallet"
            );
            Invalid::new(field, message).into()
        }
        error => after_sending(error),
    })?;
    scope.landed(&confirmed);
    Ok(Some(confirmed))
}

/// What is to bind the account after the update. Errors as [`bind`].
pub(super) async fn asked_bounds(
    inside: &Arc<Inside>,
    operator: &Operator,
    current: &ReadAccount,
    update: &PolicyUpdate,
) -> Result<AccountBounds, ServiceError> {
    let (bound, asked) = (current.agent.bounds(), asked(&current.agent, update));
    if let Some(BudgetId(budget)) = asked.budget.filter(|budget| Some(*budget) != bound.budget) {
        check_budget(inside, operator, &budget).await?;
    }
    if asked.loosens(&bound) && current.operator.loosening_delay_seconds > 0 {
        return Err(ServiceError::Forbidden(Forbidden::AdminNeeded));
    }
    Ok(asked)
}

/// Invalid: the budget is none of the operator's.
pub(super) async fn check_budget(
    inside: &Arc<Inside>,
    operator: &Operator,
    budget: &Address,
) -> Result<(), ServiceError> {
    let chain = inside.chain(operator.network)?;
    match chain.read_budget(&operator.address, budget).await? {
        Some(_) => Ok(()),
        None => Err(Invalid::new("budget_id", "is no budget of this operator").into()),
    }
}

/// What is to bind an account after the update.
pub(super) fn asked(agent: &AgentOnChain, update: &PolicyUpdate) -> AccountBounds {
    let bound = agent.bounds();
    AccountBounds {
        max_30_day_spend: match update.max_30_day_spend {
            None => bound.max_30_day_spend,
            Some(Limit::Unlimited) => None,
            Some(Limit::AtMost(cap)) => Some(cap),
        },
        budget: match update.budget {
            None => bound.budget,
            Some(named) => named,
        },
        ..bound
    }
}
