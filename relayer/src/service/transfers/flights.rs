//! Transfers that this process is carrying out: who waits for them, and how many may be.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::watch;

use crate::domain::{AccountId, Checks, IdempotencyKey, OperatorId, Transfer, TransferId, TransferRequest};
use crate::service::ServiceError;

/// How carrying out a transfer ended: the transfer as recorded, with checks that are not in it.
#[derive(Debug, Clone)]
pub(super) struct Ended {
    pub transfer: Transfer,
    pub checks: Option<Checks>,
}

pub(super) type Landing = Result<Ended, ServiceError>;

/// How many transfers may wait or be under way at once.
#[derive(Debug, Clone, Copy)]
pub struct PendingLimits {
    pub per_account: usize,
    pub per_operator: usize,
}

/// The transfers under way.
#[derive(Clone, Default)]
pub(super) struct Flights(Arc<Mutex<State>>);

#[derive(Default)]
struct State {
    watchers: HashMap<TransferId, watch::Receiver<Option<Landing>>>,
    /// By operator and account: the keys that are asked for, and by how many.
    pending: HashMap<OperatorId, HashMap<AccountId, HashMap<IdempotencyKey, usize>>>,
}

/// A request counts as pending for as long as this is held.
pub(super) struct Place {
    operator: OperatorId,
    account: AccountId,
    key: IdempotencyKey,
    flights: Flights,
}

/// One transfer under way: it is over when this is dropped.
pub(super) struct Flight {
    id: TransferId,
    _place: Place,
    flights: Flights,
    landing: watch::Sender<Option<Landing>>,
}

impl Flights {
    /// A place among the pending, if there is one. Any number of requests under one key take one place.
    pub(super) fn try_place(
        &self,
        request: &TransferRequest,
        operator: OperatorId,
        limits: PendingLimits,
    ) -> Option<Place> {
        let mut state = self.lock();
        let accounts = state.pending.entry(operator).or_default();
        let of_account = accounts.get(&request.from).map_or(0, HashMap::len);
        let of_operator: usize = accounts.values().map(HashMap::len).sum();
        let is_full = of_account >= limits.per_account || of_operator >= limits.per_operator;
        let keys = accounts.entry(request.from).or_default();
        if is_full && !keys.contains_key(&request.idempotency_key) {
            return None;
        }
        *keys.entry(request.idempotency_key.clone()).or_default() += 1;
        drop(state);
        Some(self.place(request, operator))
    }

    /// A place however many there are: for what was claimed before.
    pub(super) fn take_place(&self, request: &TransferRequest, operator: OperatorId) -> Place {
        let mut state = self.lock();
        let keys = state.pending.entry(operator).or_default().entry(request.from).or_default();
        *keys.entry(request.idempotency_key.clone()).or_default() += 1;
        drop(state);
        self.place(request, operator)
    }

    fn place(&self, request: &TransferRequest, operator: OperatorId) -> Place {
        let key = request.idempotency_key.clone();
        Place { operator, account: request.from, key, flights: self.clone() }
    }

    /// `None` when it is under way already.
    pub(super) fn begin(&self, id: TransferId, place: Place) -> Option<Flight> {
        let mut state = self.lock();
        let Entry::Vacant(free) = state.watchers.entry(id) else {
            // A place that is given back takes the lock.
            drop(state);
            return None;
        };
        let (landing, watcher) = watch::channel(None);
        free.insert(watcher);
        drop(state);
        Some(Flight { id, _place: place, flights: self.clone(), landing })
    }

    #[cfg(test)]
    pub(super) fn pending(&self) -> usize {
        self.lock().pending.values().flat_map(HashMap::values).map(HashMap::len).sum()
    }

    /// The transfers that this process is carrying out.
    pub(super) fn ids(&self) -> Vec<TransferId> {
        self.lock().watchers.keys().copied().collect()
    }

    /// Waits for a transfer's end. `None` when this process is not carrying it out, or stopped doing so.
    pub(super) async fn wait(&self, id: TransferId) -> Option<Landing> {
        let mut watcher = self.lock().watchers.get(&id)?.clone();
        let landing = watcher.wait_for(Option::is_some).await.ok()?;
        landing.clone()
    }

    fn lock(&self) -> MutexGuard<'_, State> {
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
        self.flights.lock().watchers.remove(&self.id);
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let mut state = self.flights.lock();
        let Some(accounts) = state.pending.get_mut(&self.operator) else { return };
        if let Some(keys) = accounts.get_mut(&self.account) {
            if let Some(holders) = keys.get_mut(&self.key) {
                *holders = holders.saturating_sub(1);
            }
            keys.retain(|key, holders| *holders > 0 || *key != self.key);
            if keys.is_empty() {
                accounts.remove(&self.account);
            }
        }
        if accounts.is_empty() {
            state.pending.remove(&self.operator);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::{Recipient, UsdcAmount};

    const LIMITS: PendingLimits = PendingLimits { per_account: 2, per_operator: 3 };

    fn request(account: u8, key: &str) -> TransferRequest {
        TransferRequest {
            from: AccountId::from_bytes([account; 16]),
            to: Recipient::Unreadable("nobody".into()),
            amount: UsdcAmount::from_micros(1),
            memo: None,
            idempotency_key: IdempotencyKey::parse(key).expect("valid"),
        }
    }

    fn operator() -> OperatorId {
        OperatorId::from_bytes([1; 16])
    }

    fn place(flights: &Flights) -> Place {
        flights.take_place(&request(1, "a"), operator())
    }

    #[test]
    fn an_account_and_an_operator_have_so_many_places_and_a_key_takes_one() {
        let flights = Flights::default();
        let take = |account, key: &str| flights.try_place(&request(account, key), operator(), LIMITS);
        let first = take(1, "a").expect("free");
        let same = take(1, "a").expect("the same key");
        let second = take(1, "b").expect("free");
        assert!(take(1, "c").is_none(), "two of the account");
        let again = take(1, "b").expect("the same key, though all are taken");
        let _other = take(2, "a").expect("another account");
        assert!(take(3, "a").is_none(), "three of the operator");
        assert!(flights.try_place(&request(3, "a"), OperatorId::from_bytes([2; 16]), LIMITS).is_some());
        drop(first);
        assert!(take(1, "c").is_none(), "its key is still asked for");
        drop(same);
        assert!(take(1, "c").is_some());
        drop((second, again));
        assert!(take(3, "a").is_some());
    }

    #[test]
    fn nothing_is_left_of_what_is_over() {
        let flights = Flights::default();
        drop(flights.try_place(&request(1, "a"), operator(), LIMITS));
        drop(place(&flights));
        assert!(flights.lock().pending.is_empty());
    }

    #[tokio::test]
    async fn everybody_who_waits_is_told_and_one_flight_is_one() {
        let flights = Flights::default();
        let id = TransferId::from_bytes([1; 16]);
        let flight = flights.begin(id, place(&flights)).expect("first");
        assert!(flights.begin(id, place(&flights)).is_none());
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
        let flight = flights.begin(id, place(&flights)).expect("first");
        let (waited, ()) = tokio::join!(flights.wait(id), async { drop(flight) });
        assert!(waited.is_none());
        assert!(flights.begin(id, place(&flights)).is_some());
    }
}
