//! What left an account in the last 24 hours: a rolling window in fixed memory.
//!
//! Spends are kept as spans `(last, amount)`, oldest first. Spends of one second share a span. A span counts while its
//! last second is at most 86,400 seconds ago. Seconds are floored, so a spend of age 86,400 may be a moment less than
//! a day old, and still counts. When all spans are taken, a span joins the next one: its amount moves over, and counts
//! until the next one's last second is a day old. Joining makes spends count longer, never shorter.
//!
//! Of the spans that may join (below), the one with the least amount does; of equal ones, the oldest. A payer who is
//! held up by spends that count too long wants their amount to be small. Seconds do not matter: to someone who pays
//! every day at noon, a large spend that counts one second too long is a refused payment.
//!
//! - Never more than the cap leaves in any 24 hours: no spend stops counting early.
//! - Exact while no 24 hours hold spends of more than [`SPANS_MAX`] different seconds.
//! - Otherwise a spend counts longer by less than [`STRETCH_SECONDS_MAX`]. Let `last[0..=N]` be the seconds of the N
//!   kept spans and of the new spend, in order. Span `i`, from 1 to N - 1, may join span `i + 1` if
//!   `last[i + 1] - last[i - 1]` is at most that maximum. All spends of span `i` came after `last[i - 1]`, whatever
//!   joined before, so each of them is stretched by less than that. Span 0 never joins: what came before it is
//!   forgotten, so nothing would say when its first spend was.
//! - Some span may always join. Each second is in at most two of the N - 1 differences, once as an end and once
//!   as a beginning, so they add up to at most twice `last[N] - last[0]`. That is at most 2 x 24 h, because span 0
//!   still counts. If [`BOUND_SPANS`] - 1 differences were each more than 2 x 24 h / ([`BOUND_SPANS`] - 1), they
//!   would add up to more. So at most [`BOUND_SPANS`] - 2 spans may not join, and at least
//!   N - [`BOUND_SPANS`] + 1 = 9 may: the one that joins holds at most a ninth of what counts.
//! - Time never goes back: a clock behind the newest spend is read as that spend's second.
//!
//! `tests/plain_window.rs` states the same rule without any tricks, and checks this one against it step by step;
//! `prove/` has the proof above for a machine to check.

use bytemuck::{Pod, Zeroable};

use crate::{UsdcAmount, DAY_SECONDS};

/// The window is exact up to this many different seconds with spends in 24 hours.
pub const SPANS_MAX: usize = 40;

/// The number of spans that the bound on stretching assumes. The others give a choice: with this many spans and no
/// more, someone who pays small amounts at the right seconds leaves only one span that may join, a large one.
const BOUND_SPANS: usize = 32;

/// A spend counts for 24 hours, and by less than this longer if spans were joined.
pub const STRETCH_SECONDS_MAX: i64 = 2 * DAY_SECONDS / (BOUND_SPANS as i64 - 1);

const DAY: u32 = DAY_SECONDS as u32;
const STRETCH: u32 = STRETCH_SECONDS_MAX as u32;

/// Steps of an inner loop of constant length, which the compiler unrolls: on chain, loops cost as much as their bodies.
const UNROLLED: usize = 8;

/// Spends up to a second, as one amount. The second is the low 32 bits of Unix time. All kept spans counted at the
/// second of the newest spend, so the distance to that one makes the full second clear.
#[repr(C, packed(4))]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Pod, Zeroable)]
struct Span {
    last: u32,
    /// Micro-USDC. Saturates at `u64::MAX`: then every limit refuses, which is the right answer.
    amount: u64,
}

/// The spends of the last 24 hours. All zeros is the empty window.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Pod, Zeroable)]
pub struct SpendWindow {
    /// Unix second of the newest spend, or at which the window [began](Self::beginning).
    latest: i64,
    len: u64,
    spans: [Span; SPANS_MAX],
}

impl SpendWindow {
    pub const EMPTY: Self = Self { latest: 0, len: 0, spans: [Span { last: 0, amount: 0 }; SPANS_MAX] };

    /// An empty window whose clock is not before Unix second `latest`.
    pub const fn beginning(latest: i64) -> Self {
        Self { latest, ..Self::EMPTY }
    }

    /// Unix second of the newest spend, or at which the window [began](Self::beginning).
    pub const fn latest(&self) -> i64 {
        self.latest
    }

    /// The amount that counts at Unix second `now`.
    // On chain a call of this costs more than its body, and a second caller would make it one.
    #[inline(always)]
    pub fn spent(&self, now: i64) -> UsdcAmount {
        UsdcAmount::from_micros(sum(self.counting(now)))
    }

    /// Whether nothing counts at Unix second `now`.
    pub fn is_empty(&self, now: i64) -> bool {
        self.spent(now).is_zero()
    }

    /// The first Unix second, `now` or later, when `amount` more stays within `cap`. `None` if that never happens.
    pub fn frees_at(&self, now: i64, cap: UsdcAmount, amount: UsdcAmount) -> Option<i64> {
        let room = cap.micros().checked_sub(amount.micros())?;
        let now = self.effective(now);
        // Walk from the newest back to the first span that no longer fits: that one has to expire.
        let mut sum = 0u64;
        for span in self.counting(now).iter().rev() {
            sum = sum.saturating_add(span.amount);
            if sum > room {
                let expires_in = DAY.wrapping_add(1).saturating_sub(age(now, span));
                return Some(now.saturating_add(i64::from(expires_in)));
            }
        }
        Some(now)
    }

