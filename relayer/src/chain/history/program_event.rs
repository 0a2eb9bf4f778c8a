//! What an instruction of our program did, from the event it logged or, where the log was cut, from the instruction.

use crate::chain::history::events::{self, EventLog};
use crate::chain::read::decode::to_address;
use crate::domain::Address;
use anchor_lang::{AnchorDeserialize, Discriminator};
use purser::events::{AgentClosed, AgentCreated, HaltSet, PausedSet, PolicySet, TransferExecuted, Withdrawn};
use purser::instruction;
use purser_policy::UsdcAmount;
use solana_sdk::pubkey::Pubkey;

/// One thing that our program did, as far as history and accounts are concerned.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ProgramEvent {
    AgentCreated {
        operator: Address,
        agent: Address,
        agent_id: [u8; 16],
        token_account: Address,
    },
    /// Something that decides whether an account may pay: its policy, a pause, a halt. No agent: all of the operator's.
    PolicyChanged {
        operator: Address,
        agent: Option<Address>,
    },
    TransferExecuted {
        agent: Address,
        transfer_id: [u8; 16],
        /// Of this payment among all of the agent, from 1; `None` where it was cut off the log.
        number: Option<u64>,
        amount: UsdcAmount,
        /// The token account that was paid.
        recipient: Address,
        /// Empty when there is none.
        memo: String,
    },
    Withdrawn {
        agent: Address,
        /// The agent's token account that it was taken from: not always its USDC account.
        source: Address,
        amount: UsdcAmount,
        /// The token account that was paid.
        recipient: Address,
    },
    AgentClosed {
        operator: Address,
        agent: Address,
        /// The token account that got what was left.
        recipient: Address,
    },
}

/// An instruction of our program: its accounts in order, and its data.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Called {
    pub program: Pubkey,
    pub accounts: Vec<Pubkey>,
    pub data: Vec<u8>,
}

/// What the events say. Those that concern nobody's history are passed over.
pub fn from_events(log: &EventLog) -> Vec<ProgramEvent> {
    log.payloads.iter().filter_map(|payload| from_event(payload)).collect()
}

/// What the instructions of a transaction that landed well say. The program cannot have been called and have failed
/// in it, since a failed call fails its whole transaction.
pub fn from_instructions(calls: &[Called]) -> Vec<ProgramEvent> {
    calls.iter().flat_map(|called| [from_instruction(called), birth_policy(called)]).flatten().collect()
}

/// Whether both say the same, but for what only a log knows.
pub fn are_same(logged: &[ProgramEvent], called: &[ProgramEvent]) -> bool {
    let same =
        |(logged, called): (&ProgramEvent, &ProgramEvent)| logged.without_number() == called.without_number();
    logged.len() == called.len() && logged.iter().zip(called).all(same)
}

impl ProgramEvent {
    /// As its instruction says it.
    pub fn without_number(&self) -> Self {
        let mut event = self.clone();
        if let Self::TransferExecuted { number, .. } = &mut event {
            *number = None;
        }
        event
    }
}

