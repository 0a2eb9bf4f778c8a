//! An agent's account: its policy, and what it did lately.

use anchor_lang::prelude::*;
use purser_policy::{Allowlist, MonthWindow, PaidTags, Policy, SpendWindow, TagBucket, UsdcAmount};

use crate::constants::{AGENT_SEED, DISCRIMINATOR_BYTES, ENTRY_BYTES};
use crate::error::PurserError;

use super::rules::Rules;
use super::tail::read_tail;

const PAUSED: u8 = 1;
const REQUIRE_MEMO: u8 = 1 << 1;
const HAS_MAX_SINGLE_TRANSFER: u8 = 1 << 2;
const HAS_MAX_DAILY_SPEND: u8 = 1 << 3;
const HAS_ALLOWLIST: u8 = 1 << 4;

/// Bits of [`StoredPolicy::bounds`].
const BY_GRANT_ONLY: u8 = 1;
const HAS_MONTH: u8 = 1 << 1;
const HAS_BUDGET: u8 = 1 << 2;

/// Words of a [`SpendWindow`].
pub(super) const WINDOW_WORDS: usize = size_of::<SpendWindow>() / 8;

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
    /// Of an agent, [`Bounds`], which a new policy keeps; of a draft 0. Not 0: `transfer` and `transfer_checked` pay nothing.
    pub bounds: u8,
    /// Of an agent, how many buckets of tags end its account, which a new policy keeps; of a draft 0.
    pub tag_buckets: u16,
    /// Of an agent, how many token accounts follow the wallets; of a draft 0.
    pub token_account_count: u16,
}

purser_policy::bounds! {
    /// The bounds of an agent beside its policy. A new policy keeps them. Amounts in micro-USDC.
    #[derive(AnchorSerialize, AnchorDeserialize, Clone, Copy, Debug, Default, PartialEq, Eq)]
    Bounds, u64, Pubkey
}

/// Stands between an agent and its allowlist where it has a cap for 30 days.
#[zero_copy]
#[derive(Debug, PartialEq, Eq)]
#[repr(C)]
pub struct Month {
    /// Micro-USDC.
    pub cap: u64,
    /// `purser_policy::MonthWindow`: the newest day with a spend, then the sums of 31 days, each at its number modulo 31.
    pub window: [u64; MONTH_WORDS],
}

pub(super) const MONTH_WORDS: usize = size_of::<MonthWindow>() / 8;

impl Month {
    pub fn window(&self) -> &MonthWindow {
        bytemuck::must_cast_ref(&self.window)
    }

    pub fn window_mut(&mut self) -> &mut MonthWindow {
        bytemuck::must_cast_mut(&mut self.window)
    }
}

/// An agent account. Address: `["agent", operator, agent_id]`.
///
/// A [`Month`] and the address of a budget follow where `policy.bounds` says so, then the allowlist, 32 bytes an entry: sorted wallets, then sorted token
/// accounts. The last [`TagBucket`]s, as many as `policy.tag_buckets` says, hold the tags of all payments of the last 25 hours. The
/// body says how long each part is, so a slice of the account's data can be read.
#[account(zero_copy)]
#[derive(Debug, PartialEq, Eq)]
#[repr(C)]
pub struct Agent {
    pub version: u8,
    pub bump: u8,
    /// Not 0: halted, by the `Role` with this number.
    pub halted_by: u8,
    pub reserved: u8,
    /// Grows by one with each change of the policy.
    pub policy_version: u32,
    pub operator: Pubkey,
    pub agent_id: [u8; 16],
    /// Its USDC token account: the associated one.
    pub token_account: Pubkey,
    /// Gets the rent of this account and its token account back: named by who paid it, changed by itself alone.
    pub rent_refund: Pubkey,
    /// Unix second.
    pub policy_updated_at: u32,
    /// Unix second by the account's clock; only ever raised. A grant that was opened then or earlier pays nothing. The second of
    /// a closed account is carried over by whatever is created at its address.
    pub voided_at: u32,
    pub policy: StoredPolicy,
    /// `purser_policy::SpendWindow`.
    pub window: [u64; WINDOW_WORDS],
    /// How many payments were ever made: the number of the newest one.
    pub payments: u64,
}