    /// Adds a spend at Unix second `now`.
    #[inline(always)]
    pub fn record(&mut self, now: i64, amount: UsdcAmount) {
        let now = self.effective(now);
        self.forget_expired(now);
        self.latest = now;
        let new = Span { last: now as u32, amount: amount.micros() };
        let len = self.len();
        // A span that ends at this very second takes the spend without any loss.
        if let Some(newest) = self.spans.get_mut(len.wrapping_sub(1)) {
            if newest.last == new.last {
                newest.amount = newest.amount.saturating_add(new.amount);
                return;
            }
        }
        if let Some(free) = self.spans.get_mut(len) {
            *free = new;
            self.len += 1;
        } else {
            self.join_least_and_push(new);
        }
    }

    /// `now`, but not before the newest spend.
    #[inline]
    pub fn effective(&self, now: i64) -> i64 {
        now.max(self.latest)
    }

    #[inline]
    fn len(&self) -> usize {
        (self.len as usize).min(SPANS_MAX)
    }

    /// The spans that count at `now`. They expire oldest first, so the first one that counts is enough to find.
    #[inline(always)]
    fn counting(&self, now: i64) -> &[Span] {
        let now = self.effective(now);
        let elapsed = (now as u64).wrapping_sub(self.latest as u64);
        // After more than a day even the newest has expired, and 32 bits could no longer tell.
        let len = if elapsed <= u64::from(DAY) { self.len() } else { 0 };
        let mut spans = self.spans.get(..len).unwrap_or(&[]);
        while let Some((oldest, newer)) = spans.split_first() {
            if age(now, oldest) <= DAY {
                break;
            }
            spans = newer;
        }
        spans
    }

    #[inline(always)]
    fn forget_expired(&mut self, now: i64) {
        let len = self.len();
        let counting = self.counting(now).len();
        if counting < len {
            self.spans.copy_within(len - counting..len, 0);
            self.len = counting as u64;
        }
    }

    /// With all spans taken: joins the least of those that may to the next one, which can be the new one.
    #[inline(always)]
    fn join_least_and_push(&mut self, mut new: Span) {
        let at = self.least_to_join(&new);
        if let Some(least) = self.spans.get(at).copied() {
            let next = self.spans.get_mut(at + 1).unwrap_or(&mut new);
            next.amount = next.amount.saturating_add(least.amount);
        }
        self.spans.copy_within(at + 1.., at);
        self.spans[SPANS_MAX - 1] = new;
    }

    /// Finds the least span that may join the next one. Most spans cost one comparison: if their amount is not the least
    /// so far, it does not matter whether they may join.
    #[inline(always)]
    fn least_to_join(&self, new: &Span) -> usize {
        const NEWEST: usize = SPANS_MAX - 1;
        let spans = &self.spans;
        // Span 0 never joins, so index 0 stands for none.
        let (mut least, mut at) = (u64::MAX, 0);
        for start in (0..NEWEST - 1).step_by(UNROLLED) {
            for before in start..start + UNROLLED {
                if let Some([before_it, it, next]) = spans.get(before..before + 3) {
                    if it.amount < least && may_join(before_it, next) {
                        (least, at) = (it.amount, before + 1);
                    }
                }
            }
        }
        if spans[NEWEST].amount < least && may_join(&spans[NEWEST - 1], new) {
            at = NEWEST;
        }
        if at == 0 {
            // All spans that may join hold `u64::MAX`: take the oldest of them.
            let may = |at: &usize| matches!(spans.get(at - 1..at + 2), Some([a, _, c]) if may_join(a, c));
            at = (1..NEWEST).find(may).unwrap_or(NEWEST);
        }
        at
    }
}

/// Seconds from the last of `span` to `now`.
#[inline(always)]
fn age(now: i64, span: &Span) -> u32 {
    (now as u32).wrapping_sub(span.last)
}

/// Whether the span between these two may join the later one.
#[inline(always)]
fn may_join(before: &Span, next: &Span) -> bool {
    next.last.wrapping_sub(before.last) <= STRETCH
}

/// The sum of `spans` in micro-USDC, saturating at `u64::MAX`.
#[inline(always)]
fn sum(spans: &[Span]) -> u64 {
    // Amounts below 2^58 cannot overflow, because there are at most 40. On chain, a check after each addition costs more
    // than the additions, and adding two amounts at a time costs less than one by one.
    const SMALL_BITS: u32 = u64::BITS - SPANS_MAX.next_power_of_two().ilog2();
    let (mut sum, mut bits) = (0u64, 0u64);
    let mut rest = spans;
    while let Some((chunk, others)) = rest.split_first_chunk::<UNROLLED>() {
        for [one, other] in chunk.as_chunks().0 {
            bits |= one.amount;
            bits |= other.amount;
            sum = sum.wrapping_add(one.amount.wrapping_add(other.amount));
        }
        rest = others;
    }
    for span in rest {
        bits |= span.amount;
        sum = sum.wrapping_add(span.amount);
    }
    if bits >> SMALL_BITS == 0 {
        return sum;
    }
    spans.iter().fold(0, |sum, span| sum.saturating_add(span.amount))
}
