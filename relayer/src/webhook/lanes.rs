//! How much may be under way at once, in all and to one endpoint.

use std::sync::Arc;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::domain::Health;

/// Attempts under way to all endpoints whose last attempt went well.
const HEALTHY_PLACES: usize = 512;
/// Attempts under way to all others: however many hang, the healthy ones have their own places.
const FAILING_PLACES: usize = 128;
/// Attempts under way to one endpoint.
const HEALTHY_AT_ONCE: usize = 8;
const FAILING_AT_ONCE: usize = 1;

/// The places of this process.
#[derive(Clone)]
pub(super) struct Lanes {
    healthy: Arc<Semaphore>,
    failing: Arc<Semaphore>,
}

/// What one endpoint may use now.
pub(super) struct Lane {
    places: Arc<Semaphore>,
    pub at_once: usize,
}

impl Default for Lanes {
    fn default() -> Self {
        Self {
            healthy: Arc::new(Semaphore::new(HEALTHY_PLACES)),
            failing: Arc::new(Semaphore::new(FAILING_PLACES)),
        }
    }
}

impl Lanes {
    pub(super) fn of(&self, health: &Health) -> Lane {
        if health.failures == 0 {
            Lane { places: self.healthy.clone(), at_once: HEALTHY_AT_ONCE }
        } else {
            Lane { places: self.failing.clone(), at_once: FAILING_AT_ONCE }
        }
    }
}

impl Lane {
    /// Up to `wanted` places, more than one only if they are free now; waits for the first if `patient`.
    pub(super) async fn take(&self, wanted: usize, patient: bool) -> Vec<OwnedSemaphorePermit> {
        let mut places = Vec::new();
        if patient && let Ok(place) = self.places.clone().acquire_owned().await {
            places.push(place);
        }
        while places.len() < wanted {
            let Ok(place) = self.places.clone().try_acquire_owned() else { break };
            places.push(place);
        }
        places
    }
}
