//! Finding what landed: an agent's signatures, and the events in their logs.

use super::decode::to_address;
use super::events::EventLog;
use super::solana::SolanaChain;
use super::{ChainError, LandedTransfer};
use purser_policy::{DAY_SECONDS, UsdcAmount};
use solana_sdk::pubkey::Pubkey;

/// Signatures on one page of an address's history: the most that nodes give.
const HISTORY_PAGE: usize = 1_000;

impl SolanaChain {
    /// Walks the agent's own signatures of the last 24 h, newest first.
    pub(super) async fn find_transfer(
        &self,
        agent: &Pubkey,
        tag: u64,
    ) -> Result<Option<LandedTransfer>, ChainError> {
        let since = self.clock.now().await?.saturating_sub(DAY_SECONDS);
        let mut before: Option<String> = None;
        loop {
            let commitment = self.settings.commitment;
            let page =
                self.rpc.signatures_of(agent, before.as_deref(), None, HISTORY_PAGE, commitment).await?;
            for line in &page {
                if line.block_time.is_some_and(|time| time < since) {
                    return Ok(None);
                }
                if line.err.is_none()
                    && let Some(landed) = self.transfer_in(&line.signature, agent, tag).await?
                {
                    return Ok(Some(landed));
                }
            }
            match page.last() {
                Some(oldest) if page.len() == HISTORY_PAGE => before = Some(oldest.signature.clone()),
                Some(_) | None => return Ok(None),
            }
        }
    }

    /// The transfer with `tag` in a landed transaction of `agent`.
    async fn transfer_in(
        &self,
        signature: &str,
        agent: &Pubkey,
        tag: u64,
    ) -> Result<Option<LandedTransfer>, ChainError> {
        let Some(landed) = self.rpc.transaction(signature, self.settings.commitment).await? else {
            return Ok(None);
        };
        let Some(meta) = landed.meta.filter(|meta| meta.err.is_none()) else { return Ok(None) };
        let log = EventLog::read(&self.instructions.program, &meta.log_messages.unwrap_or_default());
        let found = log.transfers().find(|event| event.agent == *agent && event.tag == tag);
        Ok(found.map(|event| LandedTransfer {
            signature: signature.to_owned(),
            slot: landed.slot,
            block_time: landed.block_time,
            transfer_id: event.transfer_id,
            tag: event.tag,
            amount: UsdcAmount::from_micros(event.amount),
            recipient: to_address(&event.recipient),
            recipient_owner: to_address(&event.recipient_owner),
            memo: event.memo,
            policy_version: u64::from(event.policy_version),
        }))
    }
}
