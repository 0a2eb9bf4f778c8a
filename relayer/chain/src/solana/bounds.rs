//! Budgets, what binds accounts beside their policies, and grants: read, and written as the policy authority.

use purser::constants::ENTRY_BYTES;
use purser::state::{Agent, Budget, Grant, Month};
use purser_client::purser::{Bounds, BudgetCaps};
use purser_rpc::ACCOUNTS_MAX;
use purser_rpc::sysvar;
use purser_rpc::wire::RawAccount;
use serde_json::{Value, json};
use solana_sdk::pubkey::Pubkey;

use crate::read::bounds;
use crate::read::decode::to_pubkey;
use crate::sign::payers::rent;
use crate::sign::signer::address;
use crate::solana::{Recorded, SolanaChain};
use crate::{
    AccountBounds, AgentOnChain, BudgetOnChain, Caps, ChainError, Commitment, Confirmed, GrantOnChain,
    OperatorOnChain,
};
use purser_model::Address;

impl SolanaChain {
    /// The operator's budgets, by their numbers. Not every node lists them.
    pub async fn read_budgets(&self, operator: &Address) -> Result<Vec<BudgetOnChain>, ChainError> {
        let at = std::mem::offset_of!(Budget, operator);
        let listed = self.owned(<Budget as anchor_lang::Discriminator>::DISCRIMINATOR, at, operator).await?;
        let mut budgets = self.budgets(operator, &listed).await?;
        budgets.sort_by_key(|budget| budget.number);
        Ok(budgets)
    }

    /// The operator's budgets at these addresses; what is no budget of it is left out.
    pub async fn read_budgets_at(
        &self,
        operator: &Address,
        budgets: &[Address],
    ) -> Result<Vec<BudgetOnChain>, ChainError> {
        let keys: Vec<Pubkey> = budgets.iter().map(to_pubkey).collect();
        self.budgets(operator, &keys).await
    }

    /// The agent's grants, newest first. Not every node lists them.
    pub async fn read_grants(
        &self,
        operator: &Address,
        agent: &Address,
    ) -> Result<Vec<GrantOnChain>, ChainError> {
        let at = std::mem::offset_of!(Grant, agent);
        let listed = self.owned(<Grant as anchor_lang::Discriminator>::DISCRIMINATOR, at, agent).await?;
        let mut grants = self.grants(operator, agent, &listed).await?;
        grants.sort_by_key(|grant| (std::cmp::Reverse(grant.opened_at), grant.address.bytes()));
        Ok(grants)
    }

    /// The grant at this address. `None`: none of this agent is.
    pub async fn read_grant(
        &self,
        operator: &Address,
        agent: &Address,
        grant: &Address,
    ) -> Result<Option<GrantOnChain>, ChainError> {
        Ok(self.grants(operator, agent, &[to_pubkey(grant)]).await?.into_iter().next())
    }

    /// The program's accounts of one kind that name `owner` at this place.
    async fn owned(&self, kind: &[u8], at: usize, owner: &Address) -> Result<Vec<Pubkey>, ChainError> {
        const METHOD: &str = "getProgramAccounts";
        let begins = |offset: usize, bytes: &[u8]| json!({ "memcmp": { "offset": offset, "bytes": bs58::encode(bytes).into_string() } });
        let config = json!({
            "encoding": "base64", "commitment": Commitment::Confirmed.as_str(),
            "dataSlice": { "offset": 0, "length": 0 },
            "filters": [begins(0, kind), begins(kind.len() + at, owner.as_bytes())],
        });
        let program = self.instructions.0.program.to_string();
        let found: Vec<Value> = self.rpc.ask(METHOD, json!([program, config])).await?;
        Ok(found.iter().filter_map(|account| account["pubkey"].as_str()?.parse().ok()).collect())
    }

    /// Those of these that are budgets of the operator.
    pub async fn budgets(
        &self,
        operator: &Address,
        keys: &[Pubkey],
    ) -> Result<Vec<BudgetOnChain>, ChainError> {
        let (program, operator_key) = (&self.instructions.0.program, to_pubkey(operator));
        let mut found = Vec::with_capacity(keys.len());
        for keys in keys.chunks(ACCOUNTS_MAX - 2) {
            let ([operator], now, accounts) = self.with_clock([operator_key], keys).await?;
            let Some(operator) = operator else { continue };
            found.extend(keys.iter().zip(&accounts).filter_map(|(key, account)| {
                bounds::budget(program, key, (&operator_key, &operator), account.as_ref()?, now)
            }));
        }
        Ok(found)
    }

