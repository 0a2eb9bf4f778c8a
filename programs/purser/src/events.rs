//! What happened, as Anchor log events: enough to recompute every decision from the chain alone.
//!
//! Amounts are micro-USDC. Whoever reads them must walk the invoke stack: a "Program data:" line
//! inside another program's frame is not ours.

use anchor_lang::prelude::*;

#[event]
pub struct OperatorCreated {
    pub operator: Pubkey,
    pub admin: Pubkey,
    pub id: u64,
    pub policy_authority: Pubkey,
    pub transfer_authority: Pubkey,
    /// The default key where there is none.
    pub guardian: Pubkey,
    pub usdc_mint: Pubkey,
}

#[event]
pub struct OperatorUpdated {
    pub operator: Pubkey,
    pub admin: Pubkey,
    /// The default key where there is none.
    pub pending_admin: Pubkey,
    pub policy_authority: Pubkey,
    pub transfer_authority: Pubkey,
    pub guardian: Pubkey,
}

#[event]
pub struct AgentCreated {
    pub operator: Pubkey,
    pub agent: Pubkey,
    pub agent_id: [u8; 16],
    pub token_account: Pubkey,
}

/// The allowlist of a policy as an event can carry it.
#[derive(AnchorSerialize, AnchorDeserialize, Clone, Debug, PartialEq, Eq)]
pub enum AllowlistRecord {
    Anyone,
    Only(Vec<Pubkey>),
    /// Longer than a transaction's log: the entries stand in the `DraftWritten` events before this one.
    Draft {
        entry_count: u16,
        /// SHA-256 of all entries, in order.
        entries_hash: [u8; 32],
    },
}

/// The whole policy that applies from here on.
#[event]
pub struct PolicySet {
    pub operator: Pubkey,
    pub agent: Pubkey,
    pub policy_version: u32,
    pub max_single_transfer: Option<u64>,
    pub max_daily_spend: Option<u64>,
    pub require_memo: bool,
    pub paused: bool,
    pub allowlist: AllowlistRecord,
    /// The key that signed.
    pub signer: Pubkey,
}

/// Entries added to an allowlist draft.
#[event]
pub struct DraftWritten {
    pub agent: Pubkey,
    pub start: u16,
    pub entries: Vec<Pubkey>,
}

#[event]
pub struct PausedSet {
    pub operator: Pubkey,
    /// `None`: the operator, and so all its agents.
    pub agent: Option<Pubkey>,
    pub paused: bool,
    /// The agent's policy version from here on; 0 for an operator.
    pub policy_version: u32,
    pub signer: Pubkey,
}

#[event]
pub struct TransferExecuted {
    pub operator: Pubkey,
    pub agent: Pubkey,
    pub transfer_id: [u8; 16],
    pub tag: u64,
    pub amount: u64,
    /// The token account that was paid.
    pub recipient: Pubkey,
    /// The wallet that owned it at that moment.
    pub recipient_owner: Pubkey,
    pub policy_version: u32,
    /// What left in the 24 hours up to and including this transfer.
    pub spent_in_window: u64,
    /// Empty where there is none.
    pub memo: String,
}

#[event]
pub struct Withdrawn {
    pub operator: Pubkey,
    pub agent: Pubkey,
    pub amount: u64,
    pub recipient: Pubkey,
    pub recipient_owner: Pubkey,
    pub admin: Pubkey,
}

#[event]
pub struct AgentClosed {
    pub operator: Pubkey,
    pub agent: Pubkey,
    pub agent_id: [u8; 16],
}
