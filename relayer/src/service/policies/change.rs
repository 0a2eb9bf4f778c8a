//! Changes policies. Nobody overwrites a policy that they have not seen: the program compares versions.

use super::{Omitted, Policies, PolicyChange, PolicyComparison, ReadAccount};
use crate::chain::{AgentOnChain, Confirmed};
use crate::domain::{
    Account, AccountId, AccountStatus, Asking, KeyId, Operator, PolicyUpdate, SpendingPolicy, Stopped,
};
use crate::service::ServiceError;
use crate::service::allowlist::resolve;
use crate::service::error::{after_writing, from_chain};
use crate::service::reads::read_agent;

/// How often a full replacement is tried while others keep changing the policy.
const TRIES_MAX: u32 = 4;

impl Policies {
    /// What a PATCH would do now; changes nothing. Errors as [`Policies::patch`].
    pub async fn compare(
        &self,
        operator: &Operator,
        id: AccountId,
        update: &PolicyUpdate,
    ) -> Result<PolicyComparison, ServiceError> {
        let standing = self.stand(operator, id).await?;
        let asked = self.asked(operator, &standing, update, Omitted::StayAsTheyAre)?;
        let resolved = resolve(&self.allowlists, operator, &asked, &standing.agent.policy).await?;
        let loosens = standing.is_loosened_by(&resolved.on_chain);
        let delay = Some(standing.operator.loosening_delay_seconds);
        Ok(PolicyComparison {
            before: self.submitted(operator, &standing.agent.policy, &standing.account.counterparties)?,
            after: resolved.policy,
            waits: delay.filter(|delay| loosens && *delay > 0),
        })
    }

    pub(super) async fn change(
        &self,
        operator: &Operator,
        id: AccountId,
        mut update: PolicyUpdate,
        key_id: KeyId,
        omitted: Omitted,
    ) -> Result<PolicyChange, ServiceError> {
        let (this, operator) = (self.clone(), operator.clone());
        let asking = Asking { key_id, reason: update.reason.clone() };
        let work = async move {
            // A pause waits for nobody, and applies to any version. What else the body says comes after it, and may wait.
            if update.only_paused() == Some(true) {
                return this.pause(&operator, id, &asking).await;
            }
            let account = this.find(&operator, id).await?;
            let agent = read_agent(&this.chains, &operator, &account).await?;
            let version = agent.policy_version;
            let mut stopped = this.stop_first(&operator, &agent, id, &mut update, &asking).await?;
            // One change per account at a time, so that a merge sees the change before it.
            let writer = this.writers.of(id);
            let _turn = writer.lock().await;
            let mut tries_left = match (omitted, update.expected_version) {
                // A full replacement also replaces changes that came in between.
                (Omitted::TakeDefaults, None) => TRIES_MAX - 1,
                (Omitted::TakeDefaults, Some(_)) | (Omitted::StayAsTheyAre, _) => 0,
            };
            loop {
                let mut standing = this.stand(&operator, id).await?;
                // Somebody may have lifted the pause meanwhile.
                if let Some(again) =
                    this.stop_first(&operator, &standing.agent, id, &mut update, &asking).await?
                {
                    stopped = Some(again);
                    standing = this.stand(&operator, id).await?;
                }
                let asked = this.asked(&operator, &standing, &update, omitted)?;
                if let Some(stopped) = stopped.take_if(|_| this.is_in_force(&operator, &standing, &asked)) {
                    return Ok(stopped);
                }
                // But it must not lift a pause that may have come after the request.
                let lifts = standing.agent.policy.paused && !asked.paused;
                if lifts && standing.agent.policy_version != version {
                    return Err(ServiceError::PolicyChanged);
                }
                match this.write(&operator, &standing, &asked, &asking).await {
                    Err(ServiceError::PolicyChanged) if tries_left > 0 => tries_left -= 1,
                    done => return done,
                }
            }
        };
        self.tasks.finish(work).await
    }

