//! The window's rule as one would write it down without counting bytes or compute units, and the real window held to it:
//! after every step both say the same, second by second until everything has expired.

use std::iter::zip;

use purser_policy::{SpendWindow, UsdcAmount, DAY_SECONDS, SPANS_MAX, STRETCH_SECONDS_MAX};

mod random;
mod schedule;

use random::Random;
use schedule::Schedule;

/// Spends up to a second, as one amount.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Span {
    last: i128,
    amount: u128,
}

/// The rule. Amounts do not overflow and seconds do not wrap.
#[derive(Default)]
struct PlainWindow {
    latest: i128,
    spans: Vec<Span>,
}

impl PlainWindow {
    /// Time never goes back, and begins at 0.
    fn effective(&self, now: i64) -> i128 {
        self.latest.max(i128::from(now))
    }

    fn counting(&self, now: i64) -> impl Iterator<Item = &Span> {
        let now = self.effective(now);
        self.spans.iter().filter(move |span| now - span.last <= i128::from(DAY_SECONDS))
    }

    fn spent(&self, now: i64) -> u64 {
        let sum: u128 = self.counting(now).map(|span| span.amount).sum();
        u64::try_from(sum).unwrap_or(u64::MAX)
    }

    /// Tries every second at which a span expires.
    fn frees_at(&self, now: i64, cap: u64, amount: u64) -> Option<i64> {
        let expiries = self.counting(now).map(|span| span.last + i128::from(DAY_SECONDS) + 1);
        let seconds = std::iter::once(self.effective(now)).chain(expiries);
        let mut seconds = seconds.map(|second| i64::try_from(second).unwrap_or(i64::MAX));
        let fits = |at: &i64| self.spent(*at).checked_add(amount).is_some_and(|sum| sum <= cap);
        let expires_with_time = || (amount <= cap).then_some(i64::MAX);
        seconds.find(fits).or_else(expires_with_time)
    }

    fn record(&mut self, now: i64, amount: u64) {
        let now_second = self.effective(now);
        self.spans = self.counting(now).cloned().collect();
        self.latest = now_second;
        match self.spans.last_mut() {
            Some(newest) if newest.last == now_second => newest.amount += u128::from(amount),
            _ => self.spans.push(Span { last: now_second, amount: u128::from(amount) }),
        }
        if self.spans.len() > SPANS_MAX {
            let may_join = |at: &usize| {
                self.spans[at + 1].last - self.spans[at - 1].last <= i128::from(STRETCH_SECONDS_MAX)
            };
            // `min_by_key` gives the first of equals. An amount stays at `u64::MAX` when it would pass it.
            let amount = |at: &usize| self.spans[*at].amount.min(u128::from(u64::MAX));
            let may = (1..SPANS_MAX).filter(may_join);
            let at = may.min_by_key(amount).expect("there is always one that may join");
            let least = self.spans.remove(at);
            self.spans[at].amount += least.amount;
        }
    }
}

/// What a window says of itself from outside: what counts now, and at every second at which that can change.
fn assert_same(fast: &SpendWindow, plain: &PlainWindow, now: i64) {
    assert_eq!(fast.spent(now).micros(), plain.spent(now), "at {now}");
    for span in &plain.spans {
        let expires = i64::try_from(span.last + i128::from(DAY_SECONDS) + 1).unwrap_or(i64::MAX);
        for at in [expires - 1, expires] {
            assert_eq!(fast.spent(at).micros(), plain.spent(at), "at {at}, seen from {now}");
        }
    }
}

/// The bytes of the window, read by hand: newest second, count, then 12 bytes a span.
fn state(window: &SpendWindow) -> (i64, Vec<(u32, u64)>) {
    let bytes = bytemuck::bytes_of(window);
    let (latest, rest) = bytes.split_first_chunk().expect("a window has more than 8 bytes");
    let (len, spans) = rest.split_first_chunk().expect("a window has more than 16 bytes");
    let span = |bytes: &[u8]| {
        let (last, amount) = bytes.split_first_chunk().expect("a span has 12 bytes");
        (u32::from_le_bytes(*last), u64::from_le_bytes(amount.try_into().expect("8 bytes")))
    };
    let kept = u64::from_le_bytes(*len) as usize;
    (i64::from_le_bytes(*latest), spans.chunks_exact(12).take(kept).map(span).collect())
}

fn assert_same_state(fast: &SpendWindow, plain: &PlainWindow) {
    let (latest, spans) = state(fast);
    assert_eq!(i128::from(latest), plain.latest);
    assert_eq!(spans.len(), plain.spans.len());
    for ((last, amount), span) in zip(spans, &plain.spans) {
        assert_eq!(last, span.last as u32);
        assert_eq!(u128::from(amount), span.amount.min(u128::from(u64::MAX)));
    }
}

/// `PURSER_TEST_LONG=1` takes 10^7 steps, in a minute or so of a release build.
fn steps() -> u64 {
    if std::env::var("PURSER_TEST_LONG").is_ok_and(|it| it == "1") {
        10_000_000
    } else {
        300_000
    }
}

#[test]
fn window_is_state_for_state_what_the_plain_rule_gives() {
    let mut random = Random(1);
    let mut left = steps();
    while left > 0 {
        let mut schedule = Schedule::new(&mut random);
        let (mut fast, mut plain) = (SpendWindow::EMPTY, PlainWindow::default());
        for step in 0..2_000.min(left) {
            let (now, amount) = schedule.next();
            assert_eq!(fast.spent(now).micros(), plain.spent(now), "at {now}");
            fast.record(now, UsdcAmount::from_micros(amount));
            plain.record(now, amount);
            assert_same_state(&fast, &plain);
            if step % 64 == 0 {
                assert_same(&fast, &plain, now);
                let cap = random.next() >> random.below(64);
                let (limit, asked) = (UsdcAmount::from_micros(cap), UsdcAmount::from_micros(amount));
                assert_eq!(fast.frees_at(now, limit, asked), plain.frees_at(now, cap, amount));
            }
        }
        left -= 2_000.min(left);
    }
}
