//! Places that operators share: look-ups, attempts of deliveries, requests to servers for extensions. An operator gets another place as long as it holds
//! fewer than are free, so one alone gets half of them, two a third each, and whoever comes next finds as many as each of the
//! others has. Nobody has to be counted or configured.

use parking_lot::Mutex;
use std::collections::HashMap;
use std::pin::pin;
use std::sync::Arc;

use tokio::sync::Notify;

use purser_core::OperatorId;

/// Who wants a place; `None` for what the service does for itself.
pub type Holder = Option<OperatorId>;

/// A number of places.
#[derive(Clone)]
pub struct Shares {
    taken: Arc<Mutex<Taken>>,
    freed: Arc<Notify>,
}

struct Taken {
    free: usize,
    held: HashMap<Holder, usize>,
}

/// One place, given back on drop.
pub struct Share {
    places: Shares,
    holder: Holder,
}

impl Shares {
    pub fn new(places: usize) -> Self {
        let taken = Mutex::new(Taken { free: places, held: HashMap::new() });
        Self { taken: Arc::new(taken), freed: Arc::default() }
    }

    /// A place, if the holder may have another one now.
    pub fn try_take(&self, holder: Holder) -> Option<Share> {
        let mut taken = self.taken.lock();
        let held = taken.held.get(&holder).copied().unwrap_or(0);
        if held >= taken.free {
            return None;
        }
        taken.free -= 1;
        taken.held.insert(holder, held + 1);
        Some(Share { places: self.clone(), holder })
    }

    /// Waits for a place.
    pub async fn take(&self, holder: Holder) -> Share {
        loop {
            let mut freed = pin!(self.freed.notified());
            // Before the look, so that no place is freed unseen between look and wait.
            freed.as_mut().enable();
            if let Some(share) = self.try_take(holder) {
                return share;
            }
            freed.await;
        }
    }
}

impl Drop for Share {
    fn drop(&mut self) {
        let mut taken = self.places.taken.lock();
        taken.free += 1;
        match taken.held.get_mut(&self.holder) {
            Some(held) if *held > 1 => *held -= 1,
            Some(_) | None => drop(taken.held.remove(&self.holder)),
        }
        drop(taken);
        // All of them: which of those that wait may have it depends on what they hold.
        self.places.freed.notify_waiters();
    }
}

/// Connections to servers that operators name, in one budget.
#[derive(Clone)]
pub struct Outgoing {
    /// Attempts to receivers that answer quickly.
    pub quick: Shares,
    /// Attempts to all others: however many hang, the quick ones have places of their own.
    pub slow: Shares,
    /// Requests for extensions; each has one connection at a time.
    pub fetches: Shares,
}

/// Out of this many of the files that the process may have open.
const SHARE_OF_FILES: u64 = 4;
const OUTGOING_MAX: u64 = 768;

impl Outgoing {
    /// For a process that may have this many files open.
    pub fn of_files(files: u64) -> Self {
        let places = (files / SHARE_OF_FILES).clamp(6, OUTGOING_MAX);
        // At most 768.
        let sixth = usize::try_from(places / 6).unwrap_or(1);
        Self { quick: Shares::new(4 * sixth), slow: Shares::new(sixth), fetches: Shares::new(sixth) }
    }
}

#[cfg(test)]
mod tests {
    use futures::FutureExt;

    use super::*;

    fn operator(number: u8) -> Holder {
        Some(OperatorId::from_bytes([number; 16]))
    }

    fn all_of(shares: &Shares, holder: Holder) -> Vec<Share> {
        std::iter::from_fn(|| shares.try_take(holder)).collect()
    }

    #[test]
    fn operators_share_places_by_how_many_want_them() {
        let shares = Shares::new(120);
        let greedy = all_of(&shares, operator(1));
        assert_eq!(greedy.len(), 60, "one alone has half");
        let second = all_of(&shares, operator(2));
        assert_eq!(second.len(), 30, "half of what is left, at once");
        drop((greedy, second));
        let mut both = (Vec::new(), Vec::new());
        while let (Some(one), Some(other)) = (shares.try_take(operator(1)), shares.try_take(operator(2))) {
            both.0.push(one);
            both.1.push(other);
        }
        assert_eq!((both.0.len(), both.1.len()), (40, 40), "two have a third each");
        assert_eq!(all_of(&shares, operator(3)).len(), 20, "and a third operator finds room");
    }

    #[tokio::test]
    async fn a_freed_place_goes_to_one_that_may_have_it() {
        let shares = Shares::new(2);
        let first = shares.try_take(operator(1)).expect("free");
        let mut again = Box::pin(shares.take(operator(1)));
        assert!((&mut again).now_or_never().is_none(), "as many as are free");
        let other = shares.take(operator(2)).await;
        drop(first);
        drop(again.await);
        drop(other);
        assert!(shares.try_take(operator(1)).is_some());
    }

    #[test]
    fn a_thousand_files_leave_a_quarter_for_connections_to_others() {
        let outgoing = Outgoing::of_files(1_024);
        let count = |shares: &Shares| shares.taken.lock().free;
        assert_eq!([&outgoing.quick, &outgoing.slow, &outgoing.fetches].map(count), [168, 42, 42]);
        let outgoing = Outgoing::of_files(1 << 20);
        assert_eq!([&outgoing.quick, &outgoing.slow, &outgoing.fetches].map(count), [512, 128, 128]);
    }
}
