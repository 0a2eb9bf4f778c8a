//! An account's limits and what is left of them, as they are answered.

use serde::Serialize;
use utoipa::ToSchema;

use purser_core::MonthCap;
use purser_model::wire::schema::{Text, Usdc};
use purser_model::{AccountId, BudgetId, Timestamp, UsdcAmount};
use purser_policy::SpendWindow;

/// What frees any room at all.
const LEAST: UsdcAmount = UsdcAmount::from_micros(1);

/// An account's limits and what is left of them. Amounts are decimal strings; `null` where there is no limit.
#[derive(Debug, Clone, Copy, Serialize, ToSchema)]
pub struct Limits {
    pub account_id: AccountId,
    pub max_single_transfer: SingleLimit,
    pub max_daily_spend: DailyLimit,
    pub max_30_day_spend: MonthLimit,
    /// What the account pays through together with others; `null` without a budget.
    #[schema(required)]
    pub budget: Option<BudgetLimit>,
}

/// Of each transfer by itself.
#[derive(Debug, Clone, Copy, Serialize, ToSchema)]
pub struct SingleLimit {
    /// Most of a single transfer.
    #[schema(required)]
    pub limit: Option<Usdc>,
    /// The same: no transfer uses it up.
    #[schema(required)]
    remaining: Option<Usdc>,
}

/// Of a rolling window of 24 hours.
#[derive(Debug, Clone, Copy, Serialize, ToSchema)]
pub struct DailyLimit {
    /// Most that may leave in any 24 hours.
    #[schema(required)]
    pub limit: Option<Usdc>,
    /// What left in the last 24 hours.
    pub used: Usdc,
    /// What may still leave now.
    #[schema(required)]
    pub remaining: Option<Usdc>,
    /// When the oldest of it stops counting; `null` when nothing counts.
    #[schema(required)]
    pub frees_at: Option<Timestamp>,
}

/// Of 30 days, by calendar days in UTC: a spend counts for 30 days and for less than a day longer.
#[derive(Debug, Clone, Copy, Default, Serialize, ToSchema)]
pub struct MonthLimit {
    /// Most that may leave in any 30 days.
    #[schema(required)]
    pub limit: Option<Usdc>,
    /// What left in the last 30 days; `null` for an account without this limit, of which nothing is counted.
    #[schema(required)]
    pub used: Option<Usdc>,
    /// What may still leave now.
    #[schema(required)]
    pub remaining: Option<Usdc>,
    /// When the oldest of it stops counting; `null` when nothing counts.
    #[schema(required)]
    pub frees_at: Option<Timestamp>,
}

/// Of the account's budget. What other accounts paid through it counts too.
#[derive(Debug, Clone, Copy, Serialize, ToSchema)]
pub struct BudgetLimit {
    pub budget_id: BudgetId,
    pub max_daily_spend: DailyLimit,
    pub max_30_day_spend: MonthLimit,
}

impl SingleLimit {
    pub(super) fn of(limit: Option<UsdcAmount>) -> Self {
        Self { limit: limit.map(Text), remaining: limit.map(Text) }
    }
}

impl DailyLimit {
    pub(super) fn of(limit: Option<UsdcAmount>, window: &SpendWindow, now: i64) -> Self {
        let used = window.spent(now);
        // This much fits as soon as the oldest spend stops counting.
        let frees_at = window.frees_at(now, used, LEAST);
        Self {
            limit: limit.map(Text),
            used: Text(used),
            remaining: limit.map(|limit| Text(limit.saturating_sub(used))),
            frees_at: frees_at.map(Timestamp::from_unix_seconds),
        }
    }

    /// Of a budget that is closed: nothing leaves through it.
    pub(super) fn closed() -> Self {
        let zero = Text(UsdcAmount::ZERO);
        Self { limit: Some(zero), used: zero, remaining: Some(zero), frees_at: None }
    }
}

impl MonthLimit {
    pub(super) fn of(limit: Option<UsdcAmount>, window: MonthCap, now: i64) -> Self {
        let used = window.used(now);
        let oldest = MonthCap { cap: used, ..window };
        Self {
            limit: limit.map(Text),
            used: Some(Text(used)),
            remaining: limit.map(|limit| Text(limit.saturating_sub(used))),
            frees_at: oldest.frees_at(now, LEAST).map(Timestamp::from_unix_seconds),
        }
    }

    pub(super) fn closed() -> Self {
        Self { used: Some(Text(UsdcAmount::ZERO)), ..Self::default() }
    }
}
