use std::sync::Arc;

use super::error::{Resource, ServiceError};
use super::pauses_and_halts::PausesAndHalts;
use super::reads::{read_agent, read_operator};
use crate::Inside;
use crate::audit_scope::AuditScope;
use crate::parts::finish;
use purser_model::{Account, AccountId, Halted, HaltedBy, Operator, Stopped};

/// Halts stop every account of an operator, or one account, at once. Only the admin's own wallet can resume.
#[derive(Clone)]
pub struct Halts {
    inside: Arc<Inside>,
    stops: PausesAndHalts,
}

impl Halts {
    pub(super) fn new(inside: Arc<Inside>, stops: PausesAndHalts) -> Self {
        Self { inside, stops }
    }

    /// Halts every account of the operator; halting again changes nothing. The work runs to its end even when the caller leaves.
    pub async fn halt_all(&self, operator: &Operator, scope: &AuditScope) -> Result<Halted, ServiceError> {
        self.halt(operator.clone(), None, scope.clone()).await
    }

    /// Halts one account, separately from its operator's halt. NotFound: the account. Runs on as [`Halts::halt_all`] does.
    pub async fn halt_account(
        &self,
        operator: &Operator,
        id: AccountId,
        scope: &AuditScope,
    ) -> Result<Halted, ServiceError> {
        let account = self.inside.store.accounts.find_account(operator.id, id).await?;
        let account = account.ok_or(ServiceError::NotFound(Resource::Account))?;
        self.halt(operator.clone(), Some(account), scope.clone()).await
    }

    async fn halt(
        &self,
        operator: Operator,
        account: Option<Account>,
        scope: AuditScope,
    ) -> Result<Halted, ServiceError> {
        let this = self.clone();
        finish(&self.inside.tasks, async move {
            let what = Stopped::Halted(account.as_ref().map(|account| account.id));
            let confirmed = this.stops.send(&operator, what, Some(&scope)).await?;
            scope.landed(&confirmed);
            this.stops.note(&operator, what, &confirmed, &scope).await;
            // The halt stands even when this read fails; then we assume that we made it.
            let halted_by = match &account {
                None => {
                    read_operator(&this.inside.chains, &operator).await.map(|operator| operator.halted_by)
                }
                Some(account) => {
                    read_agent(&this.inside.chains, &operator, account).await.map(|agent| agent.halted_by)
                }
            };
            Ok(Halted {
                halted: true,
                halted_by: halted_by.ok().flatten().unwrap_or(HaltedBy::PolicyAuthority),
                tx_signature: confirmed.signature.into(),
                action_id: scope.action_id(),
            })
        })
        .await
    }
}
