//! Applies pending policies when they are due, and clears those that no longer can take effect. Any number of relayers
//! may look at the same proposal: the program applies it once, and the relayer that first records that announces it.

use crate::Inside;
use std::sync::Arc;
use std::time::Duration;

use super::ReadAccount;
use super::pending::{LOOK_AFTER_SECONDS, PendingDraft};
use crate::error::{Resource, ServiceError};
use purser_base::crash_point::crash_point;
use purser_chain::{AgentOnChain, ChainError, DraftOnChain};
use purser_core::Chain as _;
use purser_model::{AccountStatus, Event, Operator, PendingPolicy, SpendingPolicy};

/// Proposals looked at in one pass.
const ROWS_MAX: u32 = 100;
/// A proposal that has left no trace on the chain after this long can no longer get there.
const PROPOSING_TIMEOUT: Duration = Duration::from_secs(180);

/// One pass over what is due by the chain's clock. Later passes retry what fails now.
pub async fn reconcile(inside: &Arc<Inside>) -> Result<(), ServiceError> {
    for network in inside.chains.networks() {
        // Usually nothing is pending, and then the chain is not asked.
        if inside.store.policies.list_due_policies(network, i64::MAX, 1).await?.is_empty() {
            continue;
        }
        let now = match inside.chains.get(network)?.chain.now().await {
            Ok(now) => now,
            Err(error) => {
                tracing::warn!(%network, %error, "cannot check pending policies now");
                continue;
            }
        };
        for pending in inside.store.policies.list_due_policies(network, now, ROWS_MAX).await? {
            if let Err(error) = look_at(inside, &pending, now).await {
                tracing::warn!(account_id = %pending.account_id, %error, "cannot check a pending policy; retrying later");
                put_off(inside, &pending, now).await?;
            }
        }
    }
    Ok(())
}

async fn look_at(inside: &Arc<Inside>, pending: &PendingPolicy, now: i64) -> Result<(), ServiceError> {
    let operator =
        inside.store.operators.find_operator(pending.operator_id).await?.ok_or(ServiceError::Internal)?;
    let account = super::find(inside, &operator, pending.account_id).await?;
    let chain = inside.chain(operator.network)?;
    // Read before the policy: a draft that is gone by now has left its trace in the policy.
    let draft = chain.read_draft(&account.address).await?;
    let current = match super::read(inside, &operator, pending.account_id).await {
        // The account was closed on the chain, so the draft is useless.
        Err(ServiceError::NotFound(Resource::Account)) => {
            return Ok(inside.store.policies.delete_pending_policy(pending).await?);
        }
        current => current?,
    };
    let Some(draft) = draft.filter(|draft| draft.hash == pending.hash) else {
        return look_for_trace(inside, &operator, &current, pending, now).await;
    };
    if pending.sealed_by.is_some() {
        return watch(inside, &current, pending, draft, now).await;
    }
    let may_be_under_way = draft.sealed_at.is_none() && is_recent(inside, pending);
    match PendingDraft::of(draft, &current) {
        Some(waiting) => apply(inside, &operator, &current, pending, waiting, now).await,
        None if may_be_under_way => put_off(inside, pending, now).await,
        None => clear(inside, &operator, &current, pending).await,
    }
}

/// A draft that a wallet sealed past this service is announced if it loosens something and has to wait. It is neither
/// applied nor dropped: that is for whoever sealed it, or for those whom the announcement wakes.
async fn watch(
    inside: &Arc<Inside>,
    current: &ReadAccount,
    pending: &PendingPolicy,
    draft: DraftOnChain,
    now: i64,
) -> Result<(), ServiceError> {
    let waits = current.operator.loosening_delay_seconds > 0 && current.is_loosened_by(&draft.policy);
    let Some(PendingDraft { draft, effective_at }) = PendingDraft::of(draft, current).filter(|_| waits)
    else {
        return Ok(inside.store.policies.delete_pending_policy(pending).await?);
    };
    if !pending.is_announced || pending.due_at < effective_at {
        tracing::warn!(account_id = %pending.account_id, signer = ?pending.sealed_by,
            "a policy that loosens something was sealed without this service and is pending");
        super::pending::announce_pending(inside, current, pending, &draft.policy, effective_at).await?;
    }
    if effective_at > now { Ok(()) } else { put_off(inside, pending, now).await }
}

