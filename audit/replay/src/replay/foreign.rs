//! Which events of a log belong to the audit.

use anchor_lang::Discriminator;
use anchor_lang::prelude::Pubkey;
use purser::events::{
    AgentClosed, AgentCreated, ApproverRemoved, ApproverSet, BoundsSet, BudgetClosed, BudgetSet, BudgetUsed,
    DraftClosed, DraftSealed, DraftWritten, GrantClosed, GrantOpened, GrantUsed, GrantsVoided, HaltSet,
    OperatorCreated, OperatorUpdated, PausedSet, PolicySet, RentRefundSet, TagBucketsSet, TransferExecuted,
    Withdrawn,
};
use purser::instruction;
use purser_client::{EventLog, LandedWell};

use super::{Place, Replay};

/// First the events that name the operator, then those that name the account.
const OF_OPERATORS: [(&[u8], &str); 20] = [
    (OperatorCreated::DISCRIMINATOR, "OperatorCreated"),
    (OperatorUpdated::DISCRIMINATOR, "OperatorUpdated"),
    (AgentCreated::DISCRIMINATOR, "AgentCreated"),
    (PolicySet::DISCRIMINATOR, "PolicySet"),
    (DraftSealed::DISCRIMINATOR, "DraftSealed"),
    (DraftClosed::DISCRIMINATOR, "DraftClosed"),
    (PausedSet::DISCRIMINATOR, "PausedSet"),
    (HaltSet::DISCRIMINATOR, "HaltSet"),
    (ApproverRemoved::DISCRIMINATOR, "ApproverRemoved"),
    (ApproverSet::DISCRIMINATOR, "ApproverSet"),
    (BoundsSet::DISCRIMINATOR, "BoundsSet"),
    (TagBucketsSet::DISCRIMINATOR, "TagBucketsSet"),
    (BudgetSet::DISCRIMINATOR, "BudgetSet"),
    (BudgetClosed::DISCRIMINATOR, "BudgetClosed"),
    (GrantOpened::DISCRIMINATOR, "GrantOpened"),
    (GrantClosed::DISCRIMINATOR, "GrantClosed"),
    (GrantsVoided::DISCRIMINATOR, "GrantsVoided"),
    (RentRefundSet::DISCRIMINATOR, "RentRefundSet"),
    (Withdrawn::DISCRIMINATOR, "Withdrawn"),
    (AgentClosed::DISCRIMINATOR, "AgentClosed"),
];
const OF_AGENTS: [(&[u8], &str); 4] = [
    (DraftWritten::DISCRIMINATOR, "DraftWritten"),
    (TransferExecuted::DISCRIMINATOR, "TransferExecuted"),
    (GrantUsed::DISCRIMINATOR, "GrantUsed"),
    (BudgetUsed::DISCRIMINATOR, "BudgetUsed"),
];

impl Replay {
    /// Whether an event is about the operator or one of its accounts. Others may share the transaction.
    pub(super) fn concerns_us(&self, payload: &[u8], landed: &LandedWell) -> bool {
        let Some((discriminator, fields)) = payload.split_at_checked(8) else { return false };
        let first = fields.first_chunk().map(|key| Pubkey::new_from_array(*key));
        let Some(first) = first else { return false };
        let is_in = |list: &[(&[u8], &str)]| list.iter().any(|(known, _)| *known == discriminator);
        if is_in(&OF_OPERATORS) {
            return first == self.operator;
        }
        // An account may pay in the transaction that creates it.
        let created = landed.calls.iter().filter(|called| {
            let creates = called.data.starts_with(instruction::CreateAgent::DISCRIMINATOR);
            creates && called.accounts.get(2) == Some(&self.operator)
        });
        let mut created = created.filter_map(|called| called.accounts.get(3));
        is_in(&OF_AGENTS) && (self.world.agents.contains_key(&first) || created.any(|agent| *agent == first))
    }

    /// Reports lines in the form of the program's events that another program wrote.
    pub(super) fn tell_forged(&mut self, place: &Place, landed: &LandedWell) {
        let Some(lines) = &landed.log else { return };
        let invoked = lines.iter().filter_map(|line| {
            let (program, rest) = line.strip_prefix("Program ")?.split_once(' ')?;
            rest.starts_with("invoke [").then(|| program.parse::<Pubkey>().ok()).flatten()
        });
        let mut others: Vec<Pubkey> = invoked.filter(|program| *program != self.at.program).collect();
        others.sort_unstable();
        others.dedup();
        for program in others {
            for payload in EventLog::read(&program, lines).payloads {
                let forged = payload.get(..8).and_then(|it| {
                    OF_OPERATORS
                        .iter()
                        .chain(&OF_AGENTS)
                        .find(|(known, _)| *known == it)
                        .map(|(_, name)| *name)
                });
                if let Some(name) = forged {
                    self.outcome.forged.push((place.clone(), program, name));
                }
            }
        }
    }
}
