//! Transfers that this process is carrying out, and who waits for them.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::watch;

use crate::domain::{Checks, Transfer, TransferId};
use crate::service::ServiceError;

/// How carrying out a transfer ended: the transfer as recorded, with checks that are not in it.
#[derive(Debug, Clone)]
pub(super) struct Ended {
    pub transfer: Transfer,
    pub checks: Option<Checks>,
}

impl Ended {
    /// With what every rule said at first, unless it was looked at again.
    pub(super) fn with_checks(self, first: Checks) -> Self {
        Self { checks: self.checks.or(Some(first)), ..self }
    }
}

pub(super) type Landing = Result<Ended, ServiceError>;

type Watchers = HashMap<TransferId, watch::Receiver<Option<Landing>>>;

/// The transfers under way, by id.
#[derive(Clone, Default)]
pub(super) struct Flights(Arc<Mutex<Watchers>>);

/// One transfer under way: it is over when this is dropped.
pub(super) struct Flight {
    id: TransferId,
    flights: Flights,
    landing: watch::Sender<Option<Landing>>,
}

impl Flights {
    /// `None` when it is under way already.
    pub(super) fn begin(&self, id: TransferId) -> Option<Flight> {
        let mut watchers = self.lock();
        if watchers.contains_key(&id) {
            return None;
        }
        let (landing, watcher) = watch::channel(None);
        watchers.insert(id, watcher);
        Some(Flight { id, flights: self.clone(), landing })
    }

    /// The transfers that this process is carrying out.
    pub(super) fn ids(&self) -> Vec<TransferId> {
        self.lock().keys().copied().collect()
    }

    /// Waits for a transfer's end. `None` when this process is not carrying it out, or stopped doing so.
    pub(super) async fn wait(&self, id: TransferId) -> Option<Landing> {
        let mut watcher = self.lock().get(&id)?.clone();
        let landing = watcher.wait_for(Option::is_some).await.ok()?;
        landing.clone()
    }

    fn lock(&self) -> MutexGuard<'_, Watchers> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Flight {
    /// The transfer.
    pub(super) fn id(&self) -> TransferId {
        self.id
    }

    /// Tells everybody who waits.
    pub(super) fn land(self, landing: Landing) {
        self.landing.send_replace(Some(landing));
    }
}

impl Drop for Flight {
    fn drop(&mut self) {
        self.flights.lock().remove(&self.id);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn everybody_who_waits_is_told_and_one_flight_is_one() {
        let flights = Flights::default();
        let id = TransferId::from_bytes([1; 16]);
        let flight = flights.begin(id).expect("first");
        assert!(flights.begin(id).is_none());
        let (one, two) = (flights.wait(id), flights.wait(id));
        let land = async {
            tokio::task::yield_now().await;
            flight.land(Err(ServiceError::IdempotencyConflict));
        };
        let (one, two, ()) = tokio::join!(one, two, land);
        assert!(matches!(one, Some(Err(ServiceError::IdempotencyConflict))));
        assert!(matches!(two, Some(Err(ServiceError::IdempotencyConflict))));
        assert!(flights.wait(id).await.is_none());
    }

    #[tokio::test]
    async fn a_flight_that_is_dropped_keeps_nobody_waiting() {
        let flights = Flights::default();
        let id = TransferId::from_bytes([1; 16]);
        let flight = flights.begin(id).expect("first");
        let (waited, ()) = tokio::join!(flights.wait(id), async { drop(flight) });
        assert!(waited.is_none());
        assert!(flights.begin(id).is_some());
    }
}
