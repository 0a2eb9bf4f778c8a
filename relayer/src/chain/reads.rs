//! Reading accounts: in batches, at one slot, never older than our own last write.

use super::decode::{self, to_pubkey};
use super::rpc::ACCOUNTS_MAX;
use super::solana::SolanaChain;
use super::wire::RawAccount;
use super::{AgentAddresses, AgentOnChain, ChainError, TransferView};
use crate::domain::Address;
use futures::{StreamExt, TryStreamExt};
use solana_sdk::pubkey::Pubkey;

/// Batches of accounts that are asked for side by side.
const BATCHES_AT_ONCE: usize = 4;

impl SolanaChain {
    /// Agents in the order asked, batches side by side.
    pub(super) async fn agents(
        &self,
        agents: &[AgentAddresses],
    ) -> Result<Vec<Option<AgentOnChain>>, ChainError> {
        let batches: Vec<_> =
            agents.chunks(ACCOUNTS_MAX / 2).map(|batch| self.read_agent_batch(batch.to_vec())).collect();
        let batches: Vec<Vec<_>> =
            futures::stream::iter(batches).buffered(BATCHES_AT_ONCE).try_collect().await?;
        Ok(batches.into_iter().flatten().collect())
    }

    /// All that deciding a transfer needs, at one slot.
    pub(super) async fn transfer_view(
        &self,
        operator: &Address,
        agent: &AgentAddresses,
        destination: &Address,
    ) -> Result<TransferView, ChainError> {
        let keys = [operator, &agent.agent, &agent.token_account, destination].map(to_pubkey);
        let [operator_key, agent_key, token_key, destination_key] = keys;
        let all = [operator_key, agent_key, token_key, destination_key, decode::CLOCK];
        let read = self.rpc.accounts(&all, self.written_slot()).await?;
        let [operator_account, agent_pair @ .., destination_account, clock] = &read.value[..] else {
            return Err(ChainError::Unavailable { during: "transfer", reason: "unreadable answer".into() });
        };
        let program = &self.instructions.program;
        let found_operator = operator_account
            .as_ref()
            .and_then(|account| decode::operator(program, &operator_key, account))
            .ok_or(ChainError::NotFound { what: "operator", address: *operator })?;
        let found_agent = self
            .agent_of(&agent_key, &token_key, agent_pair)
            .filter(|found| found.operator == *operator)
            .ok_or(ChainError::NotFound { what: "agent", address: agent.agent })?;
        let now =
            clock.as_ref().and_then(|account| decode::unix_timestamp(&account.data)).ok_or_else(|| {
                ChainError::Unavailable { during: "transfer", reason: "no clock in the answer".into() }
            })?;
        self.clock.time_seen(read.slot, now);
        let mint = to_pubkey(&found_operator.usdc_mint);
        let destination = decode::destination(program, &mint, &destination_key, destination_account.as_ref());
        Ok(TransferView { operator: found_operator, agent: found_agent, destination, now })
    }

    fn agent_of(
        &self,
        key: &Pubkey,
        token_key: &Pubkey,
        pair: &[Option<RawAccount>],
    ) -> Option<AgentOnChain> {
        let [Some(agent), token_account] = pair else { return None };
        decode::agent(&self.instructions.program, key, agent, (token_key, token_account.as_ref()))
    }

    async fn read_agent_batch(
        &self,
        agents: Vec<AgentAddresses>,
    ) -> Result<Vec<Option<AgentOnChain>>, ChainError> {
        let keys: Vec<Pubkey> = agents
            .iter()
            .flat_map(|addresses| [to_pubkey(&addresses.agent), to_pubkey(&addresses.token_account)])
            .collect();
        let accounts = self.accounts(&keys).await?;
        let read = |(keys, pair): (&[Pubkey], &[Option<RawAccount>])| match keys {
            [agent, token_account] => self.agent_of(agent, token_account, pair),
            _ => None,
        };
        Ok(keys.chunks(2).zip(accounts.chunks(2)).map(read).collect())
    }
}
