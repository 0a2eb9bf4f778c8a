//! What a database that was lost no longer knows.
//!
//! The chain refuses a payment's tag for as long as it is among the agent's latest 16. When one of these is not a
//! transfer of our database, others may have been made that we do not know either, further back: before anything new is
//! signed, the agent's history of the last 24 hours is read once, and a payment that is in there is the answer.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use purser_policy::DAY_SECONDS;

use super::carry::Carrier;
use crate::chain::{ChainError, LandedTransfer, TransferView};
use crate::domain::{Address, Transfer};
use crate::service::ServiceError;

/// For how many agents this is remembered; beyond that it is found out anew.
const AGENTS_MAX: usize = 10_000;
/// So many tags of ours are remembered for each. The chain remembers fewer; what is on its way meanwhile comes on top.
const OURS_MAX: usize = 128;

/// The tags that were found out about, by agent.
#[derive(Clone, Default)]
pub(super) struct KnownTags(Arc<Mutex<HashMap<Address, AgentTags>>>);

#[derive(Debug, Default)]
struct AgentTags {
    /// Of transfers in our database, the latest last.
    ours: VecDeque<u64>,
    /// Read from the chain's history, with when they landed (unix seconds).
    landed: HashMap<u64, i64>,
    /// As far as the history was read.
    newest: Option<String>,
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

    /// The tags that nothing is known about.
    fn unknown(&self, remembered: &[u64]) -> Vec<u64> {
        let known = |tag: &&u64| self.ours.contains(*tag) || self.landed.contains_key(*tag);
        remembered.iter().filter(|tag| !known(tag)).copied().collect()
    }

    fn read(&mut self, landed: &[LandedTransfer], now: i64) {
        self.landed.retain(|_, time| now.saturating_sub(*time) < DAY_SECONDS);
        self.landed.extend(landed.iter().map(|found| (found.tag, found.block_time.unwrap_or(now))));
        if let Some(newest) = landed.first() {
            self.newest = Some(newest.signature.clone());
        }
    }
}

/// Why it could not be found out.
pub(super) enum Unknowable {
    Chain(ChainError),
    Service(ServiceError),
}

impl Carrier {
    /// Takes the tag as ours, until it is disowned. False, and not taken, when it was paid, or may have been: the chain
    /// remembers a payment that nothing is known about.
    pub(super) fn own_if_unpaid(&self, tag: u64, view: &TransferView) -> bool {
        let remembered = view.agent.remembered_tags(view.now);
        self.known.with(&self.account.address, |tags| {
            let unpaid = tags.unknown(&remembered).is_empty() && !tags.landed.contains_key(&tag);
            if unpaid {
                tags.own(tag);
            }
            unpaid
        })
    }

    /// Whether this tag is ours is to be looked up again, should the chain remember it.
    pub(super) fn disown(&self, tag: u64) {
        self.known.with(&self.account.address, |tags| tags.ours.retain(|known| *known != tag));
    }

    /// Whether the chain's history of the last 24 hours holds a payment with this transfer's tag that our database does
    /// not know as made. Asks nobody while all that the chain remembers is ours.
    pub(super) async fn was_paid_before(
        &self,
        transfer: &Transfer,
        view: &TransferView,
    ) -> Result<bool, Unknowable> {
        let (agent, now) = (&self.account.address, view.now);
        let remembered = view.agent.remembered_tags(now);
        let unknown = self.known.with(agent, |tags| tags.unknown(&remembered));
        if !unknown.is_empty() {
            let store = &self.parts.store;
            let found = store.find_tags(self.operator.id, self.account.id, &unknown).await;
            let ours = found.map_err(|error| Unknowable::Service(error.into()))?;
            let (foreign, newest) = self.known.with(agent, |tags| {
                ours.into_iter().for_each(|tag| tags.own(tag));
                (!tags.unknown(&remembered).is_empty(), tags.newest.clone())
            });
            if foreign {
                tracing::info!(account_id = %self.account.id, "the chain knows payments that the database does not");
                let landed = self.network.chain.list_landed(agent, newest.as_deref()).await;
                let landed = landed.map_err(Unknowable::Chain)?;
                self.known.with(agent, |tags| tags.read(&landed, now));
            }
        }
        Ok(self.known.with(agent, |tags| {
            // From here on it is ours, whether it is sent or answered.
            tags.own(transfer.tag);
            tags.landed.contains_key(&transfer.tag)
        }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::UsdcAmount;

    fn landed(tag: u64, block_time: i64) -> LandedTransfer {
        LandedTransfer {
            signature: format!("signature {tag}"),
            slot: 1,
            block_time: Some(block_time),
            transfer_id: [1; 16],
            tag,
            amount: UsdcAmount::from_micros(1),
            recipient: Address::from_bytes([1; 32]),
            recipient_owner: Address::from_bytes([2; 32]),
            memo: String::new(),
            policy_version: 1,
        }
    }

    #[test]
    fn what_was_read_is_known_until_a_day_later_and_reading_goes_on_where_it_ended() {
        let mut tags = AgentTags::default();
        assert_eq!(tags.unknown(&[7, 8]), [7, 8]);
        tags.own(8);
        tags.read(&[landed(7, 1_000), landed(6, 900)], 2_000);
        assert_eq!(tags.unknown(&[7, 8]), Vec::<u64>::new());
        assert_eq!(tags.newest.as_deref(), Some("signature 7"));
        tags.read(&[], 900 + DAY_SECONDS);
        assert!(!tags.landed.contains_key(&6) && tags.landed.contains_key(&7));
        assert_eq!(tags.newest.as_deref(), Some("signature 7"));
        assert_eq!(tags.unknown(&[9]), [9]);
    }

    #[test]
    fn ours_are_known_whatever_an_older_view_shows_and_the_oldest_of_too_many_are_let_go() {
        let mut tags = AgentTags::default();
        tags.own(1);
        // Somebody looks who read the chain before.
        assert_eq!(tags.unknown(&[]), Vec::<u64>::new());
        assert_eq!(tags.unknown(&[1, 2]), [2]);
        (0..OURS_MAX as u64).for_each(|number| tags.own(100 + number));
        tags.own(100);
        assert_eq!(tags.unknown(&[1, 100, 99 + OURS_MAX as u64]), [1]);
    }
}
