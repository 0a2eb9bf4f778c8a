//! What accounts were seen to hold, and when that falls below a threshold.

use super::{Timestamp, UsdcAmount};

/// What an account was seen to hold.
#[derive(Debug, Clone)]
pub struct BalanceSeen {
    pub balance: UsdcAmount,
    /// When the reading began.
    pub read_at: Timestamp,
    /// The latest payments that it shows.
    pub paid: Vec<PaidBefore>,
}

/// A payment before a reading. Where nobody has looked since it was asked for, the account held at least as much
/// more before it: a deposit that nobody noticed is seen by what it let the account pay.
#[derive(Debug, Clone, Copy)]
pub struct PaidBefore {
    pub amount: UsdcAmount,
    pub asked_at: Timestamp,
}

/// What was known of an account's balance before.
#[derive(Debug, Clone, Copy)]
pub struct KnownBalance {
    pub balance: UsdcAmount,
    pub read_at: Timestamp,
}

impl BalanceSeen {
    /// What the account held before. `None` where this tells nothing new: a later reading is known, or the balance is the same.
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
