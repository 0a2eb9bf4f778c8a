//! What an instruction of our program did, read from its logged event or, if the log was cut, from the instruction.

use crate::read::decode::{halted_by_role, to_address};
use anchor_lang::Discriminator;
use purser::events::{
    AgentClosed, AgentCreated, AllowlistRecord, HaltSet, PausedSet, PolicyRecord, PolicySet,
    TransferExecuted, Withdrawn,
};
use purser::instruction;
use purser_client::{Called, EventLog, arguments, decode_event, transfer_arguments};
use purser_model::{Address, AllowedRecipients, HaltedBy, SpendingPolicy, Spent};
use purser_policy::UsdcAmount;
use solana_sdk::pubkey::Pubkey;

/// One action of our program that concerns history or accounts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ProgramEvent {
    AgentCreated {
        operator: Address,
        /// From which its addresses follow.
        agent_id: [u8; 16],
        agent: Address,
        token_account: Address,
    },
    /// A policy was set, or paused or unpaused.
    PolicyChanged {
        operator: Address,
        agent: Address,
        /// `None` if the log was cut.
        logged: Option<LoggedPolicy>,
    },
    /// A halt was set or lifted. Without an agent it covers all of the operator's.
    HaltChanged {
        operator: Address,
        agent: Option<Address>,
        is_halted: bool,
        /// Who halted it; `None` if the log was cut.
        by: Option<HaltedBy>,
    },
    TransferExecuted {
        agent: Address,
        transfer_id: [u8; 16],
        /// The Unix second that the instruction names; `None` if the node does not show it.
        asked_at: Option<i64>,
        /// The payment's number within the agent, from 1; `None` if the log was cut.
        number: Option<u64>,
        /// `None` if the log was cut.
        spent: Option<Spent>,
        amount: UsdcAmount,
        /// The token account that was paid.
        recipient: Address,
        /// Empty when there is none.
        memo: String,
    },
    Withdrawn {
        agent: Address,
        /// The agent's token account that paid; not always its USDC account.
        source: Address,
        amount: UsdcAmount,
        /// The token account that was paid.
        recipient: Address,
    },
    AgentClosed {
        operator: Address,
        agent: Address,
        /// The token account that received the rest.
        recipient: Address,
    },
}

/// What the log reports of a policy change.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LoggedPolicy {
    /// The new policy's version.
    pub version: u64,
    /// The key that signed.
    pub signer: Address,
    pub set: PolicySetTo,
}

/// The new policy, as far as one log reports it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PolicySetTo {
    Whole(SpendingPolicy),
    /// The allowlist is in the draft with this hash, because it is too long for a log.
    InDraft {
        hash: [u8; 32],
    },
    /// The previous policy with this value of `paused`.
    Paused(bool),
}

/// Reads logged events. Skips those that do not concern any history.
pub fn from_events(log: &EventLog) -> Vec<ProgramEvent> {
    log.payloads.iter().filter_map(|payload| from_event(payload)).collect()
}

/// Reads the instructions of a successful transaction. No call of our program can have failed in it, since a failed call fails
/// its whole transaction.
pub fn from_instructions(calls: &[Called]) -> Vec<ProgramEvent> {
    let of_one =
        |called| from_instruction(called).into_iter().chain(birth_policy(called)).chain(resumed_too(called));
    calls.iter().flat_map(of_one).collect()
}

/// The logged events with what only their instructions hold. `None` if log and instructions differ.
pub fn completed(logged: &[ProgramEvent], called: &[ProgramEvent]) -> Option<Vec<ProgramEvent>> {
    let both = logged.iter().zip(called);
    let events: Vec<_> = both.map(|(logged, called)| logged.completed_by(called)).collect();
    let agree = events.iter().zip(called).all(|(event, called)| event.as_called() == *called);
    (logged.len() == called.len() && agree).then_some(events)
}

impl ProgramEvent {
    /// The event as its instruction alone would show it.
    pub fn as_called(&self) -> Self {
        let mut event = self.clone();
        match &mut event {
            Self::TransferExecuted { number, spent, .. } => (*number, *spent) = (None, None),
            Self::PolicyChanged { logged, .. } => *logged = None,
            Self::HaltChanged { by, .. } => *by = None,
            Self::AgentCreated { .. } | Self::Withdrawn { .. } | Self::AgentClosed { .. } => {}
        }
        event
    }

    /// The logged event with what its instruction holds beyond it.
    fn completed_by(&self, called: &Self) -> Self {
        let mut event = self.clone();
        if let (Self::TransferExecuted { asked_at, .. }, Self::TransferExecuted { asked_at: named, .. }) =
            (&mut event, called)
        {
            *asked_at = *named;
        }
        event
    }
}

