//! What an operator allows an agent.

use crate::{Allowlist, UsdcAmount};

/// Most characters (Unicode scalar values, not bytes) that a memo may have.
pub const MEMO_CHARS_MAX: usize = 200;

/// An upper bound on an amount.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Limit {
    Unlimited,
    AtMost(UsdcAmount),
}

/// An agent account's spending policy. A new account has [`Policy::OPEN`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Policy<'a> {
    pub max_single_transfer: Limit,
    /// Most that may leave in any 24 hours.
    pub max_daily_spend: Limit,
    pub require_memo: bool,
    pub paused: bool,
    pub allowlist: Allowlist<'a>,
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
}