    /// Those of these that are grants of the agent.
    async fn grants(
        &self,
        operator: &Address,
        agent: &Address,
        keys: &[Pubkey],
    ) -> Result<Vec<GrantOnChain>, ChainError> {
        let (program, agent_key) = (&self.instructions.0.program, to_pubkey(agent));
        let mut found = Vec::with_capacity(keys.len());
        for keys in keys.chunks(ACCOUNTS_MAX - 3) {
            let ([operator, agent], now, accounts) =
                self.with_clock([to_pubkey(operator), agent_key], keys).await?;
            let Some((operator, agent)) = operator.zip(agent) else { continue };
            found.extend(keys.iter().zip(&accounts).filter_map(|(key, account)| {
                bounds::grant(program, key, [&operator, &agent, account.as_ref()?], &agent_key, now)
            }));
        }
        Ok(found)
    }

    /// Accounts at one slot, with some first, and the chain's Unix second.
    async fn with_clock<const N: usize>(
        &self,
        first: [Pubkey; N],
        keys: &[Pubkey],
    ) -> Result<([Option<RawAccount>; N], i64, Vec<Option<RawAccount>>), ChainError> {
        let all: Vec<Pubkey> = first.iter().chain([&sysvar::CLOCK]).chain(keys).copied().collect();
        let unreadable =
            || ChainError::Unavailable { during: "accounts", reason: "unreadable answer".into() };
        let mut accounts = self.accounts(&all).await?;
        let rest = accounts.split_off((N + 1).min(accounts.len()));
        let clock = accounts.pop().flatten().ok_or_else(unreadable)?;
        let now = sysvar::unix_timestamp(&clock.data).ok_or_else(unreadable)?;
        let first = <[Option<RawAccount>; N]>::try_from(accounts).map_err(|_| unreadable())?;
        Ok((first, now, rest))
    }
}

impl Recorded<'_> {
    /// Gives a budget other caps than it was read with, and waits for the commitment. What they raise waits there for the operator's
    /// loosening delay, and whatever waited is dropped. `PolicyChanged`: it has other caps meanwhile.
    pub async fn set_budget(
        &self,
        operator: &OperatorOnChain,
        budget: &BudgetOnChain,
        caps: &Caps,
    ) -> Result<Confirmed, ChainError> {
        let (authority, at) = (address(self.policy_signer(operator)?), to_pubkey(&operator.address));
        let caps = [&budget.caps(), caps].map(BudgetCaps::from);
        let call = self.instructions.set_budget(authority, at, budget.number, caps);
        self.execute_for_policy(operator, call, self.settings.commitment).await
    }

    /// Replaces what binds the agent beside its policy, and waits for the commitment. `PolicyChanged`: something else binds it
    /// meanwhile, or this loosens something, and that has to wait now. `RentOfAnother`: the account would have to grow.
    pub async fn set_bounds(
        &self,
        operator: &OperatorOnChain,
        agent: &AgentOnChain,
        asked: &AccountBounds,
    ) -> Result<Confirmed, ChainError> {
        let more = bytes_of(asked).saturating_sub(bytes_of(&agent.bounds()));
        if more > 0 && !self.payers.is_ours(&agent.rent_refund) {
            return Err(ChainError::RentOfAnother { agent: agent.address, rent_refund: agent.rent_refund });
        }
        let at = self.policy_accounts(operator, &agent.address)?;
        let more_rent = rent(Agent::BYTES + more).saturating_sub(rent(Agent::BYTES));
        let bounds = [&agent.bounds(), asked].map(Bounds::from);
        let call = self.instructions.set_bounds(at, to_pubkey(&agent.rent_refund), bounds);
        self.execute_for_policy(operator, call.with_rent(more_rent), self.settings.commitment).await
    }

    /// Takes a grant back, and waits for the commitment.
    pub async fn close_grant(
        &self,
        operator: &OperatorOnChain,
        grant: &GrantOnChain,
    ) -> Result<Confirmed, ChainError> {
        let authority = address(self.policy_signer(operator)?);
        let at = [&operator.address, &grant.address, &grant.rent_refund].map(to_pubkey);
        let call = self.instructions.close_grant(authority, at);
        self.execute_for_policy(operator, call, self.settings.commitment).await
    }

    /// Takes back all grants of the agent that were opened until then, and waits for the commitment.
    pub async fn void_grants(
        &self,
        operator: &OperatorOnChain,
        agent: &Address,
    ) -> Result<Confirmed, ChainError> {
        let call = self.instructions.void_grants(self.policy_accounts(operator, agent)?);
        self.execute_for_policy(operator, call, self.settings.commitment).await
    }
}

/// What bounds take of an agent's account.
const fn bytes_of(bounds: &AccountBounds) -> usize {
    let month = if bounds.max_30_day_spend.is_some() { size_of::<Month>() } else { 0 };
    let budget = if bounds.budget.is_some() { ENTRY_BYTES } else { 0 };
    month + budget
}
