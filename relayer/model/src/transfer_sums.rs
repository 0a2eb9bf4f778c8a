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

/// What an account paid to one token account.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct PaidToPayee {
    /// Payments, the newest [`Self::COUNT_MAX`] at most.
    pub count: u64,
    /// What these add up to.
    pub amount: UsdcAmount,
    /// When the last of them was made.
    pub last_at: Option<Timestamp>,
}

impl PaidToPayee {
    /// More are not counted.
    pub const COUNT_MAX: u64 = 10_000;
}
