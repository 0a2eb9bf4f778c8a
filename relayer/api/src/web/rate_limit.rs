//! How many requests one key may make, and all keys of one operator together.

use std::hash::Hash;
use std::num::NonZeroU32;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use axum::http::{HeaderMap, HeaderName, HeaderValue};
use governor::clock::{Clock, DefaultClock};
use governor::middleware::StateInformationMiddleware;
use governor::state::keyed::DashMapStateStore;
use governor::{Quota, RateLimiter};

use super::error::ApiError;
use purser_model::{KeyId, OperatorId, Principal};

const RATELIMIT_LIMIT: HeaderName = HeaderName::from_static("ratelimit-limit");
const RATELIMIT_REMAINING: HeaderName = HeaderName::from_static("ratelimit-remaining");
const RATELIMIT_RESET: HeaderName = HeaderName::from_static("ratelimit-reset");
/// Every this many requests, idle keys and operators are forgotten.
const SWEEP_EVERY: u32 = 4_096;

type Limiter<K> = RateLimiter<K, DashMapStateStore<K>, DefaultClock, StateInformationMiddleware>;

/// Steady rates with room for a burst: of each key, and of each operator, who may have many.
#[derive(Clone)]
pub struct RateLimit {
    of_keys: Arc<Rate<KeyId>>,
    of_operators: Arc<Rate<OperatorId>>,
}

struct Rate<K: Hash + Eq + Clone> {
    limiter: Limiter<K>,
    asked: AtomicU32,
    per_second: NonZeroU32,
    burst: NonZeroU32,
}

/// The verdict on one request.
pub(super) struct Verdict {
    limit: u32,
    remaining: u32,
    /// When the request passes: until the whole burst is free again. When it does not: until the next request passes.
    reset: Duration,
    passed: bool,
}

impl RateLimit {
    /// `per_second` requests a second for each key, and up to `burst` at once; `times` as much for each operator.
    pub fn new(per_second: NonZeroU32, burst: NonZeroU32, times: NonZeroU32) -> Self {
        Self {
            of_keys: Arc::new(Rate::new(per_second, burst)),
            of_operators: Arc::new(Rate::new(per_second.saturating_mul(times), burst.saturating_mul(times))),
        }
    }

    /// Says how the key stands, unless its operator is over its own rate. What a key asks in vain does not count for its
    /// operator.
    pub(super) fn check(&self, principal: &Principal) -> Verdict {
        let of_key = self.of_keys.check(principal.key_id());
        if !of_key.passed {
            return of_key;
        }
        let of_operator = self.of_operators.check(principal.operator_id());
        if of_operator.passed { of_key } else { of_operator }
    }
}

impl<K: Hash + Eq + Clone> Rate<K> {
    fn new(per_second: NonZeroU32, burst: NonZeroU32) -> Self {
        let quota = Quota::per_second(per_second).allow_burst(burst);
        let limiter = RateLimiter::dashmap(quota).with_middleware::<StateInformationMiddleware>();
        Self { limiter, asked: AtomicU32::new(0), per_second, burst }
    }

    fn check(&self, key: K) -> Verdict {
        if self.asked.fetch_add(1, Ordering::Relaxed) % SWEEP_EVERY == SWEEP_EVERY - 1 {
            self.limiter.retain_recent();
        }
        let limit = self.burst.get();
        match self.limiter.check_key(&key) {
            Ok(state) => {
                let remaining = state.remaining_burst_capacity();
                let used = u64::from(limit.saturating_sub(remaining));
                let reset = Duration::from_millis(used * 1_000 / u64::from(self.per_second.get()));
                Verdict { limit, remaining, reset, passed: true }
            }
            Err(refused) => {
                let reset = refused.wait_time_from(DefaultClock::default().now());
                Verdict { limit, remaining: 0, reset, passed: false }
            }
        }
    }
}

impl Verdict {
    pub(super) fn refused(&self) -> Option<ApiError> {
        (!self.passed).then(|| ApiError::RateLimited { retry_after_seconds: self.reset_seconds().max(1) })
    }

    /// Writes the `RateLimit-*` headers.
    pub(super) fn write(&self, headers: &mut HeaderMap) {
        headers.insert(RATELIMIT_LIMIT, HeaderValue::from(self.limit));
        headers.insert(RATELIMIT_REMAINING, HeaderValue::from(self.remaining));
        headers.insert(RATELIMIT_RESET, HeaderValue::from(self.reset_seconds()));
    }

    fn reset_seconds(&self) -> u64 {
        self.reset.as_millis().div_ceil(1_000) as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use purser_model::{Address, Label, Network, Operator, Scopes, Timestamp};

    fn limit(per_second: u32, burst: u32, times: u32) -> RateLimit {
        let positive = |number| NonZeroU32::new(number).expect("positive");
        RateLimit::new(positive(per_second), positive(burst), positive(times))
    }

    /// Somebody with this key, of this operator.
    fn holder(key: u8, operator: u8) -> Principal {
        let operator = Operator {
            id: OperatorId::from_bytes([operator; 16]),
            network: Network::Test,
            name: Label::parse("Acme").expect("valid"),
            address: Address::from_bytes([operator; 32]),
            requires_reason: false,
            created_at: Timestamp::from_unix_seconds(0),
        };
        let scopes = Scopes::ALL;
        Principal::Operator { operator, key_id: KeyId::from_bytes([key; 16]), scopes }
    }

    #[test]
    fn a_burst_passes_and_the_next_request_waits() {
        let (limit, key) = (limit(1, 2, 10), holder(1, 1));
        assert_eq!(limit.check(&key).remaining, 1);
        assert_eq!(limit.check(&key).remaining, 0);
        let third = limit.check(&key);
        assert!(matches!(third.refused(), Some(ApiError::RateLimited { retry_after_seconds: 1 })));
    }

    #[test]
    fn one_key_does_not_use_up_another() {
        let limit = limit(1, 1, 10);
        assert!(limit.check(&holder(1, 1)).refused().is_none());
        assert!(limit.check(&holder(1, 1)).refused().is_some());
        assert!(limit.check(&holder(2, 1)).refused().is_none());
    }

    #[test]
    fn all_keys_of_an_operator_share_its_rate_and_no_other_operator_pays_for_them() {
        let limit = limit(1, 1, 3);
        for key in 1..=3 {
            assert!(limit.check(&holder(key, 1)).refused().is_none());
            // What one key asks in vain is not taken from the others.
            assert!(limit.check(&holder(key, 1)).refused().is_some());
        }
        let fourth = limit.check(&holder(4, 1));
        assert_eq!(fourth.limit, 3);
        assert!(fourth.refused().is_some());
        assert!(limit.check(&holder(5, 2)).refused().is_none());
    }
}
