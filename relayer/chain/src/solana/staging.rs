//! Changes a policy: directly if it fits into a transaction, through a draft account if it does not or has to wait.

use crate::read::decode::{self, to_address, to_pubkey};
use crate::sign::instructions::{Call, agent_rent};
use crate::sign::signer::address;
use crate::solana::{Recorded, SolanaChain};
use crate::{AgentOnChain, Authority, ChainError, Commitment, Confirmed, DraftOnChain, OperatorOnChain};
use purser::error::PurserError;
use purser::state::DraftView;
use purser_client::{DraftAccounts, INLINE_ENTRIES_MAX, Proposal, RentRefunds};
use purser_model::{Address, SpendingPolicy};
use purser_policy::ALLOWLIST_ENTRIES_MAX;
use solana_sdk::pubkey::Pubkey;

impl Recorded<'_> {
    /// Replaces the whole policy atomically and waits for the commitment; stages a long allowlist first.
    /// `PolicyChanged`: it is no longer at `expected_version`, or must wait now. `RentOfAnother`: the account would have to grow.
    pub async fn set_policy(
        &self,
        operator: &OperatorOnChain,
        agent: &AgentOnChain,
        policy: &SpendingPolicy,
    ) -> Result<Confirmed, ChainError> {
        if policy.allowlist.len() > ALLOWLIST_ENTRIES_MAX {
            let error = PurserError::AllowlistTooLong;
            return Err(ChainError::Rejected { code: Some(error.into()), message: error.to_string() });
        }
        let more_rent = self.more_rent(agent, policy)?;
        let at = self.policy_accounts(operator, &agent.address)?;
        if policy.allowlist.len() <= INLINE_ENTRIES_MAX {
            let version = expected_version(agent);
            let call = self.instructions.set_policy(at, to_pubkey(&agent.rent_refund), version, policy);
            return self
                .execute_for_policy(operator, call.with_rent(more_rent), self.settings.commitment)
                .await;
        }
        let _turn = self.draft_turns.of(at.agent).lock_owned().await;
        let proposal = proposal(agent, policy);
        let replaced = async {
            self.stage(operator, at, &proposal, None, more_rent).await?;
            self.apply(operator, at, agent, policy, (self.rent_refund(at.authority), proposal.hash())).await
        };
        let replaced = replaced.await;
        if let Err(ChainError::PolicyChanged | ChainError::AuthorityRotated { .. }) = &replaced {
            self.clear_away(operator, at, proposal.hash()).await;
        }
        replaced
    }

    /// Seals the whole policy in a draft, where it waits, and waits for the commitment. Drops an earlier draft.
    /// `PolicyChanged`, `RentOfAnother`: as for [`Self::set_policy`].
    pub async fn propose_policy(
        &self,
        operator: &OperatorOnChain,
        agent: &AgentOnChain,
        policy: &SpendingPolicy,
    ) -> Result<Confirmed, ChainError> {
        let more_rent = self.more_rent(agent, policy)?;
        let at = self.policy_accounts(operator, &agent.address)?;
        let _turn = self.draft_turns.of(at.agent).lock_owned().await;
        let change_at = Some(self.settings.commitment);
        self.stage(operator, at, &proposal(agent, policy), change_at, more_rent).await
    }

    /// Puts the sealed draft with this hash in force, and waits for the commitment. `PolicyChanged`: the policy or the draft has
    /// changed. `RentOfAnother`: as for [`Self::set_policy`].
    pub async fn apply_draft(
        &self,
        operator: &OperatorOnChain,
        agent: &AgentOnChain,
        hash: [u8; 32],
    ) -> Result<Confirmed, ChainError> {
        let at = self.policy_accounts(operator, &agent.address)?;
        let draft = self.draft_with(&at.agent, hash).await?.ok_or(ChainError::PolicyChanged)?;
        self.apply(operator, at, agent, &draft.policy, (to_pubkey(&draft.rent_refund), hash)).await
    }

    /// Drops the draft with this hash, and waits for the commitment. `PolicyChanged`: the draft has changed.
    pub async fn drop_draft(
        &self,
        operator: &OperatorOnChain,
        agent: &AgentOnChain,
        hash: [u8; 32],
    ) -> Result<Confirmed, ChainError> {
        let at = self.policy_accounts(operator, &agent.address)?;
        let draft = self.draft_with(&at.agent, hash).await?.ok_or(ChainError::PolicyChanged)?;
        let call = self.instructions.close_draft(at, to_pubkey(&draft.rent_refund), hash);
        self.execute_for_policy(operator, call, self.settings.commitment).await
    }

    /// Writes a complete draft in place of an earlier one. `change_at`: sealing it is the change, which has to reach this commitment.
    /// Everything else is a step, which need only be confirmed.
    /// Does not begin unless its rent, and `more_rent` for the agent, can be paid.
    async fn stage(
        &self,
        operator: &OperatorOnChain,
        at: DraftAccounts,
        proposal: &Proposal,
        change_at: Option<Commitment>,
        more_rent: u64,
    ) -> Result<Confirmed, ChainError> {
        let found = self.draft_view(&at.agent).await?;
        let mut steps =
            self.instructions.seal_draft(at, self.rent_refund(at.authority), proposal, found.as_ref());
        let price = self.prices.now();
        let rent = steps.iter().map(|step| step.rent).fold(more_rent, u64::saturating_add);
        let fee = steps.iter().map(|step| step.fee(1, price)).max().unwrap_or(0);
        // One more than the steps: the one that applies it.
        let fees = fee.saturating_mul(steps.len() as u64 + 1);
        self.require_rent(self.policy_signer(operator)?, rent.saturating_add(fees))?;
        if found.is_some() {
            tracing::info!(agent = %to_address(&at.agent), "dropping a draft to make room for a new one");
        }
        // Opening the draft is always a step.
        let sealing = steps.pop().ok_or(ChainError::PolicyChanged)?;
        for step in steps {
            self.execute_for_policy(operator, step.preparing(), Commitment::Confirmed).await?;
        }
        match change_at {
            Some(commitment) => self.execute_for_policy(operator, sealing, commitment).await,
            None => self.execute_for_policy(operator, sealing.preparing(), Commitment::Confirmed).await,
        }
    }

    /// Applies the draft that holds `policy`; the pair is its rent payer and hash.
    async fn apply(
        &self,
        operator: &OperatorOnChain,
        at: DraftAccounts,
        agent: &AgentOnChain,
        policy: &SpendingPolicy,
        (draft_rent_refund, hash): (Pubkey, [u8; 32]),
    ) -> Result<Confirmed, ChainError> {
        let more_rent = self.more_rent(agent, policy)?;
        let rent_refunds = RentRefunds { agent: to_pubkey(&agent.rent_refund), draft: draft_rent_refund };
        let call = self.instructions.apply_draft(at, rent_refunds, hash).with_rent(more_rent);
        self.execute_for_policy(operator, call, self.settings.commitment).await
    }

    /// Closes an overtaken draft, which holds our rent for nothing. If this fails, the agent's next policy change does it.
    async fn clear_away(&self, operator: &OperatorOnChain, at: DraftAccounts, hash: [u8; 32]) {
        let cleared = async {
            let Some(draft) = self.draft_with(&at.agent, hash).await? else { return Ok(()) };
            let call = self.instructions.close_draft(at, to_pubkey(&draft.rent_refund), hash).preparing();
            self.execute_for_policy(operator, call, Commitment::Confirmed).await.map(drop)
        };
        if let Err::<(), ChainError>(error) = cleared.await {
            tracing::info!(agent = %to_address(&at.agent), %error, "cannot close a superseded draft");
        }
    }

    /// Executes a call as the operator's policy authority.
    pub async fn execute_for_policy(
        &self,
        operator: &OperatorOnChain,
        call: Call,
        commitment: Commitment,
    ) -> Result<Confirmed, ChainError> {
        let call_signers = self.call_signers(self.policy_signer(operator)?, &call)?;
        self.execute(call_signers, call, commitment).await.map_err(|error| match error {
            ChainError::Rejected { code: Some(code), .. } if is_overtaken(code) => ChainError::PolicyChanged,
            ChainError::Rejected { code: Some(code), .. } if code == u32::from(PurserError::Unauthorized) => {
                ChainError::AuthorityRotated { operator: operator.address, role: Authority::Policy }
            }
            other => other,
        })
    }
}

