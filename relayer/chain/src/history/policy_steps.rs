//! What instructions say about policies. A log can be cut or emptied; what was called is signed for.

use crate::read::decode::to_address;
use anchor_lang::{AnchorDeserialize, Discriminator};
use purser::{DraftArgs, instruction};
use purser_client::{Called, arguments, policy_of};
use purser_model::{Address, SpendingPolicy};
use solana_sdk::pubkey::Pubkey;

/// An instruction about the policy of an agent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PolicyStep {
    pub agent: Address,
    pub signer: Address,
    pub what: PolicyCall,
}

/// What it says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PolicyCall {
    /// The account begins with this policy.
    Born(SpendingPolicy),
    /// This policy replaces the one of that version.
    Set {
        expected_version: u64,
        policy: SpendingPolicy,
    },
    Paused(bool),
    /// The draft with this hash is in force.
    Applied {
        hash: [u8; 32],
    },
    /// A draft is opened for the hash in these arguments.
    Opened(DraftArgs),
    /// Entries of the draft with this hash. The last ones seal it.
    Written {
        hash: [u8; 32],
        start: u16,
        entries: Vec<Pubkey>,
    },
    Closed,
}

impl PolicyCall {
    /// Whether it puts another version in force.
    pub const fn sets(&self) -> bool {
        match self {
            Self::Born(_) | Self::Set { .. } | Self::Paused(_) | Self::Applied { .. } => true,
            Self::Opened(_) | Self::Written { .. } | Self::Closed => false,
        }
    }

    /// The draft that it opens or writes, and so may seal.
    pub const fn written(&self) -> Option<[u8; 32]> {
        match self {
            Self::Opened(args) => Some(args.hash),
            Self::Written { hash, .. } => Some(*hash),
            Self::Born(_) | Self::Set { .. } | Self::Paused(_) | Self::Applied { .. } | Self::Closed => None,
        }
    }
}

/// The steps of a successful transaction, in order.
pub fn policy_steps(calls: &[Called]) -> Vec<PolicyStep> {
    calls.iter().filter_map(policy_step).collect()
}

fn policy_step(called: &Called) -> Option<PolicyStep> {
    // Where the agent stands among the accounts; the authority is always the first.
    let (agent_at, what) = if let Some(create) = of::<instruction::CreateAgent>(called) {
        (3, PolicyCall::Born(policy_of(create.policy)))
    } else if let Some(set) = of::<instruction::SetPolicy>(called) {
        let expected_version = u64::from(set.expected_version);
        (3, PolicyCall::Set { expected_version, policy: policy_of(set.policy) })
    } else if let Some(paused) = of::<instruction::SetPaused>(called) {
        (2, PolicyCall::Paused(paused.paused))
    } else if let Some(apply) = of::<instruction::ApplyDraft>(called) {
        (3, PolicyCall::Applied { hash: apply.hash })
    } else if let Some(open) = of::<instruction::OpenDraft>(called) {
        (3, PolicyCall::Opened(open.args))
    } else if let Some(write) = of::<instruction::WriteDraft>(called) {
        (2, PolicyCall::Written { hash: write.hash, start: write.start, entries: write.entries })
    } else if of::<instruction::CloseDraft>(called).is_some() {
        (2, PolicyCall::Closed)
    } else {
        return None;
    };
    let at = |place: usize| called.accounts.get(place).map(to_address);
    Some(PolicyStep { agent: at(agent_at)?, signer: at(0)?, what })
}

fn of<I: Discriminator + AnchorDeserialize>(called: &Called) -> Option<I> {
    arguments(&called.data)
}

#[cfg(test)]
mod tests;
