//! The accounts as they stand, compared with the replay's result: byte by byte, allowlists and spend windows included.

use anchor_lang::Discriminator;
use anchor_lang::prelude::Pubkey;
use purser::state::{Agent, AgentView, ClosedAgent, Operator, PolicyDraft};
use purser_policy::SpendWindow;

use super::dates::misdated;
use super::{AgentBook, Replay, date};
use crate::archive::{SavedAccount, Snapshot};
use crate::check::Check;

/// An account as it stands, held against the replay.
#[derive(Default)]
pub(super) struct Stands {
    pub examined: Vec<Check>,
    /// Check, account, and what does not fit.
    pub wrong: Vec<(Check, Option<Pubkey>, String)>,
    pub unchecked: Option<String>,
    /// The account whose token account is frozen.
    pub frozen: Option<Pubkey>,
}

impl Stands {
    fn agrees(&self) -> bool {
        self.wrong.is_empty() && self.unchecked.is_none()
    }
}

impl Replay {
    /// Compares the accounts that were read at slots before this one: no later transaction changes those snapshots. Where they
    /// were read within their slots, one of this slot agrees if it does now, and waits for the next transaction if it does not.
    pub(super) fn compare_before(&mut self, slot: u64) {
        let mut waiting = Vec::new();
        let is_within_slot = self.is_within_slot;
        let is_due = |it: &Snapshot| it.slot < slot || (is_within_slot && it.slot == slot);
        while let Some((address, snapshot)) = self.snapshots.pop_if(|(_, it)| is_due(it)) {
            let compared = self.compare(address, &snapshot);
            if snapshot.slot < slot || compared.agrees() {
                self.write_down_account(compared);
            } else {
                waiting.push((address, snapshot));
            }
        }
        self.snapshots.extend(waiting.into_iter().rev());
    }

    fn write_down_account(&mut self, compared: Stands) {
        let Stands { examined, wrong, unchecked, frozen } = compared;
        for check in examined {
            self.examined(check, 1);
        }
        for (check, account, text) in wrong {
            self.mismatch(check, account, None, text);
        }
        if let Some(why) = unchecked {
            self.unchecked(Check::State, why);
        }
        self.outcome.frozen.extend(frozen);
    }

    fn compare(&self, address: Pubkey, snapshot: &Snapshot) -> Stands {
        let data = snapshot.account.as_ref().and_then(SavedAccount::bytes);
        let owner = snapshot.account.as_ref().and_then(SavedAccount::owner);
        let own = data.filter(|_| owner == Some(self.at.program));
        if self.beside.contains(&address) {
            return self.beside_stands(address, own);
        }
        if address == self.operator {
            let replayed = self.world.operator.map(|state| {
                let chain = own.as_deref().and_then(Operator::read);
                bytes::<Operator>(&with_moments(state, chain), &[])
            });
            return same(None, "operator's account", own, replayed);
        }
        if let Some(purse) = self.purses.get(&address) {
            let (agent, known) = (purse.agent, purse.balance.unwrap_or_default());
            return self.purse_stands(agent, known, snapshot.account.as_ref());
        }
        if self.audited.contains(&address) {
            let replayed = self.world.agents.get(&address);
            let is_unsure = replayed.is_some_and(|book| book.unsure_until.is_some());
            let closed = self.world.closed.get(&address).map(|closed| {
                let stands = own.as_deref().and_then(ClosedAgent::read).map(|stands| stands.second);
                let second = stands.filter(|stands| stands.abs_diff(closed.left.second) <= 1);
                let second = second.unwrap_or(closed.left.second);
                bytes::<ClosedAgent>(&ClosedAgent { second, ..closed.left }, &[])
            });
            let replayed = replayed.map(AgentBook::bytes).or(closed);
            if is_unsure {
                let why =
                    format!("{address}: a payment is missing, so its spend window cannot be recomputed");
                return Stands { unchecked: Some(why), ..Stands::default() };
            }
            let mut wrong = Vec::new();
            if let (Some(chain), Some(replayed)) = (&own, &replayed)
                && let (Some(chain), Some(replayed)) = (Agent::read(chain), Agent::read(replayed))
                && let Some((tag, stands, dated)) = misdated(&chain, &replayed)
            {
                let [stands, dated] = [stands, dated].map(|seconds| date(seconds.into()));
                let text = format!(
                    "The account says that the payment with tag {tag} was made at {stands}; its block is dated {dated}."
                );
                wrong.push((Check::Dates, Some(address), text));
            }
            if let (Some(chain), Some(replayed)) = (&own, &replayed)
                && same_but_for_a_second(chain, replayed)
            {
                return Stands { examined: vec![Check::State], wrong, ..Stands::default() };
            }
            let compared = same(Some(address), "account", own, replayed);
            return Stands { wrong: [wrong, compared.wrong].concat(), ..compared };
        }
        let agent = self.audited.iter().find(|agent| self.at.draft_address(agent) == address).copied();
        let Some(agent) = agent else { return Stands::default() };
        let replayed = self.world.drafts.get(&agent);
        let replayed = replayed.map(|book| bytes::<PolicyDraft>(&book.draft, &book.tail));
        same(Some(agent), "waiting draft", own, replayed)
    }
}

