//! Unknown keys: anybody can make them up, and each would cost a database lookup.

use std::num::NonZeroU32;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use governor::{DefaultDirectRateLimiter, Quota, RateLimiter};

use purser_model::HashedKey;

/// How many keys are remembered: half a megabyte at any time.
const PLACES: u64 = 65_536;

/// Limits how often unknown keys are looked up. Keys that were valid lately do not count, so a flood of others does not
/// slow them down.
#[derive(Clone)]
pub(super) struct Strangers {
    lookups: Arc<DefaultDirectRateLimiter>,
    /// A key's hash gives it one place, which another key may overwrite.
    known: Arc<[AtomicU64]>,
}

impl Strangers {
    pub fn new(per_second: NonZeroU32) -> Self {
        let quota = Quota::per_second(per_second)
            .allow_burst(per_second.saturating_mul(NonZeroU32::MIN.saturating_add(1)));
        Self {
            lookups: Arc::new(RateLimiter::direct(quota)),
            known: (0..PLACES).map(|_| AtomicU64::new(0)).collect(),
        }
    }

    /// Whether the key may be looked up now.
    pub fn may_be_looked_up(&self, key: &HashedKey) -> bool {
        let is_known = self.place(key).is_some_and(|place| place.load(Ordering::Relaxed) == key.beginning());
        is_known || self.lookups.check().is_ok()
    }

    /// The key is valid.
    pub fn remember(&self, key: &HashedKey) {
        if let Some(place) = self.place(key) {
            place.store(key.beginning(), Ordering::Relaxed);
        }
    }

    /// The key is not, or no longer, valid.
    pub fn forget(&self, key: &HashedKey) {
        if let Some(place) = self.place(key) {
            let _ = place.compare_exchange(key.beginning(), 0, Ordering::Relaxed, Ordering::Relaxed);
        }
    }

    fn place(&self, key: &HashedKey) -> Option<&AtomicU64> {
        self.known.get(usize::try_from(key.beginning() % PLACES).ok()?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use purser_model::{KeyRole, Network, PlainKey};

    fn key(number: u16) -> HashedKey {
        let mut random = [7; 32];
        random[..2].copy_from_slice(&number.to_le_bytes());
        PlainKey::new(KeyRole::Agent, Network::Test, None, random).hash()
    }

    #[test]
    fn keys_that_are_known_pass_in_a_flood_of_others_and_revoked_ones_do_not() {
        let strangers = Strangers::new(NonZeroU32::new(5).expect("positive"));
        strangers.remember(&key(0));
        let passed = (1..1_000).filter(|number| strangers.may_be_looked_up(&key(*number))).count();
        assert!((10..20).contains(&passed), "a burst, and what comes with the time: {passed}");
        assert!((0..100).all(|_| strangers.may_be_looked_up(&key(0))));
        strangers.forget(&key(0));
        assert!(!(0..100).all(|_| strangers.may_be_looked_up(&key(0))));
    }
}
