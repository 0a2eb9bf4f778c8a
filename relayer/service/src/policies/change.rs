//! Changes policies. Nobody overwrites a policy that they have not seen: the program compares versions.

use super::{PolicyComparison, PolicyView, ReadAccount, UpdateMode};
use crate::ServiceError;
use crate::allowlist::resolve;
use crate::audit_scope::AuditScope;
use crate::error::{after_sending, after_writing};
use crate::parts::finish;
use crate::reads::read_agent;
use crate::{Inside, pauses_and_halts};
use purser_chain::{AgentOnChain, Confirmed};
use purser_model::{
    Account, AccountId, AccountStatus, Asking, Invalid, KeyId, Operator, PolicyUpdate, SpendingPolicy,
    Stopped,
};
use std::sync::Arc;

/// How often a full replacement is tried while others keep changing the policy.
const TRIES_MAX: u32 = 4;

/// Compares a PATCH with the policy in force; changes nothing. Errors as [`change`].
pub async fn compare(
    inside: &Arc<Inside>,
    operator: &Operator,
    id: AccountId,
    update: &PolicyUpdate,
) -> Result<PolicyComparison, ServiceError> {
    inside.read_limiter.take(operator.id).await?;
    let current = super::read(inside, operator, id).await?;
    let after = asked(inside, operator, &current, update, UpdateMode::Merge).await?;
    let bounds_after = super::bounds::asked_bounds(inside, operator, &current, update).await?;
    let warnings = super::warnings::warnings(inside, operator, &current.account, &after, &bounds_after).await;
    let bounds_before = current.agent.bounds();
    let loosens = current.is_loosened_by(&after);
    let delay = Some(current.operator.loosening_delay_seconds);
    let waits = delay.filter(|delay| loosens && *delay > 0);
    let before = current.agent.policy;
    Ok(PolicyComparison { before, after, bounds_before, bounds_after, warnings, waits })
}

/// Changes the policy on behalf of this key; `paused` alone changes only that. The policy is in force on return, unless it
/// loosens something and the operator delays loosening. NotFound: the account. Invalid: an impossible allowlist entry, or no reason
/// where the operator requires one. PolicyChanged: the version in force is not the expected one, another one came into force before
/// a pause was lifted, or in a merge somebody else changes the policy at the same time. TooManyReads: the operator's turn to change
/// something does not come soon; a pause waits for none.
pub async fn change(
    inside: &Arc<Inside>,
    operator: &Operator,
    id: AccountId,
    mut update: PolicyUpdate,
    (key_id, scope): (KeyId, &AuditScope),
    mode: UpdateMode,
) -> Result<PolicyView, ServiceError> {
    let takes_turn = mode != UpdateMode::MergePlanned;
    let work = {
        let (inside, operator, scope) = (inside.clone(), operator.clone(), scope.clone());
        let asking = Asking { key_id, reason: update.reason.clone() };
        async move {
            // A pause waits for nobody, and applies to any version. What else the body says comes after it, and may wait.
            if update.only_paused() == Some(true) {
                return pause(&inside, &operator, id, (&asking, &scope)).await;
            }
            let refusal =
                scope.stops_only.map(ServiceError::from).or_else(|| lacks_reason(&operator, &update));
            if let Some(refusal) = refusal.clone().filter(|_| !update.pauses()) {
                return Err(refusal);
            }
            if takes_turn && !update.pauses() {
                inside.read_limiter.take_change(operator.id).await?;
            }
            // One change per account at a time, so that a merge sees the change before it. Only a pause does not wait for its turn.
            let writer = inside.policy_turns.of(id);
            let turn = writer.try_lock().ok();
            let read = super::read(&inside, &operator, id).await?;
            let version = read.agent.policy_version;
            let mut stopped =
                stop_first(&inside, &operator, &read.agent, id, &mut update, (&asking, &scope)).await?;
            let mut holds = update.pauses();
            let beside = async {
                if let Some(refusal) = refusal {
                    return Err(refusal);
                }
                if takes_turn && update.pauses() {
                    inside.read_limiter.take_change(operator.id).await?;
                }
                // What was read within the turn need not be read again, unless a pause was written since.
                let mut read = Some(read).filter(|_| turn.is_some() && stopped.is_none());
                let _turn = match turn {
                    Some(turn) => turn,
                    None => writer.lock().await,
                };
                let mut tries_left = match (mode, update.expected_version) {
                    // A full replacement also replaces changes that came in between.
                    (UpdateMode::Replace, None) => TRIES_MAX - 1,
                    (UpdateMode::Replace, Some(_)) | (UpdateMode::Merge | UpdateMode::MergePlanned, _) => 0,
                };
                loop {
                    let mut current = match read.take() {
                        Some(read) => read,
                        None => super::read(&inside, &operator, id).await?,
                    };
                    // Somebody may have lifted the pause meanwhile.
                    holds &= current.agent.policy.paused;
                    if let Some(again) =
                        stop_first(&inside, &operator, &current.agent, id, &mut update, (&asking, &scope))
                            .await?
                    {
                        (stopped, holds) = (Some(again), true);
                        current = super::read(&inside, &operator, id).await?;
                    }
                    let asked = asked(&inside, &operator, &current, &update, mode).await?;
                    // But it must not lift a pause that may have come after the request.
                    let lifts = current.agent.policy.paused && !asked.paused;
                    if lifts && current.agent.policy_version != version {
                        return Err(ServiceError::PolicyChanged);
                    }
                    let bound = match super::bounds::bind(&inside, &operator, &current, &update, &scope).await
                    {
                        Err(ServiceError::PolicyChanged) if tries_left > 0 => {
                            tries_left -= 1;
                            continue;
                        }
                        bound => bound?,
                    };
                    if let Some(bound) = bound {
                        if current.agent.policy == asked {
                            return in_force(&inside, &operator, &current.account, bound).await;
                        }
                        current = super::read(&inside, &operator, id).await.map_err(after_writing)?;
                    } else if let Some(stopped) = stopped.take_if(|_| current.agent.policy == asked) {
                        return Ok(stopped);
                    }
                    match write(&inside, &operator, &current, asked, (&asking, &scope)).await {
                        Err(ServiceError::PolicyChanged) if tries_left > 0 => tries_left -= 1,
                        done => return done,
                    }
                }
            };
            let done = beside.await;
            let mut change =
                done.map_err(|error| if holds { ServiceError::PauseHolds(Box::new(error)) } else { error })?;
            // The plan of a change of many has its warnings.
            if takes_turn {
                super::warnings::warn(&inside, &operator, id, &mut change).await;
            }
            Ok(change)
        }
    };
    finish(&inside.tasks, work).await
}

