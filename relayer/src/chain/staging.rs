//! Changing a policy: at once when it fits a transaction, through a draft account when it does not or has to wait.

use super::decode::{self, to_address, to_pubkey};
use super::instructions::{Call, DRAFT_CHUNK_ENTRIES, INLINE_ENTRIES_MAX};
use super::signer::address;
use super::solana::SolanaChain;
use super::{AgentOnChain, ChainError, Commitment, Confirmed, DraftOnChain, OnChainPolicy};
use crate::domain::Address;
use purser::error::PurserError;
use purser_client::{DraftAccounts, Proposal, RentPayers};
use purser_policy::ALLOWLIST_ENTRIES_MAX;
use solana_sdk::pubkey::Pubkey;
use tokio::sync::Mutex;

/// One draft at a time for an agent, within this process: by a byte of its address, so that memory is bounded.
/// Another process may take the draft's place in between; then the program refuses by the hash, and nothing is changed.
pub(super) struct Staging {
    turns: [Mutex<()>; 64],
}

impl Default for Staging {
    fn default() -> Self {
        Self { turns: std::array::from_fn(|_| Mutex::new(())) }
    }
}

impl Staging {
    fn turn(&self, agent: &Pubkey) -> &Mutex<()> {
        let byte = agent.as_array().first().copied().unwrap_or(0);
        &self.turns[usize::from(byte) % self.turns.len()]
    }
}

impl SolanaChain {
    /// Replaces the whole policy over the version that `agent` was read at.
    pub(super) async fn replace_policy(
        &self,
        operator: &Address,
        agent: &AgentOnChain,
        policy: &OnChainPolicy,
    ) -> Result<Confirmed, ChainError> {
        if policy.allowlist.len() > ALLOWLIST_ENTRIES_MAX {
            let error = PurserError::AllowlistTooLong;
            return Err(ChainError::Rejected { code: Some(error.into()), message: error.to_string() });
        }
        let at = self.policy_accounts(operator, &agent.address);
        if policy.allowlist.len() <= INLINE_ENTRIES_MAX {
            let version = expected_version(agent);
            let call = self.instructions.set_policy(at, to_pubkey(&agent.rent_payer), version, policy);
            return self.execute_for_policy(call, self.settings.commitment).await;
        }
        let _turn = self.staging.turn(&at.agent).lock().await;
        let proposal = proposal(agent, policy);
        self.stage(at, &proposal, Commitment::Confirmed).await?;
        self.apply(at, agent, at.authority, proposal.hash()).await
    }

    /// Leaves the policy sealed in the agent's draft.
    pub(super) async fn seal_policy(
        &self,
        operator: &Address,
        agent: &AgentOnChain,
        policy: &OnChainPolicy,
    ) -> Result<Confirmed, ChainError> {
        let at = self.policy_accounts(operator, &agent.address);
        let _turn = self.staging.turn(&at.agent).lock().await;
        self.stage(at, &proposal(agent, policy), self.settings.commitment).await
    }

    /// Puts what is sealed in the agent's draft in force.
    pub(super) async fn apply_sealed(
        &self,
        operator: &Address,
        agent: &AgentOnChain,
        hash: [u8; 32],
    ) -> Result<Confirmed, ChainError> {
        let at = self.policy_accounts(operator, &agent.address);
        let draft = self.draft_of(&at.agent).await?.filter(|draft| draft.hash == hash);
        let draft = draft.ok_or(ChainError::PolicyChanged)?;
        self.apply(at, agent, to_pubkey(&draft.rent_payer), hash).await
    }

    /// Closes the agent's draft, if it is the one that is meant.
    pub(super) async fn close_sealed(
        &self,
        operator: &Address,
        agent: &AgentOnChain,
        hash: [u8; 32],
    ) -> Result<Confirmed, ChainError> {
        let at = self.policy_accounts(operator, &agent.address);
        let draft = self.draft_of(&at.agent).await?.filter(|draft| draft.hash == hash);
        let draft = draft.ok_or(ChainError::PolicyChanged)?;
        let call = self.instructions.close_draft(at, to_pubkey(&draft.rent_payer), hash);
        self.execute_for_policy(call, self.settings.commitment).await
    }

