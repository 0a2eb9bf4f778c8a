//! Accounts that stand on the chain while their operator's history shows none of their transactions: a node left some out, or ended
//! early, when the history was read. For payments and money of a known account, numbers and balances would tell.

use std::collections::HashSet;

use super::walk::{PAGE_LINES, mark_of};
use super::{IndexError, Indexer};
use purser_chain::SignaturePage;
use purser_model::{Address, Operator};
use purser_store::Mark;

/// Addresses looked up in one query.
const LOOKED_UP_AT_ONCE: usize = 400;
/// Unknown accounts whose first transaction is looked for at one listing.
const FOUND_AT_ONCE: usize = 20;

impl Indexer {
    /// Lists each operator's accounts once its history was read, and reads the first transaction of those that are unknown.
    pub(super) async fn find_hidden(&self) -> Result<(), IndexError> {
        let due = self.operators().await?.into_iter().filter(|it| self.memory.is_listing_due(it.id));
        for operator in due {
            let walk = self.parts.index.find_walk(self.network, &operator.address).await?;
            if walk.is_some_and(|walk| walk.under_way.is_none()) {
                self.list(&operator).await?;
            }
        }
        Ok(())
    }

    async fn list(&self, operator: &Operator) -> Result<(), IndexError> {
        let agents = self.parts.history.agents(&operator.address).await.unwrap_or_else(|error| {
            tracing::debug!(network = %self.network, operator_id = %operator.id, %error, "cannot list an operator's accounts");
            Vec::new()
        });
        let mut unknown = self.unknown(agents).await?;
        let times = self.memory.listed(operator.id, unknown.is_empty());
        // Those that nobody can show must not keep the others waiting.
        let turn = (times as usize).saturating_mul(FOUND_AT_ONCE) % unknown.len().max(1);
        unknown.rotate_left(turn);
        for agent in unknown.iter().take(FOUND_AT_ONCE) {
            if let Some(first) = self.first_transaction(agent).await? {
                self.read(&[first]).await?;
            }
        }
        Ok(())
    }

    async fn unknown(&self, mut agents: Vec<Address>) -> Result<Vec<Address>, IndexError> {
        let mut known = HashSet::new();
        for agents in agents.chunks(LOOKED_UP_AT_ONCE) {
            let found = self.parts.index.find_parties(self.network, agents).await?;
            known.extend(found.into_iter().map(|(agent, _)| agent));
        }
        agents.retain(|agent| !known.contains(agent));
        agents.sort_unstable();
        Ok(agents)
    }

    /// The oldest transaction that a node lists of an account. The first one of all created it.
    async fn first_transaction(&self, agent: &Address) -> Result<Option<Mark>, IndexError> {
        let mut oldest: Option<Mark> = None;
        loop {
            let before = oldest.as_ref().map(|mark| mark.signature.as_str());
            let page = SignaturePage { address: agent, before, until: None, lines_max: PAGE_LINES };
            let lines = self.parts.history.signatures(page).await?;
            oldest = lines.last().map(mark_of).or(oldest);
            if lines.len() < PAGE_LINES {
                return Ok(oldest);
            }
        }
    }
}