// At 5,080 lamports a byte, this with its first bucket and a token account cost less than 0.0065 SOL.
const _: () = assert!(Agent::BYTES + size_of::<TagBucket>() == 856);

impl StoredPolicy {
    /// `wallet_count`: `None` where anyone may be paid.
    pub fn new(rules: &Rules, wallet_count: Option<u16>) -> Self {
        Self {
            max_single_transfer: rules.max_single_transfer.unwrap_or(0),
            max_daily_spend: rules.max_daily_spend.unwrap_or(0),
            wallet_count: wallet_count.unwrap_or(0),
            flags: flag(PAUSED, rules.paused)
                | flag(REQUIRE_MEMO, rules.require_memo)
                | flag(HAS_MAX_SINGLE_TRANSFER, rules.max_single_transfer.is_some())
                | flag(HAS_MAX_DAILY_SPEND, rules.max_daily_spend.is_some())
                | flag(HAS_ALLOWLIST, wallet_count.is_some()),
            bounds: 0,
            token_account_count: 0,
            tag_buckets: 0,
        }
    }

    /// The policy, with the allowlist at the account's `tail`.
    #[inline(always)]
    pub fn with<'a>(&self, tail: &'a [u8]) -> Policy<'a> {
        let limit = |flag, micros| self.has(flag).then_some(micros);
        let rules = Rules {
            max_single_transfer: limit(HAS_MAX_SINGLE_TRANSFER, self.max_single_transfer),
            max_daily_spend: limit(HAS_MAX_DAILY_SPEND, self.max_daily_spend),
            require_memo: self.has(REQUIRE_MEMO),
            paused: self.is_paused(),
        };
        rules.over(match self.has(HAS_ALLOWLIST) {
            true => read_tail(tail, self.wallet_count),
            false => Allowlist::Anyone,
        })
    }

    pub fn is_paused(&self) -> bool {
        self.has(PAUSED)
    }

    pub fn set_paused(&mut self, paused: bool) {
        self.flags = (self.flags & !PAUSED) | flag(PAUSED, paused);
    }

    /// Whether only `transfer_extended` pays.
    #[inline(always)]
    pub fn is_bounded(&self) -> bool {
        self.bounds != 0
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
        Self::new(&policy.into(), wallet_count)
    }
}

impl Agent {
    /// Length of the account's data without bounds, allowlist entries and tags.
    pub const BYTES: usize = DISCRIMINATOR_BYTES + core::mem::size_of::<Self>();

    pub fn window(&self) -> &SpendWindow {
        bytemuck::must_cast_ref(&self.window)
    }

    pub fn window_mut(&mut self) -> &mut SpendWindow {
        bytemuck::must_cast_mut(&mut self.window)
    }

    /// Bytes at the account's end that hold tags.
    #[inline(always)]
    pub fn tags_bytes(&self) -> usize {
        usize::from(self.policy.tag_buckets) * size_of::<TagBucket>()
    }

    /// Bytes between the agent and its tags: bounds and allowlist.
    pub fn front_bytes(&self) -> usize {
        let StoredPolicy { wallet_count, token_account_count, .. } = self.policy;
        self.list_at() + (usize::from(wallet_count) + usize::from(token_account_count)) * ENTRY_BYTES
    }

