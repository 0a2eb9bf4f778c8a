//! The cap for 30 days: a list of payments, of which those of the last 31 calendar days count.

use super::{as_u64, DAY};

pub const MONTH_BYTES: usize = 8 + 8 + 31 * 8;
const DAYS: i64 = 31;

#[derive(Clone, Debug, Default)]
pub struct Month {
    pub cap: u64,
    /// Day and amount of each payment, oldest first.
    payments: Vec<(i64, u64)>,
}

impl Month {
    pub fn with_cap(self, cap: u64) -> Self {
        Self { cap, ..self }
    }

    fn day(&self, now: i64) -> i64 {
        let newest = self.payments.last().map_or(0, |(day, _)| *day);
        now.div_euclid(DAY).max(newest)
    }

    pub fn spent(&self, now: i64) -> u64 {
        let today = self.day(now);
        let counts = self.payments.iter().filter(|(day, _)| today - day < DAYS);
        as_u64(counts.map(|(_, amount)| u128::from(*amount)).sum())
    }

    pub fn allows(&self, amount: u64, now: i64) -> bool {
        u128::from(self.spent(now)) + u128::from(amount) <= u128::from(self.cap)
    }

    pub fn record(&mut self, now: i64, amount: u64) {
        let today = self.day(now);
        self.payments.push((today, amount));
        self.payments.retain(|(day, _)| today - day < DAYS);
    }

    /// The newest day, and the sums by the days' numbers modulo 31.
    pub fn stored(&self) -> (i64, [u64; 31]) {
        let mut sums = [0u128; 31];
        for (day, amount) in &self.payments {
            sums[day.rem_euclid(DAYS) as usize] += u128::from(*amount);
        }
        (self.payments.last().map_or(0, |(day, _)| *day), sums.map(as_u64))
    }
}
