//! The spend window's rule by example, each with the numbers worked out.

use purser_policy::{SpendWindow, UsdcAmount, DAY_SECONDS, SPANS_MAX, STRETCH_SECONDS_MAX};

#[test]
fn spend_counts_until_it_is_86_400_whole_seconds_old_and_not_a_second_longer() {
    let mut window = SpendWindow::EMPTY;
    window.record(1_000, UsdcAmount::from_micros(7));
    assert_eq!(window.spent(1_000 + DAY_SECONDS).micros(), 7);
    assert_eq!(window.spent(1_000 + DAY_SECONDS + 1).micros(), 0);
    let frees = window.frees_at(1_000, UsdcAmount::from_micros(7), UsdcAmount::from_micros(1));
    assert_eq!(frees, Some(1_000 + DAY_SECONDS + 1));
}

#[test]
fn no_day_of_wall_time_holds_more_than_the_cap_though_seconds_are_floored() {
    // Spent at x.999 s and, a day less a moment later, at x.000 s: a day apart by the floored seconds.
    let mut window = SpendWindow::EMPTY;
    let (early_millis, late_millis) = (1_700_000_000_999, 1_700_086_400_000i64);
    assert!(late_millis - early_millis < 1_000 * DAY_SECONDS);
    window.record(early_millis / 1_000, UsdcAmount::from_micros(100));
    assert_eq!(window.spent(late_millis / 1_000).micros(), 100);
}

#[test]
fn twice_the_cap_cannot_leave_around_a_reset() {
    // The schedule that lets 2 x the cap out of windows that reset: spend late in one, early in the next.
    let cap = 100;
    let mut window = SpendWindow::EMPTY;
    let start = 1_700_000_000;
    window.record(start, UsdcAmount::from_micros(1));
    window.record(start + DAY_SECONDS, UsdcAmount::from_micros(cap - 1));
    assert_eq!(window.spent(start + DAY_SECONDS + 1).micros(), cap - 1);
}

#[test]
fn least_of_the_spans_that_may_joins_the_next_one() {
    let start = 1_700_000_000;
    let mut window = SpendWindow::EMPTY;
    for spend in 0..SPANS_MAX as i64 {
        let amount = if spend == 20 { 5 } else { 100 };
        window.record(start + spend * 60, UsdcAmount::from_micros(amount));
    }
    let full = SPANS_MAX as u64 * 100 - 95;
    window.record(start + SPANS_MAX as i64 * 60, UsdcAmount::from_micros(100));
    // The small one counts 60 seconds longer, the others as long as before.
    let expired = start + 20 * 60 + DAY_SECONDS + 1;
    assert_eq!(window.spent(expired - 1).micros(), full + 100 - 2_000);
    assert_eq!(window.spent(expired).micros(), full + 100 - 2_000);
    assert_eq!(window.spent(expired + 59).micros(), full + 100 - 2_000);
    assert_eq!(window.spent(expired + 60).micros(), full + 100 - 2_000 - 105);
}

#[test]
fn span_joins_the_next_one_if_that_is_no_further_from_the_one_before_than_the_bound() {
    for (distance, joins) in [(STRETCH_SECONDS_MAX, true), (STRETCH_SECONDS_MAX + 1, false)] {
        let start = 1_700_000_000;
        let mut window = SpendWindow::EMPTY;
        window.record(start, UsdcAmount::from_micros(100));
        // The least by far, and stretched by all but a second of the distance if it joins.
        window.record(start + 1, UsdcAmount::from_micros(1));
        for spend in 0..SPANS_MAX as i64 - 1 {
            window.record(start + distance + spend, UsdcAmount::from_micros(100));
        }
        let others = (SPANS_MAX as u64 - 1) * 100;
        let expired = start + 1 + DAY_SECONDS + 1;
        assert_eq!(window.spent(expired).micros(), others + u64::from(joins));
        assert_eq!(window.spent(start + distance + DAY_SECONDS).micros(), others + u64::from(joins));
    }
}

#[test]
fn large_payment_followed_by_a_small_one_a_second_later_stays_exact() {
    let start = 1_700_000_000;
    let mut window = SpendWindow::EMPTY;
    for spend in 0..500 {
        window.record(start + spend * 60, UsdcAmount::from_micros(1));
    }
    let noon = start + 500 * 60;
    window.record(noon, UsdcAmount::from_micros(10_000));
    for spend in 0..500 {
        window.record(noon + 1 + spend * 60, UsdcAmount::from_micros(1));
    }
    assert!(window.spent(noon + DAY_SECONDS).micros() >= 10_000);
    assert_eq!(window.spent(noon + DAY_SECONDS + 1).micros(), 500);
}

#[test]
fn spends_of_one_second_take_one_span() {
    let mut window = SpendWindow::EMPTY;
    for _ in 0..10 * SPANS_MAX {
        window.record(5, UsdcAmount::from_micros(1));
    }
    window.record(6, UsdcAmount::from_micros(1));
    assert_eq!(window.spent(5 + DAY_SECONDS + 1).micros(), 1);
}

#[test]
fn spans_at_the_largest_amount_still_join_within_the_bound() {
    let start = 1_700_000_000;
    let mut window = SpendWindow::EMPTY;
    // Far apart at the end, so that the newest may not join; every span that may is at `u64::MAX`.
    for spend in 0..SPANS_MAX as i64 - 4 {
        window.record(start + spend, UsdcAmount::MAX);
    }
    let far = start + 4 * STRETCH_SECONDS_MAX;
    for spend in 0..5 {
        window.record(far + spend * STRETCH_SECONDS_MAX, UsdcAmount::MAX);
    }
    let newest_but_one = far + 3 * STRETCH_SECONDS_MAX;
    window.record(far + 5 * STRETCH_SECONDS_MAX, UsdcAmount::ZERO);
    assert!(!window.is_empty(newest_but_one + STRETCH_SECONDS_MAX + DAY_SECONDS));
    assert!(window.is_empty(newest_but_one + STRETCH_SECONDS_MAX + DAY_SECONDS + 1));
}

#[test]
fn corrupt_bytes_never_panic() {
    for fill in [0x00, 0x01, 0x7f, 0x80, 0xff] {
        let bytes = [fill; size_of::<SpendWindow>()];
        let mut window: SpendWindow = bytemuck::pod_read_unaligned(&bytes);
        for now in [i64::MIN, -1, 0, 1, i64::MAX] {
            let _ = window.spent(now);
            let _ = window.frees_at(now, UsdcAmount::MAX, UsdcAmount::from_micros(1));
            window.record(now, UsdcAmount::MAX);
        }
    }
}
