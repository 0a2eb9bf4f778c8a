//! An agent's account: its policy, and what it did lately.

use anchor_lang::prelude::*;
use purser_policy::{Allowlist, Limit, Policy, RecentTags, SpendWindow, UsdcAmount};

use crate::constants::{AGENT_SEED, DISCRIMINATOR_BYTES};
use crate::error::PurserError;

use super::tail::read_tail;

const PAUSED: u8 = 1;
const REQUIRE_MEMO: u8 = 1 << 1;
const HAS_MAX_SINGLE_TRANSFER: u8 = 1 << 2;
const HAS_MAX_DAILY_SPEND: u8 = 1 << 3;
const HAS_ALLOWLIST: u8 = 1 << 4;

/// Words of a [`SpendWindow`] and of [`RecentTags`].
const WINDOW_WORDS: usize = size_of::<SpendWindow>() / 8;
const TAGS_WORDS: usize = size_of::<RecentTags>() / 8;

/// A policy without its allowlist's entries, as accounts store it.
#[zero_copy]
#[derive(Debug, PartialEq, Eq)]
#[repr(C)]
pub struct StoredPolicy {
    /// Micro-USDC.
    pub max_single_transfer: u64,
    /// Micro-USDC in any 24 hours.
    pub max_daily_spend: u64,
    /// How many of the entries at the account's tail are wallets; token accounts follow.
    pub wallet_count: u16,
    /// Bit 0 paused, 1 memo required, 2 `max_single_transfer` applies, 3 `max_daily_spend` applies, 4 allowlist applies.
    pub flags: u8,
    pub reserved: [u8; 5],
}

/// An agent account. Address: `["agent", operator, agent_id]`.
///
/// The allowlist follows at the tail, 32 bytes an entry: sorted wallets, then sorted token accounts.
#[account(zero_copy)]
#[derive(Debug, PartialEq, Eq)]
#[repr(C)]
pub struct Agent {
    pub version: u8,
    pub bump: u8,
    /// Not 0: halted, by the `Role` with this number.
    pub halted_by: u8,
    /// Raised to void every open grant at once, and whenever the account is created over a closed one. Grants end within 30
    /// days, so that a number that comes back finds none.
    pub grant_epoch: u8,
    /// Grows by one with each change of the policy.
    pub policy_version: u32,
    pub operator: Pubkey,
    pub agent_id: [u8; 16],
    /// Its USDC token account: the associated one.
    pub token_account: Pubkey,
    /// Gets the rent of this account and its token account back: named by who paid it, changed by itself alone.
    pub rent_refund: Pubkey,
    /// Unix seconds.
    pub policy_updated_at: i64,
    pub policy: StoredPolicy,
    /// `purser_policy::SpendWindow`.
    pub window: [u64; WINDOW_WORDS],
    /// `purser_policy::RecentTags`: how many were ever recorded (the number of the newest payment; the next one's place,
    /// modulo 16), then 16 tags, then their 16 seconds (u32).
    pub tags: [u64; TAGS_WORDS],
}

// At 5,080 lamports a byte, this and a token account cost less than 0.0065 SOL.
const _: () = assert!(Agent::BYTES == 856);

impl StoredPolicy {
    /// `limits`: single transfer, daily spend. `wallet_count`: `None` where anyone may be paid.
    pub fn new(limits: [Limit; 2], require_memo: bool, paused: bool, wallet_count: Option<u16>) -> Self {
        let [(max_single_transfer, has_single), (max_daily_spend, has_daily)] = limits.map(micros);
        Self {
            max_single_transfer,
            max_daily_spend,
            wallet_count: wallet_count.unwrap_or(0),
            flags: flag(PAUSED, paused)
                | flag(REQUIRE_MEMO, require_memo)
                | flag(HAS_MAX_SINGLE_TRANSFER, has_single)
                | flag(HAS_MAX_DAILY_SPEND, has_daily)
                | flag(HAS_ALLOWLIST, wallet_count.is_some()),
            reserved: [0; 5],
        }
    }

