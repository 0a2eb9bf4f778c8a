//! Accounts kept up to date by a websocket, so that a transfer in steady state asks no node before it is signed.
//!
//! An account is read from here only while its subscription stands and frames come in. Its first value comes from a
//! read over RPC made after the subscription stood, so that no change lies in between; notices replace it in the order
//! in which the node sends them. What we wrote ourselves is forgotten until it is read anew.
//!
//! Being wrong here is harmless: the program judges, and a refusal is only given after a read over RPC.

use crate::chain::live::socket::Subscriber;
use crate::chain::live::topics::Topic;
use crate::chain::rpc::wire::RawAccount;
use purser::state::Agent;
use solana_sdk::pubkey::Pubkey;
use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::time::Instant;

/// How many accounts are watched; beyond that, those that were not used for the longest time are let go.
const ACCOUNTS_MAX: usize = 1_000;
/// A value that no read confirmed for this long is read anew, whatever the websocket told.
const UNCONFIRMED_MAX: Duration = Duration::from_secs(300);

/// The watched accounts of one network.
pub struct Watched {
    subscriber: Subscriber,
    entries: Mutex<HashMap<Pubkey, WatchedAccount>>,
    accounts_max: usize,
}

#[derive(Debug)]
struct WatchedAccount {
    standing: bool,
    value: Option<Value>,
    used_at: Instant,
}

#[derive(Debug)]
struct Value {
    account: RawAccount,
    read_at: Instant,
}

impl Watched {
    pub fn new(subscriber: Subscriber) -> Self {
        Self { subscriber, entries: Mutex::default(), accounts_max: ACCOUNTS_MAX }
    }

    /// The accounts in the order asked, if all of them are known. Those that are not watched are from now on.
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
            entries.insert(key, WatchedAccount { standing: false, value: None, used_at: now });
            self.subscriber.subscribe(Topic::Account(key));
        }
        let known = |key| -> Option<RawAccount> {
            let value = entries.get(key)?.value.as_ref()?;
            (value.read_at.elapsed() < UNCONFIRMED_MAX).then(|| value.account.clone())
        };
        let found: Vec<RawAccount> = keys.iter().map_while(known).collect();
        found.try_into().ok()
    }

    /// Which of the keys have a standing subscription: a read that begins now may be given to [`Watched::read`].
    pub fn standing(&self, keys: &[Pubkey]) -> Vec<Pubkey> {
        let entries = self.entries();
        keys.iter().filter(|key| entries.get(key).is_some_and(|entry| entry.standing)).copied().collect()
    }

    /// Takes in what a read over RPC gave, begun while the subscription stood.
    pub fn read(&self, key: &Pubkey, account: RawAccount) {
        if let Some(entry) = self.entries().get_mut(key).filter(|entry| entry.standing) {
            entry.value = Some(Value { account, read_at: Instant::now() });
        }
    }

    /// A subscription stands.
    pub fn subscribed(&self, key: &Pubkey) {
        if let Some(entry) = self.entries().get_mut(key) {
            entry.standing = true;
        }
    }

    /// A node told of a change. Where there is no value yet, only a read gives one.
    pub fn changed(&self, program: &Pubkey, key: &Pubkey, account: RawAccount) {
        let mut entries = self.entries();
        let Some(value) = entries.get_mut(key).and_then(|entry| entry.value.as_mut()) else { return };
        match order(program, &value.account, &account) {
            NoticeOrder::Newer => value.account = account,
            NoticeOrder::Older => {}
            NoticeOrder::Unknown => self.forget_in(&mut entries, key),
        }
    }

    /// What stands there was or will be changed by us: only a new read tells.
    pub fn forget(&self, keys: &[Pubkey]) {
        let mut entries = self.entries();
        keys.iter().for_each(|key| self.forget_in(&mut entries, key));
    }

    /// The websocket is gone: nothing is known of any account.
    pub fn lost(&self) {
        for entry in self.entries().values_mut() {
            (entry.standing, entry.value) = (false, None);
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
        self.entries.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// How a notice stands to what is known.
enum NoticeOrder {
    Newer,
    Older,
    Unknown,
}

/// By the account's own contents: the slot of a notice is no measure, since not every node dates its notices. Neither a
/// policy version nor a sequence falls; a notice that lost a race against a read is told by them. Of what may not be read wrongly even
/// for a moment (an operator), a change is only a reason to read again.
fn order(program: &Pubkey, known: &RawAccount, told: &RawAccount) -> NoticeOrder {
    if known.owner != told.owner {
        return NoticeOrder::Unknown;
    }
    if known.owner != *program {
        return NoticeOrder::Newer;
    }
    match (Agent::read(&known.data), Agent::read(&told.data)) {
        (Some(known), Some(told)) => {
            let ahead = told.agent.tags().sequence().wrapping_sub(known.agent.tags().sequence());
            let same_age = ahead == 0 && told.agent.policy_version == known.agent.policy_version;
            // A halt counts no version: of two that differ in it alone, nothing tells which is the newer.
            if same_age && told.agent.halted_by != known.agent.halted_by {
                return NoticeOrder::Unknown;
            }
            let fell = told.agent.policy_version < known.agent.policy_version || ahead > u32::MAX / 2;
            if fell { NoticeOrder::Older } else { NoticeOrder::Newer }
        }
        (_, _) => NoticeOrder::Unknown,
    }
}

#[cfg(test)]
mod tests;
