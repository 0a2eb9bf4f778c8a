//! One cap over several agents.

use anchor_lang::prelude::*;
use purser_policy::{MonthWindow, SpendWindow, UsdcAmount};

use crate::constants::DISCRIMINATOR_BYTES;
use crate::error::PurserError;

use super::agent::{record_in_month, record_within, MONTH_WORDS, WINDOW_WORDS};
use super::draft::waits_seconds;
use super::operator::Operator;

/// A budget: what the agents that name it may spend together. Address: `["budget", operator, id: u64 le]`.
#[account(zero_copy)]
#[derive(Debug, PartialEq, Eq)]
#[repr(C)]
pub struct Budget {
    pub version: u8,
    pub bump: u8,
    pub reserved: [u8; 6],
    pub id: u64,
    pub operator: Pubkey,
    /// Micro-USDC in any 24 hours.
    pub max_daily_spend: u64,
    /// Micro-USDC in any 30 days; `u64::MAX` is no cap.
    pub max_30_day_spend: u64,
    /// The caps that wait, where `raised_at` is not 0.
    pub waiting_daily: u64,
    pub waiting_30_day: u64,
    /// Unix seconds; 0: none wait.
    pub raised_at: i64,
    /// The operator's loosening delay at that moment.
    pub raised_delay_seconds: u32,
    pub reserved_too: [u8; 4],
    /// `purser_policy::SpendWindow`.
    pub window: [u64; WINDOW_WORDS],
    /// `purser_policy::MonthWindow`.
    pub month: [u64; MONTH_WORDS],
}

const _: () = assert!(core::mem::size_of::<Budget>() == 848);

/// The caps of a budget, in micro-USDC.
#[derive(AnchorSerialize, AnchorDeserialize, Clone, Copy, Debug, PartialEq, Eq)]
pub struct BudgetCaps {
    pub max_daily_spend: u64,
    pub max_30_day_spend: Option<u64>,
}

impl BudgetCaps {
    fn stored(&self) -> [u64; 2] {
        [self.max_daily_spend, self.max_30_day_spend.unwrap_or(u64::MAX)]
    }

    /// Whether these allow anything that `current` refuse.
    pub fn loosens(&self, current: &Self) -> bool {
        let ([day, month], [current_day, current_month]) = (self.stored(), current.stored());
        day > current_day || month > current_month
    }
}

impl Budget {
    pub const BYTES: usize = DISCRIMINATOR_BYTES + core::mem::size_of::<Self>();

    pub fn window(&self) -> &SpendWindow {
        bytemuck::must_cast_ref(&self.window)
    }

    pub fn month(&self) -> &MonthWindow {
        bytemuck::must_cast_ref(&self.month)
    }

    /// The caps in force at Unix second `now`: a raise that waited long enough needs nobody to apply it.
    pub fn caps(&self, operator: &Operator, now: i64) -> BudgetCaps {
        let is_ripe = self.loosens_at(operator).is_some_and(|at| now >= at);
        let (daily, month) = match is_ripe {
            true => (self.waiting_daily, self.waiting_30_day),
            false => (self.max_daily_spend, self.max_30_day_spend),
        };
        BudgetCaps { max_daily_spend: daily, max_30_day_spend: (month != u64::MAX).then_some(month) }
    }

    /// The first second at which the caps that wait are in force, as with
    /// [`PolicyDraft::waits_seconds`](super::PolicyDraft::waits_seconds). `None`: never, or none wait.
    pub fn loosens_at(&self, operator: &Operator) -> Option<i64> {
        let waits = waits_seconds(self.raised_delay_seconds, operator.loosening_delay_seconds)?;
        (self.raised_at != 0).then(|| self.raised_at.saturating_add(i64::from(waits)))
    }

    /// Puts other caps in force, and drops those that wait. With `waits`, what these raise has to wait; what they lower does
    /// not.
    pub fn set_caps(&mut self, caps: &BudgetCaps, waits: bool, operator: &Operator, now: i64) {
        let ([current_day, current_month], [day, month]) = (self.caps(operator, now).stored(), caps.stored());
        self.raised_at = 0;
        (self.max_daily_spend, self.max_30_day_spend) = (day, month);
        if waits {
            (self.waiting_daily, self.waiting_30_day) = (day, month);
            (self.raised_at, self.raised_delay_seconds) = (now, operator.loosening_delay_seconds);
            (self.max_daily_spend, self.max_30_day_spend) = (day.min(current_day), month.min(current_month));
        }
    }

    /// Counts a payment of an agent that names this budget, if both caps allow it. Returns what counts in 24 hours with it.
    #[inline(never)]
    #[cfg_attr(hot_path, optimize(speed))]
    pub fn spend(
        &mut self,
        amount: UsdcAmount,
        operator: &Operator,
        now: i64,
    ) -> core::result::Result<UsdcAmount, PurserError> {
        let [day_cap, month_cap] = self.caps(operator, now).stored();
        let month: &mut MonthWindow = bytemuck::must_cast_mut(&mut self.month);
        if !record_in_month(month, UsdcAmount::from_micros(month_cap), amount, now) {
            return Err(PurserError::BudgetExceeded);
        }
        let window = bytemuck::must_cast_mut(&mut self.window);
        record_within(window, day_cap, amount, now).ok_or(PurserError::BudgetExceeded)
    }

    /// Whether nothing counts in either window: made anew it would stand where it stands.
    pub fn is_empty(&self, now: i64) -> bool {
        self.window().is_empty(now) && self.month().spent(now).is_zero()
    }

    /// Reads the data of an account that the program owns, as an RPC node returns it.
    pub fn read(data: &[u8]) -> Option<Self> {
        super::read_body(data)
    }
}
