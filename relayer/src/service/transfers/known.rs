//! What a database that was lost no longer knows.
//!
//! The chain refuses a payment's tag for as long as it is among the agent's latest 16. When one of these was not made
//! from our database, others may have been made that we do not know either, further back: before anything new is
//! signed, the agent's history of the last 24 hours is read once and kept in the database, and a payment that is in
//! there is the answer.
//!
//! What was paid before the latest 16 is known because somebody looked then: this process, not more than 16 payments
//! ago; or whoever signed the newest of them, if all 16 were made from our database, since the chain takes no
//! transfer whose signer was further behind.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use purser_policy::{DAY_SECONDS, TAGS_MAX};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::carry::Carrier;
use crate::chain::{ChainError, LandedTransfer, TransferView};
use crate::domain::{Address, Timestamp, Transfer};
use crate::service::ServiceError;
use crate::store::{LandedTag, StoreError};

/// For how many agents this is remembered; beyond that it is found out anew.
const AGENTS_MAX: usize = 10_000;
/// So many tags of ours are remembered for each. The chain remembers fewer; what is on its way meanwhile comes on top.
const OURS_MAX: usize = 128;
/// How long what landed is kept (seconds): the times of blocks and the program's clock may differ a little.
const KEPT_SECONDS: i64 = DAY_SECONDS + 60;
/// Payments of one agent that are on their way at once. The chain refuses one once as many came since it was signed as it
/// remembers, and half of these may have landed already where what it was signed by is a moment old.
const ON_THEIR_WAY_MAX: usize = TAGS_MAX / 2;
/// A node shows a transaction in the history of its accounts a little later than in the accounts themselves.
const LOOKS_MAX: u32 = 5;
const LOOK_PAUSE: Duration = Duration::from_millis(400);
/// Another process records what has landed within moments; once more of it before each further look.
const RECALL_PAUSE: Duration = Duration::from_millis(50);

/// The tags that were found out about, by agent.
#[derive(Clone, Default)]
pub(super) struct KnownTags(Arc<Mutex<HashMap<Address, AgentTags>>>);

#[derive(Debug)]
struct AgentTags {
    /// Of payments that were made from our database, or are about to be; the latest last.
    ours: VecDeque<u64>,
    /// Of payments on the chain that may not be ours.
    landed: HashMap<u64, LandedTag>,
    /// As far as the history was read.
    newest: Option<String>,
    /// The latest sequence up to which every payment is known.
    known_up_to: Option<u32>,
    /// Held by whoever finds out; everybody else then knows.
    finding_out: Arc<tokio::sync::Mutex<()>>,
    on_their_way: Arc<Semaphore>,
}

/// A payment may be on its way for as long as this is held.
pub(super) type Place = OwnedSemaphorePermit;

impl Default for AgentTags {
    fn default() -> Self {
        Self {
            ours: VecDeque::new(),
            landed: HashMap::new(),
            newest: None,
            known_up_to: None,
            finding_out: Arc::default(),
            on_their_way: Arc::new(Semaphore::new(ON_THEIR_WAY_MAX)),
        }
    }
}

impl KnownTags {
    fn with<T>(&self, agent: &Address, change: impl FnOnce(&mut AgentTags) -> T) -> T {
        let mut agents = self.agents();
        if agents.len() >= AGENTS_MAX && !agents.contains_key(agent) {
            agents.clear();
        }
        change(agents.entry(*agent).or_default())
    }

    fn agents(&self) -> MutexGuard<'_, HashMap<Address, AgentTags>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl AgentTags {
    fn own(&mut self, tag: u64) {
        if self.ours.contains(&tag) {
            return;
        }
        if self.ours.len() == OURS_MAX {
            self.ours.pop_front();
        }
        self.ours.push_back(tag);
    }

    /// Everything that may be known no longer.
    fn forget(&mut self) {
        self.ours.clear();
        self.landed.clear();
        self.newest = None;
        self.known_up_to = None;
    }

    /// Should it have been seen as paid while it was ours, it is not known any longer whose it is.
    fn disown(&mut self, tag: u64) {
        if self.remove(tag) {
            self.known_up_to = None;
        }
    }

    fn remove(&mut self, tag: u64) -> bool {
        let before = self.ours.len();
        self.ours.retain(|known| *known != tag);
        self.ours.len() < before
    }

    /// Takes the tag as ours if it is unpaid for certain.
    fn own_if_unpaid(&mut self, tag: u64, seen: &Seen) -> bool {
        let is_unpaid = self.is_unpaid(tag, seen);
        if is_unpaid {
            self.own(tag);
        }
        is_unpaid
    }

