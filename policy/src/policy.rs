//! What an operator allows an agent.

use crate::{Allowlist, UsdcAmount};

/// Most bytes of a memo: what 200 characters of UTF-8 take at most.
pub const MEMO_BYTES_MAX: usize = 800;

/// An upper bound on an amount.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Limit {
    #[default]
    Unlimited,
    AtMost(UsdcAmount),
}

impl Limit {
    /// At most so many micro-USDC; `None` is no limit.
    #[inline(always)]
    pub const fn of_micros(micros: Option<u64>) -> Self {
        match micros {
            None => Self::Unlimited,
            Some(micros) => Self::AtMost(UsdcAmount::from_micros(micros)),
        }
    }

    /// What it was made of by [`Limit::of_micros`].
    pub const fn micros(self) -> Option<u64> {
        match self {
            Self::Unlimited => None,
            Self::AtMost(amount) => Some(amount.micros()),
        }
    }

    /// Returns whether it allows an amount that `other` refuses.
    pub fn is_above(self, other: Self) -> bool {
        match (self, other) {
            (_, Self::Unlimited) => false,
            (Self::Unlimited, Self::AtMost(_)) => true,
            (Self::AtMost(limit), Self::AtMost(other)) => limit > other,
        }
    }
}

/// An agent account's spending policy, over an allowlist in whatever form it is held.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PolicyOver<A> {
    pub max_single_transfer: Limit,
    /// The most that may leave in any 24 hours.
    pub max_daily_spend: Limit,
    pub require_memo: bool,
    pub paused: bool,
    pub allowlist: A,
}

/// The form that transfers are checked against.
pub type Policy<'a> = PolicyOver<Allowlist<'a>>;

/// An allowlist that owns its entries, or holds them in another way.
pub trait AsAllowlist {
    fn as_allowlist(&self) -> Allowlist<'_>;
}

impl AsAllowlist for Allowlist<'_> {
    fn as_allowlist(&self) -> Allowlist<'_> {
        *self
    }
}

impl<A: AsAllowlist> PolicyOver<A> {
    /// The form that transfers are checked against.
    pub fn as_policy(&self) -> Policy<'_> {
        self.over(self.allowlist.as_allowlist())
    }
}

impl<A> PolicyOver<A> {
    /// The same limits over another allowlist.
    pub fn over<B>(&self, allowlist: B) -> PolicyOver<B> {
        PolicyOver {
            max_single_transfer: self.max_single_transfer,
            max_daily_spend: self.max_daily_spend,
            require_memo: self.require_memo,
            paused: self.paused,
            allowlist,
        }
    }
}

impl Policy<'_> {
    /// The defaults: no limits, everyone may be paid, no memo needed, not paused.
    pub const OPEN: Policy<'static> = Policy {
        max_single_transfer: Limit::Unlimited,
        max_daily_spend: Limit::Unlimited,
        require_memo: false,
        paused: false,
        allowlist: Allowlist::Anyone,
    };

    /// Whether no payment passes it, whoever asks and whatever left before.
    pub fn refuses_all(&self) -> bool {
        let nothing = |limit| limit == Limit::AtMost(UsdcAmount::ZERO);
        let nobody = self.allowlist != Allowlist::Anyone && self.allowlist.entries() == (&[], &[]);
        self.paused || nothing(self.max_single_transfer) || nothing(self.max_daily_spend) || nobody
    }

    /// Whether this policy allows anything that `current` refuses: a higher limit, another recipient, no memo where one is
    /// required, payments while they are paused. Such a change waits if the operator has set a delay.
    pub fn loosens(&self, current: &Policy) -> bool {
        self.max_single_transfer.is_above(current.max_single_transfer)
            || self.max_daily_spend.is_above(current.max_daily_spend)
            || (current.require_memo && !self.require_memo)
            || (current.paused && !self.paused)
            || self.allowlist.adds_to(&current.allowlist)
    }
}
