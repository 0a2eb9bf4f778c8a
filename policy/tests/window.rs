//! The spend window against a plain list of spends: its properties over random and adversarial schedules.

use proptest::prelude::*;
use std::collections::BTreeSet;

use purser_policy::{SpendWindow, UsdcAmount, DAY_SECONDS, SPANS_MAX, STRETCH_SECONDS_MAX};

/// Every spend ever made, with its second. Time never goes back, and begins at 0.
#[derive(Default)]
struct Oracle {
    spends: Vec<(i64, u64)>,
    latest: i64,
}

impl Oracle {
    fn effective(&self, now: i64) -> i64 {
        now.max(self.latest)
    }

    /// Spends that are at most `seconds` old at `now`.
    fn within(&self, now: i64, seconds: i64) -> impl Iterator<Item = (i64, u64)> + '_ {
        let now = i128::from(self.effective(now));
        let counts = move |at: i64| now - i128::from(at) <= i128::from(seconds);
        self.spends.iter().copied().filter(move |(at, _)| counts(*at))
    }

    fn spent(&self, now: i64, seconds: i64) -> u64 {
        self.within(now, seconds).fold(0, |sum, (_, amount)| sum.saturating_add(amount))
    }

    /// How many different seconds of the last 24 hours have spends.
    fn seconds_with_spends(&self) -> usize {
        let seconds: BTreeSet<_> = self.within(self.latest, DAY_SECONDS).map(|(at, _)| at).collect();
        seconds.len()
    }

    fn record(&mut self, now: i64, amount: u64) {
        self.latest = self.effective(now);
        self.spends.push((self.latest, amount));
    }
}

/// One step of a schedule: move the clock, then try to spend.
#[derive(Clone, Debug)]
struct Step {
    clock: Clock,
    amount: u64,
}

#[derive(Clone, Debug)]
enum Clock {
    Forward(i64),
    Back(i64),
    To(i64),
}

fn run(cap: u64, steps: &[Step]) {
    let mut window = SpendWindow::EMPTY;
    let mut oracle = Oracle::default();
    let mut now = 1_700_000_000i64;
    let mut ever_overfull = false;
    for step in steps {
        now = match step.clock {
            Clock::Forward(seconds) => now.saturating_add(seconds),
            Clock::Back(seconds) => now.saturating_sub(seconds),
            Clock::To(second) => second,
        };
        let counted = window.spent(now).micros();
        let truly = oracle.spent(now, DAY_SECONDS);
        assert!(counted >= truly, "a spend stopped counting early: {counted} < {truly} at {now}");
        if ever_overfull {
            // Less than the maximum, so one second less at most.
            let at_most = oracle.spent(now, DAY_SECONDS + STRETCH_SECONDS_MAX - 1);
            assert!(counted <= at_most, "a spend counts too long: {counted} > {at_most} at {now}");
        } else {
            assert_eq!(counted, truly, "not exact at {now}");
        }
        let fits = counted.checked_add(step.amount).is_some_and(|sum| sum <= cap);
        check_frees_at(&window, now, cap, step.amount, fits);
        if fits && step.amount > 0 {
            window.record(now, UsdcAmount::from_micros(step.amount));
            oracle.record(now, step.amount);
            ever_overfull = ever_overfull || oracle.seconds_with_spends() > SPANS_MAX;
            // Property 1: never more than the cap within any 24 hours that end with a spend.
            assert!(oracle.spent(now, DAY_SECONDS) <= cap);
            assert!(window.spent(now).micros() <= cap);
        }
    }
}

/// `frees_at` names the first second at which the amount fits: it fits there, and not a second before.
fn check_frees_at(window: &SpendWindow, now: i64, cap: u64, amount: u64, fits: bool) {
    let (limit, asked) = (UsdcAmount::from_micros(cap), UsdcAmount::from_micros(amount));
    let fits_at = |at| {
        let spent = window.spent(at).micros();
        spent.checked_add(amount).is_some_and(|sum| sum <= cap)
    };
    match window.frees_at(now, limit, asked) {
        None => assert!(amount > cap),
        Some(at) if fits => assert!(at >= now && fits_at(at)),
        Some(at) if at == i64::MAX => {}
        Some(at) => {
            assert!(fits_at(at), "does not fit at {at}");
            assert!(!fits_at(at - 1), "fits earlier than {at}");
        }
    }
}