fn from_event(payload: &[u8]) -> Option<ProgramEvent> {
    if let Some(event) = events::decode::<TransferExecuted>(payload) {
        return Some(ProgramEvent::TransferExecuted {
            agent: to_address(&event.agent),
            transfer_id: event.transfer_id,
            number: Some(event.number),
            amount: UsdcAmount::from_micros(event.amount),
            recipient: to_address(&event.recipient),
            memo: text_of(event.memo),
        });
    }
    if let Some(event) = events::decode::<Withdrawn>(payload) {
        return Some(ProgramEvent::Withdrawn {
            agent: to_address(&event.agent),
            source: to_address(&event.source),
            amount: UsdcAmount::from_micros(event.amount),
            recipient: to_address(&event.recipient),
        });
    }
    if let Some(event) = events::decode::<AgentCreated>(payload) {
        return Some(ProgramEvent::AgentCreated {
            operator: to_address(&event.operator),
            agent: to_address(&event.agent),
            agent_id: event.agent_id,
            token_account: to_address(&event.token_account),
        });
    }
    if let Some(event) = events::decode::<PolicySet>(payload) {
        let (operator, agent) = (to_address(&event.operator), Some(to_address(&event.agent)));
        return Some(ProgramEvent::PolicyChanged { operator, agent });
    }
    if let Some(event) = events::decode::<PausedSet>(payload) {
        let (operator, agent) = (to_address(&event.operator), Some(to_address(&event.agent)));
        return Some(ProgramEvent::PolicyChanged { operator, agent });
    }
    if let Some(event) = events::decode::<HaltSet>(payload) {
        let (operator, agent) = (to_address(&event.operator), event.agent.as_ref().map(to_address));
        return Some(ProgramEvent::PolicyChanged { operator, agent });
    }
    let event = events::decode::<AgentClosed>(payload)?;
    let [operator, agent, recipient] =
        [event.operator, event.agent, event.recipient].map(|key| to_address(&key));
    Some(ProgramEvent::AgentClosed { operator, agent, recipient })
}

/// By the places that the program gives its accounts.
fn from_instruction(called: &Called) -> Option<ProgramEvent> {
    let at = |place: usize| called.accounts.get(place).map(to_address);
    let data = called.data.as_slice();
    if let Some(transfer) = arguments::<instruction::Transfer>(data) {
        return Some(ProgramEvent::TransferExecuted {
            agent: at(2)?,
            transfer_id: transfer.transfer_id,
            number: None,
            amount: UsdcAmount::from_micros(transfer.amount),
            recipient: at(4)?,
            memo: text_of(transfer.memo),
        });
    }
    if let Some(withdraw) = arguments::<instruction::Withdraw>(data) {
        let amount = UsdcAmount::from_micros(withdraw.amount);
        return Some(ProgramEvent::Withdrawn { agent: at(2)?, source: at(3)?, amount, recipient: at(5)? });
    }
    if let Some(create) = arguments::<instruction::CreateAgent>(data) {
        return Some(ProgramEvent::AgentCreated {
            operator: at(2)?,
            agent: at(3)?,
            agent_id: create.agent_id,
            token_account: at(4)?,
        });
    }
    if is::<instruction::SetPolicy>(data) || is::<instruction::ApplyDraft>(data) {
        return Some(ProgramEvent::PolicyChanged { operator: at(2)?, agent: Some(at(3)?) });
    }
    if is::<instruction::SetPaused>(data) {
        return Some(ProgramEvent::PolicyChanged { operator: at(1)?, agent: Some(at(2)?) });
    }
    if is::<instruction::Halt>(data) || is::<instruction::Resume>(data) {
        // Without an agent, the program's own address stands in its place.
        let agent = at(2)?;
        let agent = (agent != to_address(&called.program)).then_some(agent);
        return Some(ProgramEvent::PolicyChanged { operator: at(1)?, agent });
    }
    if is::<instruction::CloseAgent>(data) {
        return Some(ProgramEvent::AgentClosed { operator: at(1)?, agent: at(2)?, recipient: at(5)? });
    }
    None
}

/// An agent begins with a policy, of which an event of its own tells.
fn birth_policy(called: &Called) -> Option<ProgramEvent> {
    arguments::<instruction::CreateAgent>(&called.data)?;
    let at = |place: usize| called.accounts.get(place).map(to_address);
    Some(ProgramEvent::PolicyChanged { operator: at(2)?, agent: Some(at(3)?) })
}

/// Whoever holds a transfer authority can write bytes that are no text.
pub fn text_of(memo: Vec<u8>) -> String {
    String::from_utf8(memo).unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned())
}

fn is<I: Discriminator>(data: &[u8]) -> bool {
    data.starts_with(I::DISCRIMINATOR)
}

/// The program forgives bytes after its arguments, so they are forgiven here.
fn arguments<I: Discriminator + AnchorDeserialize>(data: &[u8]) -> Option<I> {
    I::deserialize(&mut data.strip_prefix(I::DISCRIMINATOR)?).ok()
}
