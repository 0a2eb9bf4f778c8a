use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex, PoisonError, Weak};

use purser_policy::ALLOWLIST_ENTRIES_MAX;

use super::Parts;
use super::accounts::read_agent;
use super::error::{Resource, ServiceError, from_chain};
use super::submitted::as_submitted;
use crate::chain::{AgentOnChain, AllowedRecipients, Chain, Confirmed, OnChainPolicy};
use crate::domain::{
    Account, AccountId, AccountStatus, AllowlistEntry, Counterparties, Invalid, Operator, PolicyUpdate,
    SpendingPolicy, Timestamp,
};

const ALLOWLIST: &str = "allowed_counterparties";

/// An account's policy as the chain has it, its allowlist as submitted.
#[derive(Debug, Clone)]
pub struct PolicyView {
    pub account_id: AccountId,
    pub policy: SpendingPolicy,
    /// Grows by one with every change.
    pub version: u64,
    pub updated_at: Timestamp,
}

/// A policy that was just written.
#[derive(Debug, Clone)]
pub struct PolicyChange {
    pub view: PolicyView,
    /// Base58, of the transaction that put it in force.
    pub tx_signature: String,
}

#[derive(Debug, Clone, Copy)]
enum Omitted {
    /// PUT
    TakeDefaults,
    /// PATCH
    StayAsTheyAre,
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

    /// The policy in force. NotFound: the account.
    pub async fn get(&self, operator: &Operator, id: AccountId) -> Result<PolicyView, ServiceError> {
        let account = self.find(operator, id).await?;
        let agent = read_agent(&self.parts, operator, &account).await?;
        self.view(operator, &account, &agent)
    }

    /// Replaces the policy; `paused` alone changes only that. In force when this returns.
    /// NotFound: the account. Invalid: an allowlist entry that is no account of the operator.
    pub async fn put(
        &self,
        operator: &Operator,
        id: AccountId,
        update: PolicyUpdate,
    ) -> Result<PolicyChange, ServiceError> {
        self.change(operator, id, update, Omitted::TakeDefaults).await
    }

    /// Changes the given fields and leaves the others. Errors as [`Policies::put`].
    pub async fn patch(
        &self,
        operator: &Operator,
        id: AccountId,
        update: PolicyUpdate,
    ) -> Result<PolicyChange, ServiceError> {
        self.change(operator, id, update, Omitted::StayAsTheyAre).await
    }

    async fn change(
        &self,
        operator: &Operator,
        id: AccountId,
        update: PolicyUpdate,
        omitted: Omitted,
    ) -> Result<PolicyChange, ServiceError> {
        let (this, operator) = (self.clone(), operator.clone());
        let work = async move {
            let halted = match update.only_paused() {
                // A halt does not wait for its turn.
                Some(true) => Some(this.write_paused(&operator, id, true).await?),
                Some(false) | None => None,
            };
            // One change of an account at a time, so that a merge sees the change before it.
            let writer = this.writers.of(id);
            let _turn = writer.lock().await;
            match (halted, update.only_paused()) {
                // A change that was under way may have taken the halt back: then it is made again.
                (Some(halted), _) if this.get(&operator, id).await.map_err(after_writing)?.policy.paused => {
                    Ok(halted)
                }
                (_, Some(paused)) => this.write_paused(&operator, id, paused).await,
                (_, None) => this.write_policy(&operator, id, update, omitted).await,
            }
        };
        self.parts.tasks.finish(work).await
    }

    async fn write_paused(
        &self,
        operator: &Operator,
        id: AccountId,
        paused: bool,
    ) -> Result<PolicyChange, ServiceError> {
        let account = self.find(operator, id).await?;
        let chain = self.reach(operator).await?;
        let written = chain.set_paused(&operator.address, &account.address, paused).await;
        let confirmed = written.map_err(|error| from_chain(operator.network, &error, false))?;
        self.parts.store.mark_account_status(operator.id, id, AccountStatus::from_paused(paused)).await?;
        self.changed(operator, &account, confirmed).await
    }

    async fn write_policy(
        &self,
        operator: &Operator,
        id: AccountId,
        update: PolicyUpdate,
        omitted: Omitted,
    ) -> Result<PolicyChange, ServiceError> {
        let account = self.find(operator, id).await?;
        let chain = self.reach(operator).await?;
        let policy = match omitted {
            Omitted::TakeDefaults => update.replace(SpendingPolicy::default()),
            Omitted::StayAsTheyAre => update.merge(self.get(operator, id).await?.policy),
        };
        let on_chain = self.resolve(operator, &policy).await?;
        let written = chain.set_policy(&operator.address, &account.address, &on_chain).await;
        let confirmed = written.map_err(|error| from_chain(operator.network, &error, false))?;
        let status = AccountStatus::from_paused(policy.paused);
        let counterparties = policy.allowed_counterparties;
        self.parts.store.mark_account_policy(operator.id, id, status, &counterparties).await?;
        self.changed(operator, &Account { counterparties, ..account }, confirmed).await
    }

