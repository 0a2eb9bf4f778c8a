use anchor_lang::prelude::*;
use purser_policy::{Limit, PolicyOver};

/// The rules of a policy beside its allowlist, as arguments and events hold them. Amounts in micro-USDC; `None` is no limit.
#[derive(AnchorSerialize, AnchorDeserialize, Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rules {
    pub max_single_transfer: Option<u64>,
    pub max_daily_spend: Option<u64>,
    pub require_memo: bool,
    pub paused: bool,
}

impl Rules {
    /// No limits, no memo needed, not paused.
    pub const OPEN: Self =
        Self { max_single_transfer: None, max_daily_spend: None, require_memo: false, paused: false };

    /// The policy of these rules and an allowlist.
    #[inline(always)]
    pub const fn over<A>(&self, allowlist: A) -> PolicyOver<A> {
        PolicyOver {
            max_single_transfer: Limit::of_micros(self.max_single_transfer),
            max_daily_spend: Limit::of_micros(self.max_daily_spend),
            require_memo: self.require_memo,
            paused: self.paused,
            allowlist,
        }
    }
}

impl<A> From<&PolicyOver<A>> for Rules {
    fn from(policy: &PolicyOver<A>) -> Self {
        Self {
            max_single_transfer: policy.max_single_transfer.micros(),
            max_daily_spend: policy.max_daily_spend.micros(),
            require_memo: policy.require_memo,
            paused: policy.paused,
        }
    }
}
