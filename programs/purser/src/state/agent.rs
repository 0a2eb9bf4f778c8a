//! An agent's account: its policy, and what it did lately.

use anchor_lang::prelude::*;
use purser_policy::{Address, Allowlist, Limit, Policy, RecentTags, SpendWindow, UsdcAmount};

use crate::constants::{AGENT_SEED, DISCRIMINATOR_BYTES, ENTRY_BYTES};
use crate::error::PurserError;

const PAUSED: u8 = 1;
const REQUIRE_MEMO: u8 = 1 << 1;
const HAS_MAX_SINGLE_TRANSFER: u8 = 1 << 2;
const HAS_MAX_DAILY_SPEND: u8 = 1 << 3;
const HAS_ALLOWLIST: u8 = 1 << 4;

/// An agent account. Address: `["agent", operator, agent_id]`.
///
/// The sorted allowlist follows at the tail, 32 bytes an entry: its length is the account's length.
#[account(zero_copy)]
#[derive(Debug, PartialEq, Eq)]
#[repr(C)]
pub struct Agent {
    pub version: u8,
    pub bump: u8,
    /// Bit 0 paused, 1 memo required, 2 `max_single_transfer` applies, 3 `max_daily_spend` applies, 4 allowlist applies.
    pub flags: u8,
    pub reserved: u8,
    /// Grows by one with each change of the policy.
    pub policy_version: u32,
    pub operator: Pubkey,
    pub agent_id: [u8; 16],
    /// Its USDC token account: the associated one.
    pub token_account: Pubkey,
    /// Micro-USDC.
    pub max_single_transfer: u64,
    /// Micro-USDC in any 24 hours.
    pub max_daily_spend: u64,
    /// Unix seconds.
    pub policy_updated_at: i64,
    /// `purser_policy::SpendWindow`: newest second, span count, then 32 spans (first u32, last u32, amount u64).
    pub window: [u64; 66],
    /// `purser_policy::RecentTags`: newest second, how many were ever recorded (the next one's place, modulo 16), then 16
    /// tags, then their 16 seconds (u32).
    pub tags: [u64; 26],
}

// At 5,080 lamports a byte, this and a token account cost less than 0.0065 SOL.
const _: () = assert!(Agent::BYTES == 856);

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

    pub fn is_paused(&self) -> bool {
        self.has(PAUSED)
    }

    /// The policy, with the allowlist at the account's `tail`.
    #[inline]
    pub fn policy<'a>(&self, tail: &'a [u8]) -> Policy<'a> {
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
                true => Allowlist::Only(entries(tail)),
                false => Allowlist::Anyone,
            },
        }
    }

    /// Replaces the whole policy but for the allowlist's entries, which stand at the account's tail.
    pub fn set_policy(&mut self, policy: &Policy, now: i64) -> Result<()> {
        let (single, has_single) = micros(policy.max_single_transfer);
        let (daily, has_daily) = micros(policy.max_daily_spend);
        self.max_single_transfer = single;
        self.max_daily_spend = daily;
        self.flags = flag(PAUSED, policy.paused)
            | flag(REQUIRE_MEMO, policy.require_memo)
            | flag(HAS_MAX_SINGLE_TRANSFER, has_single)
            | flag(HAS_MAX_DAILY_SPEND, has_daily)
            | flag(HAS_ALLOWLIST, policy.allowlist != Allowlist::Anyone);
        self.policy_changed(now)
    }

    pub fn set_paused(&mut self, paused: bool, now: i64) -> Result<()> {
        self.flags = (self.flags & !PAUSED) | flag(PAUSED, paused);
        self.policy_changed(now)
    }

    fn policy_changed(&mut self, now: i64) -> Result<()> {
        self.policy_version =
            self.policy_version.checked_add(1).ok_or(PurserError::PolicyVersionExhausted)?;
        self.policy_updated_at = now;
        Ok(())
    }

    /// The seeds that sign for the account; `bump` holds its bump.
    pub fn signer_seeds<'a>(&'a self, bump: &'a [u8; 1]) -> [&'a [u8]; 4] {
        [AGENT_SEED, self.operator.as_ref(), &self.agent_id, bump]
    }

    fn has(&self, flag: u8) -> bool {
        self.flags & flag != 0
    }

    /// Reads the data of an account that the program owns, as an RPC node returns it.
    pub fn read(data: &[u8]) -> Option<AgentView> {
        let body = data.strip_prefix(Self::DISCRIMINATOR)?;
        let agent = bytemuck::try_pod_read_unaligned(body.get(..core::mem::size_of::<Self>())?).ok()?;
        Some(AgentView { agent, entries: entries(data.get(Self::BYTES..)?).to_vec() })
    }
}

/// An agent account read off chain.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AgentView {
    pub agent: Agent,
    entries: Vec<Address>,
}

impl AgentView {
    pub fn policy(&self) -> Policy<'_> {
        self.agent.policy(bytemuck::cast_slice(&self.entries))
    }
}

/// The whole entries in an account's tail.
#[inline]
fn entries(tail: &[u8]) -> &[Address] {
    let whole = tail.len() - tail.len() % ENTRY_BYTES;
    tail.get(..whole).and_then(|tail| bytemuck::try_cast_slice(tail).ok()).unwrap_or(&[])
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
