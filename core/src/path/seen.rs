//! Recent payments of accounts by number, as this process has seen them.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use purser_policy::{RecentTags, TAGS_MAX};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::{AccountId, Joint, PaymentMade};

/// How many accounts have their views remembered.
const ACCOUNTS_MAX: usize = 10_000;
/// Payments per account remembered from views. At 30 a second, half a minute may pass until they are final.
const SEEN_MAX: usize = 1_024;
/// Payments per account that are signed but not yet confirmed. The program refuses a payment once as many came after
/// its view as the account has tags.
const UNCONFIRMED_MAX: usize = TAGS_MAX * 3 / 4;
/// A payment that was seen, and that the account does not have so many seconds later, by the chain's clock, is gone by a fork.
const FORKED_AFTER: i64 = 60;

/// The latest payments of each account that this process has seen.
#[derive(Clone, Default)]
pub(super) struct SeenPayments(Arc<Mutex<SeenAccounts>>);

#[derive(Default)]
struct SeenAccounts {
    seen: HashMap<AccountId, Seen>,
    /// Counts uses, to tell which was the latest.
    uses: u64,
}

struct Seen {
    /// The number of its latest use.
    used: u64,
    /// Tags by the numbers of their payments.
    tags: BTreeMap<u64, u64>,
    /// The chain's latest second at which the account had all of these.
    seen_at: i64,
    unconfirmed: Arc<Semaphore>,
}

/// Permits one more payment that is signed but unconfirmed, while it is held.
pub(super) type Permit = OwnedSemaphorePermit;

/// What is known about a tag.
pub(super) enum WasPaid {
    No,
    Yes(Box<PaymentMade>),
    /// Our records miss payments, or do not hold the payment with this tag yet.
    Unknown,
    /// Our records are too far ahead of the view to sign from it.
    OldView,
}

impl SeenPayments {
    /// Adds what an account remembers at the chain's second `now`. Returns the payment from which on nothing is missing up to its newest
    /// one; `None`: nothing is missing at all.
    pub fn learn(&self, account: AccountId, tags: &RecentTags, now: i64) -> Option<Joint> {
        self.with(account, |seen| seen.learn(tags, now))
    }

    /// An account was read that remembers these at the chain's second `now`: what it should have by then, and has not, is forgotten.
    pub fn forget_forked(&self, account: AccountId, tags: &RecentTags, now: i64) {
        self.with(account, |seen| seen.forget_forked(tags, now));
    }

    /// Whether payments were seen that this view of the account does not have.
    pub fn is_behind(&self, account: AccountId, view: &RecentTags) -> bool {
        self.with(account, |seen| seen.newest() > view.recorded())
    }

    /// Forgets the payments of an account; its permits stay.
    pub fn forget(&self, account: AccountId) {
        self.with(account, |seen| seen.tags.clear());
    }

    /// Whether a payment with `tag` was seen whose number is `first` or later.
    pub fn has(&self, account: AccountId, tag: u64, first: u64) -> bool {
        self.with(account, |seen| seen.tags.range(first..).any(|(_, known)| *known == tag))
    }

    pub fn try_permit(&self, account: AccountId) -> Option<Permit> {
        self.unconfirmed(account).try_acquire_owned().ok()
    }

    pub async fn permit(&self, account: AccountId) -> Option<Permit> {
        self.unconfirmed(account).acquire_owned().await.ok()
    }

    /// How many payments fewer than were seen a transfer may count: so many that the program bears those in flight as well, and two of others.
    pub fn may_lag(&self, account: AccountId) -> u64 {
        let in_flight = UNCONFIRMED_MAX.saturating_sub(self.unconfirmed(account).available_permits());
        TAGS_MAX.saturating_sub(in_flight + 3) as u64
    }

    fn unconfirmed(&self, account: AccountId) -> Arc<Semaphore> {
        self.with(account, |seen| Arc::clone(&seen.unconfirmed))
    }

