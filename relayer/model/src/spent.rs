use purser_core::words;

use super::{BudgetId, UsdcAmount};

/// Shares of the daily cap, in percent, that are announced when reached.
const THRESHOLDS: [u8; 2] = [80, 100];

/// An account's spending according to the chain, when it made a payment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Spent {
    /// What left in the 24 hours up to and including the payment, as the program counts it.
    pub in_window: UsdcAmount,
    /// The policy that allowed the payment.
    pub policy_version: u64,
}

impl Spent {
    /// The shares of `cap` that a payment of `amount` was the first to reach: the spending before it was below them.
    /// Depends on the payment alone, so the result is the same in whatever order payments are read.
    pub fn reached(self, amount: UsdcAmount, cap: UsdcAmount) -> impl Iterator<Item = u8> {
        let after = self.in_window.micros();
        let before = after.saturating_sub(amount.micros());
        let reaches = move |spent: u64, percent: u8| {
            u128::from(spent) * 100 >= u128::from(cap.micros()) * u128::from(percent)
        };
        THRESHOLDS.into_iter().filter(move |percent| reaches(after, *percent) && !reaches(before, *percent))
    }
}

words! {
    /// Which limit is announced.
    pub enum WatchedLimit = "WatchedLimit":
        "`daily` and `30_days` are the account's, the others its budget's." {
        /// `max_daily_spend` of the account.
        Daily = "daily",
        /// `max_30_day_spend` of the account.
        Month = "30_days",
        /// Of a budget.
        BudgetDaily = "budget_daily",
        BudgetMonth = "budget_30_days",
    }
}

/// A limit, and how much of it was used with a payment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LimitUsed {
    pub limit: WatchedLimit,
    /// Whose limit it is, where it is not the account's.
    pub budget: Option<BudgetId>,
    pub used: UsdcAmount,
    pub cap: UsdcAmount,
}

impl LimitUsed {
    /// The shares of the cap that each of the latest payments was the first to reach, and how much was used with it. `paid` are
    /// their amounts, the newest first, all of which this use has in it.
    pub fn reached_by(self, paid: &[UsdcAmount]) -> Vec<(usize, u8, Self)> {
        let mut with = self;
        let mut reached = Vec::new();
        for (index, amount) in paid.iter().enumerate() {
            let spent = Spent { in_window: with.used, policy_version: 0 };
            reached.extend(spent.reached(*amount, self.cap).map(|percent| (index, percent, with)));
            with.used = with.used.saturating_sub(*amount);
        }
        reached
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reached(amount: u64, in_window: u64, cap: u64) -> Vec<u8> {
        let [amount, in_window, cap] = [amount, in_window, cap].map(UsdcAmount::from_micros);
        Spent { in_window, policy_version: 1 }.reached(amount, cap).collect()
    }

    #[test]
    fn a_share_is_reached_by_the_payment_that_goes_from_below_it_to_it() {
        assert_eq!(reached(1, 79, 100), [0; 0]);
        assert_eq!(reached(1, 80, 100), [80]);
        assert_eq!(reached(5, 85, 100), [0; 0], "stood there before");
        assert_eq!(reached(6, 85, 100), [80]);
        assert_eq!(reached(1, 100, 100), [100]);
        assert_eq!(reached(100, 100, 100), [80, 100], "both at once");
        // Spending that has left the window no longer counts, so the next payment reaches the share again.
        assert_eq!(reached(10, 82, 100), [80]);
    }

    #[test]
    fn a_share_is_reached_by_one_of_the_latest_payments() {
        let [cap, used] = [100, 101].map(UsdcAmount::from_micros);
        let limit = LimitUsed { limit: WatchedLimit::Month, budget: None, used, cap };
        let paid = [1, 5, 20, 3].map(UsdcAmount::from_micros);
        let reached = limit.reached_by(&paid);
        let found: Vec<_> =
            reached.iter().map(|(index, percent, with)| (*index, *percent, with.used.micros())).collect();
        // Before them 72 was used, then 75, 95, 100 and 101.
        assert_eq!(found, [(1, 100, 100), (2, 80, 95)]);
        assert!(limit.reached_by(&paid[..1]).is_empty(), "it stood there before");
    }

    #[test]
    fn shares_are_exact_at_the_ends_of_the_range() {
        assert_eq!(reached(1, 1, 1), [80, 100]);
        assert_eq!(reached(u64::MAX, u64::MAX, u64::MAX), [80, 100]);
        assert_eq!(reached(1, u64::MAX, u64::MAX), [100]);
        // 80 % of 3 is 2.4, and 2 is less.
        assert_eq!((reached(1, 2, 3), reached(1, 3, 3)), (vec![], vec![80, 100]));
        // Nothing can be paid under a cap of 0, and nothing is below it.
        assert_eq!(reached(0, 0, 0), [0; 0]);
        assert_eq!(reached(5, 5, 0), [0; 0]);
        // More than the whole window, which no honest node reports.
        assert_eq!(reached(9, 3, 3), [80, 100]);
    }
}
