//! Pending policies: proposed, shown and dropped. The chain holds whether one is pending, and what it says.

use super::{PendingView, PolicyView, ReadAccount};
use crate::Inside;
use crate::audit_scope::AuditScope;
use crate::error::{Resource, ServiceError, after_sending, after_writing};
use crate::parts::finish;
use purser_base::crash_point::crash_point;
use purser_chain::{ChainError, DraftOnChain};
use purser_core::Chain as _;
use purser_model::wire::PolicyFields;
use purser_model::{AccountId, Asking, Event, Operator, PendingPolicy, SpendingPolicy, Timestamp};
use std::sync::Arc;

/// When to check the chain for a proposal whose proposer has not reported the outcome.
pub(super) const LOOK_AFTER_SECONDS: i64 = 30;

/// A draft that can take effect.
pub(super) struct PendingDraft {
    pub draft: DraftOnChain,
    /// Unix seconds by the chain's clock.
    pub effective_at: i64,
}

impl PendingDraft {
    /// A draft is pending when it is complete, meant for the version in force, and can take effect some day.
    pub fn of(draft: DraftOnChain, current: &ReadAccount) -> Option<Self> {
        let is_current = draft.expected_version == current.agent.policy_version;
        let effective_at = draft.loosens_at(&current.operator).filter(|_| is_current)?;
        Some(Self { draft, effective_at })
    }
}

/// The pending policy that is to replace the one in force.
pub(super) async fn pending(
    inside: &Arc<Inside>,
    operator: &Operator,
    current: &ReadAccount,
) -> Result<Option<PendingView>, ServiceError> {
    let Some(PendingDraft { draft, effective_at }) = waiting(inside, operator, current).await? else {
        return Ok(None);
    };
    let effective_at = Timestamp::from_unix_seconds(effective_at);
    Ok(Some(PendingView { policy: PolicyFields(draft.policy), effective_at }))
}

/// Up to `rows_max` policies that wait, of all accounts and whoever sealed them, as last seen, with who asked for each here; the
/// first that can take effect first.
pub async fn list_waiting(
    inside: &Arc<Inside>,
    operator: &Operator,
    rows_max: u32,
) -> Result<Vec<(PendingPolicy, Option<Asking>)>, ServiceError> {
    Ok(inside.store.policies.list_waiting_policies(operator.id, rows_max).await?)
}

async fn waiting(
    inside: &Arc<Inside>,
    operator: &Operator,
    current: &ReadAccount,
) -> Result<Option<PendingDraft>, ServiceError> {
    let chain = inside.chain(operator.network)?;
    let draft = chain.read_draft(&current.account.address).await?;
    Ok(draft.and_then(|draft| PendingDraft::of(draft, current)))
}

/// Proposes a policy on the chain, in place of the pending one. If it is already pending, its delay runs on.
pub(super) async fn propose(
    inside: &Arc<Inside>,
    operator: &Operator,
    current: &ReadAccount,
    asked: SpendingPolicy,
    (asking, scope): (&Asking, &AuditScope),
) -> Result<PolicyView, ServiceError> {
    let ReadAccount { account, agent, operator: on_chain } = current;
    let chain = inside.chain(operator.network)?;
    let hash = chain.proposal_hash(agent, &asked);
    let now = chain.now().await?;
    let is_it = |waiting: &PendingDraft| waiting.draft.hash == hash;
    let mut waiting = waiting(inside, operator, current).await?.filter(is_it);
    let written = inside.store.policies.find_pending_policy(operator.id, account.id, hash).await?;
    let pending = PendingPolicy {
        operator_id: operator.id,
        account_id: account.id,
        hash,
        expected_version: agent.policy_version,
        allowlist_entries: asked.allowlist.len() as u64,
        due_at: now.saturating_add(LOOK_AFTER_SECONDS),
        is_announced: waiting.is_some() && written.is_some_and(|written| written.is_announced),
        created_at: inside.clock.now(),
        sealed_by: None,
    };
    inside.store.policies.insert_pending_policy(&pending, inside.quotas).await?;
    super::versions::note_asking(inside, operator, account.id, &hex::encode(hash), (asking, scope)).await;
    if waiting.is_none() {
        crash_point!("propose.before");
        let proposed = chain.recorded(scope).propose_policy(on_chain, agent, &asked).await;
        crash_point!("propose.after");
        waiting = match proposed {
            // Another relayer may have just proposed the same.
            Ok(_) | Err(ChainError::PolicyChanged) => {
                self::waiting(inside, operator, current).await.map_err(after_writing)?.filter(is_it)
            }
            Err(error) => {
                if error.is_before_anything() {
                    inside.store.policies.delete_pending_policy(&pending).await?;
                }
                return Err(after_sending(error));
            }
        };
        if proposed.is_err() && waiting.is_none() {
            return Err(ServiceError::PolicyChanged);
        }
    }
    let effective_at = match waiting {
        Some(PendingDraft { effective_at, .. }) => {
            announce_pending(inside, current, &pending, &asked, effective_at).await?;
            effective_at
        }
        // The node does not show the draft yet. The next reader announces it.
        None => now.saturating_add(i64::from(on_chain.loosening_delay_seconds)),
    };
    let effective_at = Timestamp::from_unix_seconds(effective_at);
    let waits = PendingView { policy: PolicyFields(asked), effective_at };
    let view = PolicyView::new(account.id, agent, Some(waits));
    Ok(PolicyView { effective_at: Some(effective_at), warnings: Some(Vec::new()), ..view })
}

/// Records that a proposal is pending, and announces it if nobody has.
pub(super) async fn announce_pending(
    inside: &Arc<Inside>,
    current: &ReadAccount,
    pending: &PendingPolicy,
    policy: &SpendingPolicy,
    effective_at: i64,
) -> Result<(), ServiceError> {
    let now = inside.clock.now();
    let from = Timestamp::from_unix_seconds(effective_at);
    let signer = pending.sealed_by.as_ref().unwrap_or(&current.operator.policy_authority);
    let event = Event::policy_pending(pending, policy, from, signer, now);
    Ok(inside.store.policies.mark_policy_pending(pending, effective_at, event).await?)
}

/// Drops the pending policy. NotFound: the account, or nothing is pending. PolicyChanged: it came into force at
/// this moment, or another proposal took its place.
pub async fn drop_pending(
    inside: &Arc<Inside>,
    operator: &Operator,
    id: AccountId,
    scope: &AuditScope,
) -> Result<PolicyView, ServiceError> {
    let work = {
        let (inside, operator, scope) = (inside.clone(), operator.clone(), scope.clone());
        async move {
            inside.read_limiter.take_change(operator.id).await?;
            let writer = inside.policy_turns.of(id);
            let _turn = writer.lock().await;
            let current = super::read(&inside, &operator, id).await?;
            let waiting = waiting(&inside, &operator, &current).await?;
            let hash = waiting.ok_or(ServiceError::NotFound(Resource::PendingPolicy))?.draft.hash;
            let chain = inside.chain(operator.network)?;
            let dropped = chain.recorded(&scope).drop_draft(&current.operator, &current.agent, hash).await;
            dropped.map_err(after_sending)?;
            if let Some(written) = inside.store.policies.find_pending_policy(operator.id, id, hash).await? {
                inside.store.policies.delete_pending_policy(&written).await?;
            }
            Ok(PolicyView::new(id, &current.agent, None))
        }
    };
    finish(&inside.tasks, work).await
}
