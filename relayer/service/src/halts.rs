use std::sync::Arc;

use super::error::{Resource, ServiceError};
use super::pauses_and_halts::PausesAndHalts;
use super::planned::{Chosen, Planned, RulesInForce, Will, choose};
use super::reads::{read_agent, read_operator};
use crate::Inside;
use crate::audit_scope::AuditScope;
use crate::parts::finish;
use purser_model::{Account, AccountId, Halted, HaltedBy, Operator, Selection, Stopped};

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

    /// What a halt would do now to each of these accounts. Changes nothing. Invalid: too many accounts. With `in_turn`, TooManyReads:
    /// the operator's turn does not come soon.
    pub async fn plan(
        &self,
        operator: &Operator,
        selection: &Selection,
        in_turn: bool,
    ) -> Result<Vec<Planned>, ServiceError> {
        let (_, chosen) = choose(&self.inside, operator, selection, in_turn).await?;
        Ok(chosen.into_iter().map(plan_halt).collect())
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

fn plan_halt(chosen: Chosen) -> Planned {
    let Some((account, agent)) = chosen.found else { return Planned::not_found(chosen.id) };
    let before = RulesInForce::of(&agent);
    let will = if before.is_halted { Will::BeUnchanged } else { Will::Apply };
    Planned {
        id: account.id,
        name: Some(account.name),
        version: Some(agent.policy_version),
        expected_version: agent.policy_version,
        delay_seconds: 0,
        rules: Some((before.clone(), RulesInForce { is_halted: true, ..before })),
        will: Ok(will),
        warnings: Vec::new(),
    }
}
