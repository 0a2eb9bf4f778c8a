//! Replacing a policy: at once when its allowlist fits a transaction, through a draft account when it does not.

use super::decode::to_address;
use super::instructions::{DRAFT_CHUNK_ENTRIES, INLINE_ENTRIES_MAX};
use super::signer::address;
use super::solana::SolanaChain;
use super::{AllowedRecipients, ChainError, Commitment, Confirmed, OnChainPolicy};
use purser::error::PurserError;
use purser_policy::ALLOWLIST_ENTRIES_MAX;
use solana_sdk::pubkey::Pubkey;
use tokio::sync::Mutex;

/// One draft at a time for an agent, within this process: by a byte of its address, so that memory is bounded.
/// A draft of another process in the way makes the program refuse, and nothing is changed.
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
    /// Replaces the whole policy; entries are sorted and de-duplicated here.
    pub(super) async fn replace_policy(
        &self,
        operator: Pubkey,
        agent: Pubkey,
        mut policy: OnChainPolicy,
    ) -> Result<Confirmed, ChainError> {
        let signer = &*self.signers.policy;
        let authority = address(signer);
        let staged = match &mut policy.allowlist {
            AllowedRecipients::Anyone => None,
            AllowedRecipients::Only(entries) => {
                entries.sort_unstable();
                entries.dedup();
                (entries.len() > INLINE_ENTRIES_MAX).then(|| entries.clone())
            }
        };
        let Some(entries) = staged else {
            let call = self.instructions.set_policy(authority, operator, agent, &policy);
            return self.execute(signer, call, self.settings.commitment).await;
        };
        if entries.len() > ALLOWLIST_ENTRIES_MAX {
            let error = PurserError::AllowlistTooLong;
            return Err(ChainError::Rejected { code: Some(error.into()), message: error.to_string() });
        }
        let _turn = self.staging.turn(&agent).lock().await;
        self.stage(operator, agent, &entries).await?;
        let call = self.instructions.set_policy_from_draft(authority, operator, agent, &policy);
        self.execute(signer, call, self.settings.commitment).await
    }

    /// Writes a complete draft. Its steps need only be confirmed: the step that takes it over waits for the rest.
    async fn stage(
        &self,
        operator: Pubkey,
        agent: Pubkey,
        entries: &[purser_policy::Address],
    ) -> Result<(), ChainError> {
        let signer = &*self.signers.policy;
        let authority = address(signer);
        let draft = self.instructions.draft_address(&agent);
        let count = |entries: usize| {
            u16::try_from(entries)
                .map_err(|_| ChainError::Rejected { code: None, message: "too many entries".into() })
        };
        let leftover = self.accounts(&[draft]).await?.into_iter().flatten().next();
        if leftover.is_some_and(|account| account.owner == self.instructions.program) {
            tracing::info!(agent = %to_address(&agent), "closing a draft that an earlier try left");
            let call = self.instructions.close_draft(authority, operator, agent);
            self.execute(signer, call, Commitment::Confirmed).await?;
        }
        let open = self.instructions.open_draft(authority, operator, agent, count(entries.len())?);
        self.execute(signer, open, Commitment::Confirmed).await?;
        for (index, chunk) in entries.chunks(DRAFT_CHUNK_ENTRIES).enumerate() {
            let start = count(index * DRAFT_CHUNK_ENTRIES)?;
            let write = self.instructions.write_draft(authority, operator, agent, start, chunk);
            self.execute(signer, write, Commitment::Confirmed).await?;
        }
        Ok(())
    }
}
