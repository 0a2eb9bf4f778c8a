//! The spending rule, once: the program on chain and the relayer before it call the same code,
//! so that the answer before signing and the answer on chain cannot differ in kind.
//!
//! No allocation, no IO, no clock: time and state are arguments. Nothing here panics, whatever the input.
//! What owns an allowlist is behind the feature `alloc`, which the program does not have.
#![no_std]
#![forbid(unsafe_code)]

#[cfg(feature = "alloc")]
extern crate alloc;

mod allowlist;
mod amount;
mod bounds;
mod check;
mod grant;
mod month;
#[cfg(feature = "alloc")]
mod owned;
mod policy;
mod rule;
mod tags;
mod violation;
mod waived;
mod warning;
mod window;

pub use allowlist::{Address, Allowlist, Recipients, ALLOWLIST_ENTRIES_MAX};
pub use amount::{AmountError, UsdcAmount, MICROS_PER_USDC};
pub use check::{check, check_granted, explain, AccountState, Cleared, RuleOutcome, TransferRequest};
pub use grant::{Grant, GrantRefusal, Payee};
pub use month::{MonthWindow, MONTH_DAYS};
#[cfg(feature = "alloc")]
pub use owned::{owned, AllowedRecipients, SpendingPolicy};
pub use policy::{AsAllowlist, Limit, Policy, PolicyOver, MEMO_BYTES_MAX};
pub use rule::{Rule, RuleValue};
pub use tags::{
    grow, id_with_tag, is_timely, record, shrink, tag_of, AlreadyPaid, PaidTags, TagBucket, TagPlace,
    BUCKET_SLOTS, REQUEST_AHEAD_SECONDS, REQUEST_SECONDS, TAG_SECONDS,
};
pub use violation::Violation;
pub use waived::Waived;
pub use warning::{budget_warnings, AccountRules, Warning};
pub use window::{SpendWindow, SPANS_MAX, STRETCH_SECONDS_MAX};

/// Length of the rolling window, in seconds. A tag may pay again after as long.
pub const DAY_SECONDS: i64 = 86_400;