    /// What follows the agent, without the tags at its end.
    pub fn front<'a>(&self, tail: &'a [u8]) -> &'a [u8] {
        tail.get(..self.front_bytes()).unwrap_or(&[])
    }

    /// The account's clock: the chain's, but never before the newest payment.
    #[inline(always)]
    pub fn clock(&self, chain: i64) -> i64 {
        self.window().effective(chain)
    }

    /// Voids every grant that was opened until now, and returns the second of that.
    pub fn void_grants(&mut self, chain: i64) -> u32 {
        self.voided_at = self.voided_at.max(second(self.clock(chain)));
        self.voided_at
    }

    /// Puts another policy in force, within the same bounds.
    pub fn set_policy(&mut self, policy: &Policy) {
        let StoredPolicy { bounds, tag_buckets, .. } = self.policy;
        let token_account_count = policy.allowlist.entries().1.len() as u16;
        self.policy = StoredPolicy { bounds, token_account_count, tag_buckets, ..StoredPolicy::from(policy) };
    }

    pub fn pays_by_grant_only(&self) -> bool {
        self.policy.bounds & BY_GRANT_ONLY != 0
    }

    /// `tail`: what follows the agent; here and below, with or without its tags.
    pub fn bounds(&self, tail: &[u8]) -> Bounds {
        Bounds {
            by_grant_only: self.pays_by_grant_only(),
            max_30_day_spend: self.month(tail).map(|month| month.cap),
            budget: self.budget(tail).map(|budget| Pubkey::new_from_array(*budget)),
        }
    }

    /// The list behind these bounds, in the place of `tail`, which is without the tags. A cap that was there keeps what it counted.
    pub fn set_bounds(&mut self, bounds: &Bounds, tail: &[u8]) -> Vec<u8> {
        let month = bounds.max_30_day_spend.map(|cap| match self.month(tail) {
            Some(month) => Month { cap, ..month },
            None => Month { cap, window: [0; MONTH_WORDS] },
        });
        let list = self.list(tail);
        self.policy.bounds = flag(BY_GRANT_ONLY, bounds.by_grant_only)
            | flag(HAS_MONTH, month.is_some())
            | flag(HAS_BUDGET, bounds.budget.is_some());
        let month = month.as_ref().map_or(&[][..], bytemuck::bytes_of);
        let budget = bounds.budget.as_ref().map_or(&[][..], |budget| budget.as_ref());
        [month, budget, list].concat()
    }

    /// Bytes of the tail before the allowlist.
    pub fn list_at(&self) -> usize {
        let budget = if self.policy.bounds & HAS_BUDGET != 0 { ENTRY_BYTES } else { 0 };
        self.month_bytes() + budget
    }

    fn month_bytes(&self) -> usize {
        if self.policy.bounds & HAS_MONTH != 0 {
            size_of::<Month>()
        } else {
            0
        }
    }

    /// The part of `tail`, without the tags, that holds the allowlist.
    pub fn list<'a>(&self, tail: &'a [u8]) -> &'a [u8] {
        tail.get(self.list_at()..).unwrap_or(&[])
    }

    /// The cap for 30 days at the beginning of `tail`.
    pub fn month(&self, tail: &[u8]) -> Option<Month> {
        let bytes = tail.get(..self.month_bytes()).filter(|bytes| !bytes.is_empty())?;
        bytemuck::try_pod_read_unaligned(bytes).ok()
    }

    /// The budget that it pays through, behind that cap.
    pub fn budget<'a>(&self, tail: &'a [u8]) -> Option<&'a [u8; 32]> {
        let has = self.policy.bounds & HAS_BUDGET != 0;
        tail.get(self.month_bytes()..)?.first_chunk().filter(|_| has)
    }

    /// Counts `amount` in the cap for 30 days at the beginning of `tail`, if there is one. What no longer fits is refused.
    #[inline(never)]
    #[cfg_attr(hot_path, optimize(speed))]
    pub fn count_month(
        &self,
        tail: &mut [u8],
        amount: UsdcAmount,
        now: i64,
    ) -> core::result::Result<(), PurserError> {
        let Some(mut month) = self.month(tail) else { return Ok(()) };
        let cap = UsdcAmount::from_micros(month.cap);
        if !record_in_month(month.window_mut(), cap, amount, now) {
            return Err(PurserError::MonthLimitExceeded);
        }
        if let Some(room) = tail.get_mut(..size_of::<Month>()) {
            room.copy_from_slice(bytemuck::bytes_of(&month));
        }
        Ok(())
    }

    /// Counts a change of the policy.
    pub fn policy_changed(&mut self, now: i64) -> Result<()> {
        self.policy_version =
            self.policy_version.checked_add(1).ok_or(PurserError::PolicyVersionExhausted)?;
        self.policy_updated_at = second(now);
        Ok(())
    }

    pub fn check_operator(&self, operator: &Pubkey) -> Result<()> {
        ensure_same!(self.operator, *operator, PurserError::WrongOperator);
        Ok(())
    }

    /// The seeds that sign for the account; `bump` holds its bump.
    pub fn signer_seeds<'a>(&'a self, bump: &'a [u8; 1]) -> [&'a [u8]; 4] {
        [AGENT_SEED, self.operator.as_ref(), &self.agent_id, bump]
    }

    /// Reads the data of an account that the program owns, as an RPC node returns it: whole, or a slice that begins at 0. `None`
    /// too if the slice ends before the tags.
    pub fn read(data: &[u8]) -> Option<AgentView> {
        let agent: Self = super::read_body(data)?;
        let (front, tags) = data.get(Self::BYTES..)?.split_at_checked(agent.front_bytes())?;
        let buckets = tags.chunks_exact(size_of::<TagBucket>()).map(bytemuck::pod_read_unaligned).collect();
        Some(AgentView { agent, tail: front.to_vec(), buckets })
    }

    /// The length of the whole account's data.
    pub fn data_len(&self) -> usize {
        Self::BYTES + self.front_bytes() + self.tags_bytes()
    }

    /// Where, in the account's data, the bucket with this number begins.
    pub fn bucket_at(&self, bucket: usize) -> usize {
        Self::BYTES + self.front_bytes() + bucket * size_of::<TagBucket>()
    }
}

