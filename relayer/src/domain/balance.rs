//! Observed balances of accounts, and when they fall below a threshold.

use super::{Timestamp, UsdcAmount};

/// An observed balance.
#[derive(Debug, Clone)]
pub struct BalanceSeen {
    pub balance: UsdcAmount,
    /// When the reading began.
    pub read_at: Timestamp,
    /// The latest payments that the reading shows.
    pub paid: Vec<PaidBefore>,
}

/// A payment before a reading. If nobody has looked since it was requested, the account held at least that much more
/// before it. So even an unnoticed deposit shows by the payment that it made possible.
#[derive(Debug, Clone, Copy)]
pub struct PaidBefore {
    pub amount: UsdcAmount,
    pub asked_at: Timestamp,
}

/// The previously known balance of an account.
#[derive(Debug, Clone, Copy)]
pub struct KnownBalance {
    pub balance: UsdcAmount,
    pub read_at: Timestamp,
}

impl BalanceSeen {
    /// What the account held before. `None` when this is no news: a later reading is known, or the balance is the same.
    pub fn before(&self, known: KnownBalance) -> Option<UsdcAmount> {
        let paid = self.paid.iter().filter(|paid| known.read_at < paid.asked_at);
        let held = paid.fold(known.balance, |held, paid| held.max(self.balance.saturating_add(paid.amount)));
        (known.read_at < self.read_at && held != self.balance).then_some(held)
    }

    /// Whether the balance fell below the threshold, from at or above it.
    pub fn crosses(&self, threshold: UsdcAmount, before: UsdcAmount) -> bool {
        before >= threshold && self.balance < threshold
    }
}
