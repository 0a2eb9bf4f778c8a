//! What happened, as Anchor log events: enough to recompute every decision from the chain alone.
//!
//! Amounts are micro-USDC. Whoever reads them must walk the invoke stack: a "Program data:" line
//! inside another program's frame is not ours.

use anchor_lang::prelude::*;
use anchor_lang::solana_program::log::sol_log_data;
use core::mem::MaybeUninit;
use purser_policy::{Address, Allowlist, Policy};

use crate::state::{Bounds, BudgetCaps, GrantTerms, OpenedBy, Operator, Role, Rules};

#[event]
pub struct OperatorCreated {
    pub operator: Pubkey,
    pub id: u64,
    pub usdc_mint: Pubkey,
    pub keys: OperatorRecord,
}

#[event]
pub struct OperatorUpdated {
    pub operator: Pubkey,
    pub keys: OperatorRecord,
}

/// Who holds which key from here on. The default key stands for none.
#[derive(AnchorSerialize, AnchorDeserialize, Clone, Debug, PartialEq, Eq)]
pub struct OperatorRecord {
    pub admin: Pubkey,
    pub pending_admin: Pubkey,
    pub policy_authority: Pubkey,
    pub guardian: Pubkey,
    pub transfer_authorities: Vec<Pubkey>,
    pub loosening_delay_seconds: u32,
}

impl From<&Operator> for OperatorRecord {
    fn from(operator: &Operator) -> Self {
        Self {
            admin: operator.admin,
            pending_admin: operator.pending_admin,
            policy_authority: operator.policy_authority,
            guardian: operator.guardian,
            transfer_authorities: operator.transfer_authorities().to_vec(),
            loosening_delay_seconds: operator.loosening_delay_seconds,
        }
    }
}

/// An agent remembers so many buckets of tags.
#[event]
pub struct TagBucketsSet {
    pub operator: Pubkey,
    pub agent: Pubkey,
    pub buckets: u16,
}

/// The policy that it begins with follows as [`PolicySet`].
#[event]
pub struct AgentCreated {
    pub operator: Pubkey,
    pub agent: Pubkey,
    pub agent_id: [u8; 16],
    pub token_account: Pubkey,
}

/// A whole policy as an event can carry it.
#[derive(AnchorSerialize, AnchorDeserialize, Clone, Debug, PartialEq, Eq)]
pub struct PolicyRecord {
    pub rules: Rules,
    pub allowlist: AllowlistRecord,
}

#[derive(AnchorSerialize, AnchorDeserialize, Clone, Debug, PartialEq, Eq)]
pub enum AllowlistRecord {
    Anyone,
    Only {
        wallets: Vec<Pubkey>,
        token_accounts: Vec<Pubkey>,
    },
    /// Longer than a transaction's log: the entries stand in the `DraftWritten` events with this hash, wallets first.
    Draft {
        wallet_count: u16,
        token_account_count: u16,
        hash: [u8; 32],
    },
}

impl PolicyRecord {
    /// `draft`: the hash of the draft that the entries were written to.
    pub fn new(policy: &Policy, draft: Option<[u8; 32]>) -> Self {
        let (wallets, token_accounts) = policy.allowlist.entries();
        let keys = |entries: &[Address]| entries.iter().copied().map(Pubkey::new_from_array).collect();
        let allowlist = match (policy.allowlist, draft) {
            (Allowlist::Anyone, _) => AllowlistRecord::Anyone,
            (Allowlist::Only(_), None) => {
                AllowlistRecord::Only { wallets: keys(wallets), token_accounts: keys(token_accounts) }
            }
            (Allowlist::Only(_), Some(hash)) => AllowlistRecord::Draft {
                wallet_count: wallets.len() as u16,
                token_account_count: token_accounts.len() as u16,
                hash,
            },
        };
        Self { rules: policy.into(), allowlist }
    }
}

/// The whole policy that applies from here on.
#[event]
pub struct PolicySet {
    pub operator: Pubkey,
    pub agent: Pubkey,
    pub policy_version: u32,
    pub policy: PolicyRecord,
    /// The key that signed.
    pub signer: Pubkey,
}

/// Entries added to a draft.
#[event]
pub struct DraftWritten {
    pub agent: Pubkey,
    /// What the draft was opened for.
    pub hash: [u8; 32],
    pub start: u16,
    pub entries: Vec<Pubkey>,
}

/// A policy that is complete and waits to be applied.
#[event]
pub struct DraftSealed {
    pub operator: Pubkey,
    pub agent: Pubkey,
    pub hash: [u8; 32],
    /// It applies over this policy version and no other.
    pub expected_version: u32,
    pub policy: PolicyRecord,
    /// Unix seconds.
    pub sealed_at: i64,
    /// Where it loosens anything: when it can be applied at the earliest. A delay that is made longer moves that back.
    pub loosens_at: i64,
    pub signer: Pubkey,
}

/// A draft that was given up, sealed or not.
#[event]
pub struct DraftClosed {
    pub operator: Pubkey,
    pub agent: Pubkey,
    pub hash: [u8; 32],
    pub signer: Pubkey,
}

