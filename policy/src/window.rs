//! What left an account in the last 24 hours: a rolling window in fixed memory.
//!
//! Spends are kept as spans `(first, last, amount)`, oldest first. A spend counts from its own second until
//! 86,400 seconds after the *last* second of its span, so a span of one spend is exact. When all spans are taken,
//! the two neighbours whose joined span is shortest become one; joining makes spends count longer, never shorter.
//!
//! - Never more than the cap leaves in any 24 hours: no spend stops counting early.
//! - Exact while no 24 hours held more than [`SPANS_MAX`] spends.
//! - Otherwise a spend counts longer by at most the length of its span. `SPANS_MAX + 1` spans within 24 hours form
//!   `SPANS_MAX` neighbouring pairs whose lengths add up to at most 2 x 24 h, so the shortest has at most
//!   2 x 24 h / `SPANS_MAX`.
//! - Time never goes back: a clock behind the newest spend is read as that spend's second.

use bytemuck::{Pod, Zeroable};

use crate::{UsdcAmount, DAY_SECONDS};

/// Spends in 24 hours up to which the window is exact.
pub const SPANS_MAX: usize = 32;

const DAY: u32 = DAY_SECONDS as u32;

/// Steps of an inner loop of constant length, which the compiler writes out: on chain, loops cost as much as their bodies.
const UNROLLED: usize = 8;

/// Spends between two seconds, as one amount. The seconds are the low 32 bits of Unix time: all spans that are kept
/// counted at the second of the newest spend, so the distance to it says which second is meant.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Pod, Zeroable)]
struct Span {
    first: u32,
    last: u32,
    /// Micro-USDC. Stays at `u64::MAX` when it would pass it: then every limit refuses, which is the right answer.
    amount: u64,
}

/// The spends of the last 24 hours. All zeros is the empty window.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Pod, Zeroable)]
pub struct SpendWindow {
    /// Unix second of the newest spend.
    latest: i64,
    len: u64,
    spans: [Span; SPANS_MAX],
}

impl SpendWindow {
    pub const EMPTY: Self =
        Self { latest: 0, len: 0, spans: [Span { first: 0, last: 0, amount: 0 }; SPANS_MAX] };

    /// What counts at Unix second `now`.
    #[inline]
    pub fn spent(&self, now: i64) -> UsdcAmount {
        UsdcAmount::from_micros(sum(self.counting(now)))
    }

    /// Whether nothing counts at Unix second `now`.
    pub fn is_empty(&self, now: i64) -> bool {
        self.spent(now).is_zero()
    }

    /// The first Unix second, `now` or later, at which `amount` more stays within `cap`. `None` if it never does.
    pub fn frees_at(&self, now: i64, cap: UsdcAmount, amount: UsdcAmount) -> Option<i64> {
        let room = cap.micros().checked_sub(amount.micros())?;
        let now = self.effective(now);
        let second = now as u32;
        // Walk from the newest back to the first span that no longer fits; it has to expire.
        let mut sum = 0u64;
        for span in self.counting(now).iter().rev() {
            sum = sum.saturating_add(span.amount);
            if sum > room {
                let age = second.wrapping_sub(span.last);
                return Some(now.saturating_add(i64::from(DAY.saturating_sub(age))));
            }
        }
        Some(now)
    }

    /// Adds a spend at Unix second `now`.
    #[inline]
    pub fn record(&mut self, now: i64, amount: UsdcAmount) {
        let now = self.effective(now);
        let second = now as u32;
        self.forget_expired(now);
        self.latest = now;
        let new = Span { first: second, last: second, amount: amount.micros() };
        let len = self.len();
        // A span of this very second takes the spend without losing anything.
        if let Some(newest) = self.spans.get_mut(len.wrapping_sub(1)) {
            if newest.first == second {
                newest.amount = newest.amount.saturating_add(new.amount);
                return;
            }
        }
        if let Some(free) = self.spans.get_mut(len) {
            *free = new;
            self.len += 1;
        } else {
            self.join_shortest_and_push(new);
        }
    }

    /// `now`, but never before the newest spend.
    #[inline]
    fn effective(&self, now: i64) -> i64 {
        now.max(self.latest)
    }

    #[inline]
    fn len(&self) -> usize {
        (self.len as usize).min(SPANS_MAX)
    }

    /// The spans that count at `now`. They expire oldest first, so the first one that counts is all to look for.
    #[inline]
    fn counting(&self, now: i64) -> &[Span] {
        let elapsed = (self.effective(now) as u64).wrapping_sub(self.latest as u64);
        // Beyond a day even the newest has expired, and 32 bits could no longer tell.
        let len = if elapsed < u64::from(DAY) { self.len() } else { 0 };
        let second = self.effective(now) as u32;
        let mut spans = self.spans.get(..len).unwrap_or(&[]);
        while let Some((oldest, newer)) = spans.split_first() {
            if second.wrapping_sub(oldest.last) < DAY {
                break;
            }
            spans = newer;
        }
        spans
    }

    #[inline]
    fn forget_expired(&mut self, now: i64) {
        let len = self.len();
        let counting = self.counting(now).len();
        if counting < len {
            self.spans.copy_within(len - counting..len, 0);
            self.len = counting as u64;
        }
    }

    /// With all spans taken: makes one of the two neighbours, the new span among them, whose joined span is shortest.
    #[inline]
    fn join_shortest_and_push(&mut self, new: Span) {
        // A length in the upper half of a word and the pair's place in the lower: the least word is the shortest pair.
        let mut shortest = length(&self.spans[SPANS_MAX - 1], &new) | SPANS_MAX as u64;
        for start in (0..SPANS_MAX).step_by(UNROLLED) {
            for left in start..start + UNROLLED {
                if let Some([one, next]) = self.spans.get(left..left + 2) {
                    shortest = shortest.min(length(one, next) | (left as u64 + 1));
                }
            }
        }
        let at = (shortest as u32) as usize;
        if at == SPANS_MAX {
            let newest = &mut self.spans[SPANS_MAX - 1];
            newest.last = new.last;
            newest.amount = newest.amount.saturating_add(new.amount);
            return;
        }
        // `at` is the right one of the pair.
        if let Some([left, right]) = self.spans.get_mut(at.wrapping_sub(1)..=at) {
            left.last = right.last;
            left.amount = left.amount.saturating_add(right.amount);
        }
        self.spans.copy_within(at + 1.., at);
        self.spans[SPANS_MAX - 1] = new;
    }
}

/// Micro-USDC in `spans`, `u64::MAX` where it would be more.
#[inline(always)]
fn sum(spans: &[Span]) -> u64 {
    // Amounts below 2^59 cannot overflow: there are at most 32. On chain, a check after each addition costs more than
    // the additions.
    let (mut sum, mut bits) = (0u64, 0u64);
    let mut rest = spans;
    while let Some((chunk, others)) = rest.split_first_chunk::<UNROLLED>() {
        for span in chunk {
            sum = sum.wrapping_add(span.amount);
            bits |= span.amount;
        }
        rest = others;
    }
    for span in rest {
        sum = sum.wrapping_add(span.amount);
        bits |= span.amount;
    }
    if bits >> (u64::BITS - SPANS_MAX.ilog2()) == 0 {
        return sum;
    }
    spans.iter().fold(0, |sum, span| sum.saturating_add(span.amount))
}

/// Seconds from the first of `left` to the last of `right`, times 2^32: what 32 bits wrap is shifted out.
#[inline(always)]
fn length(left: &Span, right: &Span) -> u64 {
    u64::from(right.last).wrapping_sub(u64::from(left.first)) << 32
}
