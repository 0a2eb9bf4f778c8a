use super::Parts;
use super::error::{Resource, ServiceError, from_chain};
use super::reads::{read_agent, read_operator};
use crate::domain::{Account, AccountId, HaltedBy, Operator};

/// What has been halted: an operator, or one account.
#[derive(Debug, Clone)]
pub struct HaltView {
    /// Whoever halted it first.
    pub halted_by: HaltedBy,
    /// Base58.
    pub tx_signature: String,
}

/// Halts: every account of an operator stops at once, or one does. To resume takes the admin's own wallet.
#[derive(Clone)]
pub struct Halts {
    parts: Parts,
}

impl Halts {
    pub(super) fn new(parts: Parts) -> Self {
        Self { parts }
    }

    /// Halts every account of the operator; one that is halted stays so. Goes on to its end when nobody waits for it.
    pub async fn halt_all(&self, operator: &Operator) -> Result<HaltView, ServiceError> {
        self.halt(operator.clone(), None).await
    }

    /// Halts one account, apart from its operator's halt. NotFound: the account. Goes on as [`Halts::halt_all`].
    pub async fn halt_account(&self, operator: &Operator, id: AccountId) -> Result<HaltView, ServiceError> {
        let account = self.parts.store.find_account(operator.id, id).await?;
        let account = account.ok_or(ServiceError::NotFound(Resource::Account))?;
        self.halt(operator.clone(), Some(account)).await
    }

    async fn halt(&self, operator: Operator, account: Option<Account>) -> Result<HaltView, ServiceError> {
        let parts = self.parts.clone();
        self.parts
            .tasks
            .finish(async move {
                // It says which of our keys may.
                let on_chain = read_operator(&parts, &operator).await?;
                let agent = account.as_ref().map(|account| &account.address);
                let halted = parts.chains.get(operator.network)?.chain.halt(&on_chain, agent).await;
                let confirmed = halted.map_err(|error| from_chain(operator.network, &error, false))?;
                // It is halted, whether or not this can be read: then by us, as far as is known.
                let halted_by = match &account {
                    None => read_operator(&parts, &operator).await.map(|operator| operator.halted_by),
                    Some(account) => {
                        read_agent(&parts, &operator, account).await.map(|agent| agent.halted_by)
                    }
                };
                Ok(HaltView {
                    halted_by: halted_by.ok().flatten().unwrap_or(HaltedBy::PolicyAuthority),
                    tx_signature: confirmed.signature,
                })
            })
            .await
    }
}
