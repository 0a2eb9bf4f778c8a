use super::{AccountId, RejectionReason, Timestamp, UsdcAmount};

/// What an account's transfers of one day paid.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PaidInDay {
    pub account_id: AccountId,
    /// The beginning of the day, in UTC.
    pub day: Timestamp,
    pub amount: UsdcAmount,
    pub payments: u64,
}

/// How many of an account's transfers were refused for a reason.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Refusals {
    pub account_id: AccountId,
    pub reason: RejectionReason,
    pub count: u64,
}
