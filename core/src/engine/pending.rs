//! Transfers that this process carries out: who waits for them, and how many may be pending.

use parking_lot::{Mutex, MutexGuard};
use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::sync::Arc;

use tokio::sync::watch;

use super::error::PaymentError;
use crate::{AccountId, Checks, Fingerprint, IdempotencyKey, OperatorId, Transfer, TransferId};

/// The end of a transfer: the transfer as recorded, and checks that the record does not hold.
#[derive(Debug, Clone)]
pub struct Ended {
    pub transfer: Transfer,
    pub checks: Option<Checks>,
}

pub(super) type Ending = Result<Ended, PaymentError>;

/// Shows how a transfer ends that this process carries out, also when it ended before anybody asked.
#[derive(Debug, Clone)]
pub struct Watch(watch::Receiver<Option<Ending>>);

impl Watch {
    /// `None` when this process stopped carrying it out.
    pub(super) async fn ending(mut self) -> Option<Ending> {
        let ending = self.0.wait_for(Option::is_some).await.ok()?;
        ending.clone()
    }
}

/// The most transfers that may be pending at once.
#[derive(Debug, Clone, Copy)]
pub struct PendingLimits {
    pub per_account: usize,
    pub per_operator: usize,
}

/// The transfers in flight.
#[derive(Clone, Default)]
pub(super) struct PendingTransfers(Arc<Mutex<PendingState>>);

#[derive(Default)]
struct PendingState {
    watchers: BTreeMap<TransferId, (OperatorId, Watch)>,
    /// By operator and account: the keys of pending requests.
    pending: BTreeMap<OperatorId, BTreeMap<AccountId, BTreeMap<IdempotencyKey, Requests>>>,
}

/// The requests under one key.
#[derive(Default)]
struct Requests {
    count: usize,
    turn: Turn,
}

/// Held by the one request under a key that decides and claims. Those that wait for it find what it claimed, and for what.
pub(super) type Turn = Arc<tokio::sync::Mutex<Option<(Fingerprint, TransferId)>>>;

impl PendingState {
    fn count(&mut self, operator: OperatorId, account: AccountId, key: &IdempotencyKey) -> Turn {
        let keys = self.pending.entry(operator).or_default().entry(account).or_default();
        let requests = keys.entry(key.clone()).or_default();
        requests.count += 1;
        requests.turn.clone()
    }
}

/// Holding this keeps a request counted as pending.
pub struct PendingPlace {
    operator: OperatorId,
    account: AccountId,
    key: IdempotencyKey,
    turn: Turn,
    all: PendingTransfers,
}

impl PendingPlace {
    pub(super) fn turn(&self) -> Turn {
        self.turn.clone()
    }
}

/// One transfer in flight; dropping this ends it.
pub(super) struct PendingTransfer {
    id: TransferId,
    place: PendingPlace,
    all: PendingTransfers,
    ending: watch::Sender<Option<Ending>>,
}

impl PendingTransfers {
    /// Takes a pending place if one is free. All requests under one key share one place.
    pub(super) fn try_place(
        &self,
        operator: OperatorId,
        account: AccountId,
        key: &IdempotencyKey,
        limits: PendingLimits,
    ) -> Option<PendingPlace> {
        let mut state = self.lock();
        let accounts = state.pending.get(&operator);
        let keys = accounts.and_then(|accounts| accounts.get(&account));
        let of_account = keys.map_or(0, BTreeMap::len);
        let of_operator: usize = accounts.map_or(0, |accounts| accounts.values().map(BTreeMap::len).sum());
        let is_full = of_account >= limits.per_account || of_operator >= limits.per_operator;
        if is_full && keys.is_none_or(|keys| !keys.contains_key(key)) {
            return None;
        }
        let turn = state.count(operator, account, key);
        drop(state);
        Some(self.place(operator, account, key, turn))
    }

    /// Takes a place without a limit, for a transfer that was claimed before.
    pub(super) fn take_place(
        &self,
        operator: OperatorId,
        account: AccountId,
        key: &IdempotencyKey,
    ) -> PendingPlace {
        let turn = self.lock().count(operator, account, key);
        self.place(operator, account, key, turn)
    }

    fn place(
        &self,
        operator: OperatorId,
        account: AccountId,
        key: &IdempotencyKey,
        turn: Turn,
    ) -> PendingPlace {
        PendingPlace { operator, account, key: key.clone(), turn, all: self.clone() }
    }

    /// `None` when the transfer is already in flight.
    pub(super) fn begin(&self, id: TransferId, place: PendingPlace) -> Option<PendingTransfer> {
        let mut state = self.lock();
        let Entry::Vacant(free) = state.watchers.entry(id) else {
            // Dropping a place takes the lock.
            drop(state);
            return None;
        };
        let (ending, watcher) = watch::channel(None);
        free.insert((place.operator, Watch(watcher)));
        drop(state);
        Some(PendingTransfer { id, place, all: self.clone(), ending })
    }

    pub(super) fn pending(&self) -> usize {
        self.lock().pending.values().flat_map(BTreeMap::values).map(BTreeMap::len).sum()
    }