/// An agent account read off chain.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AgentView {
    pub agent: Agent,
    tail: Vec<u8>,
    buckets: Vec<TagBucket>,
}

impl AgentView {
    pub fn policy(&self) -> Policy<'_> {
        self.agent.policy.with(self.agent.list(&self.tail))
    }

    pub fn bounds(&self) -> Bounds {
        self.agent.bounds(&self.tail)
    }

    pub fn month(&self) -> Option<Month> {
        self.agent.month(&self.tail)
    }

    /// Replaces the tags by those of `other`.
    pub fn copy_tags(&mut self, other: &Self) {
        self.buckets.clone_from(&other.buckets);
    }

    /// `None` if the data that was read is a slice without some of them.
    pub fn tags(&self) -> Option<PaidTags<'_>> {
        let is_whole = self.buckets.len() == usize::from(self.agent.policy.tag_buckets);
        is_whole.then_some(PaidTags(&self.buckets))
    }
}

/// A Unix second as accounts store it: until 2106, when [`asked_at`](purser_policy::is_timely) ends too.
pub fn second(now: i64) -> u32 {
    u32::try_from(now.max(0)).unwrap_or(u32::MAX)
}

/// Records `amount` where no more than `cap` micro-USDC counts in 24 hours with it, and returns what counts then. `None`: it is
/// more, and nothing is recorded. For windows beside an agent's own, of which each payment looks at one at most.
#[inline(never)]
#[cfg_attr(hot_path, optimize(speed))]
pub(super) fn record_within(
    window: &mut SpendWindow,
    cap: u64,
    amount: UsdcAmount,
    now: i64,
) -> Option<UsdcAmount> {
    let spent = window.spent(now).checked_add(amount).filter(|sum| sum.micros() <= cap)?;
    window.record(now, amount);
    Some(spent)
}

/// The same for 30 days. Says whether it recorded it.
#[inline(never)]
#[cfg_attr(hot_path, optimize(speed))]
pub(super) fn record_in_month(
    window: &mut MonthWindow,
    cap: UsdcAmount,
    amount: UsdcAmount,
    now: i64,
) -> bool {
    window.record_within(cap, now, amount)
}

fn flag(bit: u8, set: bool) -> u8 {
    if set {
        bit
    } else {
        0
    }
}