pub(super) fn same(
    account: Option<Pubkey>,
    what: &str,
    chain: Option<Vec<u8>>,
    replayed: Option<Vec<u8>>,
) -> Stands {
    let text = match (chain, replayed) {
        (chain, replayed) if chain == replayed => None,
        (Some(_), None) => {
            Some(format!("The {what} is on the chain, and by what was signed it does not exist."))
        }
        (None, Some(_)) => Some(format!("The {what} exists by what was signed, and is not on the chain.")),
        (Some(_) | None, _) => {
            Some(format!("The {what} on the chain is another one than what was signed adds up to."))
        }
    };
    let wrong = text.map(|text| (Check::State, account, text)).into_iter().collect();
    Stands { examined: vec![Check::State], wrong, ..Stands::default() }
}

/// An account's data in the program's layout.
pub(super) fn bytes<T: Discriminator + bytemuck::NoUninit>(state: &T, tail: &[u8]) -> Vec<u8> {
    [T::DISCRIMINATOR, bytemuck::bytes_of(state), tail].concat()
}

/// Whether the same amount counts, up to moments that are a second apart.
pub(super) fn is_same_window(one: &SpendWindow, other: &SpendWindow) -> bool {
    let [at, other_at] = [one, other].map(|window| window.effective(i64::MIN));
    let newest = at.max(other_at);
    at.abs_diff(other_at) <= 1 && one.spent(newest) == other.spent(newest)
}

/// Whether two agents differ only in timestamps, and in these by at most a second. If a node dates blocks by their end,
/// the replay cannot know the exact second that the program saw; the amounts that count are the same.
fn same_but_for_a_second(chain: &[u8], replayed: &[u8]) -> bool {
    let (Some(chain), Some(replayed)) = (Agent::read(chain), Agent::read(replayed)) else { return false };
    let (one, other) = (chain.agent, replayed.agent);
    let close = |one: u32, other: u32| one.abs_diff(other) <= 1;
    close(one.policy_updated_at, other.policy_updated_at)
        && is_same_window(one.window(), other.window())
        && close(one.voided_at, other.voided_at)
        && misdated(&chain, &replayed).is_none()
        && without_moments(&chain, &replayed) == replayed
}

/// The replayed operator, with the chain's timestamp where that is at most a second off.
fn with_moments(replayed: Operator, chain: Option<Operator>) -> Operator {
    let stands = chain.map(|chain| chain.approvers_voided_at);
    let is_close = |at: &i64| at.abs_diff(replayed.approvers_voided_at) <= 1;
    let approvers_voided_at = stands.filter(is_close).unwrap_or(replayed.approvers_voided_at);
    Operator { approvers_voided_at, ..replayed }
}

/// `chain` with the timestamps of `replayed`, also those of tags.
fn without_moments(chain: &AgentView, replayed: &AgentView) -> AgentView {
    let mut view = chain.clone();
    let tags =
        |view: &AgentView| view.tags().map(|tags| tags.entries().map(|(tag, _)| tag).collect::<Vec<_>>());
    if tags(chain) == tags(replayed) {
        view.copy_tags(replayed);
    }
    view.agent.policy_updated_at = replayed.agent.policy_updated_at;
    view.agent.window = replayed.agent.window;
    view.agent.voided_at = replayed.agent.voided_at;
    view
}
