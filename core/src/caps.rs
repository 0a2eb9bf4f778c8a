//! What binds an account beside its policy, with what counts against it: a cap for 30 days, and a budget that others may share.
//! No grant waives either.

use purser_policy::{DAY_SECONDS, MONTH_DAYS, MonthWindow, SpendWindow, UsdcAmount};

use super::{Address, CheckedRule, Limit, RejectionReason, RuleCheck, Timestamp, usdc_text};

/// A cap for any 30 days, and what left in them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MonthCap {
    pub cap: UsdcAmount,
    pub window: MonthWindow,
}

/// A budget as it stands: its caps in force, and what left through it, whichever account paid.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BudgetState {
    pub address: Address,
    /// Nothing is there any more, so that nothing leaves through it.
    pub is_closed: bool,
    pub daily_cap: UsdcAmount,
    pub window: SpendWindow,
    pub month: Option<MonthCap>,
}

/// The caps that bind an account beside its policy.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct CapsInUse {
    pub month: Option<MonthCap>,
    pub budget: Option<BudgetState>,
}

/// A cap for a payment, as far as it is used.
#[derive(Debug, Clone, Copy)]
struct Use {
    cap: UsdcAmount,
    used: UsdcAmount,
}

/// The first of the caps that a payment exceeds.
pub(super) struct Excess {
    pub reason: RejectionReason,
    pub message: String,
    pub retry_at: Option<Timestamp>,
}

impl Use {
    fn fits(self, amount: UsdcAmount) -> bool {
        self.used.checked_add(amount).is_some_and(|sum| sum <= self.cap)
    }

    fn check(self, rule: CheckedRule, amount: UsdcAmount) -> RuleCheck {
        RuleCheck { rule, ok: self.fits(amount), limit: Limit::AtMost(self.cap), used: self.used }
    }
}

impl MonthCap {
    /// What counts at Unix second `now`.
    pub fn used(&self, now: i64) -> UsdcAmount {
        self.window.spent(now)
    }

    /// The first Unix second, `now` or later, when `amount` more stays within the cap. `None`: it is larger than the cap.
    pub fn frees_at(&self, now: i64, amount: UsdcAmount) -> Option<i64> {
        let room = self.cap.micros().checked_sub(amount.micros())?;
        let today = now.div_euclid(DAY_SECONDS);
        // What counts changes at the beginning of a day. A clock that went back stays in the newest one, hence one more.
        let days = (1..=MONTH_DAYS as i64 + 1).map(|day| (today + day).saturating_mul(DAY_SECONDS));
        std::iter::once(now).chain(days).find(|at| self.used(*at).micros() <= room)
    }

    fn use_at(&self, now: i64) -> Use {
        Use { cap: self.cap, used: self.used(now) }
    }
}

impl BudgetState {
    /// What agents pay through that name a budget which is not there.
    pub const fn closed(address: Address) -> Self {
        let (daily_cap, window) = (UsdcAmount::ZERO, SpendWindow::EMPTY);
        Self { address, is_closed: true, daily_cap, window, month: None }
    }

    /// What counts at Unix second `now`, by each cap, with its length in words.
    fn uses(&self, now: i64) -> impl Iterator<Item = (Use, &'static str)> {
        let daily = Use { cap: self.daily_cap, used: self.window.spent(now) };
        let month = self.month.map(|month| (month.use_at(now), "30 days"));
        std::iter::once((daily, "24 hours")).chain(month)
    }

    /// The cap that leaves least.
    fn tightest(&self, now: i64) -> Use {
        let left = |of: &Use| of.cap.saturating_sub(of.used);
        let daily = Use { cap: self.daily_cap, used: self.window.spent(now) };
        self.uses(now).map(|(of, _)| of).min_by_key(left).unwrap_or(daily)
    }

    fn frees_at(&self, now: i64, amount: UsdcAmount) -> Option<i64> {
        let daily = self.window.frees_at(now, self.daily_cap, amount)?;
        Some(match self.month {
            Some(month) => month.frees_at(now, amount)?.max(daily),
            None => daily,
        })
    }
}

impl CapsInUse {
    /// How they judge a payment, in the program's order. None where an account has none.
    pub(super) fn checks(&self, amount: UsdcAmount, now: i64) -> impl Iterator<Item = RuleCheck> {
        let month = self.month.map(|month| month.use_at(now).check(CheckedRule::Max30DaySpend, amount));
        let budget = self.budget.map(|budget| budget.tightest(now).check(CheckedRule::Budget, amount));
        month.into_iter().chain(budget)
    }