impl SolanaChain {
    /// The hash by which [`Self::propose_policy`] identifies this proposal on chain. Asks no node.
    pub fn proposal_hash(&self, agent: &AgentOnChain, policy: &SpendingPolicy) -> [u8; 32] {
        proposal(agent, policy).hash()
    }

    /// The agent's draft, complete or not.
    pub async fn draft_of(&self, agent: &Pubkey) -> Result<Option<DraftOnChain>, ChainError> {
        Ok(self.draft_view(agent).await?.map(|view| decode::draft_on_chain(&view)))
    }

    async fn draft_with(&self, agent: &Pubkey, hash: [u8; 32]) -> Result<Option<DraftOnChain>, ChainError> {
        Ok(self.draft_of(agent).await?.filter(|draft| draft.hash == hash))
    }

    async fn draft_view(&self, agent: &Pubkey) -> Result<Option<DraftView>, ChainError> {
        let accounts = self.accounts(&[self.instructions.0.draft_address(agent)]).await?;
        let account = accounts.into_iter().flatten().next();
        Ok(account.and_then(|account| decode::draft(&self.instructions.0.program, &account)))
    }

    /// Who gets back what `payer` pays for.
    pub fn rent_refund(&self, payer: Pubkey) -> Pubkey {
        self.settings.rent_refund.as_ref().map_or(payer, to_pubkey)
    }

    /// Lamports that a longer list adds to the agent's rent. They go back to the account's rent payer, so we pay them only if
    /// that is us: an admin may have created the account with its own wallet.
    fn more_rent(&self, agent: &AgentOnChain, policy: &SpendingPolicy) -> Result<u64, ChainError> {
        let more = agent_rent(policy).saturating_sub(agent_rent(&agent.policy));
        if more > 0 && !self.payers.is_ours(&agent.rent_refund) {
            return Err(ChainError::RentOfAnother { agent: agent.address, rent_refund: agent.rent_refund });
        }
        Ok(more)
    }

    pub fn policy_accounts(
        &self,
        operator: &OperatorOnChain,
        agent: &Address,
    ) -> Result<DraftAccounts, ChainError> {
        let authority = address(self.policy_signer(operator)?);
        Ok(DraftAccounts { authority, operator: to_pubkey(&operator.address), agent: to_pubkey(agent) })
    }
}

pub fn proposal(agent: &AgentOnChain, policy: &SpendingPolicy) -> Proposal {
    let expected_version = expected_version(agent);
    Proposal { agent: to_pubkey(&agent.address), expected_version, policy: policy.clone() }
}

/// The program counts in 32 bits.
fn expected_version(agent: &AgentOnChain) -> u32 {
    u32::try_from(agent.policy_version).unwrap_or(u32::MAX)
}

/// Refusals of a change that was right when written, but came after somebody else's.
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
