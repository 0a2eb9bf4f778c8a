//! What one change would do to each of many policies, without a read for each.

use crate::Inside;
use std::collections::HashMap;
use std::sync::Arc;

use super::ReadAccount;
use super::change::lacks_reason;
use crate::ServiceError;
use crate::allowlist::resolve;
use crate::error::Forbidden;
use crate::planned::{Planned, RulesInForce, Will, choose};
use purser_chain::AccountBounds;
use purser_model::{AllowedRecipients, Operator, PolicyUpdate, Selection};

/// What a PATCH would do to each of these accounts now, in their order. Changes nothing. Invalid: too many accounts, the budget
/// is none of the operator's, or a reason is missing. With `in_turn`, TooManyReads: the operator's turn does not come soon.
pub async fn plan(
    inside: &Arc<Inside>,
    operator: &Operator,
    selection: &Selection,
    update: &PolicyUpdate,
    in_turn: bool,
) -> Result<Vec<Planned>, ServiceError> {
    let (on_chain, chosen) = choose(inside, operator, selection, in_turn).await?;
    let no_budget = match update.budget {
        Some(Some(budget)) => super::bounds::check_budget(inside, operator, &budget.0).await.err(),
        Some(None) | None => None,
    };
    let refused = no_budget.or_else(|| lacks_reason(operator, update));
    // A pause holds whatever is refused beside it: then each account is told.
    if let Some(error) = refused.clone().filter(|_| !update.pauses()) {
        return Err(error);
    }
    let mut resolved = Vec::new();
    let mut planned = Vec::with_capacity(chosen.len());
    let mut accounts = HashMap::with_capacity(chosen.len());
    for chosen in chosen {
        let Some((account, agent)) = chosen.found else {
            planned.push(Planned::not_found(chosen.id));
            continue;
        };
        let allowlist = allowlist(inside, operator, update, &agent.policy.allowlist, &mut resolved).await;
        let current = ReadAccount { account, agent, operator: on_chain.clone() };
        let mut one = plan_one(&current, update, allowlist, chosen.expected_version);
        if let Some(error) = &refused {
            one.will = Err(error.clone());
        }
        accounts.insert(one.id, current.account);
        planned.push(one);
    }
    super::warnings::warn_of_many(inside, operator, update, &accounts, &mut planned).await;
    Ok(planned)
}

/// What the asked list means beside the list in force; the same is not resolved twice.
async fn allowlist(
    inside: &Arc<Inside>,
    operator: &Operator,
    update: &PolicyUpdate,
    in_force: &AllowedRecipients,
    resolved: &mut Vec<(AllowedRecipients, Result<AllowedRecipients, ServiceError>)>,
) -> Result<Option<AllowedRecipients>, ServiceError> {
    let Some(asked) = &update.allowed_counterparties else { return Ok(None) };
    if let Some((_, known)) = resolved.iter().find(|(list, _)| list == in_force) {
        return known.clone().map(Some);
    }
    let found = resolve(inside, operator, asked, in_force).await;
    resolved.push((in_force.clone(), found.clone()));
    found.map(Some)
}

fn plan_one(
    current: &ReadAccount,
    update: &PolicyUpdate,
    allowlist: Result<Option<AllowedRecipients>, ServiceError>,
    expected_version: Option<u64>,
) -> Planned {
    let ReadAccount { account, agent, operator } = current;
    let before = RulesInForce::of(agent);
    let bounds = super::bounds::asked(agent, update);
    let after = allowlist.map(|allowlist| RulesInForce {
        policy: update.merge(allowlist, &agent.policy),
        bounds,
        ..before.clone()
    });
    let will = match &after {
        Err(error) => Err(error.clone()),
        Ok(after) if *after == before => Ok(Will::BeUnchanged),
        // A pause applies to any version.
        Ok(_)
            if update.only_paused() != Some(true)
                && expected_version.is_some_and(|expected| expected != agent.policy_version) =>
        {
            Err(ServiceError::PolicyChanged)
        }
        Ok(after) => will(current, after, &bounds),
    };
    Planned {
        id: account.id,
        name: Some(account.name.clone()),
        version: Some(agent.policy_version),
        expected_version: expected_version.unwrap_or(agent.policy_version),
        delay_seconds: operator.loosening_delay_seconds,
        rules: Some((before.clone(), after.unwrap_or(before))),
        will,
        warnings: Vec::new(),
    }
}

fn will(current: &ReadAccount, after: &RulesInForce, bounds: &AccountBounds) -> Result<Will, ServiceError> {
    let delays = current.operator.loosening_delay_seconds > 0;
    if delays && bounds.loosens(&current.agent.bounds()) {
        return Err(ServiceError::Forbidden(Forbidden::AdminNeeded));
    }
    Ok(if delays && current.is_loosened_by(&after.policy) { Will::Wait } else { Will::Apply })
}
