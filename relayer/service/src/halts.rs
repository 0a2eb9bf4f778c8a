use std::sync::Arc;

use super::error::{Resource, ServiceError};
use super::planned::{Chosen, Planned, RulesInForce, Will, choose};
use super::reads::{read_agent, read_operator};
use crate::audit_scope::AuditScope;
use crate::parts::finish;
use crate::{Inside, pauses_and_halts};
use purser_model::{Account, AccountId, Halted, HaltedBy, Operator, Selection, Stopped};

/// Halts every account of the operator; halting again changes nothing. The work runs to its end even when the caller leaves.
pub async fn halt_all(
    inside: &Arc<Inside>,
    operator: &Operator,
    scope: &AuditScope,
) -> Result<Halted, ServiceError> {
    halt(inside, operator.clone(), None, scope.clone()).await
}

/// Halts one account, separately from its operator's halt. NotFound: the account. Runs on as [`halt_all`] does.
pub async fn halt_account(
    inside: &Arc<Inside>,
    operator: &Operator,
    id: AccountId,
    scope: &AuditScope,
) -> Result<Halted, ServiceError> {
    let account = inside.store.accounts.find_account(operator.id, id).await?;
    let account = account.ok_or(ServiceError::NotFound(Resource::Account))?;
    halt(inside, operator.clone(), Some(account), scope.clone()).await
}

/// Previews a halt of each of these accounts and changes nothing. Invalid: too many accounts. With `in_turn`, TooManyReads: the
/// operator's turn does not come soon.
pub async fn plan(
    inside: &Arc<Inside>,
    operator: &Operator,
    selection: &Selection,
    in_turn: bool,
) -> Result<Vec<Planned>, ServiceError> {
    let (_, chosen) = choose(inside, operator, selection, in_turn).await?;
    Ok(chosen.into_iter().map(plan_halt).collect())
}

async fn halt(
    inside: &Arc<Inside>,
    operator: Operator,
    account: Option<Account>,
    scope: AuditScope,
) -> Result<Halted, ServiceError> {
    let this = inside.clone();
    finish(&inside.tasks, async move {
        let what = Stopped::Halted(account.as_ref().map(|account| account.id));
        let confirmed = pauses_and_halts::send(&this, &operator, what, Some(&scope)).await?;
        scope.landed(&confirmed);
        pauses_and_halts::note(&this, &operator, what, &confirmed, &scope).await;
        // The halt stands even when this read fails; then we assume that we made it.
        let halted_by = match &account {
            None => read_operator(&this.chains, &operator).await.map(|operator| operator.halted_by),
            Some(account) => read_agent(&this.chains, &operator, account).await.map(|agent| agent.halted_by),
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
