//! Gives accounts room to remember more payments of a day: on demand when one is full, and ahead of that.

use parking_lot::Mutex;
use std::collections::HashMap;

use purser::state::Agent;
use purser_base::turns::OneAtATime;
use purser_core::{Payer, Room};
use purser_policy::{BUCKET_SLOTS, PaidTags, TagBucket};

use crate::read::decode::{self, to_pubkey};
use crate::sign::payers::rent;
use crate::solana::SolanaChain;
use crate::{AgentOnChain, ChainError, Commitment};
use purser_model::Address;

/// The most buckets that one instruction adds: an account grows by 10,240 bytes at most.
const MORE_MAX: usize = 53;
/// An account gets more room once so many percent of its slots are taken.
const FULL_PERCENT: usize = 60;

/// Which accounts need room, and which were given some.
#[derive(Default)]
pub struct Rooms {
    /// With the number of their buckets.
    filling: Mutex<HashMap<Address, usize>>,
    /// An account grows once at a time.
    growing: OneAtATime<Address>,
}

impl SolanaChain {
    /// Notes whether an account that was looked at will soon need room that it may be given.
    pub(super) fn note_room(&self, agent: &AgentOnChain, in_flight: usize, now: i64) {
        let may_grow = buckets_after(agent.tags.len(), self.settings.tag_buckets_max) > agent.tags.len();
        if is_filling(agent, in_flight, now) && may_grow && self.payers.is_ours(&agent.rent_refund) {
            self.rooms.filling.lock().insert(agent.address, agent.tags.len());
        }
    }

    /// Gives the account room, if it was seen to need some soon.
    pub(super) async fn give_room_ahead(&self, payer: &Payer) {
        let seen = self.rooms.filling.lock().remove(&payer.addresses.agent);
        if let Some(seen) = seen
            && let Err(error) = self.give_room(payer, seen).await
        {
            tracing::warn!(account_id = %payer.account_id, %error, "cannot give an account room for more payments");
        }
    }

    /// Gives the account more buckets than were seen, within the quota, if the rent comes back to us.
    pub(super) async fn give_room(&self, payer: &Payer, seen: usize) -> Result<Room, ChainError> {
        let _turn = self.rooms.growing.of(payer.addresses.agent).lock_owned().await;
        let keys = [payer.operator, payer.addresses.agent].map(|address| to_pubkey(&address));
        let accounts = self.accounts(&keys).await?;
        let [operator_key, agent_key] = keys;
        let program = &self.instructions.0.program;
        let [operator, agent] = accounts.as_slice() else {
            return Err(ChainError::NotFound { what: "agent", address: payer.addresses.agent });
        };
        let operator =
            operator.as_ref().and_then(|account| decode::operator(program, &operator_key, account));
        let agent = agent
            .as_ref()
            .and_then(|account| decode::agent(program, &agent_key, account, (&agent_key, None)));
        let (Some(operator), Some(agent)) = (operator, agent) else {
            return Err(ChainError::NotFound { what: "agent", address: payer.addresses.agent });
        };
        let had = agent.tags.len();
        if had > seen {
            return Ok(Room::Made);
        }
        let buckets = buckets_after(had, self.settings.tag_buckets_max);
        let at = match self.policy_accounts(&operator, &agent.address) {
            Ok(at) if buckets > had && self.payers.is_ours(&agent.rent_refund) => at,
            Ok(_) | Err(ChainError::AuthorityRotated { .. }) => return Ok(Room::None),
            Err(error) => return Err(error),
        };
        let more_rent = rent(bytes_with(buckets)).saturating_sub(rent(bytes_with(had)));
        let count = u16::try_from(buckets).unwrap_or(u16::MAX);
        let call = self.instructions.set_tag_buckets(at, to_pubkey(&agent.rent_refund), count);
        let asked = call.with_rent(more_rent);
        self.unrecorded().execute_for_policy(&operator, asked, Commitment::Confirmed).await?;
        tracing::info!(account_id = %payer.account_id, had, buckets, "an account has room for more payments");
        Ok(Room::Made)
    }
}

/// Tells if the account will soon be full. `in_flight`: transfers that it does not show yet.
fn is_filling(agent: &AgentOnChain, in_flight: usize, now: i64) -> bool {
    let taken = PaidTags(&agent.tags).len(agent.window.effective(now)) + in_flight;
    taken * 100 >= agent.tags.len() * BUCKET_SLOTS * FULL_PERCENT
}

/// Twice as many, within the quota and what one instruction can add.
fn buckets_after(had: usize, buckets_max: u32) -> usize {
    let wanted = (2 * had.max(1)).min(had + MORE_MAX);
    wanted.min(usize::try_from(buckets_max).unwrap_or(usize::MAX)).max(had)
}

fn bytes_with(buckets: usize) -> usize {
    Agent::BYTES + buckets * size_of::<TagBucket>()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::types::tests::agent_without_limits;
    use purser_client::TAG_BUCKETS_MAX;
    use purser_policy::{ALLOWLIST_ENTRIES_MAX, record};
    use purser_rpc::ACCOUNT_BYTES_MAX;

    #[test]
    fn the_longest_account_is_read_whole() {
        let mut agent: Agent = bytemuck::Zeroable::zeroed();
        agent.policy.bounds = u8::MAX;
        agent.policy.wallet_count = u16::try_from(ALLOWLIST_ENTRIES_MAX).expect("few");
        agent.policy.tag_buckets = TAG_BUCKETS_MAX;
        assert!(agent.data_len() <= ACCOUNT_BYTES_MAX, "{}", agent.data_len());
        agent.policy.tag_buckets += 10;
        assert!(agent.data_len() > ACCOUNT_BYTES_MAX, "more would be read whole: {}", agent.data_len());
    }

    #[test]
    fn an_account_doubles_within_the_quota_and_one_instruction() {
        let after = |had, max| buckets_after(had, max);
        assert_eq!([after(0, 64), after(1, 64), after(2, 64), after(4, 64), after(40, 64)], [2, 2, 4, 8, 64]);
        assert_eq!(after(200, 10_000), 253);
        // The quota may have been lowered since.
        assert_eq!([after(64, 64), after(80, 64), after(1, 0)], [64, 80, 1]);
    }

    #[test]
    fn an_account_needs_room_from_sixty_percent_on() {
        const NOW: i64 = 1_000_000;
        let mut buckets = [TagBucket::EMPTY];
        for tag in 1..=10 {
            let place = PaidTags(&buckets).place(tag, NOW).expect("room");
            record(&mut buckets, place, tag, NOW);
            let agent = AgentOnChain { tags: buckets.into(), ..agent_without_limits() };
            assert_eq!(is_filling(&agent, 0, NOW), tag >= 10, "{tag} of 16");
            assert_eq!(is_filling(&agent, 4, NOW), tag >= 6, "{tag} of 16, and 4 in flight");
            assert!(!is_filling(&agent, 0, NOW + 100_000), "a day later all are free");
        }
    }
}