    /// The chain, if it answers: while nothing is asked of it, an absent chain may simply be asked again.
    async fn reach(&self, operator: &Operator) -> Result<Arc<dyn Chain>, ServiceError> {
        let chain = self.parts.chains.get(operator.network)?.chain.clone();
        chain.now().await.map_err(|error| from_chain(operator.network, &error, true))?;
        Ok(chain)
    }

    async fn changed(
        &self,
        operator: &Operator,
        account: &Account,
        confirmed: Confirmed,
    ) -> Result<PolicyChange, ServiceError> {
        let agent = read_agent(&self.parts, operator, account).await.map_err(after_writing)?;
        let view = self.view(operator, account, &agent)?;
        Ok(PolicyChange { view, tx_signature: confirmed.signature })
    }

    /// The policy as the chain takes it: account ids become their PDAs, and the same address twice becomes one.
    async fn resolve(
        &self,
        operator: &Operator,
        policy: &SpendingPolicy,
    ) -> Result<OnChainPolicy, ServiceError> {
        let allowlist = match &policy.allowed_counterparties {
            Counterparties::Anyone => AllowedRecipients::Anyone,
            Counterparties::Only(entries) => {
                AllowedRecipients::Only(self.addresses(operator, entries).await?)
            }
        };
        Ok(OnChainPolicy {
            max_single_transfer: policy.max_single_transfer,
            max_daily_spend: policy.max_daily_spend,
            require_memo: policy.require_memo,
            paused: policy.paused,
            allowlist,
        })
    }

    async fn addresses(
        &self,
        operator: &Operator,
        entries: &[AllowlistEntry],
    ) -> Result<Vec<purser_policy::Address>, ServiceError> {
        let ids: Vec<AccountId> = entries.iter().filter_map(account_id).collect();
        let known = self.parts.store.find_accounts(operator.id, &ids).await?;
        let known: HashMap<_, _> = known.into_iter().map(|account| (account.id, account.address)).collect();
        let mut addresses = HashSet::new();
        for entry in entries {
            let address = match entry {
                AllowlistEntry::Address(address) => *address,
                AllowlistEntry::Account(id) => {
                    let unknown =
                        || Invalid::new(ALLOWLIST, format!("names {id}, which is not an account of yours"));
                    *known.get(id).ok_or_else(unknown)?
                }
            };
            addresses.insert(address.bytes());
        }
        if addresses.len() > ALLOWLIST_ENTRIES_MAX {
            let message = format!("must have at most {ALLOWLIST_ENTRIES_MAX} entries");
            return Err(Invalid::new(ALLOWLIST, message).into());
        }
        Ok(addresses.into_iter().collect())
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
    ) -> Result<PolicyView, ServiceError> {
        let chain = self.parts.chains.get(operator.network)?.chain.as_ref();
        Ok(PolicyView {
            account_id: account.id,
            policy: as_submitted(chain, operator, &agent.policy, &account.counterparties),
            version: agent.policy_version,
            updated_at: Timestamp::from_unix_seconds(agent.policy_updated_at),
        })
    }
}

fn account_id(entry: &AllowlistEntry) -> Option<AccountId> {
    match entry {
        AllowlistEntry::Account(id) => Some(*id),
        AllowlistEntry::Address(_) => None,
    }
}

/// The policy was written, so trying again is no longer free of effect.
fn after_writing(error: ServiceError) -> ServiceError {
    match error {
        ServiceError::ChainUnavailable { .. } => ServiceError::ChainUnavailable { retryable: false },
        other => other,
    }
}

/// Whose turn it is to write an account's policy.
#[derive(Clone, Default)]
struct Writers(Arc<Mutex<HashMap<AccountId, Weak<tokio::sync::Mutex<()>>>>>);

impl Writers {
    fn of(&self, id: AccountId) -> Arc<tokio::sync::Mutex<()>> {
        let mut writers = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        writers.retain(|_, writer| writer.strong_count() > 0);
        if let Some(writer) = writers.get(&id).and_then(Weak::upgrade) {
            return writer;
        }
        let writer = Arc::default();
        writers.insert(id, Arc::downgrade(&writer));
        writer
    }
}
