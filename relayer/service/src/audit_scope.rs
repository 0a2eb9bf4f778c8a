//! The record of a change, which whoever makes the change holds: what changes something asks for one, so that nothing is changed past
//! its record. It is told what only the change knows.

use std::sync::Arc;

use async_trait::async_trait;
use parking_lot::Mutex;

use purser_base::crash_point::crash_point;
use purser_chain::{ChainError, Confirmed, SendRecorder};
use purser_model::{Action, ActionId, ActionWord, OperatorId, SentTransaction};
use purser_store::{Store, SystemClock};

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

/// The record of one change.
#[derive(Clone)]
pub struct AuditScope {
    actions: purser_store::Actions,
    clock: SystemClock,
    /// `None`: it goes without its record.
    action: Option<(OperatorId, ActionId)>,
    /// Why it may only halt or pause. `None`: it may change anything.
    pub stops_only: Option<StopsOnly>,
    facts: Arc<Mutex<AuditFacts>>,
}

impl AuditScope {
    /// On record as this action. `None`: its record could not be written, so it may only stop something.
    pub fn new((store, clock): (&Store, &SystemClock), action: Option<&Action>) -> Self {
        Self {
            actions: store.actions.clone(),
            clock: clock.clone(),
            action: action.map(|action| (action.operator_id, action.id)),
            stops_only: action.is_none().then_some(StopsOnly::Unrecorded),
            facts: Arc::default(),
        }
    }

    /// Restricts it further, if there is a reason.
    pub fn restricted(self, reason: Option<StopsOnly>) -> Self {
        Self { stops_only: self.stops_only.or(reason), ..self }
    }

    /// `None`: it goes without its record.
    pub fn action_id(&self) -> Option<ActionId> {
        self.action.map(|(_, id)| id)
    }

    pub fn facts(&self) -> AuditFacts {
        self.facts.lock().clone()
    }

    /// This is what is changed.
    pub fn changes(&self, id: impl ToString) {
        self.facts.lock().object_id = id.to_string().parse().ok();
    }

    /// This is what is made.
    pub fn makes(&self, id: impl ToString) {
        self.facts.lock().made_id = id.to_string().parse().ok();
    }

    /// The change has landed on the chain.
    pub fn landed(&self, confirmed: &Confirmed) {
        self.facts.lock().tx_signature = Some(confirmed.signature.clone());
    }
}

#[async_trait]
impl SendRecorder for AuditScope {
    async fn record(
        &self,
        signature: &str,
        last_valid_block_height: u64,
        is_step: bool,
    ) -> Result<(), ChainError> {
        let Some(action) = self.action else { return Ok(()) };
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