    /// The transfers that this process carries out, by operator.
    pub(super) fn ids(&self) -> BTreeMap<OperatorId, Vec<TransferId>> {
        let mut ids: BTreeMap<OperatorId, Vec<TransferId>> = BTreeMap::new();
        for (id, (operator, _)) in &self.lock().watchers {
            ids.entry(*operator).or_default().push(*id);
        }
        ids
    }

    /// `None` when this process does not carry it out.
    pub(super) fn watch(&self, id: TransferId) -> Option<Watch> {
        self.lock().watchers.get(&id).map(|(_, watch)| watch.clone())
    }

    fn lock(&self) -> MutexGuard<'_, PendingState> {
        self.0.lock()
    }
}

impl PendingTransfer {
    /// The transfer and its operator.
    pub(super) fn id(&self) -> (OperatorId, TransferId) {
        (self.place.operator, self.id)
    }

    /// Notifies everybody who waits.
    pub(super) fn end(self, ending: Ending) {
        self.ending.send_replace(Some(ending));
    }
}

impl Drop for PendingTransfer {
    fn drop(&mut self) {
        self.all.lock().watchers.remove(&self.id);
    }
}

impl Drop for PendingPlace {
    fn drop(&mut self) {
        let mut state = self.all.lock();
        let Some(accounts) = state.pending.get_mut(&self.operator) else { return };
        if let Some(keys) = accounts.get_mut(&self.account) {
            if let Some(requests) = keys.get_mut(&self.key) {
                requests.count = requests.count.saturating_sub(1);
            }
            keys.retain(|key, requests| requests.count > 0 || *key != self.key);
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

    const LIMITS: PendingLimits = PendingLimits { per_account: 2, per_operator: 3 };
    const NONE: PendingLimits = PendingLimits { per_account: 0, per_operator: 0 };

    fn account(number: u8) -> AccountId {
        AccountId::from_bytes([number; 16])
    }

    fn key(text: &str) -> IdempotencyKey {
        IdempotencyKey::parse(text).expect("valid")
    }

    fn operator() -> OperatorId {
        OperatorId::from_bytes([1; 16])
    }

    fn place(all: &PendingTransfers) -> PendingPlace {
        all.take_place(operator(), account(1), &key("a"))
    }

    #[test]
    fn an_account_and_an_operator_have_so_many_places_and_a_key_takes_one() {
        let all = PendingTransfers::default();
        let take = |number, text: &str| all.try_place(operator(), account(number), &key(text), LIMITS);
        let first = take(1, "a").expect("free");
        let same = take(1, "a").expect("the same key");
        let second = take(1, "b").expect("free");
        assert!(take(1, "c").is_none(), "two of the account");
        let again = take(1, "b").expect("the same key, though all are taken");
        let _other = take(2, "a").expect("another account");
        assert!(take(3, "a").is_none(), "three of the operator");
        assert!(all.try_place(OperatorId::from_bytes([2; 16]), account(3), &key("a"), LIMITS).is_some());
        drop(first);
        assert!(take(1, "c").is_none(), "its key is still asked for");
        drop(same);
        assert!(take(1, "c").is_some());
        drop((second, again));
        assert!(take(3, "a").is_some());
    }

    fn watch(all: &PendingTransfers, id: TransferId) -> Watch {
        all.watch(id).expect("in flight")
    }

    #[test]
    fn ended_and_refused_transfers_leave_nothing_behind() {
        let all = PendingTransfers::default();
        let held = place(&all);
        for (operator_number, limits) in [(1, PendingLimits { per_operator: 1, ..LIMITS }), (2, NONE)] {
            let operator = OperatorId::from_bytes([operator_number; 16]);
            assert!(all.try_place(operator, account(2), &key("a"), limits).is_none());
        }
        let accounts: Vec<usize> = all.lock().pending.values().map(BTreeMap::len).collect();
        assert_eq!(accounts, [1], "one operator with one account");
        drop(held);
        drop(all.try_place(operator(), account(1), &key("a"), LIMITS));
        drop(place(&all));
        assert!(all.lock().pending.is_empty());
    }

    #[tokio::test]
    async fn every_waiter_is_notified_and_one_transfer_begins_once() {
        let all = PendingTransfers::default();
        let id = TransferId::from_bytes([1; 16]);
        let pending = all.begin(id, place(&all)).expect("first");
        assert!(all.begin(id, place(&all)).is_none());
        let (one, two) = (watch(&all, id), watch(&all, id));
        let land = async {
            tokio::task::yield_now().await;
            pending.end(Err(PaymentError::KeyPaidElsewhere));
        };
        let late = watch(&all, id);
        let (one, two, ()) = tokio::join!(one.ending(), two.ending(), land);
        assert!(all.watch(id).is_none());
        for ending in [one, two, late.ending().await] {
            assert!(
                matches!(ending, Some(Err(PaymentError::KeyPaidElsewhere))),
                "also for who waits after the end"
            );
        }
    }

    #[tokio::test]
    async fn a_transfer_that_is_dropped_keeps_nobody_waiting() {
        let all = PendingTransfers::default();
        let id = TransferId::from_bytes([1; 16]);
        let pending = all.begin(id, place(&all)).expect("first");
        let watch = watch(&all, id);
        drop(pending);
        assert!(watch.ending().await.is_none());
        assert!(all.begin(id, place(&all)).is_some());
    }
}
