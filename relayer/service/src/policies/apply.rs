//! Applies pending policies when they are due, and clears those that no longer can take effect. Any number of relayers
//! may look at the same proposal: the program applies it once, and the relayer that first records that announces it.

use std::time::Duration;

use super::pending::{LOOK_AFTER_SECONDS, PendingDraft};
use super::{Policies, ReadAccount};
use crate::error::{Resource, ServiceError, from_chain};
use purser_base::crash_point::crash_point;
use purser_chain::{AgentOnChain, ChainError, DraftOnChain};
use purser_core::Chain as _;
use purser_model::{AccountStatus, Event, Operator, PendingPolicy, SpendingPolicy};

/// Proposals looked at in one pass.
const ROWS_MAX: u32 = 100;
/// A proposal that has left no trace on the chain after this long can no longer get there.
const PROPOSING_TIMEOUT: Duration = Duration::from_secs(180);

impl Policies {
    /// One pass over what is due by the chain's clock. Later passes retry what fails now.
    pub async fn reconcile(&self) -> Result<(), ServiceError> {
        for network in self.inside.chains.networks() {
            // Usually nothing is pending, and then the chain is not asked.
            if self.inside.store.policies.list_due_policies(network, i64::MAX, 1).await?.is_empty() {
                continue;
            }
            let now = match self.inside.chains.get(network)?.chain.now().await {
                Ok(now) => now,
                Err(error) => {
                    tracing::warn!(%network, %error, "cannot check pending policies now");
                    continue;
                }
            };
            for pending in self.inside.store.policies.list_due_policies(network, now, ROWS_MAX).await? {
                if let Err(error) = self.look_at(&pending, now).await {
                    tracing::warn!(account_id = %pending.account_id, %error, "cannot check a pending policy; retrying later");
                    self.put_off(&pending, now).await?;
                }
            }
        }
        Ok(())
    }

    async fn look_at(&self, pending: &PendingPolicy, now: i64) -> Result<(), ServiceError> {
        let operator = self
            .inside
            .store
            .operators
            .find_operator(pending.operator_id)
            .await?
            .ok_or(ServiceError::Internal)?;
        let account = self.find(&operator, pending.account_id).await?;
        let chain = &self.inside.chains.get(operator.network)?.chain;
        // Read before the policy: a draft that is gone by now has left its trace in the policy.
        let read = chain.read_draft(&account.address).await;
        let draft = read.map_err(|error| from_chain(operator.network, &error, true))?;
        let current = match self.read(&operator, pending.account_id).await {
            // The account was closed on the chain, so the draft is useless.
            Err(ServiceError::NotFound(Resource::Account)) => {
                return Ok(self.inside.store.policies.delete_pending_policy(pending).await?);
            }
            current => current?,
        };
        let Some(draft) = draft.filter(|draft| draft.hash == pending.hash) else {
            return self.look_for_trace(&operator, &current, pending, now).await;
        };
        if pending.sealed_by.is_some() {
            return self.watch(&current, pending, draft, now).await;
        }
        let may_be_under_way = draft.sealed_at.is_none() && self.is_recent(pending);
        match PendingDraft::of(draft, &current) {
            Some(waiting) => self.apply(&operator, &current, pending, waiting, now).await,
            None if may_be_under_way => self.put_off(pending, now).await,
            None => self.clear(&operator, &current, pending).await,
        }
    }

    /// A draft that a wallet sealed past this service is announced if it loosens something and has to wait. It is neither
    /// applied nor dropped: that is for whoever sealed it, or for those whom the announcement wakes.
    async fn watch(
        &self,
        current: &ReadAccount,
        pending: &PendingPolicy,
        draft: DraftOnChain,
        now: i64,
    ) -> Result<(), ServiceError> {
        let waits = current.operator.loosening_delay_seconds > 0 && current.is_loosened_by(&draft.policy);
        let Some(PendingDraft { draft, effective_at }) = PendingDraft::of(draft, current).filter(|_| waits)
        else {
            return Ok(self.inside.store.policies.delete_pending_policy(pending).await?);
        };
        if !pending.is_announced || pending.due_at < effective_at {
            tracing::warn!(account_id = %pending.account_id, signer = ?pending.sealed_by,
                "a policy that loosens something was sealed without this service and is pending");
            self.announce_pending(current, pending, &draft.policy, effective_at).await?;
        }
        if effective_at > now { Ok(()) } else { self.put_off(pending, now).await }
    }

