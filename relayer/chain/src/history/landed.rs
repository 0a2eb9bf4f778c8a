//! What a landed transaction did to our accounts: our program's events, and the USDC that moved.

use crate::history::grants_opened::{GrantCall, grants_opened};
use crate::history::policy_steps::{PolicyStep, policy_steps};
use crate::history::program_event::{self, ProgramEvent};
use crate::read::decode::to_address;
use purser_client::{EventLog, LandedWell};
use purser_model::Address;
use purser_policy::UsdcAmount;
use solana_sdk::pubkey::Pubkey;

/// What a successful transaction did.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LandedRecord {
    /// Base58.
    pub signature: String,
    /// The node that showed it, by its place in the configuration.
    pub node: usize,
    pub slot: u64,
    /// Unix seconds.
    pub block_time: Option<i64>,
    /// In the order in which they happened.
    pub events: Vec<ProgramEvent>,
    /// The instructions about policies, in order. Those that set one stand in the order of the events, or are left out.
    pub policy_steps: Vec<PolicyStep>,
    /// The grants that it opened, in order. A node that keeps no inner calls hides some.
    pub grants: Vec<GrantCall>,
    /// Every USDC token account whose balance changed.
    pub flows: Vec<Flow>,
}

/// A token account's balance before and after a transaction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Flow {
    pub token_account: Address,
    pub before: UsdcAmount,
    pub after: UsdcAmount,
}

impl LandedRecord {
    pub fn of(landed: LandedWell, program: &Pubkey, (signature, node): (&str, usize)) -> Self {
        let LandedWell { slot, block_time, calls, keeps_inner, log, balances, .. } = landed;
        let log = log.map(|lines| EventLog::read(program, &lines));
        let logged = log.filter(|log| !log.incomplete).map(|log| program_event::from_events(&log));
        let called = program_event::from_instructions(&calls);
        // Each instruction logs what it did, once. If the log differs from the calls, lines were lost, doubled or made up on the
        // way; signatures cover the calls. We trust the log alone only from a node that did not keep all calls.
        let completed = logged.as_ref().and_then(|logged| program_event::completed(logged, &called));
        let events = match (completed, logged) {
            (Some(events), _) => events,
            (None, Some(logged)) if !keeps_inner => logged,
            (None, Some(_)) => {
                tracing::warn!(signature, slot, "a node's log does not name the programs that ran");
                called
            }
            (None, None) => called,
        };
        let mut policy_steps = policy_steps(&calls);
        // A node that keeps no inner calls hides some.
        let is_change = |event: &&ProgramEvent| matches!(event, ProgramEvent::PolicyChanged { .. });
        if policy_steps.iter().filter(|step| step.what.sets()).count()
            != events.iter().filter(is_change).count()
        {
            policy_steps.retain(|step| !step.what.sets());
        }
        let changed = balances.iter().filter(|balance| balance.before != balance.after);
        let flows = changed.map(|balance| Flow {
            token_account: to_address(&balance.token_account),
            before: balance.before,
            after: balance.after,
        });
        let (grants, flows) = (grants_opened(&calls), flows.collect());
        Self { signature: signature.to_owned(), node, slot, block_time, events, policy_steps, grants, flows }
    }
}

#[cfg(test)]
mod tests;
