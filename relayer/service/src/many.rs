//! One change for many accounts: what it would do to each, and each of them carried out as if it were asked for alone.

use std::sync::Arc;

use std::collections::HashMap;

use super::error::{ServiceError, from_chain};
use super::planned::{Chosen, Planned, RulesInForce, Will};
use super::reads::{addresses, read_operator};
use super::turns::OneAtATime;
use super::{Halts, Policies};
use crate::Inside;
use crate::audit_scope::AuditScope;
use purser_base::crash_point::crash_point;
use purser_chain::{AgentOnChain, OperatorOnChain};
use purser_model::wire::schema::Signature;
use purser_model::{
    Account, AccountFilter, AccountId, AccountStatus, Invalid, KeyId, Operator, OperatorId, PolicyUpdate,
    SELECTED_MAX, Selection, Timestamp,
};

/// What is to be done with each of the accounts.
#[derive(Debug, Clone)]
pub enum ManyChange {
    /// As a PATCH of its policy.
    Policy(PolicyUpdate),
    Halt,
}

impl ManyChange {
    /// Whether it is a halt, or pauses, maybe among other changes.
    pub fn is_stop(&self) -> bool {
        match self {
            Self::Policy(update) => update.pauses(),
            Self::Halt => true,
        }
    }

    /// Whether the chain is to be asked. Not where it is so already, nor where it was refused before; but an open account is
    /// paused all the same, whatever is refused beside the pause.
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

/// What became of an account.
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

/// Changes many accounts.
#[derive(Clone)]
pub struct Many {
    inside: Arc<Inside>,
    policies: Policies,
    halts: Halts,
    /// Of changes, and of stops.
    turns: OneAtATime<(OperatorId, usize)>,
}

/// How many of an operator's halts and pauses of many accounts are carried out at once.
const STOPS_AT_ONCE: usize = 4;
/// How many accounts are read at once.
pub(super) const ACCOUNTS_PER_READ: usize = 100;

impl Many {
    pub(super) fn new(inside: Arc<Inside>, policies: Policies, halts: Halts) -> Self {
        Self { inside, policies, halts, turns: OneAtATime::default() }
    }

    /// What the change would do now to each account. Changes nothing. Invalid: too many accounts; otherwise as one change.
    /// TooManyReads: the operator's turn does not come soon. A stop that is carried out waits for none.
    pub async fn plan(
        &self,
        operator: &Operator,
        selection: &Selection,
        change: &ManyChange,
        is_dry_run: bool,
    ) -> Result<Vec<Planned>, ServiceError> {
        let in_turn = is_dry_run || !change.is_stop();
        let (on_chain, chosen) = self.choose(operator, selection, in_turn).await?;
        match change {
            ManyChange::Policy(update) => self.policies.plan(operator, &on_chain, chosen, update).await,
            ManyChange::Halt => Ok(chosen.into_iter().map(plan_halt).collect()),
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
                let view = self.policies.patch_planned(operator, planned.id, update, by).await?;
                Ok(match view.tx_signature {
                    Some(Signature(tx_signature)) => ManyDone::Applied { tx_signature },
                    None => ManyDone::Waits { effective_at: view.effective_at },
                })
            }
            ManyChange::Halt => {
                let halted = self.halts.halt_account(operator, planned.id, by.1).await?;
                Ok(ManyDone::Applied { tx_signature: halted.tx_signature.0 })
            }
        }
    }

    async fn choose(
        &self,
        operator: &Operator,
        selection: &Selection,
        in_turn: bool,
    ) -> Result<(OperatorOnChain, Vec<Chosen>), ServiceError> {
        let rows = match selection {
            Selection::Named(named) => {
                let ids: Vec<AccountId> = named.keys().copied().collect();
                if ids.len() > SELECTED_MAX {
                    return Err(too_many());
                }
                self.inside.store.accounts.find_accounts(operator.id, &ids).await?
            }
            Selection::Filtered(filter) => {
                let tagged = AccountFilter { status: None, tag: filter.tag.clone() };
                let rows_max = u32::try_from(SELECTED_MAX).unwrap_or(u32::MAX).saturating_add(1);
                self.inside.store.accounts.list_accounts(operator.id, tagged, None, rows_max).await?
            }
        };
        if rows.len() > SELECTED_MAX {
            return Err(too_many());
        }
        if in_turn {
            for _read in 0..=rows.len().div_ceil(ACCOUNTS_PER_READ) {
                self.inside.read_limiter.take_change(operator.id).await?;
            }
        }
        let on_chain = read_operator(&self.inside.chains, operator).await?;
        let agents = self.read(operator, &rows).await?;
        let found = rows.into_iter().zip(agents).filter_map(|(account, agent)| Some((account, agent?)));
        let chosen = match selection {
            Selection::Named(named) => {
                let mut found: HashMap<_, _> = found.map(|found| (found.0.id, found)).collect();
                let chosen = named.iter().map(|(id, expected_version)| Chosen {
                    id: *id,
                    expected_version: *expected_version,
                    found: found.remove(id),
                });
                chosen.collect()
            }
            Selection::Filtered(AccountFilter { status, tag: _ }) => {
                let is_asked_for = |(_, agent): &(Account, AgentOnChain)| {
                    let is_halted = on_chain.halted_by.is_some() || agent.halted_by.is_some();
                    let is = AccountStatus::from_paused(agent.policy.paused || is_halted);
                    status.is_none_or(|status| status == is)
                };
                let asked = found.filter(is_asked_for);
                asked
                    .map(|found| Chosen { id: found.0.id, expected_version: None, found: Some(found) })
                    .collect()
            }
        };
        Ok((on_chain, chosen))
    }

    async fn read(
        &self,
        operator: &Operator,
        rows: &[Account],
    ) -> Result<Vec<Option<AgentOnChain>>, ServiceError> {
        if rows.is_empty() {
            return Ok(Vec::new());
        }
        let addresses: Vec<_> = rows.iter().map(addresses).collect();
        let chain = &self.inside.chains.get(operator.network)?.chain;
        chain.read_agents(&addresses).await.map_err(|error| from_chain(operator.network, &error, true))
    }
}

fn too_many() -> ServiceError {
    let message =
        format!("selects more than {SELECTED_MAX} accounts: choose them by tag, or name some at a time");
    Invalid::new("accounts", message).into()
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