    async fn apply(
        &self,
        operator: &Operator,
        current: &ReadAccount,
        pending: &PendingPolicy,
        waiting: PendingDraft,
        now: i64,
    ) -> Result<(), ServiceError> {
        let PendingDraft { draft: DraftOnChain { policy, .. }, effective_at } = waiting;
        if !pending.is_announced || pending.due_at != effective_at {
            self.announce_pending(current, pending, &policy, effective_at).await?;
        }
        if effective_at > now {
            return Ok(());
        }
        if current.operator.halted_by.is_some() || current.agent.halted_by.is_some() {
            // In a halt the admin alone puts it in force; after it, the next pass does.
            return self.put_off(pending, now).await;
        }
        let chain = &self.inside.chains.get(operator.network)?.chain;
        crash_point!("apply.before");
        let applied = chain.unrecorded().apply_draft(&current.operator, &current.agent, pending.hash).await;
        crash_point!("apply.after");
        match applied {
            Ok(confirmed) => {
                tracing::info!(account_id = %pending.account_id, "a pending policy is in force");
                self.announce_applied(pending, &policy, Some(&confirmed.signature)).await
            }
            // Another relayer was faster, or the time is not quite up; the next pass sees which.
            Err(ChainError::PolicyChanged) => Ok(()),
            // The admin's wallet recreated the account; the admin may put the policy in force.
            Err(ChainError::RentOfAnother { .. }) => self.clear(operator, current, pending).await,
            Err(error) => Err(from_chain(operator.network, &error, true)),
        }
    }

    /// The draft is gone: somebody applied it, somebody dropped it, or it never landed.
    async fn look_for_trace(
        &self,
        operator: &Operator,
        current: &ReadAccount,
        pending: &PendingPolicy,
        now: i64,
    ) -> Result<(), ServiceError> {
        let ReadAccount { agent, .. } = current;
        let chain = &self.inside.chains.get(operator.network)?.chain;
        let before = AgentOnChain { policy_version: pending.expected_version, ..agent.clone() };
        let is_next = agent.policy_version == pending.expected_version.saturating_add(1);
        if is_next && chain.proposal_hash(&before, &agent.policy) == pending.hash {
            return self.announce_applied(pending, &agent.policy, None).await;
        }
        if !pending.is_announced && self.is_recent(pending) {
            return self.put_off(pending, now).await;
        }
        Ok(self.inside.store.policies.delete_pending_policy(pending).await?)
    }

    async fn announce_applied(
        &self,
        pending: &PendingPolicy,
        policy: &SpendingPolicy,
        tx_signature: Option<&str>,
    ) -> Result<(), ServiceError> {
        let now = self.inside.clock.now();
        let version = pending.expected_version.saturating_add(1);
        let (operator_id, account_id) = (pending.operator_id, pending.account_id);
        self.inside.store.policies.mark_policy_asking(operator_id, account_id, pending.hash, version).await?;
        let event = Event::policy_applied(pending, policy, version, tx_signature, now);
        let status = AccountStatus::from_paused(policy.paused);
        let allowlist_entries = policy.allowlist.len() as u64;
        let applied = PendingPolicy { allowlist_entries, ..pending.clone() };
        Ok(self.inside.store.policies.mark_policy_applied(&applied, status, event, now).await?)
    }

    /// Closes a draft that can never take effect, and recovers its rent.
    async fn clear(
        &self,
        operator: &Operator,
        current: &ReadAccount,
        pending: &PendingPolicy,
    ) -> Result<(), ServiceError> {
        let chain = &self.inside.chains.get(operator.network)?.chain;
        match chain.unrecorded().drop_draft(&current.operator, &current.agent, pending.hash).await {
            Ok(_) | Err(ChainError::PolicyChanged) => {}
            Err(error) => return Err(from_chain(operator.network, &error, true)),
        }
        tracing::info!(account_id = %pending.account_id, "dropped a policy that could no longer take effect");
        Ok(self.inside.store.policies.delete_pending_policy(pending).await?)
    }

    async fn put_off(&self, pending: &PendingPolicy, now: i64) -> Result<(), ServiceError> {
        let due_at = now.saturating_add(LOOK_AFTER_SECONDS);
        Ok(self.inside.store.policies.put_off_pending_policy(pending, due_at).await?)
    }

    fn is_recent(&self, pending: &PendingPolicy) -> bool {
        self.inside.clock.now() < pending.created_at.after(PROPOSING_TIMEOUT)
    }
}