async fn apply(
    inside: &Arc<Inside>,
    operator: &Operator,
    current: &ReadAccount,
    pending: &PendingPolicy,
    waiting: PendingDraft,
    now: i64,
) -> Result<(), ServiceError> {
    let PendingDraft { draft: DraftOnChain { policy, .. }, effective_at } = waiting;
    if !pending.is_announced || pending.due_at != effective_at {
        super::pending::announce_pending(inside, current, pending, &policy, effective_at).await?;
    }
    if effective_at > now {
        return Ok(());
    }
    if current.operator.halted_by.is_some() || current.agent.halted_by.is_some() {
        // In a halt the admin alone puts it in force; after it, the next pass does.
        return put_off(inside, pending, now).await;
    }
    let chain = inside.chain(operator.network)?;
    crash_point!("apply.before");
    let applied = chain.unrecorded().apply_draft(&current.operator, &current.agent, pending.hash).await;
    crash_point!("apply.after");
    match applied {
        Ok(confirmed) => {
            tracing::info!(account_id = %pending.account_id, "a pending policy is in force");
            announce_applied(inside, pending, &policy, Some(&confirmed.signature)).await
        }
        // Another relayer was faster, or the time is not quite up; the next pass sees which.
        Err(ChainError::PolicyChanged) => Ok(()),
        // The admin's wallet recreated the account; the admin may put the policy in force.
        Err(ChainError::RentOfAnother { .. }) => clear(inside, operator, current, pending).await,
        Err(error) => Err(error.into()),
    }
}

/// The draft is gone: somebody applied it, somebody dropped it, or it never landed.
async fn look_for_trace(
    inside: &Arc<Inside>,
    operator: &Operator,
    current: &ReadAccount,
    pending: &PendingPolicy,
    now: i64,
) -> Result<(), ServiceError> {
    let ReadAccount { agent, .. } = current;
    let chain = inside.chain(operator.network)?;
    let before = AgentOnChain { policy_version: pending.expected_version, ..agent.clone() };
    let is_next = agent.policy_version == pending.expected_version.saturating_add(1);
    if is_next && chain.proposal_hash(&before, &agent.policy) == pending.hash {
        return announce_applied(inside, pending, &agent.policy, None).await;
    }
    if !pending.is_announced && is_recent(inside, pending) {
        return put_off(inside, pending, now).await;
    }
    Ok(inside.store.policies.delete_pending_policy(pending).await?)
}

async fn announce_applied(
    inside: &Arc<Inside>,
    pending: &PendingPolicy,
    policy: &SpendingPolicy,
    tx_signature: Option<&str>,
) -> Result<(), ServiceError> {
    let now = inside.clock.now();
    let version = pending.expected_version.saturating_add(1);
    let (operator_id, account_id) = (pending.operator_id, pending.account_id);
    inside.store.policies.mark_policy_asking(operator_id, account_id, pending.hash, version).await?;
    let event = Event::policy_applied(pending, policy, version, tx_signature, now);
    let status = AccountStatus::from_paused(policy.paused);
    let allowlist_entries = policy.allowlist.len() as u64;
    let applied = PendingPolicy { allowlist_entries, ..pending.clone() };
    Ok(inside.store.policies.mark_policy_applied(&applied, status, event).await?)
}

/// Closes a draft that can never take effect, and recovers its rent.
async fn clear(
    inside: &Arc<Inside>,
    operator: &Operator,
    current: &ReadAccount,
    pending: &PendingPolicy,
) -> Result<(), ServiceError> {
    let chain = inside.chain(operator.network)?;
    match chain.unrecorded().drop_draft(&current.operator, &current.agent, pending.hash).await {
        Ok(_) | Err(ChainError::PolicyChanged) => {}
        Err(error) => return Err(error.into()),
    }
    tracing::info!(account_id = %pending.account_id, "dropped a policy that could no longer take effect");
    Ok(inside.store.policies.delete_pending_policy(pending).await?)
}

async fn put_off(inside: &Arc<Inside>, pending: &PendingPolicy, now: i64) -> Result<(), ServiceError> {
    let due_at = now.saturating_add(LOOK_AFTER_SECONDS);
    Ok(inside.store.policies.put_off_pending_policy(pending, due_at).await?)
}

fn is_recent(inside: &Arc<Inside>, pending: &PendingPolicy) -> bool {
    inside.clock.now() < pending.created_at.after(PROPOSING_TIMEOUT)
}