#[event]
pub struct PausedSet {
    pub operator: Pubkey,
    pub agent: Pubkey,
    pub paused: bool,
    /// The agent's policy version from here on.
    pub policy_version: u32,
    pub signer: Pubkey,
}

#[event]
pub struct HaltSet {
    pub operator: Pubkey,
    /// `None`: the operator, and so all its agents.
    pub agent: Option<Pubkey>,
    /// Who holds it halted from here on; `None` when it was resumed.
    pub halted_by: Option<Role>,
    pub signer: Pubkey,
}

/// Who gets the agent's rent back from here on.
#[event]
pub struct RentRefundSet {
    pub operator: Pubkey,
    pub agent: Pubkey,
    pub rent_refund: Pubkey,
}

/// What binds an agent beside its policy from here on.
#[event]
pub struct BoundsSet {
    pub operator: Pubkey,
    pub agent: Pubkey,
    pub bounds: Bounds,
    /// The key that signed.
    pub signer: Pubkey,
}

/// A budget with these caps: from here on, or what they raise only from `loosens_at` on.
#[event]
pub struct BudgetSet {
    pub operator: Pubkey,
    /// Its address.
    pub budget: Pubkey,
    pub id: u64,
    pub caps: BudgetCaps,
    /// Unix seconds. A delay that is made longer moves it back.
    pub loosens_at: Option<i64>,
    pub signer: Pubkey,
}

/// A budget that is no more.
#[event]
pub struct BudgetClosed {
    pub operator: Pubkey,
    pub budget: Pubkey,
    pub admin: Pubkey,
}

/// A key that may open grants for single payments from here on, within these limits.
#[event]
pub struct ApproverSet {
    pub operator: Pubkey,
    pub key: Pubkey,
    /// Micro-USDC.
    pub max_grant: u64,
    /// Micro-USDC in any 24 hours.
    pub max_daily: u64,
    pub admin: Pubkey,
}

/// From here on no grant pays that an approver of the operator opened before.
#[event]
pub struct ApproverRemoved {
    pub operator: Pubkey,
    pub key: Pubkey,
    /// The operator's from here on.
    /// Unix second: what an approver opened then or earlier pays nothing.
    pub voided_at: i64,
    pub admin: Pubkey,
}

/// Leave to pay beyond the policy, or where an agent pays by such leave alone.
#[event]
pub struct GrantOpened {
    pub operator: Pubkey,
    pub agent: Pubkey,
    /// Its address.
    pub grant: Pubkey,
    pub id: u64,
    pub terms: GrantTerms,
    pub opened_by: OpenedBy,
    /// The key that signed.
    pub signer: Pubkey,
}

/// From here on the grant pays nothing.
#[event]
pub struct GrantClosed {
    pub operator: Pubkey,
    pub agent: Pubkey,
    pub grant: Pubkey,
    /// What was not paid, in micro-USDC.
    pub left: u64,
    pub signer: Pubkey,
}

/// From here on no grant that was opened before pays anything.
#[event]
pub struct GrantsVoided {
    pub operator: Pubkey,
    pub agent: Pubkey,
    /// The agent's from here on.
    /// Unix second: what was opened then or earlier pays nothing.
    pub voided_at: i64,
    pub signer: Pubkey,
}

#[event]
pub struct TransferExecuted {
    pub agent: Pubkey,
    /// Of this payment among all of the agent, from 1: a number that is missing is a payment that was not shown.
    pub number: u64,
    /// The last eight bytes are the payment's tag, little endian.
    pub transfer_id: [u8; 16],
    pub amount: u64,
    /// The token account that was paid.
    pub recipient: Pubkey,
    /// The wallet that owned it at that moment.
    pub recipient_owner: Pubkey,
    pub policy_version: u32,
    /// What left in the 24 hours up to and including this transfer.
    pub spent_in_window: u64,
    /// UTF-8 wherever a relayer signed: the program does not look, which would cost more than all other rules together.
    /// Empty where there is none.
    pub memo: Vec<u8>,
}

/// [`TransferExecuted`] as `transfer` logs it: the same bytes, without the heap.
pub(crate) struct TransferExecutedLog<'a> {
    pub agent: &'a [u8; 32],
    pub number: u64,
    pub transfer_id: &'a [u8; 16],
    pub amount: u64,
    pub recipient: &'a [u8; 32],
    pub recipient_owner: &'a [u8; 32],
    pub policy_version: u32,
    pub spent_in_window: u64,
    pub memo: &'a [u8],
}

