//! Facts that services add to the audit record of a change while they make it. A task that a request starts can add some too if it is
//! [`carried`].

use parking_lot::Mutex;
use std::future::Future;
use std::sync::Arc;

use async_trait::async_trait;
use futures::future::Either;

use purser_base::crash_point::crash_point;
use purser_chain::{ChainError, SendRecorder};
use purser_model::{Action, ActionId, ActionWord, OperatorId, SentTransaction};
use purser_store::{Store, SystemClock};

tokio::task_local! {
    /// The record of the request that this task works for.
    static SCOPE: AuditScope;
}

/// The facts so far.
#[derive(Debug, Clone, Default)]
pub struct AuditFacts {
    /// What was changed, where the request's path does not say it.
    pub object_id: Option<ActionWord>,
    /// What was made.
    pub made_id: Option<ActionWord>,
    /// Of the change on the chain: it stands, whatever becomes of the rest.
    pub tx_signature: Option<String>,
}

impl AuditFacts {
    /// Whether something was changed for certain.
    pub fn is_done(&self) -> bool {
        self.tx_signature.is_some()
    }
}

/// Why a request may halt or pause, and change nothing else.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StopsOnly {
    /// Its record could not be written.
    Unrecorded,
    /// It came too soon, and passed by the rate of halts and pauses.
    TooSoon { retry_after_seconds: u64 },
}

/// The record of one request.
#[derive(Debug, Clone, Default)]
pub struct AuditScope {
    /// `None`: it goes without its record.
    action: Option<(OperatorId, ActionId)>,
    stops_only: Option<StopsOnly>,
    facts: Arc<Mutex<AuditFacts>>,
}

impl AuditScope {
    /// On record as this action.
    pub fn on(action: &Action) -> Self {
        Self { action: Some((action.operator_id, action.id)), ..Self::default() }
    }

    /// Without a record.
    pub fn unrecorded() -> Self {
        Self { stops_only: Some(StopsOnly::Unrecorded), ..Self::default() }
    }

    /// Restricts it further, if there is a reason.
    pub fn restricted(self, reason: Option<StopsOnly>) -> Self {
        Self { stops_only: self.stops_only.or(reason), ..self }
    }

    /// Runs work that notes facts for this record.
    pub async fn run<T>(&self, work: impl Future<Output = T>) -> T {
        SCOPE.scope(self.clone(), work).await
    }

    pub fn facts(&self) -> AuditFacts {
        self.facts.lock().clone()
    }
}

/// Notes a fact for the record of the request, if this is the work of one that is recorded.
pub fn note(what: impl FnOnce(&mut AuditFacts)) {
    let noting = |scope: &AuditScope| what(&mut scope.facts.lock());
    // Work without a request has no record.
    let _ = SCOPE.try_with(noting);
}

/// Records transactions as those of the action that sends them. Work without an action, such as a worker's, leaves no record.
pub struct ActionSends {
    actions: purser_store::Actions,
    clock: SystemClock,
}

impl ActionSends {
    pub fn new(store: &Store, clock: &SystemClock) -> Self {
        Self { actions: store.actions.clone(), clock: clock.clone() }
    }
}

#[async_trait]
impl SendRecorder for ActionSends {
    async fn record(
        &self,
        signature: &str,
        last_valid_block_height: u64,
        is_step: bool,
    ) -> Result<(), ChainError> {
        let Some(action) = action() else { return Ok(()) };
        let (signature, sent_at) = (signature.to_owned(), self.clock.now());
        let sent = SentTransaction { signature, last_valid_block_height, is_step, sent_at };
        self.actions.insert_action_transaction(action, &sent).await.map_err(|error| {
            tracing::error!(%error, action_id = %action.1, "cannot record a transaction of an action");
            ChainError::Unrecorded
        })?;
        crash_point!("action.recorded");
        Ok(())
    }
}

/// The action on record that this is the work of.
pub fn action_id() -> Option<ActionId> {
    action().map(|(_, id)| id)
}

fn action() -> Option<(OperatorId, ActionId)> {
    SCOPE.try_with(|scope| scope.action).ok().flatten()
}

/// Why the request that this is the work of may only halt or pause. `None`: it may change anything.
pub fn stops_only() -> Option<StopsOnly> {
    SCOPE.try_with(|scope| scope.stops_only).ok().flatten()
}

/// Notes what was made.
pub fn note_made(id: impl ToString) {
    note(|facts| facts.made_id = id.to_string().parse().ok());
}

/// The work, noting facts for the record of its starter.
pub fn carried<T>(work: impl Future<Output = T>) -> impl Future<Output = T> {
    match SCOPE.try_with(Clone::clone) {
        Ok(scope) => Either::Left(SCOPE.scope(scope, work)),
        Err(_) => Either::Right(work),
    }
}

#[cfg(test)]
mod tests {
    use purser_base::tasks::Tasks;

    use super::*;

    #[tokio::test]
    async fn a_task_of_a_request_tells_its_record_and_no_other() {
        let (one, other) = (AuditScope::default(), AuditScope::default());
        let telling = |id: &'static str| async move {
            Tasks::default().start(carried(async move { note_made(id) })).await.expect("told");
        };
        one.run(telling("acct_1")).await;
        other.run(telling("acct_2")).await;
        telling("acct_3").await;
        let made = [one, other].map(|scope| scope.facts().made_id.map(|id| id.to_string()));
        assert_eq!(made, [Some("acct_1".to_owned()), Some("acct_2".to_owned())]);
    }
}
