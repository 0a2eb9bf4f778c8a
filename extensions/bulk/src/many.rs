//! One change for many accounts: what it would do to each, and each of them carried out as if it were asked for alone.

use std::sync::Arc;

use purser_base::crash_point::crash_point;
use purser_base::turns::OneAtATime;
use purser_model::wire::schema::Signature;
use purser_model::{KeyId, Operator, OperatorId, PolicyUpdate, Selection, Timestamp};
use purser_service::audit_scope::AuditScope;
use purser_service::{Inside, Planned, ServiceError, Will, halts, policies};

/// The change that each account gets.
#[derive(Debug, Clone)]
pub enum ManyChange {
    /// As a PATCH of its policy.
    Policy(PolicyUpdate),
    Halt,
}

impl ManyChange {
    /// True for a halt, and for a policy that pauses, whatever else it changes.
    pub fn is_stop(&self) -> bool {
        match self {
            Self::Policy(update) => update.pauses(),
            Self::Halt => true,
        }
    }

    /// True if a transaction is needed. An account that is as asked, or whose change was refused, needs none. An open account is paused
    /// even if the rest of its change was refused.
    pub fn asks_chain(&self, planned: &Planned) -> bool {
        match &planned.will {
            Ok(Will::Apply | Will::Wait) => true,
            Ok(Will::BeUnchanged) => false,
            Err(_) => {
                let is_open = planned.rules.as_ref().is_some_and(|(before, _)| !before.policy.paused);
                self.is_stop() && is_open
            }
        }
    }
}

/// How the change of one account ended.
#[derive(Debug, Clone)]
pub enum ManyDone {
    /// Base58.
    Applied {
        tx_signature: String,
    },
    Waits {
        effective_at: Option<Timestamp>,
    },
    Unchanged,
}

/// Changes many accounts. There is one in a process: its clones share the turns.
#[derive(Clone)]
pub struct Many {
    pub(crate) inside: Arc<Inside>,
    /// Of changes, and of stops.
    turns: OneAtATime<(OperatorId, usize)>,
}

/// How many of an operator's halts and pauses of many accounts are carried out at once.
const STOPS_AT_ONCE: usize = 4;

impl Many {
    pub fn new(inside: Arc<Inside>) -> Self {
        Self { inside, turns: OneAtATime::default() }
    }

    /// Previews the change of each account, and changes nothing. Invalid: too many accounts; otherwise as one change.
    /// TooManyReads: the operator's turn does not come soon. A stop that is carried out waits for none.
    pub async fn plan(
        &self,
        operator: &Operator,
        selection: &Selection,
        change: &ManyChange,
        is_dry_run: bool,
    ) -> Result<Vec<Planned>, ServiceError> {
        let in_turn = is_dry_run || !change.is_stop();
        match change {
            ManyChange::Policy(update) => {
                policies::plan(&self.inside, operator, selection, update, in_turn).await
            }
            ManyChange::Halt => halts::plan(&self.inside, operator, selection, in_turn).await,
        }
    }

    /// An operator's turn: of its changes of many, one at a time is looked at and carried out. Stops wait for no change, and a few of
    /// them for none.
    pub async fn turn(&self, operator: &Operator, change: &ManyChange) -> impl Sized + use<> {
        if !change.is_stop() {
            return self.turns.of((operator.id, 0)).lock_owned().await;
        }
        let of_stops = |lane| self.turns.of((operator.id, lane));
        match (1..=STOPS_AT_ONCE).find_map(|lane| of_stops(lane).try_lock_owned().ok()) {
            Some(turn) => turn,
            None => of_stops(STOPS_AT_ONCE).lock_owned().await,
        }
    }

    /// Carries the change out for one account that was planned, only at the version that was looked at.
    pub async fn carry_out(
        &self,
        operator: &Operator,
        planned: &Planned,
        change: &ManyChange,
        by: (KeyId, &AuditScope),
    ) -> Result<ManyDone, ServiceError> {
        crash_point!("many.one");
        match change {
            ManyChange::Policy(update) => {
                let expected_version = Some(planned.expected_version);
                let update = PolicyUpdate { expected_version, ..update.clone() };
                let view = policies::change(
                    &self.inside,
                    operator,
                    planned.id,
                    update,
                    by,
                    policies::UpdateMode::MergePlanned,
                )
                .await?;
                Ok(match view.tx_signature {
                    Some(Signature(tx_signature)) => ManyDone::Applied { tx_signature },
                    None => ManyDone::Waits { effective_at: view.effective_at },
                })
            }
            ManyChange::Halt => {
                let halted = halts::halt_account(&self.inside, operator, planned.id, by.1).await?;
                Ok(ManyDone::Applied { tx_signature: halted.tx_signature.0 })
            }
        }
    }
}
