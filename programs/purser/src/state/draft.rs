//! A whole policy on its way: because its allowlist is too long for one transaction, or because it loosens something and
//! has to wait. Written in parts, sealed once it is complete, applied at once.

use anchor_lang::prelude::*;
use purser_policy::Policy;
use solana_program::hash::hashv;

use crate::constants::{DISCRIMINATOR_BYTES, ENTRY_BYTES};
use crate::error::PurserError;

use super::agent::StoredPolicy;
use super::operator::Operator;

/// A draft. Address: `["draft", agent]`. Room for `entry_count` entries follows at the tail.
#[account(zero_copy)]
#[derive(Debug, PartialEq, Eq)]
#[repr(C)]
pub struct PolicyDraft {
    pub version: u8,
    pub bump: u8,
    /// Wallets and token accounts.
    pub entry_count: u16,
    /// Entries written so far.
    pub written: u16,
    /// 1 once it is complete: from here on it does not change any more.
    pub sealed: u8,
    pub reserved: u8,
    /// Unix seconds.
    pub sealed_at: i64,
    /// The policy version that it was written against: once the policy changes, it can only be dropped.
    pub expected_version: u32,
    /// The operator's loosening delay at the moment of the seal.
    pub sealed_delay_seconds: u32,
    pub agent: Pubkey,
    /// Gets the rent of this account back: named by who paid it.
    pub rent_refund: Pubkey,
    /// What it was opened for ([`PolicyDraft::hash_of`]). It can be sealed with this content alone.
    pub hash: [u8; 32],
    pub policy: StoredPolicy,
}

const _: () = assert!(core::mem::size_of::<PolicyDraft>() == 144);

impl PolicyDraft {
    pub const BYTES: usize = DISCRIMINATOR_BYTES + core::mem::size_of::<Self>();

    /// Length of the account's data.
    pub const fn bytes(entry_count: u16) -> usize {
        Self::BYTES + entry_count as usize * ENTRY_BYTES
    }

    pub fn is_sealed(&self) -> bool {
        self.sealed != 0
    }

    /// How long it waits where it loosens anything: the longer of the operator's delays, at its seal and now. `None`: for
    /// ever, because it was sealed while nothing had to wait, and now something has to.
    pub fn waits_seconds(&self, operator: &Operator) -> Option<u32> {
        waits_seconds(self.sealed_delay_seconds, operator.loosening_delay_seconds)
    }

    /// The first second at which it can be applied where it loosens anything.
    pub fn loosens_at(&self, operator: &Operator) -> Option<i64> {
        let waits = i64::from(self.waits_seconds(operator)?);
        Some(self.sealed_at.saturating_add(waits))
    }

    /// That it is the draft of `agent` with this `hash`.
    pub fn check(&self, agent: &Pubkey, hash: &[u8; 32]) -> Result<()> {
        ensure!(self.agent == *agent && self.hash == *hash, PurserError::DraftMismatch);
        Ok(())
    }

    /// Names a proposal: this policy, for this agent, against this version of its policy. SHA-256 of the agent's address,
    /// `expected_version` (u32), the entry count (u16), the stored policy (24 bytes) and the entries, little-endian.
    pub fn hash_of(agent: &Pubkey, expected_version: u32, policy: &Policy) -> [u8; 32] {
        let (wallets, token_accounts) = policy.allowlist.entries();
        let entry_count = (wallets.len() + token_accounts.len()) as u16;
        hashv(&[
            agent.as_ref(),
            &expected_version.to_le_bytes(),
            &entry_count.to_le_bytes(),
            bytemuck::bytes_of(&StoredPolicy::from(policy)),
            bytemuck::cast_slice(wallets),
            bytemuck::cast_slice(token_accounts),
        ])
        .to_bytes()
    }

    /// Reads the data of an account that the program owns, as an RPC node returns it.
    pub fn read(data: &[u8]) -> Option<DraftView> {
        Some(DraftView { draft: super::read_body(data)?, tail: data.get(Self::BYTES..)?.to_vec() })
    }
}

/// [`PolicyDraft::waits_seconds`] by the operator's delays at the seal and now.
pub fn waits_seconds(then: u32, now: u32) -> Option<u32> {
    match (then, now) {
        (0, 1..) => None,
        (then, now) => Some(then.max(now)),
    }
}

/// A draft read off chain.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DraftView {
    pub draft: PolicyDraft,
    tail: Vec<u8>,
}

impl DraftView {
    pub fn policy(&self) -> Policy<'_> {
        self.draft.policy.with(&self.tail)
    }
}
