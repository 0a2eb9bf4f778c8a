//! Accounts that stand on the chain while their operator's history shows none of their transactions: a node left some out, or ended
//! early, when the history was read. For payments and money of a known account, numbers and balances would tell.

use super::walk::{PAGE_LINES, mark_of};
use super::{IndexError, Indexer};
use crate::chain::SignaturePage;
use crate::domain::{Address, Operator};
use crate::store::Mark;

/// Addresses looked up in one query.
const LOOKED_UP_AT_ONCE: usize = 400;
/// Hidden accounts whose first transaction is looked for per cycle.
const FOUND_AT_ONCE: usize = 4;

impl Indexer {
    /// Lists each operator's accounts once its history was read, and reads the first transaction of those that are unknown.
    pub(super) async fn find_hidden(&self) -> Result<(), IndexError> {
        for operator in self.operators().await? {
            let walk = self.parts.index.find_walk(self.network, &operator.address).await?;
            let is_read = walk.is_some_and(|walk| walk.under_way.is_none());
            if is_read && self.memory.is_listing_due(operator.id) {
                self.list_hidden(&operator).await?;
            }
        }
        for agent in self.unknown(self.memory.hidden()).await?.into_iter().take(FOUND_AT_ONCE) {
            if let Some(first) = self.first_transaction(&agent).await? {
                self.read(&[first]).await?;
            }
        }
        Ok(())
    }

    async fn list_hidden(&self, operator: &Operator) -> Result<(), IndexError> {
        match self.parts.history.agents(&operator.address).await {
            Ok(agents) => self.memory.mark_hidden(self.unknown(agents).await?),
            Err(error) => {
                tracing::debug!(network = %self.network, operator_id = %operator.id, %error, "cannot list an operator's accounts");
            }
        }
        Ok(())
    }

    /// Those that we do not know. The others are no longer hidden.
    async fn unknown(&self, mut agents: Vec<Address>) -> Result<Vec<Address>, IndexError> {
        let mut known = Vec::new();
        for agents in agents.chunks(LOOKED_UP_AT_ONCE) {
            known.extend(self.parts.index.find_parties(self.network, agents).await?);
        }
        for (agent, _) in known {
            self.memory.mark_found(&agent);
            agents.retain(|other| *other != agent);
        }
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