fn clock() -> impl Strategy<Value = Clock> {
    prop_oneof![
        // Bursts.
        6 => (0i64..3).prop_map(Clock::Forward),
        6 => (0i64..4_000).prop_map(Clock::Forward),
        // Boundaries.
        3 => (DAY_SECONDS - 2..=DAY_SECONDS + 3).prop_map(Clock::Forward),
        2 => (0i64..200_000).prop_map(Clock::Forward),
        // A clock that goes back.
        2 => (1i64..100_000).prop_map(Clock::Back),
    ]
}

fn extreme_clock() -> impl Strategy<Value = Clock> {
    prop_oneof![
        8 => clock(),
        1 => any::<i64>().prop_map(Clock::To),
        1 => prop_oneof![Just(i64::MIN), Just(-1), Just(0), Just(i64::MAX - 1), Just(i64::MAX)].prop_map(Clock::To),
        1 => prop_oneof![Just(u32::MAX as i64), Just(1i64 << 32), Just((1i64 << 32) + 86_399)].prop_map(Clock::To),
    ]
}

fn steps(
    clock: impl Strategy<Value = Clock>,
    amount: impl Strategy<Value = u64>,
    count: usize,
) -> impl Strategy<Value = Vec<Step>> {
    let step = (clock, amount).prop_map(|(clock, amount)| Step { clock, amount });
    prop::collection::vec(step, 1..count)
}

fn extreme_amount() -> impl Strategy<Value = u64> {
    prop_oneof![
        4 => 1u64..1_000,
        2 => any::<u64>(),
        1 => prop_oneof![Just(0), Just(1), Just(u64::MAX - 1), Just(u64::MAX)],
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2_000, ..ProptestConfig::default() })]

    #[test]
    fn window_holds_its_properties_over_random_schedules(
        cap in 1u64..50_000,
        steps in steps(clock(), 1u64..1_000, 400),
    ) {
        run(cap, &steps);
    }

    #[test]
    fn window_holds_its_properties_when_overfull(
        step in 1i64..2_000,
        jitter in prop::collection::vec(0i64..1_000, 300),
    ) {
        // A cap that never refuses: as many spends in a day as the clock allows, up to 86,400.
        let steps: Vec<_> = jitter
            .iter()
            .map(|extra| Step { clock: Clock::Forward(step + extra), amount: 1 })
            .collect();
        run(u64::MAX / 2, &steps);
    }

    #[test]
    fn window_holds_its_properties_when_the_least_spans_are_far_apart(
        spends in prop::collection::vec((0usize..6, 0u64..4, 0i64..3), 200),
    ) {
        // Near and far neighbours, small where they are far: who ignores the bound joins those.
        let far = [1, 2, 1_000, 2_787, STRETCH_SECONDS_MAX, STRETCH_SECONDS_MAX + 1];
        let step = |(far_kind, amount, extra): &(usize, u64, i64)| {
            let wait = far[*far_kind] + extra;
            let amount = if wait > 100 { 1 + amount } else { 1_000 + amount };
            Step { clock: Clock::Forward(wait), amount }
        };
        run(u64::MAX / 2, &spends.iter().map(step).collect::<Vec<_>>());
    }

    #[test]
    fn window_holds_its_properties_at_the_ends_of_u64_and_i64(
        cap in extreme_amount(),
        steps in steps(extreme_clock(), extreme_amount(), 120),
    ) {
        run(cap, &steps);
    }

    #[test]
    fn spends_recorded_without_a_cap_never_count_less_than_they_are(
        spends in prop::collection::vec((0i64..5_000, any::<u64>()), 1..100),
    ) {
        let mut window = SpendWindow::EMPTY;
        let mut oracle = Oracle::default();
        let mut now = 1_700_000_000;
        for (forward, amount) in spends {
            now += forward;
            window.record(now, UsdcAmount::from_micros(amount));
            oracle.record(now, amount);
            let at_most = oracle.spent(now, DAY_SECONDS + STRETCH_SECONDS_MAX - 1);
            prop_assert!(window.spent(now).micros() >= oracle.spent(now, DAY_SECONDS));
            prop_assert!(window.spent(now).micros() <= at_most);
        }
    }
}
