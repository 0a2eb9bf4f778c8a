//! The window of 30 days against a plain list of spends.

mod random;

use purser_policy::{MonthWindow, UsdcAmount, DAY_SECONDS};
use random::Random;

const MONTH: i64 = 30 * DAY_SECONDS;

/// What really left in the `seconds` up to `now`.
fn left(spends: &[(i64, u64)], now: i64, seconds: i64) -> u128 {
    let within = spends.iter().filter(|(at, _)| now - at <= seconds);
    within.map(|(_, amount)| u128::from(*amount)).sum()
}

#[test]
fn nothing_of_30_days_is_missing_and_nothing_counts_a_day_longer() {
    for seed in 0..200 {
        let mut random = Random(seed);
        let (mut window, mut spends) = (MonthWindow::EMPTY, Vec::new());
        let mut now = 1_800_000_000 + random.below(DAY_SECONDS as u64) as i64;
        let pace = [60, 3_600, 40_000, 200_000, 2_000_000][random.below(5) as usize];
        for _ in 0..400 {
            now += random.below(pace) as i64;
            let counted = u128::from(window.spent(now).micros());
            assert!(counted >= left(&spends, now, MONTH), "seed {seed}: freed early");
            assert!(counted <= left(&spends, now, MONTH + DAY_SECONDS - 1), "seed {seed}: held too long");
            let amount = random.below(1_000_000);
            window.record(now, UsdcAmount::from_micros(amount));
            spends.push((now, amount));
        }
    }
}

#[test]
fn a_clock_that_goes_back_frees_nothing_and_forgets_nothing() {
    let usdc = UsdcAmount::from_micros;
    let mut window = MonthWindow::EMPTY;
    window.record(100 * DAY_SECONDS, usdc(5));
    for now in [i64::MIN, -1, 0, 69 * DAY_SECONDS, 100 * DAY_SECONDS] {
        assert_eq!(window.spent(now), usdc(5), "{now}");
    }
    window.record(0, usdc(2));
    assert_eq!(window.spent(130 * DAY_SECONDS + DAY_SECONDS - 1), usdc(7));
    assert_eq!(window.spent(131 * DAY_SECONDS), usdc(0));
    assert_eq!(window.spent(i64::MAX), usdc(0));
}

#[test]
fn sums_saturate() {
    let mut window = MonthWindow::EMPTY;
    for day in [1, 1, 2] {
        window.record(day * DAY_SECONDS, UsdcAmount::MAX);
    }
    assert_eq!(window.spent(2 * DAY_SECONDS), UsdcAmount::MAX);
    window.record(i64::MAX, UsdcAmount::from_micros(1));
    assert_eq!(window.spent(i64::MAX), UsdcAmount::from_micros(1));
}