/// The complete requested policy. PolicyChanged: the request was meant for another version.
async fn asked(
    inside: &Arc<Inside>,
    operator: &Operator,
    current: &ReadAccount,
    update: &PolicyUpdate,
    mode: UpdateMode,
) -> Result<SpendingPolicy, ServiceError> {
    let AgentOnChain { policy, policy_version, .. } = &current.agent;
    if update.expected_version.is_some_and(|expected| expected != *policy_version) {
        return Err(ServiceError::PolicyChanged);
    }
    let allowlist = match &update.allowed_counterparties {
        None => None,
        Some(asked) => Some(resolve(inside, operator, asked, &policy.allowlist).await?),
    };
    Ok(match mode {
        UpdateMode::Replace => update.replace(allowlist, policy),
        UpdateMode::Merge | UpdateMode::MergePlanned => update.merge(allowlist, policy),
    })
}

async fn write(
    inside: &Arc<Inside>,
    operator: &Operator,
    current: &ReadAccount,
    asked: SpendingPolicy,
    (asking, scope): (&Asking, &AuditScope),
) -> Result<PolicyView, ServiceError> {
    let ReadAccount { account, agent, operator: on_chain } = current;
    if current.is_loosened_by(&asked) && on_chain.loosening_delay_seconds > 0 {
        return super::pending::propose(inside, operator, current, asked, (asking, scope)).await;
    }
    let entries = asked.allowlist.len() as u64;
    if entries > agent.policy.allowlist.len() as u64 {
        let quotas = inside.quotas;
        inside.store.accounts.reserve_entries(operator.id, account.id, entries, quotas).await?;
    }
    let chain = inside.chain(operator.network)?;
    // Lifting a pause is bound to the version too, because by then it may be a different pause.
    let written = chain.recorded(scope).set_policy(on_chain, agent, &asked).await;
    let confirmed = written.map_err(after_sending)?;
    scope.landed(&confirmed);
    super::versions::note_asking(inside, operator, account.id, &confirmed.signature, (asking, scope)).await;
    if agent.policy.paused && !asked.paused {
        inside.store.actions.delete_pauses(operator.id, account.id).await?;
    }
    let status = AccountStatus::from_paused(asked.paused);
    inside.store.accounts.mark_account_policy(operator.id, account.id, status, entries).await?;
    in_force(inside, operator, account, confirmed).await
}

/// Pauses an open account if the update pauses it. What was meant for the version before is then meant for the paused one.
async fn stop_first(
    inside: &Arc<Inside>,
    operator: &Operator,
    agent: &AgentOnChain,
    id: AccountId,
    update: &mut PolicyUpdate,
    (asking, scope): (&Asking, &AuditScope),
) -> Result<Option<PolicyView>, ServiceError> {
    if !update.pauses() || agent.policy.paused {
        return Ok(None);
    }
    let paused = pause(inside, operator, id, (asking, scope)).await?;
    update.expected_version = update.expected_version.map(|version| version.saturating_add(1));
    Ok(Some(paused))
}

async fn pause(
    inside: &Arc<Inside>,
    operator: &Operator,
    id: AccountId,
    (asking, scope): (&Asking, &AuditScope),
) -> Result<PolicyView, ServiceError> {
    let account = super::find(inside, operator, id).await?;
    let what = Stopped::Paused(id);
    let confirmed = pauses_and_halts::send(inside, operator, what, Some(scope)).await?;
    scope.landed(&confirmed);
    pauses_and_halts::note(inside, operator, what, &confirmed, scope).await;
    super::versions::note_asking(inside, operator, id, &confirmed.signature, (asking, scope)).await;
    inside.store.accounts.mark_account_status(operator.id, id, AccountStatus::Paused).await?;
    in_force(inside, operator, &account, confirmed).await
}

/// After a change, a pending policy can no longer take effect, because it was meant for the policy before.
async fn in_force(
    inside: &Arc<Inside>,
    operator: &Operator,
    account: &Account,
    confirmed: Confirmed,
) -> Result<PolicyView, ServiceError> {
    inside.store.policies.look_at_pending_policies(operator.id, account.id).await?;
    let agent = read_agent(&inside.chains, operator, account).await.map_err(after_writing)?;
    let view = PolicyView::new(account.id, &agent, None);
    Ok(PolicyView { tx_signature: Some(confirmed.signature.into()), warnings: Some(Vec::new()), ..view })
}

/// Why the change is refused if its operator requires a reason. A pause never needs one.
pub(super) fn lacks_reason(operator: &Operator, update: &PolicyUpdate) -> Option<ServiceError> {
    let is_missing =
        operator.requires_reason && update.reason.is_none() && update.only_paused() != Some(true);
    let message = "is missing: this operator requires one for each change of a policy, except a pause";
    is_missing.then(|| Invalid::new("reason", message).into())
}
