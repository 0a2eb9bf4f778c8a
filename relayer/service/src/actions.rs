//! The record of what is changed through the service. One place in the way of every request that changes something writes it, and
//! hands on the [`AuditScope`] that every change asks for.

mod open;

use std::sync::Arc;
use std::time::Duration;

use futures::Stream;

use super::{ExplorerUrl, ServiceError};
use crate::Inside;
use crate::audit_scope::AuditScope;
use purser_model::{
    Action, ActionFilter, ActionId, ActionOutcome, ListedAction, Operator, Page, PageRequest,
};

const DAY: Duration = Duration::from_secs(86_400);
/// After which a key that made too many changes may try again.
const RETRY_AFTER_SECONDS: u64 = 3_600;
/// Actions per page when a caller wants all of them.
const ROWS_AT_ONCE: u32 = 500;

/// Where the transactions of the operator's actions are shown.
pub fn explorer(inside: &Arc<Inside>, operator: &Operator) -> Result<ExplorerUrl, ServiceError> {
    Ok(inside.chains.get(operator.network)?.explorer.clone())
}

/// The operator's actions, newest first.
pub async fn list(
    inside: &Arc<Inside>,
    operator: &Operator,
    filter: &ActionFilter,
    request: PageRequest,
) -> Result<Page<ListedAction>, ServiceError> {
    let listing = request.of(filter.text(operator.id))?;
    let (after, rows_max) = (listing.after, listing.rows_max());
    let rows = inside.store.actions.list_actions(operator.id, filter, after, rows_max).await?;
    Ok(listing.page(rows, |last| last.action.id))
}

/// All of them, page by page, each read on demand.
pub fn all(
    inside: &Arc<Inside>,
    operator: &Operator,
    filter: ActionFilter,
) -> impl Stream<Item = Result<Vec<ListedAction>, ServiceError>> + Send + use<> {
    let (inside, operator) = (inside.clone(), operator.clone());
    futures::stream::try_unfold(Some(None), move |from: Option<Option<ActionId>>| {
        let (inside, operator, filter) = (inside.clone(), operator.clone(), filter.clone());
        async move {
            let Some(after) = from else { return Ok(None) };
            let actions = &inside.store.actions;
            let rows = actions.list_actions(operator.id, &filter, after, ROWS_AT_ONCE).await?;
            let is_full = rows.len() >= ROWS_AT_ONCE as usize;
            let next = rows.last().filter(|_| is_full).map(|last| Some(last.action.id));
            Ok(Some((rows, next)))
        }
    })
}

/// Looks up how actions ended whose process did not say.
pub(super) async fn look_at_open(inside: &Arc<Inside>) -> Result<(), ServiceError> {
    open::look(inside).await
}

/// A new record, not yet written.
pub fn draw(inside: &Arc<Inside>, operator: &Operator, name: &str) -> Result<Action, ServiceError> {
    let name = name.parse().map_err(|_| ServiceError::Internal)?;
    Ok(Action::new(operator.id, name, inside.clock.now(), inside.clock.id_bits()))
}

/// TooManyActions: its key has as many on record as it may, and this is none that stops, revokes, drops or says no.
pub async fn check_room(inside: &Arc<Inside>, action: &Action) -> Result<(), ServiceError> {
    let Some(key) = action.key_id.filter(|_| action.is_counted()) else { return Ok(()) };
    let since = inside.clock.now().before(DAY);
    let by = (action.operator_id, key);
    let made = inside.store.actions.count_actions(by, action.is_of_limits(), since).await?;
    if made < u64::from(inside.quotas.actions_daily) {
        return Ok(());
    }
    Err(ServiceError::TooManyActions {
        most: inside.quotas.actions_daily,
        retry_after_seconds: RETRY_AFTER_SECONDS,
    })
}

/// Writes the record; from now on the change may begin. A halt or a pause needs no record and always has room; nothing else is
/// changed without one. TooManyActions: as `check_room`.
pub async fn begin(inside: &Arc<Inside>, action: &Action, is_stop: bool) -> Result<AuditScope, ServiceError> {
    let Inside { store, clock, .. } = &**inside;
    if !is_stop {
        check_room(inside, action).await?;
    }
    let written = store.actions.insert_action(action).await;
    match written {
        Ok(()) => Ok(AuditScope::new((store, clock), Some(action))),
        Err(error) if is_stop => {
            tracing::error!(?error, action = %action.name, "cannot write the audit record; stopping anyway");
            Ok(AuditScope::new((store, clock), None))
        }
        Err(error) => Err(error.into()),
    }
}

/// Writes how it ended, which is announced, or forgets it where it was refused or only answered a question: `Unchanged`. If this
/// fails, its outcome stays unknown. What was changed for certain stays on record whatever the answer says.
pub async fn end(inside: &Arc<Inside>, mut action: Action, outcome: ActionOutcome, scope: &AuditScope) {
    let facts = scope.facts();
    let is_done = facts.is_done() || outcome == ActionOutcome::Done;
    action.object_id = facts.object_id.or(action.object_id);
    action.made_id = facts.made_id;
    action.tx_signature = facts.tx_signature;
    if is_done {
        action.outcome = ActionOutcome::Done;
    }
    let written = match outcome {
        ActionOutcome::Unchanged if !is_done => inside.store.actions.delete_action(&action).await,
        ActionOutcome::Done | ActionOutcome::Unchanged | ActionOutcome::Unknown => {
            inside.store.actions.mark_action_ended(&action, inside.clock.now()).await
        }
    };
    if let Err(error) = written {
        tracing::warn!(action_id = %action.id, %error, "cannot record how an action ended");
    }
    let (object_id, made_id) = (action.object_id.as_ref(), action.made_id.as_ref());
    tracing::info!(
        action_id = %action.id,
        action = %action.name,
        object_id = object_id.map(display),
        made_id = made_id.map(display),
        address = action.address.map(display),
        changed = is_done,
        "acted"
    );
}
