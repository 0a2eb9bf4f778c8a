//! What is known of the payments of each agent, in memory: which tags are ours, which landed otherwise, and up to where
//! nothing is missing. [`super::unpaid`] finds out the rest.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use purser_policy::{DAY_SECONDS, TAGS_MAX};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::chain::TransferView;
use crate::domain::Address;
use crate::store::LandedTag;

/// For how many agents this is remembered; beyond that it is found out anew.
const AGENTS_MAX: usize = 10_000;
/// So many tags of ours are remembered for each. The chain remembers fewer; what is on its way meanwhile comes on top.
const OURS_MAX: usize = 128;
/// How long what landed is kept (seconds): the times of blocks and the program's clock may differ a little.
pub(super) const KEPT_SECONDS: i64 = DAY_SECONDS + 60;
/// Payments of one agent that are on their way at once. The chain refuses one once as many came since it was signed as it
/// remembers, and half of these may have landed already where what it was signed by is a moment old.
const ON_THEIR_WAY_MAX: usize = TAGS_MAX / 2;
/// The tags that were found out about, by agent.
#[derive(Clone, Default)]
pub(super) struct KnownTags(Arc<Mutex<HashMap<Address, AgentTags>>>);

#[derive(Debug)]
pub(super) struct AgentTags {
    /// Of payments that were made from our database, or are about to be; the latest last.
    pub ours: VecDeque<u64>,
    /// Of payments on the chain that may not be ours.
    pub landed: HashMap<u64, LandedTag>,
    /// As far as the history was read.
    pub newest: Option<String>,
    /// The latest sequence up to which every payment is known.
    pub known_up_to: Option<u32>,
    /// Held by whoever finds out; everybody else then knows.
    pub finding_out: Arc<tokio::sync::Mutex<()>>,
    pub on_their_way: Arc<Semaphore>,
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
    pub fn with<T>(&self, agent: &Address, change: impl FnOnce(&mut AgentTags) -> T) -> T {
        let mut agents = self.agents();
        if agents.len() >= AGENTS_MAX && !agents.contains_key(agent) {
            agents.clear();
        }
        change(agents.entry(*agent).or_default())
    }

    pub fn agents(&self) -> MutexGuard<'_, HashMap<Address, AgentTags>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl AgentTags {
    pub fn own(&mut self, tag: u64) {
        if self.ours.contains(&tag) {
            return;
        }
        if self.ours.len() == OURS_MAX {
            self.ours.pop_front();
        }
        self.ours.push_back(tag);
    }

    /// Everything that may be known no longer.
    pub fn forget(&mut self) {
        self.ours.clear();
        self.landed.clear();
        self.newest = None;
        self.known_up_to = None;
    }

    /// Should it have been seen as paid while it was ours, it is not known any longer whose it is.
    pub fn disown(&mut self, tag: u64) {
        if self.remove(tag) {
            self.known_up_to = None;
        }
    }

    pub fn remove(&mut self, tag: u64) -> bool {
        let before = self.ours.len();
        self.ours.retain(|known| *known != tag);
        self.ours.len() < before
    }

    /// Takes the tag as ours if it is unpaid for certain.
    pub fn own_if_unpaid(&mut self, tag: u64, seen: &Seen) -> bool {
        let is_unpaid = self.is_unpaid(tag, seen);
        if is_unpaid {
            self.own(tag);
        }
        is_unpaid
    }

    /// Whether nothing needs to be found out before this tag is paid: every payment is known, and that this one was made,
    /// or is just being made, is not.
    pub fn is_unpaid(&mut self, tag: u64, seen: &Seen) -> bool {
        if !self.unknown(seen).is_empty() || !self.goes_on_to(seen) {
            return false;
        }
        self.is_known_up_to(seen);
        !self.ours.contains(&tag) && !self.landed.contains_key(&tag)
    }

    /// Whether no payment can lie between what is known and what the chain remembers.
    pub fn goes_on_to(&self, seen: &Seen) -> bool {
        let is_near = |known: u32| seen.sequence.wrapping_sub(known).cast_signed() <= TAGS_MAX as i32;
        seen.remembered.len() < TAGS_MAX || self.known_up_to.is_some_and(is_near)
    }

    pub fn is_known_up_to(&mut self, seen: &Seen) {
        let is_newer = |known: u32| seen.sequence.wrapping_sub(known).cast_signed() > 0;
        if self.known_up_to.is_none_or(is_newer) {
            self.known_up_to = Some(seen.sequence);
        }
    }

    /// The tags that nothing is known about.
    pub fn unknown(&self, seen: &Seen) -> Vec<u64> {
        let known = |tag: &&u64| self.ours.contains(*tag) || self.landed.contains_key(*tag);
        seen.remembered.iter().filter(|tag| !known(tag)).copied().collect()
    }

    pub fn learn(&mut self, landed: &[LandedTag], now: i64) {
        for new in landed {
            let known = self.landed.entry(new.tag).or_insert(*new);
            known.landed_at = known.landed_at.max(new.landed_at);
            known.is_read |= new.is_read;
        }
        self.landed.retain(|_, known| now.saturating_sub(known.landed_at.unix_seconds()) < KEPT_SECONDS);
    }

    pub fn has_landed(&self, tag: u64, now: i64) -> bool {
        let is_recent = |known: &LandedTag| now.saturating_sub(known.landed_at.unix_seconds()) < DAY_SECONDS;
        self.landed.get(&tag).is_some_and(is_recent)
    }

    /// Whether every payment before this one is known too.
    pub fn is_read(&self, tag: u64) -> bool {
        self.landed.get(&tag).is_some_and(|known| known.is_read)
    }
}

/// What an account's memory of tags shows.
pub(super) struct Seen {
    pub remembered: Vec<u64>,
    pub sequence: u32,
    pub now: i64,
}

impl Seen {
    pub fn by(view: &TransferView) -> Self {
        let remembered = view.tags.remembered(view.now).collect();
        Self { remembered, sequence: view.tags.sequence(), now: view.now }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::Timestamp;

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