    /// The complete requested policy. PolicyChanged: the request was meant for another version.
    fn asked(
        &self,
        operator: &Operator,
        standing: &ReadAccount,
        update: &PolicyUpdate,
        omitted: Omitted,
    ) -> Result<SpendingPolicy, ServiceError> {
        let ReadAccount { account, agent, .. } = standing;
        if update.expected_version.is_some_and(|expected| expected != agent.policy_version) {
            return Err(ServiceError::PolicyChanged);
        }
        let current = self.submitted(operator, &agent.policy, &account.counterparties)?;
        Ok(match omitted {
            Omitted::TakeDefaults => update.clone().replace(current),
            Omitted::StayAsTheyAre => update.clone().merge(current),
        })
    }

    async fn write(
        &self,
        operator: &Operator,
        standing: &ReadAccount,
        asked: &SpendingPolicy,
        asking: &Asking,
    ) -> Result<PolicyChange, ServiceError> {
        let ReadAccount { account, agent, operator: on_chain } = standing;
        let resolved = resolve(&self.allowlists, operator, asked, &agent.policy).await?;
        if standing.is_loosened_by(&resolved.on_chain) && on_chain.loosening_delay_seconds > 0 {
            return self.propose(operator, standing, resolved, asking).await;
        }
        let entries = resolved.on_chain.allowlist.len();
        if entries > agent.policy.allowlist.len() {
            let quotas = self.quotas;
            self.accounts.reserve_entries(operator.id, account.id, entries, quotas).await?;
        }
        let chain = &self.chains.get(operator.network)?.chain;
        // Lifting a pause is bound to the version too, because by then it may be a different pause.
        let written = chain.set_policy(on_chain, agent, &resolved.on_chain).await;
        let confirmed = written.map_err(|error| from_chain(operator.network, &error, false))?;
        self.note_asking(operator, account.id, &confirmed.signature, asking).await;
        if agent.policy.paused && !resolved.policy.paused {
            self.paused.delete_pauses(operator.id, account.id).await?;
        }
        let status = AccountStatus::from_paused(resolved.policy.paused);
        let counterparties = resolved.policy.allowlist;
        self.accounts.mark_account_policy(operator.id, account.id, status, &counterparties).await?;
        self.in_force(operator, Account { counterparties, ..account.clone() }, confirmed).await
    }

    /// Pauses an open account if the update pauses it. What was meant for the version before is then meant for the paused one.
    async fn stop_first(
        &self,
        operator: &Operator,
        agent: &AgentOnChain,
        id: AccountId,
        update: &mut PolicyUpdate,
        asking: &Asking,
    ) -> Result<Option<PolicyChange>, ServiceError> {
        if update.paused != Some(true) || agent.policy.paused {
            return Ok(None);
        }
        let paused = self.pause(operator, id, asking).await?;
        update.expected_version = update.expected_version.map(|version| version.saturating_add(1));
        Ok(Some(paused))
    }

    fn is_in_force(&self, operator: &Operator, standing: &ReadAccount, asked: &SpendingPolicy) -> bool {
        let ReadAccount { account, agent, .. } = standing;
        let current = self.submitted(operator, &agent.policy, &account.counterparties);
        current.is_ok_and(|current| current == *asked)
    }

    async fn pause(
        &self,
        operator: &Operator,
        id: AccountId,
        asking: &Asking,
    ) -> Result<PolicyChange, ServiceError> {
        let account = self.find(operator, id).await?;
        let what = Stopped::Paused(id);
        let confirmed = self.stops.send(operator, what).await?;
        self.stops.note(operator, what, &confirmed).await;
        self.note_asking(operator, id, &confirmed.signature, asking).await;
        self.accounts.mark_account_status(operator.id, id, AccountStatus::Paused).await?;
        self.in_force(operator, account, confirmed).await
    }

    /// After a change, a pending policy can no longer take effect, because it was meant for the policy before.
    async fn in_force(
        &self,
        operator: &Operator,
        account: Account,
        confirmed: Confirmed,
    ) -> Result<PolicyChange, ServiceError> {
        self.policies.look_at_pending_policies(operator.id, account.id).await?;
        let agent = read_agent(&self.chains, operator, &account).await.map_err(after_writing)?;
        let view = self.view(operator, &account, &agent, None)?;
        Ok(PolicyChange::InForce { view, tx_signature: confirmed.signature })
    }
}