    /// Whether nothing needs to be found out before this tag is paid: every payment is known, and that this one was made,
    /// or is just being made, is not.
    fn is_unpaid(&mut self, tag: u64, seen: &Seen) -> bool {
        if !self.unknown(seen).is_empty() || !self.goes_on_to(seen) {
            return false;
        }
        self.is_known_up_to(seen);
        !self.ours.contains(&tag) && !self.landed.contains_key(&tag)
    }

    /// Whether no payment can lie between what is known and what the chain remembers.
    fn goes_on_to(&self, seen: &Seen) -> bool {
        let is_near = |known: u32| seen.sequence.wrapping_sub(known).cast_signed() <= TAGS_MAX as i32;
        seen.remembered.len() < TAGS_MAX || self.known_up_to.is_some_and(is_near)
    }

    fn is_known_up_to(&mut self, seen: &Seen) {
        let is_newer = |known: u32| seen.sequence.wrapping_sub(known).cast_signed() > 0;
        if self.known_up_to.is_none_or(is_newer) {
            self.known_up_to = Some(seen.sequence);
        }
    }

    /// The tags that nothing is known about.
    fn unknown(&self, seen: &Seen) -> Vec<u64> {
        let known = |tag: &&u64| self.ours.contains(*tag) || self.landed.contains_key(*tag);
        seen.remembered.iter().filter(|tag| !known(tag)).copied().collect()
    }

    fn learn(&mut self, landed: &[LandedTag], now: i64) {
        for new in landed {
            let known = self.landed.entry(new.tag).or_insert(*new);
            known.landed_at = known.landed_at.max(new.landed_at);
            known.is_read |= new.is_read;
        }
        self.landed.retain(|_, known| now.saturating_sub(known.landed_at.unix_seconds()) < KEPT_SECONDS);
    }

    fn has_landed(&self, tag: u64, now: i64) -> bool {
        let is_recent = |known: &LandedTag| now.saturating_sub(known.landed_at.unix_seconds()) < DAY_SECONDS;
        self.landed.get(&tag).is_some_and(is_recent)
    }

    /// Whether every payment before this one is known too.
    fn is_read(&self, tag: u64) -> bool {
        self.landed.get(&tag).is_some_and(|known| known.is_read)
    }
}

/// What an account's memory of tags shows.
struct Seen {
    remembered: Vec<u64>,
    sequence: u32,
    now: i64,
}

impl Seen {
    fn by(view: &TransferView) -> Self {
        let remembered = view.tags.remembered(view.now).collect();
        Self { remembered, sequence: view.tags.sequence(), now: view.now }
    }
}

/// Why it could not be found out.
pub(super) enum Unknowable {
    Chain(ChainError),
    Service(ServiceError),
}

impl Carrier {
    /// A place for one more payment of the agent's on its way, if there is one.
    pub(super) fn try_place(&self) -> Option<Place> {
        self.places().try_acquire_owned().ok()
    }

    /// The same, when there is one. `None` at a stop.
    pub(super) async fn place(&self) -> Option<Place> {
        tokio::select! {
            place = self.places().acquire_owned() => place.ok(),
            () = self.parts.tasks.stop.cancelled() => None,
        }
    }

    fn places(&self) -> Arc<Semaphore> {
        self.known.with(&self.account.address, |tags| Arc::clone(&tags.on_their_way))
    }

    /// Takes the tag as ours, until it is disowned. False, and not taken, when it was paid, or may have been: the chain
    /// remembers a payment that nothing is known about, or the tag was taken before.
    pub(super) fn own_if_unpaid(&self, tag: u64, view: &TransferView) -> bool {
        self.known.with(&self.account.address, |tags| tags.own_if_unpaid(tag, &Seen::by(view)))
    }

    /// Whether nothing was paid under this tag, as far as that is known without asking.
    pub(super) fn is_unpaid(&self, tag: u64, view: &TransferView) -> bool {
        self.known.with(&self.account.address, |tags| tags.is_unpaid(tag, &Seen::by(view)))
    }

    /// Nothing was paid under this tag, or it was paid by somebody else: should the chain remember it, it is to be looked
    /// up again.
    pub(super) fn disown(&self, tag: u64) {
        self.known.with(&self.account.address, |tags| tags.disown(tag));
    }

