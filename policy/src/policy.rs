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

/// Gives `$then` the fields of a policy beside its allowlist, limits first: all structs of them are made from this list.
#[macro_export]
macro_rules! rule_fields {
    ($then:ident) => {
        $then! {
            limits {
                /// Most of a single transfer.
                max_single_transfer,
                /// Most that may leave in any 24 hours.
                max_daily_spend,
            }
            flags {
                /// Whether a transfer needs a memo.
                require_memo,
                /// Whether nothing may leave.
                paused,
            }
        }
    };
}

macro_rules! policy_over {
    (
        limits { $($(#[$limit_doc:meta])* $limit:ident,)* }
        flags { $($(#[$flag_doc:meta])* $flag:ident,)* }
    ) => {
        /// An agent account's spending policy, over an allowlist in whatever form it is held.
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
        pub struct PolicyOver<A> {
            $($(#[$limit_doc])* pub $limit: Limit,)*
            $($(#[$flag_doc])* pub $flag: bool,)*
            pub allowlist: A,
        }

        impl<A> PolicyOver<A> {
            /// Returns the same limits over another allowlist.
            pub const fn over<B>(&self, allowlist: B) -> PolicyOver<B> {
                PolicyOver { $($limit: self.$limit,)* $($flag: self.$flag,)* allowlist }
            }
        }

        impl Policy<'_> {
            /// The defaults: no limits, everyone may be paid, no memo needed, not paused.
            pub const OPEN: Policy<'static> =
                Policy { $($limit: Limit::Unlimited,)* $($flag: false,)* allowlist: Allowlist::Anyone };

            /// Returns whether this policy allows anything that `current` refuses: a higher limit, another recipient, no memo where one
            /// is required, payments while they are paused. Such a change waits if the operator has set a delay.
            pub fn loosens(&self, current: &Policy) -> bool {
                $(self.$limit.is_above(current.$limit))||*
                    // A flag that is on refuses payments.
                    $(|| (current.$flag && !self.$flag))*
                    || self.allowlist.adds_to(&current.allowlist)
            }
        }
    };
}

rule_fields!(policy_over);

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

impl Policy<'_> {
    /// Whether no payment passes it, whoever asks and whatever left before.
    pub fn refuses_all(&self) -> bool {
        let nothing = |limit| limit == Limit::AtMost(UsdcAmount::ZERO);
        let nobody = self.allowlist != Allowlist::Anyone && self.allowlist.entries() == (&[], &[]);
        self.paused || nothing(self.max_single_transfer) || nothing(self.max_daily_spend) || nobody
    }
}