    /// What the program would refuse it for, the policy having passed it.
    pub(super) fn exceeded_by(&self, amount: UsdcAmount, now: i64) -> Option<Excess> {
        let time = |second: Option<i64>| second.map(Timestamp::from_unix_seconds);
        if let Some(month) = self.month.filter(|month| !month.use_at(now).fits(amount)) {
            return Some(Excess {
                reason: RejectionReason::MonthLimitExceeded,
                message: format!(
                    "{} USDC is over what is left of the account's 30-day limit: {} of {} USDC were spent in the last 30 \
                     days.",
                    usdc_text(amount),
                    usdc_text(month.used(now)),
                    usdc_text(month.cap)
                ),
                retry_at: time(month.frees_at(now, amount)),
            });
        }
        let budget = self.budget?;
        let (Use { cap, used }, days) = budget.uses(now).find(|(of, _)| !of.fits(amount))?;
        let message = match budget.is_closed {
            true => "The budget that the account pays through is closed: the account pays nothing until its operator names \
                     another one, or none."
                .to_owned(),
            false => format!(
                "{} USDC is over what is left of the account's budget: {} of {} USDC were spent through it in the last \
                 {days}.",
                usdc_text(amount),
                usdc_text(used),
                usdc_text(cap)
            ),
        };
        let retry_at = time(budget.frees_at(now, amount));
        Some(Excess { reason: RejectionReason::BudgetExceeded, message, retry_at })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Noon of a day.
    const NOON: i64 = 20_000 * DAY_SECONDS + DAY_SECONDS / 2;

    fn usdc(micros: u64) -> UsdcAmount {
        UsdcAmount::from_micros(micros)
    }

    fn month(cap: u64, spends: &[(i64, u64)]) -> MonthCap {
        let mut window = MonthWindow::EMPTY;
        spends.iter().for_each(|(at, micros)| window.record(*at, usdc(*micros)));
        MonthCap { cap: usdc(cap), window }
    }

    fn budget(daily_cap: u64, spends: &[(i64, u64)], month: Option<MonthCap>) -> BudgetState {
        let mut window = SpendWindow::EMPTY;
        spends.iter().for_each(|(at, micros)| window.record(*at, usdc(*micros)));
        let (address, daily_cap) = (Address::from_bytes([7; 32]), usdc(daily_cap));
        BudgetState { address, is_closed: false, daily_cap, window, month }
    }

    fn reason(caps: &CapsInUse, amount: u64) -> Option<(RejectionReason, Option<i64>)> {
        let excess = caps.exceeded_by(usdc(amount), NOON)?;
        Some((excess.reason, excess.retry_at.map(Timestamp::unix_seconds)))
    }

    #[test]
    fn the_cap_for_30_days_frees_at_the_beginning_of_the_day_on_which_enough_stops_counting() {
        let of = month(10, &[(NOON - 10 * DAY_SECONDS, 4), (NOON, 6)]);
        assert_eq!(of.used(NOON), usdc(10));
        let day = |number: i64| Some((20_000 + number) * DAY_SECONDS);
        assert_eq!(of.frees_at(NOON, usdc(1)), day(21), "31 days after the first spend's day");
        assert_eq!(of.frees_at(NOON, usdc(4)), day(21));
        assert_eq!(of.frees_at(NOON, usdc(5)), day(31));
        assert_eq!(of.frees_at(NOON, usdc(10)), day(31));
        assert_eq!(of.frees_at(NOON, usdc(11)), None, "never");
        assert_eq!(month(10, &[(NOON, 4)]).frees_at(NOON, usdc(6)), Some(NOON), "now");
        // One day later by the newest spend than by the clock.
        let ahead = month(10, &[(NOON + DAY_SECONDS, 10)]);
        assert_eq!(ahead.frees_at(NOON, usdc(1)), day(32));
    }

    #[test]
    fn the_programs_own_check_agrees_at_the_second_at_which_a_cap_frees() {
        let of = month(10, &[(NOON - 30 * DAY_SECONDS, 3), (NOON - 3 * DAY_SECONDS, 5), (NOON, 2)]);
        for amount in 1..=10 {
            let at = of.frees_at(NOON, usdc(amount)).expect("it is within the cap");
            for (second, fits) in [(at - 1, at == NOON && of.used(NOON).micros() + amount <= 10), (at, true)]
            {
                let mut window = of.window;
                assert_eq!(window.record_within(of.cap, second, usdc(amount)), fits, "{amount} at {second}");
            }
        }
    }

    #[test]
    fn the_accounts_cap_comes_before_its_budget_and_the_first_cap_of_that_which_refuses_is_named() {
        let spent = [(NOON, 5)];
        let both = CapsInUse { month: Some(month(7, &spent)), budget: Some(budget(8, &spent, None)) };
        assert_eq!(reason(&both, 2), None);
        assert_eq!(reason(&both, 3).map(|it| it.0), Some(RejectionReason::MonthLimitExceeded));
        let shared = CapsInUse { budget: Some(budget(8, &spent, Some(month(6, &spent)))), month: None };
        let (why, retry_at) = reason(&shared, 2).expect("30 days of the budget");
        assert_eq!((why, retry_at), (RejectionReason::BudgetExceeded, Some(20_031 * DAY_SECONDS)));
        assert!(shared.exceeded_by(usdc(2), NOON).is_some_and(|it| it.message.contains("30 days")));
        assert_eq!(reason(&shared, 7).map(|it| it.1), Some(None), "more than it ever allows");
        assert_eq!(reason(&CapsInUse::default(), u64::MAX), None);
    }

    #[test]
    fn checks_say_what_each_leaves_and_a_budget_what_its_tighter_cap_does() {
        let spent = [(NOON, 5)];
        let caps = CapsInUse {
            month: Some(month(7, &spent)),
            budget: Some(budget(8, &spent, Some(month(6, &spent)))),
        };
        let checks: Vec<_> = caps.checks(usdc(2), NOON).collect();
        let said: Vec<_> = checks.iter().map(|it| (it.rule, it.ok, it.remaining())).collect();
        let (one, two) = (Some(usdc(1)), Some(usdc(2)));
        assert_eq!(said, [(CheckedRule::Max30DaySpend, true, two), (CheckedRule::Budget, false, one)]);
        assert_eq!(CapsInUse::default().checks(usdc(2), NOON).count(), 0);
    }

    #[test]
    fn through_a_closed_budget_nothing_leaves() {
        let gone = BudgetState::closed(Address::from_bytes([7; 32]));
        let caps = CapsInUse { month: None, budget: Some(gone) };
        assert_eq!(reason(&caps, 1), Some((RejectionReason::BudgetExceeded, None)));
        assert!(caps.exceeded_by(usdc(1), NOON).is_some_and(|it| it.message.contains("closed")));
    }
}