    /// It was paid, and it may not have been from our database.
    pub(super) async fn keep_landed(&self, tag: u64, at: Timestamp) -> Result<(), StoreError> {
        let now = self.chain_now().await.unix_seconds();
        let landed = [LandedTag { tag, landed_at: at, is_read: false }];
        self.parts.store.keep_landed_tags(&self.account, &landed, since(now)).await?;
        self.known.with(&self.account.address, |tags| {
            tags.remove(tag);
            tags.learn(&landed, now);
        });
        Ok(())
    }

    /// Takes the transfer's tag as ours, unless the chain's history of the last 24 hours holds a payment with it that our
    /// database does not know as made. Asks nobody while all that the chain remembers is known.
    pub(super) async fn was_paid_before(
        &self,
        transfer: &Transfer,
        view: &TransferView,
    ) -> Result<bool, Unknowable> {
        if self.own_if_unpaid(transfer.tag, view) {
            return Ok(false);
        }
        let agent = &self.account.address;
        let finding_out = self.known.with(agent, |tags| Arc::clone(&tags.finding_out));
        let _turn = finding_out.lock().await;
        if self.own_if_unpaid(transfer.tag, view) {
            // Somebody else has found out meanwhile.
            return Ok(false);
        }
        let seen = Seen::by(view);
        let is_taken = self.known.with(agent, |tags| tags.ours.contains(&transfer.tag));
        if is_taken || !self.recall(&seen).await.map_err(|error| Unknowable::Service(error.into()))? {
            self.read_history(&seen).await?;
        }
        let was_paid = self.known.with(agent, |tags| {
            tags.is_known_up_to(&seen);
            tags.has_landed(transfer.tag, seen.now)
        });
        if was_paid && is_taken {
            tracing::warn!(account_id = %self.account.id, "the database has forgotten a payment of this process");
            self.known.agents().values_mut().for_each(AgentTags::forget);
        }
        if !was_paid {
            self.known.with(agent, |tags| tags.own(transfer.tag));
        }
        Ok(was_paid)
    }

    /// Whether the database knows everything up to what was seen. What another process is just making is waited for.
    async fn recall(&self, seen: &Seen) -> Result<bool, StoreError> {
        let (store, agent) = (&self.parts.store, &self.account.address);
        for look in 1..=LOOKS_MAX {
            let made = store.find_made_tags(&self.account, &seen.remembered).await?;
            let landed = store.list_landed_tags(&self.account, since(seen.now)).await?;
            let (is_known, is_foreign) = self.known.with(agent, |tags| {
                made.iter().for_each(|(tag, _)| tags.own(*tag));
                tags.learn(&landed, seen.now);
                let may_be_foreign = |tag: &u64| tags.landed.contains_key(tag) && !tags.is_read(*tag);
                let is_sure = |tag: &u64| made.contains(&(*tag, true)) || tags.is_read(*tag);
                let is_near = tags.goes_on_to(seen);
                let is_foreign = !tags.unknown(seen).is_empty()
                    || (!is_near && seen.remembered.iter().any(may_be_foreign));
                let is_known = !is_foreign && (is_near || seen.remembered.iter().all(is_sure));
                (is_known, is_foreign)
            });
            if is_known || is_foreign {
                return Ok(is_known);
            }
            tokio::time::sleep(RECALL_PAUSE * look).await;
        }
        Ok(false)
    }

    /// Reads the agent's history until it shows everything that the chain remembers, and keeps it for good.
    async fn read_history(&self, seen: &Seen) -> Result<(), Unknowable> {
        tracing::info!(account_id = %self.account.id, "the chain may know payments that the database does not");
        let agent = &self.account.address;
        for look in 1..=LOOKS_MAX {
            let newest = self.known.with(agent, |tags| tags.newest.clone());
            let listed = self.network.chain.list_landed(agent, newest.as_deref()).await;
            let listed = listed.map_err(Unknowable::Chain)?;
            let is_whole = self.known.with(agent, |tags| {
                let is_shown =
                    |tag: &u64| tags.is_read(*tag) || listed.iter().any(|landed| landed.tag == *tag);
                seen.remembered.iter().all(is_shown)
            });
            if is_whole {
                let landed: Vec<_> = listed.iter().map(|landed| read(landed, seen.now)).collect();
                let kept = self.parts.store.keep_landed_tags(&self.account, &landed, since(seen.now)).await;
                kept.map_err(|error| Unknowable::Service(error.into()))?;
                self.known.with(agent, |tags| {
                    tags.learn(&landed, seen.now);
                    if let Some(newest) = listed.first() {
                        tags.newest = Some(newest.signature.clone());
                    }
                });
                return Ok(());
            }
            if look < LOOKS_MAX {
                tokio::time::sleep(LOOK_PAUSE).await;
            }
        }
        let reason = "the agent's history does not show all that its account remembers".to_owned();
        Err(Unknowable::Chain(ChainError::Unavailable { during: "getSignaturesForAddress", reason }))
    }
}

