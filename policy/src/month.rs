//! What left in the last 30 days, by calendar days of the chain's clock in fixed memory.
//!
//! A day has one sum. Those of the last 31 days count, today included: a spend counts for 30 days and for less than a day
//! longer, never shorter. Days are those of Unix time, 86,400 seconds each; a clock that goes back stays in the newest day.
//!
//! - Never more than the cap leaves in any 30 days: a spend of age 2,592,000 seconds or less is of a day that counts.
//! - A spend of age 31 x 86,400 seconds or more does not count: its day is over for 31 days.
//!
//! `tests/month.rs` checks it against a plain list of spends, and `prove/` has both for a machine to check.

use bytemuck::{Pod, Zeroable};

use crate::{UsdcAmount, DAY_SECONDS};

/// Days that count.
pub const MONTH_DAYS: usize = 31;

// Unsigned: sBPF divides nothing else.
const DAYS: u64 = MONTH_DAYS as u64;
const SECONDS: u64 = DAY_SECONDS as u64;

/// The sums of the last days. All zeros is the empty window.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Pod, Zeroable)]
pub struct MonthWindow {
    /// The newest day with a spend: Unix time over 86,400.
    latest: u64,
    /// Micro-USDC of each day, at its number modulo 31. Saturate at `u64::MAX`: then every limit refuses.
    sums: [u64; MONTH_DAYS],
}

impl MonthWindow {
    pub const EMPTY: Self = Self { latest: 0, sums: [0; MONTH_DAYS] };

    /// The amount that counts at Unix second `now`.
    pub fn spent(&self, now: i64) -> UsdcAmount {
        let mut window = *self;
        window.forget(now);
        window.sum()
    }

    /// Adds a spend at Unix second `now`.
    pub fn record(&mut self, now: i64, amount: UsdcAmount) {
        self.forget(now);
        self.add(amount);
    }

    /// Adds a spend at Unix second `now`, if no more than `cap` counts with it. Says whether it did.
    #[inline(always)]
    pub fn record_within(&mut self, cap: UsdcAmount, now: i64, amount: UsdcAmount) -> bool {
        self.forget(now);
        let fits = self.sum().checked_add(amount).is_some_and(|sum| sum <= cap);
        if fits {
            self.add(amount);
        }
        fits
    }

    #[inline(always)]
    fn sum(&self) -> UsdcAmount {
        UsdcAmount::from_micros(self.sums.iter().fold(0, |sum, day| sum.saturating_add(*day)))
    }

    #[inline(always)]
    fn add(&mut self, amount: UsdcAmount) {
        if let Some(today) = self.sums.get_mut(slot(self.latest)) {
            *today = today.saturating_add(amount.micros());
        }
    }

    /// Makes the day of `now` the newest one, unless there is a newer one, and empties those that no longer count.
    #[inline(always)]
    fn forget(&mut self, now: i64) {
        let today = (now.max(0).unsigned_abs() / SECONDS).max(self.latest);
        let passed = (today - self.latest).min(DAYS);
        for day in 0..passed {
            if let Some(old) = self.sums.get_mut(slot(today - day)) {
                *old = 0;
            }
        }
        self.latest = today;
    }
}

fn slot(day: u64) -> usize {
    (day % DAYS) as usize
}