    fn with<T>(&self, account: AccountId, work: impl FnOnce(&mut Seen) -> T) -> T {
        let mut accounts = self.accounts();
        if accounts.seen.len() >= ACCOUNTS_MAX && !accounts.seen.contains_key(&account) {
            accounts.forget_oldest();
        }
        accounts.uses += 1;
        let used = accounts.uses;
        let seen = accounts.seen.entry(account).or_default();
        seen.used = used;
        work(seen)
    }

    fn accounts(&self) -> MutexGuard<'_, SeenAccounts> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl SeenAccounts {
    /// Forgets the tenth that was not used for longest, but no account for which something is being signed. Views are read
    /// again when needed.
    fn forget_oldest(&mut self) {
        let mut used: Vec<u64> = self.seen.values().map(|seen| seen.used).collect();
        let tenth = used.len() / 10;
        let (_, oldest_kept, _) = used.select_nth_unstable(tenth);
        let oldest_kept = *oldest_kept;
        self.seen.retain(|_, seen| seen.used >= oldest_kept || Arc::strong_count(&seen.unconfirmed) > 1);
    }
}

/// The joint at the first payment that is shown.
fn joint(first: Option<(u64, u64)>) -> Option<Joint> {
    first.filter(|(number, _)| *number > 1).map(|(number, tag)| Joint { number, tag })
}

impl Default for Seen {
    fn default() -> Self {
        Self {
            used: 0,
            tags: BTreeMap::new(),
            seen_at: 0,
            unconfirmed: Arc::new(Semaphore::new(UNCONFIRMED_MAX)),
        }
    }
}

impl Seen {
    fn learn(&mut self, remembered: &RecentTags, now: i64) -> Option<Joint> {
        let known = |(number, _): &(u64, u64)| self.tags.contains_key(number);
        let conflicts = |(number, tag): (u64, u64)| self.tags.get(&number).is_some_and(|known| *known != tag);
        let is_joined = remembered.numbered().any(|payment| known(&payment));
        if !is_joined && remembered.recorded() < self.newest() {
            // An old view, which nothing joins to what was seen since.
            return joint(remembered.numbered().next());
        }
        if !is_joined || remembered.numbered().any(conflicts) {
            // Too many payments since the last view, a confirmed block was forked away, or an account was closed and recreated.
            self.tags.clear();
        }
        self.tags.extend(remembered.numbered());
        if self.newest() <= remembered.recorded() {
            self.seen_at = self.seen_at.max(now);
        }
        while self.tags.len() > SEEN_MAX {
            self.tags.pop_first();
        }
        let newest = remembered.recorded();
        let mut first = None;
        for (number, tag) in self.tags.range(..=newest).rev() {
            if first.is_some_and(|(first, _)| number.saturating_add(1) != first) {
                break;
            }
            first = Some((*number, *tag));
        }
        joint(first)
    }

    fn forget_forked(&mut self, remembered: &RecentTags, now: i64) {
        let recorded = remembered.recorded();
        if recorded < self.newest() && now >= self.seen_at.saturating_add(FORKED_AFTER) {
            self.tags.retain(|number, _| *number <= recorded);
        }
    }

