//! Accounts that a websocket keeps up to date, so that in steady state a transfer asks no node before it is signed.
//!
//! A value counts only while its subscription stands and frames come in. The first value comes from an RPC read that began after
//! the subscription stood, so no change is missed in between; after that, notices replace it in the order in which the node
//! sends them. Values of accounts that we wrote ourselves are dropped until the next read.
//!
//! A wrong value does no harm: the program judges, and we refuse only after an RPC read.

use parking_lot::{Mutex, MutexGuard};
use purser::state::Agent;
use purser_rpc::topics::Topic;
use purser_rpc::websocket::Subscriber;
use purser_rpc::wire::RawAccount;
use solana_sdk::pubkey::Pubkey;
use std::collections::HashMap;
use std::time::Duration;
use tokio::time::Instant;

/// How many accounts are watched; beyond that, the least recently used are dropped.
const ACCOUNTS_MAX: usize = 1_000;
/// A value that no read has confirmed for this long is read again, whatever the websocket reports.
const UNCONFIRMED_MAX: Duration = Duration::from_secs(300);

/// The watched accounts of one network.
pub struct Watched {
    subscriber: Subscriber,
    entries: Mutex<HashMap<Pubkey, WatchedAccount>>,
    accounts_max: usize,
}

#[derive(Debug)]
struct WatchedAccount {
    live: bool,
    value: Option<WatchedValue>,
    used_at: Instant,
}

#[derive(Debug)]
struct WatchedValue {
    account: RawAccount,
    /// The slot in which it was like this.
    slot: u64,
    read_at: Instant,
}

impl Watched {
    pub fn new(subscriber: Subscriber) -> Self {
        Self { subscriber, entries: Mutex::default(), accounts_max: ACCOUNTS_MAX }
    }

    /// The accounts in the order asked, if all are known. Starts watching those that are not watched yet.
    pub fn get<const N: usize>(&self, keys: &[Pubkey; N]) -> Option<[RawAccount; N]> {
        if !self.subscriber.is_there() {
            return None;
        }
        let now = Instant::now();
        let mut entries = self.entries();
        let mut missing = Vec::new();
        for key in keys {
            match entries.get_mut(key) {
                Some(entry) => entry.used_at = now,
                None => missing.push(*key),
            }
        }
        for key in missing {
            self.make_room(&mut entries);
            entries.insert(key, WatchedAccount { live: false, value: None, used_at: now });
            self.subscriber.subscribe(Topic::Account(key));
        }
        let known = |key| -> Option<RawAccount> {
            let value = entries.get(key)?.value.as_ref()?;
            (value.read_at.elapsed() < UNCONFIRMED_MAX).then(|| value.account.clone())
        };
        let found: Vec<RawAccount> = keys.iter().map_while(known).collect();
        found.try_into().ok()
    }

    /// One account, if it is known. Starts nothing.
    pub fn known(&self, key: &Pubkey) -> Option<RawAccount> {
        Some(self.entries().get(key)?.value.as_ref()?.account.clone())
    }

    /// The keys with a live subscription: a read that begins now may be given to [`Watched::read`].
    pub fn live(&self, keys: &[Pubkey]) -> Vec<Pubkey> {
        let entries = self.entries();
        keys.iter().filter(|key| entries.get(key).is_some_and(|entry| entry.live)).copied().collect()
    }

    /// Takes in an RPC read that began while the subscription stood.
    pub fn read(&self, key: &Pubkey, account: RawAccount, slot: u64) {
        if let Some(entry) = self.entries().get_mut(key).filter(|entry| entry.live) {
            entry.value = Some(WatchedValue { account, slot, read_at: Instant::now() });
        }
    }

    /// A subscription stands.
    pub fn subscribed(&self, key: &Pubkey) {
        if let Some(entry) = self.entries().get_mut(key) {
            entry.live = true;
        }
    }

    /// A node reported a change at this slot, or at 0 if it does not date its notices. Only a read can supply the first value.
    pub fn changed(&self, program: &Pubkey, key: &Pubkey, account: RawAccount, slot: u64) {
        let mut entries = self.entries();
        let Some(value) = entries.get_mut(key).and_then(|entry| entry.value.as_mut()) else { return };
        match order(program, &value.account, &account) {
            NoticeOrder::Newer => (value.account, value.slot) = (account, slot.max(value.slot)),
            // A later slot of another fork.
            NoticeOrder::Older if slot > value.slot => self.forget_in(&mut entries, key),
            NoticeOrder::Older => {}
            NoticeOrder::Unknown => self.forget_in(&mut entries, key),
        }
    }

    /// We changed these accounts, or are about to: only a new read counts.
    pub fn forget(&self, keys: &[Pubkey]) {
        let mut entries = self.entries();
        keys.iter().for_each(|key| self.forget_in(&mut entries, key));
    }

    /// The websocket is gone: no value counts any more.
    pub fn lost(&self) {
        for entry in self.entries().values_mut() {
            (entry.live, entry.value) = (false, None);
        }
    }

    fn forget_in(&self, entries: &mut HashMap<Pubkey, WatchedAccount>, key: &Pubkey) {
        if let Some(entry) = entries.get_mut(key) {
            entry.value = None;
        }
    }

    fn make_room(&self, entries: &mut HashMap<Pubkey, WatchedAccount>) {
        if entries.len() < self.accounts_max {
            return;
        }
        let oldest = entries.iter().min_by_key(|(_, entry)| entry.used_at).map(|(key, _)| *key);
        if let Some(key) = oldest {
            entries.remove(&key);
            self.subscriber.unsubscribe(Topic::Account(key));
        }
    }

    fn entries(&self) -> MutexGuard<'_, HashMap<Pubkey, WatchedAccount>> {
        self.entries.lock()
    }
}

/// How a notice relates to the known value.
enum NoticeOrder {
    Newer,
    Older,
    Unknown,
}

/// Judges by the account's contents, because not every node dates its notices by slot. Policy version and payments never fall, so
/// they reveal a notice that lost a race against a read. An operator must not be wrong even for a moment: a change to it only
/// calls for a new read.
fn order(program: &Pubkey, known: &RawAccount, notice: &RawAccount) -> NoticeOrder {
    if known.owner != notice.owner {
        return NoticeOrder::Unknown;
    }
    if known.owner != *program {
        return NoticeOrder::Newer;
    }
    match (Agent::read(&known.data), Agent::read(&notice.data)) {
        (Some(known), Some(notice)) => {
            let same_age = notice.agent.payments == known.agent.payments
                && notice.agent.policy_version == known.agent.policy_version;
            // A halt has no version, nor has the room for tags: when two values differ only in it, nothing shows which is newer.
            let differ = notice.agent.halted_by != known.agent.halted_by
                || notice.agent.policy.tag_buckets != known.agent.policy.tag_buckets;
            if same_age && differ {
                return NoticeOrder::Unknown;
            }
            let fell = notice.agent.policy_version < known.agent.policy_version
                || notice.agent.payments < known.agent.payments;
            if fell { NoticeOrder::Older } else { NoticeOrder::Newer }
        }
        (_, _) => NoticeOrder::Unknown,
    }
}

#[cfg(test)]
mod tests;
