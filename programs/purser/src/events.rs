//! What happened, as Anchor log events: enough to recompute every decision from the chain alone.
//!
//! Amounts are micro-USDC. Whoever reads them must walk the invoke stack: a "Program data:" line
//! inside another program's frame is not ours.

use anchor_lang::prelude::*;
use anchor_lang::solana_program::log::sol_log_data;

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

/// [`TransferExecuted`] as `transfer` logs it: the same bytes, without the heap.
pub(crate) struct TransferExecutedLog<'a> {
    pub agent: &'a [u8; 32],
    pub transfer_id: &'a [u8; 16],
    pub tag: u64,
    pub amount: u64,
    pub recipient: &'a [u8; 32],
    pub recipient_owner: &'a [u8; 32],
    pub policy_version: u32,
    pub spent_in_window: u64,
    pub memo: &'a str,
}

impl TransferExecutedLog<'_> {
    const FIXED_BYTES: usize = 8 + 32 + 16 + 8 + 8 + 32 + 32 + 4 + 8 + 4;
    /// Room for most memos, and for the longest: 200 characters of four bytes. On chain, a buffer is cleared at a
    /// compute unit for each eight bytes.
    const SHORT_BYTES: usize = Self::FIXED_BYTES + 64;
    const LONG_BYTES: usize = Self::FIXED_BYTES + 4 * purser_policy::MEMO_CHARS_MAX;

    #[inline(always)]
    pub fn write(&self) {
        if Self::FIXED_BYTES + self.memo.len() <= Self::SHORT_BYTES {
            sol_log_data(&[self.encode(&mut [0; TransferExecutedLog::SHORT_BYTES])]);
        } else {
            self.write_long();
        }
    }

    #[cold]
    #[inline(never)]
    #[cfg_attr(hot_path, optimize(speed))]
    fn write_long(&self) {
        sol_log_data(&[self.encode(&mut [0; TransferExecutedLog::LONG_BYTES])]);
    }

    #[inline(always)]
    fn encode<'b>(&self, bytes: &'b mut [u8]) -> &'b [u8] {
        let mut at = 0;
        let mut put = |part: &[u8]| {
            // There is always room: a memo that is longer was refused by the rule.
            if let Some(room) = bytes.get_mut(at..at + part.len()) {
                room.copy_from_slice(part);
                at += part.len();
            }
        };
        put(TransferExecuted::DISCRIMINATOR);
        put(self.agent);
        put(self.transfer_id);
        put(&self.tag.to_le_bytes());
        put(&self.amount.to_le_bytes());
        put(self.recipient);
        put(self.recipient_owner);
        put(&self.policy_version.to_le_bytes());
        put(&self.spent_in_window.to_le_bytes());
        put(&(self.memo.len() as u32).to_le_bytes());
        put(self.memo.as_bytes());
        bytes.get(..at).unwrap_or(&[])
    }
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

#[cfg(test)]
mod tests {
    use super::*;
    use anchor_lang::Event;

    #[test]
    fn transfer_is_logged_in_the_bytes_of_its_event() {
        for memo in ["", "invoice 7", &"x".repeat(64), &"x".repeat(65), &"🪙".repeat(200)] {
            let log = TransferExecutedLog {
                agent: &[1; 32],
                transfer_id: &[2; 16],
                tag: 3,
                amount: u64::MAX,
                recipient: &[4; 32],
                recipient_owner: &[5; 32],
                policy_version: 6,
                spent_in_window: 7,
                memo,
            };
            let event = TransferExecuted {
                agent: Pubkey::from(*log.agent),
                transfer_id: *log.transfer_id,
                tag: log.tag,
                amount: log.amount,
                recipient: Pubkey::from(*log.recipient),
                recipient_owner: Pubkey::from(*log.recipient_owner),
                policy_version: log.policy_version,
                spent_in_window: log.spent_in_window,
                memo: memo.to_string(),
            };
            let mut room = [0; TransferExecutedLog::LONG_BYTES];
            assert_eq!(log.encode(&mut room), event.data());
        }
    }
}