    /// The policy, with the allowlist at the account's `tail`.
    #[inline(always)]
    pub fn with<'a>(&self, tail: &'a [u8]) -> Policy<'a> {
        let limit = |flag, micros| match self.has(flag) {
            true => Limit::AtMost(UsdcAmount::from_micros(micros)),
            false => Limit::Unlimited,
        };
        Policy {
            max_single_transfer: limit(HAS_MAX_SINGLE_TRANSFER, self.max_single_transfer),
            max_daily_spend: limit(HAS_MAX_DAILY_SPEND, self.max_daily_spend),
            require_memo: self.has(REQUIRE_MEMO),
            paused: self.is_paused(),
            allowlist: match self.has(HAS_ALLOWLIST) {
                true => read_tail(tail, self.wallet_count),
                false => Allowlist::Anyone,
            },
        }
    }

    pub fn is_paused(&self) -> bool {
        self.has(PAUSED)
    }

    pub fn set_paused(&mut self, paused: bool) {
        self.flags = (self.flags & !PAUSED) | flag(PAUSED, paused);
    }

    fn has(&self, flag: u8) -> bool {
        self.flags & flag != 0
    }
}

impl From<&Policy<'_>> for StoredPolicy {
    fn from(policy: &Policy) -> Self {
        let wallet_count = match policy.allowlist {
            Allowlist::Anyone => None,
            Allowlist::Only(_) => Some(policy.allowlist.entries().0.len() as u16),
        };
        let limits = [policy.max_single_transfer, policy.max_daily_spend];
        Self::new(limits, policy.require_memo, policy.paused, wallet_count)
    }
}

impl Agent {
    /// Length of the account's data without allowlist entries.
    pub const BYTES: usize = DISCRIMINATOR_BYTES + core::mem::size_of::<Self>();

    pub fn window(&self) -> &SpendWindow {
        bytemuck::must_cast_ref(&self.window)
    }

    pub fn tags(&self) -> &RecentTags {
        bytemuck::must_cast_ref(&self.tags)
    }

    pub fn ledger_mut(&mut self) -> (&mut SpendWindow, &mut RecentTags) {
        (bytemuck::must_cast_mut(&mut self.window), bytemuck::must_cast_mut(&mut self.tags))
    }

    /// Counts a change of the policy.
    pub fn policy_changed(&mut self, now: i64) -> Result<()> {
        self.policy_version =
            self.policy_version.checked_add(1).ok_or(PurserError::PolicyVersionExhausted)?;
        self.policy_updated_at = now;
        Ok(())
    }

    pub fn check_operator(&self, operator: &Pubkey) -> Result<()> {
        require_keys_eq!(self.operator, *operator, PurserError::WrongOperator);
        Ok(())
    }

    /// The seeds that sign for the account; `bump` holds its bump.
    pub fn signer_seeds<'a>(&'a self, bump: &'a [u8; 1]) -> [&'a [u8]; 4] {
        [AGENT_SEED, self.operator.as_ref(), &self.agent_id, bump]
    }

    /// Reads the data of an account that the program owns, as an RPC node returns it.
    pub fn read(data: &[u8]) -> Option<AgentView> {
        Some(AgentView { agent: super::read_body(data)?, tail: data.get(Self::BYTES..)?.to_vec() })
    }
}

/// An agent account read off chain.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AgentView {
    pub agent: Agent,
    tail: Vec<u8>,
}

impl AgentView {
    pub fn policy(&self) -> Policy<'_> {
        self.agent.policy.with(&self.tail)
    }
}

fn micros(limit: Limit) -> (u64, bool) {
    match limit {
        Limit::AtMost(amount) => (amount.micros(), true),
        Limit::Unlimited => (0, false),
    }
}

fn flag(bit: u8, set: bool) -> u8 {
    if set {
        bit
    } else {
        0
    }
}
