use serde::Serialize;
use utoipa::ToSchema;

use super::wire::schema::{Usdc, as_text};
use super::{AccountId, Timestamp, UsdcAmount};

/// What an account's transfers of one day paid.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PaidInDay {
    pub account_id: AccountId,
    /// The beginning of the day, in UTC.
    pub day: Timestamp,
    pub amount: UsdcAmount,
    pub payments: u64,
}

/// Settled payments from the account to one token account: the newest 10,000 at most.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, ToSchema)]
pub struct PaidBefore {
    /// How many there are.
    #[schema(maximum = 10000)]
    pub count: u64,
    /// What they add up to.
    #[serde(rename = "usdc", serialize_with = "as_text")]
    #[schema(value_type = Usdc)]
    pub amount: UsdcAmount,
    /// When the last one was made; `null` without any.
    #[schema(required)]
    pub last_at: Option<Timestamp>,
}

impl PaidBefore {
    /// More are not counted.
    pub const COUNT_MAX: u64 = 10_000;
}