fn from_event(payload: &[u8]) -> Option<ProgramEvent> {
    if let Some(event) = decode_event::<TransferExecuted>(payload) {
        return Some(ProgramEvent::TransferExecuted {
            agent: to_address(&event.agent),
            transfer_id: event.transfer_id,
            asked_at: None,
            number: Some(event.number),
            spent: Some(Spent {
                in_window: UsdcAmount::from_micros(event.spent_in_window),
                policy_version: u64::from(event.policy_version),
            }),
            amount: UsdcAmount::from_micros(event.amount),
            recipient: to_address(&event.recipient),
            memo: text_of(event.memo),
        });
    }
    if let Some(event) = decode_event::<Withdrawn>(payload) {
        return Some(ProgramEvent::Withdrawn {
            agent: to_address(&event.agent),
            source: to_address(&event.source),
            amount: UsdcAmount::from_micros(event.amount),
            recipient: to_address(&event.recipient),
        });
    }
    if let Some(event) = decode_event::<AgentCreated>(payload) {
        return Some(ProgramEvent::AgentCreated {
            operator: to_address(&event.operator),
            agent_id: event.agent_id,
            agent: to_address(&event.agent),
            token_account: to_address(&event.token_account),
        });
    }
    if let Some(event) = decode_event::<PolicySet>(payload) {
        let set = set_to(&event.policy);
        return Some(changed(event.operator, event.agent, event.policy_version, event.signer, set));
    }
    if let Some(event) = decode_event::<PausedSet>(payload) {
        let set = PolicySetTo::Paused(event.paused);
        return Some(changed(event.operator, event.agent, event.policy_version, event.signer, set));
    }
    if let Some(event) = decode_event::<HaltSet>(payload) {
        return Some(ProgramEvent::HaltChanged {
            operator: to_address(&event.operator),
            agent: event.agent.as_ref().map(to_address),
            is_halted: event.halted_by.is_some(),
            by: event.halted_by.map(halted_by_role),
        });
    }
    let event = decode_event::<AgentClosed>(payload)?;
    let [operator, agent, recipient] =
        [event.operator, event.agent, event.recipient].map(|key| to_address(&key));
    Some(ProgramEvent::AgentClosed { operator, agent, recipient })
}

fn changed(operator: Pubkey, agent: Pubkey, version: u32, signer: Pubkey, set: PolicySetTo) -> ProgramEvent {
    let logged = LoggedPolicy { version: u64::from(version), signer: to_address(&signer), set };
    ProgramEvent::PolicyChanged {
        operator: to_address(&operator),
        agent: to_address(&agent),
        logged: Some(logged),
    }
}

fn set_to(record: &PolicyRecord) -> PolicySetTo {
    let bytes = |keys: &[Pubkey]| keys.iter().map(Pubkey::to_bytes).collect();
    let allowlist = match &record.allowlist {
        AllowlistRecord::Anyone => AllowedRecipients::Anyone,
        AllowlistRecord::Only { wallets, token_accounts } => {
            AllowedRecipients::only(bytes(wallets), bytes(token_accounts))
        }
        AllowlistRecord::Draft { hash, .. } => return PolicySetTo::InDraft { hash: *hash },
    };
    PolicySetTo::Whole(record.rules.over(allowlist))
}

/// Finds accounts by their places in the program's instructions.
fn from_instruction(called: &Called) -> Option<ProgramEvent> {
    let at = |place: usize| called.accounts.get(place).map(to_address);
    let data = called.data.as_slice();
    if let Some(transfer) = transfer_arguments(data) {
        return Some(ProgramEvent::TransferExecuted {
            agent: at(2)?,
            transfer_id: transfer.transfer_id,
            asked_at: Some(i64::from(transfer.asked_at)),
            number: None,
            spent: None,
            amount: UsdcAmount::from_micros(transfer.amount),
            recipient: at(4)?,
            memo: text_of(transfer.memo),
        });
    }
    if let Some(withdraw) = arguments::<instruction::Withdraw>(data) {
        let amount = UsdcAmount::from_micros(withdraw.amount);
        return Some(ProgramEvent::Withdrawn { agent: at(2)?, source: at(3)?, amount, recipient: at(5)? });
    }
    if let Some(instruction::CreateAgent { agent_id, .. }) = arguments(data) {
        let (operator, agent, token_account) = (at(2)?, at(3)?, at(4)?);
        return Some(ProgramEvent::AgentCreated { operator, agent_id, agent, token_account });
    }
    if is::<instruction::SetPolicy>(data) || is::<instruction::ApplyDraft>(data) {
        return Some(ProgramEvent::PolicyChanged { operator: at(2)?, agent: at(3)?, logged: None });
    }
    if is::<instruction::SetPaused>(data) {
        return Some(ProgramEvent::PolicyChanged { operator: at(1)?, agent: at(2)?, logged: None });
    }
    let is_halted = is::<instruction::Halt>(data);
    if is_halted || is::<instruction::Resume>(data) {
        // An instruction without an agent has the program's own address in that place.
        let agent = at(2)?;
        let agent = (agent != to_address(&called.program)).then_some(agent);
        return Some(ProgramEvent::HaltChanged { operator: at(1)?, agent, is_halted, by: None });
    }
    if is::<instruction::CloseAgent>(data) {
        return Some(ProgramEvent::AgentClosed { operator: at(1)?, agent: at(2)?, recipient: at(5)? });
    }
    None
}

/// An agent starts with a policy, which has its own event.
fn birth_policy(called: &Called) -> Option<ProgramEvent> {
    arguments::<instruction::CreateAgent>(&called.data)?;
    let at = |place: usize| called.accounts.get(place).map(to_address);
    Some(ProgramEvent::PolicyChanged { operator: at(2)?, agent: at(3)?, logged: None })
}

/// The agents that a resume names after its own.
fn resumed_too(called: &Called) -> Vec<ProgramEvent> {
    let (Some(operator), true) = (called.accounts.get(1), is::<instruction::Resume>(&called.data)) else {
        return Vec::new();
    };
    let resumed = |agent| ProgramEvent::HaltChanged {
        operator: to_address(operator),
        agent: Some(to_address(agent)),
        is_halted: false,
        by: None,
    };
    called.accounts.iter().skip(3).map(resumed).collect()
}

/// The holder of a transfer authority can write bytes that are not UTF-8.
pub fn text_of(memo: Vec<u8>) -> String {
    String::from_utf8(memo).unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned())
}

fn is<I: Discriminator>(data: &[u8]) -> bool {
    data.starts_with(I::DISCRIMINATOR)
}