impl TransferExecutedLog<'_> {
    const FIXED_BYTES: usize = 8 + 32 + 8 + 16 + 8 + 32 + 32 + 4 + 8 + 4;
    /// Room for the longest memo.
    const BYTES_MAX: usize = Self::FIXED_BYTES + purser_policy::MEMO_BYTES_MAX;

    #[inline(always)]
    pub fn write(&self) {
        sol_log_data(&[self.encode(&mut [MaybeUninit::uninit(); TransferExecutedLog::BYTES_MAX])]);
    }

    #[inline(always)]
    fn encode<'b>(&self, bytes: &'b mut [MaybeUninit<u8>]) -> &'b [u8] {
        let mut at = 0;
        let mut put = |part: &[u8]| {
            // There is always room: a memo that is longer was refused by the rule.
            if let Some(room) = bytes.get_mut(at..at + part.len()) {
                room.write_copy_of_slice(part);
                at += part.len();
            }
        };
        put(TransferExecuted::DISCRIMINATOR);
        put(self.agent);
        put(&self.number.to_le_bytes());
        put(self.transfer_id);
        put(&self.amount.to_le_bytes());
        put(self.recipient);
        put(self.recipient_owner);
        put(&self.policy_version.to_le_bytes());
        put(&self.spent_in_window.to_le_bytes());
        put(&(self.memo.len() as u32).to_le_bytes());
        put(self.memo);
        // SAFETY: `put` wrote every byte up to `at`.
        bytes.get(..at).map_or(&[], |written| unsafe { written.assume_init_ref() })
    }
}

/// Follows the [`TransferExecuted`] of a payment that a grant let through.
#[event]
pub struct GrantUsed {
    pub agent: Pubkey,
    /// Of the payment.
    pub number: u64,
    pub grant: Pubkey,
    /// What may still be paid, in micro-USDC.
    pub left: u64,
}

/// Follows the [`TransferExecuted`] of a payment through a budget, and its [`GrantUsed`].
#[event]
pub struct BudgetUsed {
    pub agent: Pubkey,
    /// Of the payment.
    pub number: u64,
    pub budget: Pubkey,
    /// What left through the budget in the 24 hours up to and including this payment, in micro-USDC.
    pub spent_in_window: u64,
}

/// [`GrantUsed`] and [`BudgetUsed`] without the heap: each part is a whole number of words, which are cheap to write.
#[zero_copy]
#[repr(C)]
pub(crate) struct UsedLog {
    event: [u8; 8],
    agent: [u8; 32],
    number: u64,
    account: [u8; 32],
    amount: u64,
}

impl UsedLog {
    #[inline(always)]
    pub fn of<T: Discriminator>(agent: &[u8; 32], number: u64, account: &[u8; 32], amount: u64) -> Self {
        let event = T::DISCRIMINATOR.first_chunk().copied().unwrap_or_default();
        Self { event, agent: *agent, number, account: *account, amount }
    }

    #[inline(never)]
    pub fn write(&self) {
        sol_log_data(&[self.encoded()]);
    }

    fn encoded(&self) -> &[u8] {
        bytemuck::bytes_of(self)
    }
}

#[event]
pub struct Withdrawn {
    pub operator: Pubkey,
    pub agent: Pubkey,
    /// The agent's token account that it was taken from: its USDC account, or another one, of any mint.
    pub source: Pubkey,
    pub mint: Pubkey,
    /// In the mint's smallest unit.
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
    /// How many payments it made.
    pub payments: u64,
    /// What its USDC account still held, in micro-USDC, went to `recipient`.
    pub swept: u64,
    pub recipient: Pubkey,
    pub admin: Pubkey,
}

#[cfg(test)]
mod tests {
    use super::*;
    use anchor_lang::Event;

    #[test]
    fn use_of_a_grant_or_a_budget_is_logged_in_the_bytes_of_its_event() {
        let (agent, number, account) = (Pubkey::from([1; 32]), u64::MAX - 1, Pubkey::from([3; 32]));
        let granted = UsedLog::of::<GrantUsed>(&[1; 32], number, &[3; 32], 4);
        assert_eq!(granted.encoded(), GrantUsed { agent, number, grant: account, left: 4 }.data());
        let budgeted = UsedLog::of::<BudgetUsed>(&[1; 32], number, &[3; 32], 4);
        let event = BudgetUsed { agent, number, budget: account, spent_in_window: 4 };
        assert_eq!(budgeted.encoded(), event.data());
    }

    #[test]
    fn transfer_is_logged_in_the_bytes_of_its_event() {
        for memo in ["", "invoice 7", &"x".repeat(64), &"x".repeat(65), &"🪙".repeat(200)] {
            let log = TransferExecutedLog {
                agent: &[1; 32],
                number: 9,
                transfer_id: &[2; 16],
                amount: u64::MAX,
                recipient: &[4; 32],
                recipient_owner: &[5; 32],
                policy_version: 6,
                spent_in_window: 7,
                memo: memo.as_bytes(),
            };
            let event = TransferExecuted {
                agent: Pubkey::from(*log.agent),
                number: log.number,
                transfer_id: *log.transfer_id,
                amount: log.amount,
                recipient: Pubkey::from(*log.recipient),
                recipient_owner: Pubkey::from(*log.recipient_owner),
                policy_version: log.policy_version,
                spent_in_window: log.spent_in_window,
                memo: memo.into(),
            };
            let mut room = [MaybeUninit::uninit(); TransferExecutedLog::BYTES_MAX];
            assert_eq!(log.encode(&mut room), event.data());
        }
    }
}
