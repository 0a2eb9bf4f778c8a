//! Transfers that we signed and that our view of the chain's accounts does not show yet.
//!
//! A view from [`crate::live::watched`] may be a moment older than our last transfer. Transfers in flight count as made
//! until the agent's own tags show them, or they end without a payment.

use crate::{AgentOnChain, UnsignedTransfer};
use parking_lot::{Mutex, MutexGuard};
use purser_model::Address;
use purser_policy::{PaidTags, UsdcAmount};
use std::collections::{HashMap, HashSet, VecDeque};
use std::time::Duration;
use tokio::time::Instant;

/// A transfer that has not shown up for this long was never sent, or can no longer land.
const FORGOTTEN_AFTER: Duration = Duration::from_secs(120);

/// The most transfers of an agent that are counted; beyond that, the oldest are forgotten.
const COUNTED_MAX: usize = 1_000;

/// The fewest agents between two prunings.
const PRUNED_AT_MIN: usize = 1_024;

/// Transfers in flight, by agent.
#[derive(Default)]
pub struct InFlightTransfers(Mutex<AllInFlight>);

#[derive(Default)]
struct AllInFlight {
    by_agent: HashMap<Address, VecDeque<InFlightTransfer>>,
    /// With so many agents, those without a transfer in flight are forgotten. Twice as many as were left by the last time,
    /// so that pruning costs each transfer next to nothing.
    pruned_at: usize,
}

#[derive(Debug)]
struct InFlightTransfer {
    tag: u64,
    amount: UsdcAmount,
    signature: String,
    signed_at: Instant,
}

impl InFlightTransfers {
    /// Records a signed transfer, which may be sent any moment.
    pub fn signed(&self, order: &UnsignedTransfer, signature: &str) {
        let mut all = self.all();
        all.prune();
        let transfers = all.by_agent.entry(order.agent.agent).or_default();
        transfers.retain(InFlightTransfer::is_in_flight);
        if transfers.len() == COUNTED_MAX {
            transfers.pop_front();
        }
        let (tag, amount, signature) = (order.tag(), order.amount, signature.to_owned());
        transfers.push_back(InFlightTransfer { tag, amount, signature, signed_at: Instant::now() });
    }

    /// Drops a transfer that ended without a payment, or was never sent.
    pub fn not_paid(&self, signature: &str) {
        let mut all = self.all();
        for transfers in all.by_agent.values_mut() {
            transfers.retain(|known| known.signature != signature);
        }
        all.by_agent.retain(|_, transfers| !transfers.is_empty());
    }

    /// Counts transfers that `agent` does not show yet as made at `now` (unix seconds). Returns how many there are.
    pub fn count_in(&self, agent: &mut AgentOnChain, now: i64) -> usize {
        let mut all = self.all();
        let Some(transfers) = all.by_agent.get_mut(&agent.address) else { return 0 };
        let now = agent.window.effective(now);
        let is_shown = |tag| PaidTags(&agent.tags).contains(tag, now);
        transfers.retain(|known| known.is_in_flight() && !is_shown(known.tag));
        let mut counted = HashSet::new();
        for known in transfers.iter() {
            // One transfer may be signed more than once; at most one signature pays.
            if !counted.insert(known.tag) {
                continue;
            }
            agent.window.record(now, known.amount);
            if let Some(month) = &mut agent.month {
                month.window.record(now, known.amount);
            }
            agent.balance =
                UsdcAmount::from_micros(agent.balance.micros().saturating_sub(known.amount.micros()));
        }
        if transfers.is_empty() {
            all.by_agent.remove(&agent.address);
        }
        counted.len()
    }

    fn all(&self) -> MutexGuard<'_, AllInFlight> {
        self.0.lock()
    }
}

impl InFlightTransfer {
    fn is_in_flight(&self) -> bool {
        self.signed_at.elapsed() < FORGOTTEN_AFTER
    }
}

impl AllInFlight {
    /// Forgets agents that have not paid for a while; nobody may ask for them again.
    fn prune(&mut self) {
        if self.by_agent.len() < self.pruned_at.max(PRUNED_AT_MIN) {
            return;
        }
        self.by_agent.retain(|_, transfers| transfers.iter().any(InFlightTransfer::is_in_flight));
        self.pruned_at = 2 * self.by_agent.len();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::AgentAddresses;
    use crate::types::tests::agent_without_limits;
    use purser_policy::{TagBucket, id_with_tag, record};

    const NOW: i64 = 1_000;

    fn order(tag: u64, micros: u64) -> UnsignedTransfer {
        let AgentOnChain { address, operator, token_account, .. } = agent_without_limits();
        UnsignedTransfer {
            operator,
            transfer_authorities: Vec::new(),
            agent: AgentAddresses { agent: address, token_account },
            destination: Address::from_bytes([9; 32]),
            transfer_id: id_with_tag([5; 8], tag),
            asked_at: NOW,
            tag_buckets: 1,
            amount: UsdcAmount::from_micros(micros),
            memo: String::new(),
            beyond: None,
            has_expired: false,
        }
    }

    /// Buckets that hold this tag.
    fn paid(tag: u64) -> std::sync::Arc<[TagBucket]> {
        let mut buckets = [TagBucket::EMPTY];
        let place = PaidTags(&buckets).place(tag, NOW).expect("room");
        record(&mut buckets, place, tag, NOW);
        buckets.into()
    }

    fn balance_and_spent(transfers: &InFlightTransfers) -> (u64, u64) {
        let mut agent = agent_without_limits();
        transfers.count_in(&mut agent, NOW);
        (agent.balance.micros(), agent.window.spent(NOW).micros())
    }

    #[test]
    fn transfer_signed_twice_counts_once_until_both_signatures_have_ended() {
        let transfers = InFlightTransfers::default();
        transfers.signed(&order(7, 30), "one");
        transfers.signed(&order(7, 30), "two");
        transfers.signed(&order(8, 5), "three");
        assert_eq!(balance_and_spent(&transfers), (65, 35));
        transfers.not_paid("two");
        assert_eq!(balance_and_spent(&transfers), (65, 35));
        transfers.not_paid("one");
        assert_eq!(balance_and_spent(&transfers), (95, 5));
    }

    #[tokio::test(start_paused = true)]
    async fn agents_that_pay_no_more_are_forgotten_and_none_whose_transfer_is_in_flight() {
        let transfers = InFlightTransfers::default();
        let sign = |number: usize| {
            let mut order = order(7, 30);
            order.agent.agent =
                Address::from_bytes([number.to_le_bytes(); 4].concat().try_into().expect("32"));
            transfers.signed(&order, "one");
        };
        (0..3 * PRUNED_AT_MIN).for_each(sign);
        assert_eq!(transfers.all().by_agent.len(), 3 * PRUNED_AT_MIN);
        tokio::time::advance(FORGOTTEN_AFTER).await;
        (10_000..10_000 + 4 * PRUNED_AT_MIN).for_each(sign);
        assert_eq!(transfers.all().by_agent.len(), 4 * PRUNED_AT_MIN);
    }

    #[test]
    fn transfer_that_the_chain_shows_is_not_counted_again() {
        let transfers = InFlightTransfers::default();
        transfers.signed(&order(7, 30), "one");
        let mut agent = agent_without_limits();
        agent.tags = paid(7);
        transfers.count_in(&mut agent, NOW);
        assert_eq!(agent.balance.micros(), 100);
        assert_eq!(balance_and_spent(&transfers), (100, 0), "and is forgotten");
    }
}