fn read(landed: &LandedTransfer, now: i64) -> LandedTag {
    let landed_at = Timestamp::from_unix_seconds(landed.block_time.unwrap_or(now));
    LandedTag { tag: landed.tag, landed_at, is_read: true }
}

fn since(now: i64) -> Timestamp {
    Timestamp::from_unix_seconds(now.saturating_sub(KEPT_SECONDS))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn landed(tag: u64, second: i64) -> LandedTag {
        LandedTag { tag, landed_at: Timestamp::from_unix_seconds(second), is_read: false }
    }

    fn seen(sequence: u32, remembered: &[u64]) -> Seen {
        Seen { remembered: remembered.to_vec(), sequence, now: 2_000 }
    }

    #[test]
    fn what_was_read_is_known_and_counts_as_paid_for_a_day() {
        let mut tags = AgentTags::default();
        assert_eq!(tags.unknown(&seen(2, &[7, 8])), [7, 8]);
        tags.own(8);
        tags.learn(&[landed(7, 1_000), landed(6, 900)], 2_000);
        assert!(tags.unknown(&seen(2, &[7, 8])).is_empty());
        assert!(tags.has_landed(6, 899 + DAY_SECONDS) && !tags.has_landed(6, 900 + DAY_SECONDS));
        // The program's clock may be a little behind the times of blocks.
        tags.learn(&[], 900 + DAY_SECONDS);
        assert!(tags.unknown(&seen(3, &[6])).is_empty());
        tags.learn(&[], 900 + KEPT_SECONDS);
        assert_eq!(tags.unknown(&seen(3, &[6, 7, 9])), [6, 9]);
    }

    #[test]
    fn ours_are_known_whatever_an_older_view_shows_and_the_oldest_of_too_many_are_let_go() {
        let mut tags = AgentTags::default();
        tags.own(1);
        // Somebody looks who read the chain before.
        assert!(tags.unknown(&seen(0, &[])).is_empty());
        assert_eq!(tags.unknown(&seen(2, &[1, 2])), [2]);
        (0..OURS_MAX as u64).for_each(|number| tags.own(100 + number));
        tags.own(100);
        assert_eq!(tags.unknown(&seen(3, &[1, 100, 99 + OURS_MAX as u64])), [1]);
    }

    #[test]
    fn tag_can_be_owned_once_and_while_nothing_speaks_against_it() {
        let mut tags = AgentTags::default();
        assert!(!tags.own_if_unpaid(1, &seen(1, &[2])), "the chain remembers what we do not");
        assert!(tags.own_if_unpaid(1, &seen(0, &[])));
        assert!(!tags.own_if_unpaid(1, &seen(0, &[])), "it is being paid");
        tags.disown(1);
        assert_eq!(tags.known_up_to, None, "somebody else may have paid it meanwhile");
        assert!(!tags.own_if_unpaid(1, &seen(1, &[1])));
        tags.learn(&[landed(1, 1_000)], 1_000);
        assert!(!tags.own_if_unpaid(1, &seen(1, &[1])) && tags.own_if_unpaid(3, &seen(1, &[1])));
    }

    #[test]
    fn what_came_before_all_that_the_chain_remembers_is_known_only_from_a_look_not_long_ago() {
        let mut tags = AgentTags::default();
        let full: Vec<u64> = (1..=TAGS_MAX as u64).collect();
        full.iter().for_each(|tag| tags.own(*tag));
        assert!(!tags.own_if_unpaid(50, &seen(40, &full)), "never looked");
        assert!(tags.own_if_unpaid(51, &seen(24, &full[1..])), "nothing else in 24 hours");
        assert!(tags.own_if_unpaid(52, &seen(40, &full)), "16 ago");
        assert!(!tags.own_if_unpaid(53, &seen(57, &full)), "17 ago");
        assert!(tags.own_if_unpaid(54, &seen(30, &full)), "an older view is behind what is known");
        assert!(tags.own_if_unpaid(55, &seen(56, &full)));
        tags.forget();
        full.iter().for_each(|tag| tags.own(*tag));
        assert!(!tags.own_if_unpaid(56, &seen(56, &full)));
    }
}