    /// The agent's draft, complete or not.
    pub(super) async fn draft_of(&self, agent: &Pubkey) -> Result<Option<DraftOnChain>, ChainError> {
        let accounts = self.accounts(&[self.instructions.0.draft_address(agent)]).await?;
        let account = accounts.into_iter().flatten().next();
        Ok(account.and_then(|account| decode::draft(&self.instructions.0.program, &account)))
    }

    /// Writes a complete draft, in place of whatever stood there. All steps but the one that seals it need only be
    /// confirmed.
    async fn stage(
        &self,
        at: DraftAccounts,
        proposal: &Proposal,
        sealed_at: Commitment,
    ) -> Result<Confirmed, ChainError> {
        let count = |entries: usize| {
            u16::try_from(entries)
                .map_err(|_| ChainError::Rejected { code: None, message: "too many entries".into() })
        };
        if let Some(leftover) = self.draft_of(&at.agent).await? {
            tracing::info!(agent = %to_address(&at.agent), "dropping the draft in the way of a new one");
            let call = self.instructions.close_draft(at, to_pubkey(&leftover.rent_payer), leftover.hash);
            self.execute_for_policy(call, Commitment::Confirmed).await?;
        }
        let (hash, entries) = (proposal.hash(), proposal.entries());
        let chunks = entries.len().div_ceil(DRAFT_CHUNK_ENTRIES);
        let commitment = |step: usize| if step == chunks { sealed_at } else { Commitment::Confirmed };
        let open = self.instructions.open_draft(at, proposal);
        let mut done = self.execute_for_policy(open, commitment(0)).await?;
        for (index, chunk) in entries.chunks(DRAFT_CHUNK_ENTRIES).enumerate() {
            let start = count(index * DRAFT_CHUNK_ENTRIES)?;
            let write = self.instructions.write_draft(at, hash, start, chunk);
            done = self.execute_for_policy(write, commitment(index + 1)).await?;
        }
        Ok(done)
    }

    async fn apply(
        &self,
        at: DraftAccounts,
        agent: &AgentOnChain,
        draft_rent_payer: Pubkey,
        hash: [u8; 32],
    ) -> Result<Confirmed, ChainError> {
        let rent_payers = RentPayers { agent: to_pubkey(&agent.rent_payer), draft: draft_rent_payer };
        let call = self.instructions.apply_draft(at, rent_payers, hash);
        self.execute_for_policy(call, self.settings.commitment).await
    }

    /// As the policy authority.
    pub(super) async fn execute_for_policy(
        &self,
        call: Call,
        commitment: Commitment,
    ) -> Result<Confirmed, ChainError> {
        self.execute(&*self.signers.policy, call, commitment).await.map_err(|error| match error {
            ChainError::Rejected { code: Some(code), .. } if is_overtaken(code) => ChainError::PolicyChanged,
            other => other,
        })
    }

    pub(super) fn policy_accounts(&self, operator: &Address, agent: &Address) -> DraftAccounts {
        let authority = address(&*self.signers.policy);
        DraftAccounts { authority, operator: to_pubkey(operator), agent: to_pubkey(agent) }
    }
}

pub(super) fn proposal(agent: &AgentOnChain, policy: &OnChainPolicy) -> Proposal {
    let expected_version = expected_version(agent);
    Proposal { agent: to_pubkey(&agent.address), expected_version, policy: policy.clone() }
}

/// The program counts in 32 bits.
fn expected_version(agent: &AgentOnChain) -> u32 {
    u32::try_from(agent.policy_version).unwrap_or(u32::MAX)
}

/// Refusals of a change that was right when it was written, and that somebody else was ahead of.
fn is_overtaken(code: u32) -> bool {
    matches!(
        PurserError::from_code(code),
        Some(
            PurserError::PolicyChanged
                | PurserError::LooseningMustWait
                | PurserError::DraftMismatch
                | PurserError::DraftIncomplete
                | PurserError::DraftOutOfOrder
        )
    )
}
