//! How many requests one key may make.

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
use crate::domain::KeyId;

const RATELIMIT_LIMIT: HeaderName = HeaderName::from_static("ratelimit-limit");
const RATELIMIT_REMAINING: HeaderName = HeaderName::from_static("ratelimit-remaining");
const RATELIMIT_RESET: HeaderName = HeaderName::from_static("ratelimit-reset");
/// Every this many requests, idle keys are forgotten.
const SWEEP_EVERY: u32 = 4_096;

type Limiter = RateLimiter<KeyId, DashMapStateStore<KeyId>, DefaultClock, StateInformationMiddleware>;

/// A steady rate per key with room for a burst.
#[derive(Clone)]
pub struct RateLimit {
    limiter: Arc<Limiter>,
    asked: Arc<AtomicU32>,
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
    /// `per_second` requests a second for each key, and up to `burst` at once.
    pub fn new(per_second: NonZeroU32, burst: NonZeroU32) -> Self {
        let quota = Quota::per_second(per_second).allow_burst(burst);
        let limiter = RateLimiter::dashmap(quota).with_middleware::<StateInformationMiddleware>();
        Self { limiter: Arc::new(limiter), asked: Arc::default(), per_second, burst }
    }

    pub(super) fn check(&self, key: KeyId) -> Verdict {
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

    fn limit(per_second: u32, burst: u32) -> RateLimit {
        let positive = |number| NonZeroU32::new(number).expect("positive");
        RateLimit::new(positive(per_second), positive(burst))
    }

    #[test]
    fn a_burst_passes_and_the_next_request_waits() {
        let limit = limit(1, 2);
        let key = KeyId::from_bytes([1; 16]);
        assert_eq!(limit.check(key).remaining, 1);
        assert_eq!(limit.check(key).remaining, 0);
        let third = limit.check(key);
        assert!(matches!(third.refused(), Some(ApiError::RateLimited { retry_after_seconds: 1 })));
    }

    #[test]
    fn one_key_does_not_use_up_another() {
        let limit = limit(1, 1);
        assert!(limit.check(KeyId::from_bytes([1; 16])).refused().is_none());
        assert!(limit.check(KeyId::from_bytes([1; 16])).refused().is_some());
        assert!(limit.check(KeyId::from_bytes([2; 16])).refused().is_none());
    }
}