    fn newest(&self) -> u64 {
        self.tags.last_key_value().map_or(0, |(number, _)| *number)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn remembered(payments: u64) -> RecentTags {
        let mut tags = RecentTags::EMPTY;
        (1..=payments).for_each(|number| tags.record(100 + number, 1_000));
        tags
    }

    fn from(number: u64) -> Option<Joint> {
        Some(Joint { number, tag: 100 + number })
    }

    #[test]
    fn views_join_where_both_hold_a_payment() {
        let mut seen = Seen::default();
        assert_eq!(seen.learn(&remembered(0), 0), None);
        assert_eq!(seen.learn(&remembered(3), 0), None, "all that there are");
        assert_eq!(seen.learn(&remembered(18), 0), None, "the latest 16 reach back to what was seen before");
        assert_eq!(seen.learn(&remembered(33), 0), None);
        assert_eq!(seen.learn(&remembered(18), 0), None, "an older view is joined as before");
        assert_eq!(seen.tags.get(&33), Some(&133));
        assert_eq!(seen.learn(&remembered(49), 0), from(34), "no view shows both 33 and 34");
        assert_eq!(seen.learn(&remembered(33), 0), from(18), "an old view says nothing of what came since");
        assert_eq!(seen.newest(), 49);
    }

    #[test]
    fn remembered_payments_are_bounded() {
        let mut seen = Seen::default();
        let payments = 2 * SEEN_MAX as u64;
        (1..=payments).for_each(|number| {
            seen.learn(&remembered(number), 0);
        });
        assert_eq!(seen.tags.len(), SEEN_MAX);
        assert_eq!(seen.learn(&remembered(payments), 0), from(payments - SEEN_MAX as u64 + 1));
    }

    #[test]
    fn another_tag_under_a_known_number_clears_the_remembered_payments() {
        let mut seen = Seen::default();
        seen.learn(&remembered(15), 0);
        seen.learn(&remembered(30), 0);
        let mut forked = remembered(29);
        forked.record(7, 1_000);
        assert_eq!(seen.learn(&forked, 0), from(15));
        assert_eq!(seen.tags.get(&30), Some(&7));
    }

    #[test]
    fn payment_that_a_fork_dropped_is_forgotten_once_the_chain_is_a_minute_on_without_it() {
        let mut seen = Seen::default();
        seen.learn(&remembered(2), 1_000);
        seen.forget_forked(&remembered(1), 1_000 + FORKED_AFTER - 1);
        assert_eq!(seen.newest(), 2, "the node that was read may be behind");
        seen.learn(&remembered(2), 1_001);
        seen.forget_forked(&remembered(1), 1_000 + FORKED_AFTER);
        assert_eq!(seen.newest(), 2);
        seen.forget_forked(&remembered(1), 1_001 + FORKED_AFTER);
        assert_eq!(seen.newest(), 1);
        seen.forget_forked(&remembered(0), 1_001 + FORKED_AFTER);
        assert_eq!(seen.newest(), 0, "nothing took its number");
    }

    #[test]
    fn at_most_so_many_accounts_are_remembered_and_the_longest_unused_go_first() {
        let seen = SeenPayments::default();
        let account = |number: usize| AccountId::from_bytes((number as u128).to_be_bytes());
        let learns = |number: usize| seen.learn(account(number), &remembered(1), 0);
        let permit = seen.try_permit(account(0)).expect("free");
        for number in 0..ACCOUNTS_MAX {
            learns(number);
        }
        learns(1);
        learns(ACCOUNTS_MAX);
        let is_known = |number: usize| seen.accounts().seen.contains_key(&account(number));
        assert_eq!(seen.accounts().seen.len(), ACCOUNTS_MAX - ACCOUNTS_MAX / 10 + 2);
        assert!(is_known(0), "a payment of it is not confirmed yet");
        assert!(is_known(1), "it was used just now");
        assert!(!is_known(2) && !is_known(ACCOUNTS_MAX / 10), "a tenth is forgotten");
        assert!(is_known(ACCOUNTS_MAX / 10 + 1) && is_known(ACCOUNTS_MAX));
        drop(permit);
    }

    #[test]
    fn permits_are_an_accounts_own() {
        let seen = SeenPayments::default();
        let account = AccountId::from_bytes([1; 16]);
        let held: Vec<Permit> = std::iter::from_fn(|| seen.try_permit(account)).collect();
        assert_eq!(held.len(), UNCONFIRMED_MAX);
        assert_eq!(seen.may_lag(account), 1, "the program bears 15 later ones");
        assert!(seen.try_permit(AccountId::from_bytes([2; 16])).is_some());
        drop(held);
        assert!(seen.try_permit(account).is_some());
    }
}
