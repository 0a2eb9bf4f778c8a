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
        let spans = self.kept(now);
        let second = self.effective(now) as u32;
        let counting = spans.iter().rev().take_while(|span| counts(span, second));
        UsdcAmount::from_micros(counting.fold(0, |sum, span| sum.saturating_add(span.amount)))
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
        for span in self.kept(now).iter().rev().take_while(|span| counts(span, second)) {
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

    /// The spans, or none once even the newest must have expired; beyond that, 32 bits could not tell.
    #[inline]
    fn kept(&self, now: i64) -> &[Span] {
        let elapsed = (self.effective(now) as u64).wrapping_sub(self.latest as u64);
        let len = if elapsed < u64::from(DAY) { self.len() } else { 0 };
        self.spans.get(..len).unwrap_or(&[])
    }

    #[inline]
    fn forget_expired(&mut self, now: i64) {
        let second = now as u32;
        let len = self.len();
        let kept = self.kept(now);
        let expired = match kept.iter().position(|span| counts(span, second)) {
            Some(0) => return,
            Some(index) => index,
            None => len,
        };
        self.spans.copy_within(expired..len, 0);
        self.len = (len - expired) as u64;
    }

    /// With all spans taken: makes one of the two neighbours, the new span among them, whose joined span is shortest.
    #[inline]
    fn join_shortest_and_push(&mut self, new: Span) {
        let mut shortest = u32::MAX;
        let mut at = 0;
        let mut left_first = self.spans[0].first;
        for (index, right) in self.spans.iter().enumerate().skip(1) {
            let length = right.last.wrapping_sub(left_first);
            if length < shortest {
                shortest = length;
                at = index;
            }
            left_first = right.first;
        }
        let newest = &mut self.spans[SPANS_MAX - 1];
        if new.last.wrapping_sub(newest.first) < shortest {
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

#[inline(always)]
fn counts(span: &Span, second: u32) -> bool {
    second.wrapping_sub(span.last) < DAY
}
