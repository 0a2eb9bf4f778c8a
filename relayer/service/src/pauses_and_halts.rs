//! Follows pauses and halts until they are final. A fork may drop one that has landed; then it is sent again.

use std::sync::Arc;

use std::time::Duration;

use super::error::{Resource, ServiceError, after_sending};
use super::reads::{read_agent, read_operator};
use crate::Inside;
use crate::audit_scope::AuditScope;
use purser_chain::{Confirmed, SignatureStanding};
use purser_model::{ActionOutcome, Operator, Stop, Stopped};

const LOOK_EVERY: Duration = Duration::from_secs(1);
/// Stops looked at in one pass.
const ROWS_MAX: u32 = 100;
/// What is stopped this long after its stop landed stays stopped, whatever became of the transaction.
const FINAL_AFTER: Duration = Duration::from_secs(120);
/// A stop that could not be sent again for this long is given up.
const GIVEN_UP_AFTER: Duration = Duration::from_secs(3_600);

/// Records a stop that landed. The stop stands even when this write fails.
pub async fn note(
    inside: &Arc<Inside>,
    operator: &Operator,
    what: Stopped,
    landed: &Confirmed,
    scope: &AuditScope,
) {
    let stop = Stop {
        operator_id: operator.id,
        action_id: scope.action_id(),
        what,
        tx_signature: landed.signature.clone(),
        landed_at: inside.clock.now(),
    };
    if let Err(error) = inside.store.actions.insert_stop(&stop).await {
        tracing::warn!(operator_id = %operator.id, %error, "cannot follow a {}", what.as_str());
    }
}

/// Follows all stops, of every process, until the stop of this one.
pub fn follow(inside: &Arc<Inside>) {
    let this = inside.clone();
    inside.tasks.every("stops", LOOK_EVERY, move || {
        let inside = this.clone();
        async move { look(&inside).await }
    });
}

/// One pass over all that are not final. What fails is left for the next pass and does not stop the rest.
pub async fn look(inside: &Arc<Inside>) -> Result<(), ServiceError> {
    let mut looked = Ok(());
    for stop in inside.store.actions.list_stops(ROWS_MAX).await? {
        looked = looked.and(look_at(inside, &stop).await);
    }
    looked
}

async fn look_at(inside: &Arc<Inside>, stop: &Stop) -> Result<(), ServiceError> {
    let age_above = |limit: Duration| stop.landed_at.after(limit) < inside.clock.now();
    let Some(operator) = inside.store.operators.find_operator(stop.operator_id).await? else {
        return Ok(inside.store.actions.delete_stop(stop).await?);
    };
    let chain = inside.chain(operator.network)?;
    match chain.standing(&stop.tx_signature).await? {
        SignatureStanding::Finalized { .. } => return end(inside, stop).await,
        SignatureStanding::Open => return Ok(()),
        SignatureStanding::Unknown => {}
    }
    match is_stopped(inside, &operator, stop).await {
        // A node that is behind does not know it yet, or something else stops it, which may be forked away too.
        Ok(true) if !age_above(FINAL_AFTER) => return Ok(()),
        Ok(true) | Err(ServiceError::NotFound(Resource::Account)) => {
            return Ok(inside.store.actions.delete_stop(stop).await?);
        }
        Ok(false) => {}
        Err(error) => return Err(error),
    }
    let what = stop.what.as_str();
    let (account_id, signature) = (stop.what.account_id(), &stop.tx_signature);
    if age_above(GIVEN_UP_AFTER) {
        tracing::error!(operator_id = %operator.id, ?account_id, signature, "giving up on a {what} that a fork dropped");
        return Ok(inside.store.actions.delete_stop(stop).await?);
    }
    tracing::error!(operator_id = %operator.id, ?account_id, signature, "a fork dropped a {what}; sending it again");
    let landed = send(inside, &operator, stop.what, None).await?;
    Ok(inside.store.actions.mark_stopped_again(stop, &landed.signature, inside.clock.now()).await?)
}

/// It is final. Its process may have been killed before it could say that it is done.
async fn end(inside: &Arc<Inside>, stop: &Stop) -> Result<(), ServiceError> {
    let actions = &inside.store.actions;
    let Some(action_id) = stop.action_id else { return Ok(actions.delete_stop(stop).await?) };
    let (of, signature) = ((stop.operator_id, action_id), stop.tx_signature.clone());
    let (done, now) = (ActionOutcome::Done, inside.clock.now());
    actions.mark_action_found(of, done, Some(&stop.tx_signature), &[signature], now).await?;
    Ok(())
}

async fn is_stopped(inside: &Arc<Inside>, operator: &Operator, stop: &Stop) -> Result<bool, ServiceError> {
    let Some(id) = stop.what.account_id() else {
        return Ok(read_operator(&inside.chains, operator).await?.halted_by.is_some());
    };
    let account = inside.store.accounts.find_account(operator.id, id).await?;
    let agent =
        read_agent(&inside.chains, operator, &account.ok_or(ServiceError::NotFound(Resource::Account))?)
            .await?;
    Ok(match stop.what {
        Stopped::Paused(_) => agent.policy.paused,
        Stopped::Halted(_) => agent.halted_by.is_some(),
    })
}

/// Pauses or halts, and waits for the commitment. `scope`: the change that it is, if it is not one that is sent again. NotFound:
/// the account.
pub async fn send(
    inside: &Arc<Inside>,
    operator: &Operator,
    what: Stopped,
    scope: Option<&AuditScope>,
) -> Result<Confirmed, ServiceError> {
    let account = match what.account_id() {
        Some(id) => {
            let account = inside.store.accounts.find_account(operator.id, id).await?;
            Some(account.ok_or(ServiceError::NotFound(Resource::Account))?.address)
        }
        None => None,
    };
    // The operator's account names which of our keys may stop it. If this fails, nothing was sent.
    let on_chain = read_operator(&inside.chains, operator).await?;
    let chain = inside.chain(operator.network)?;
    let chain = match scope {
        Some(scope) => chain.recorded(scope),
        None => chain.unrecorded(),
    };
    let sent = match (what, &account) {
        (Stopped::Paused(_), Some(agent)) => chain.pause(&on_chain, agent).await,
        (Stopped::Halted(_), agent) => chain.halt(&on_chain, agent.as_ref()).await,
        // A pause has an account.
        (Stopped::Paused(_), None) => return Err(ServiceError::Internal),
    };
    sent.map_err(after_sending)
}
