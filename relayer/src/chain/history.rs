//! Finding what landed: an agent's signatures, and the events in their logs.

use super::decode::to_address;
use super::events::EventLog;
use super::solana::SolanaChain;
use super::{ChainError, LandedTransfer};
use purser_policy::{DAY_SECONDS, UsdcAmount};
use solana_sdk::pubkey::Pubkey;
use std::ops::ControlFlow;

/// Signatures on one page of an address's history: the most that nodes give.
const HISTORY_PAGE: usize = 1_000;

impl SolanaChain {
    /// Walks the agent's own signatures of the last 24 h, newest first, to the transfer with `tag`.
    pub(super) async fn find_transfer(
        &self,
        agent: &Pubkey,
        tag: u64,
    ) -> Result<Option<LandedTransfer>, ChainError> {
        let mut found = None;
        let visit = |landed: LandedTransfer| {
            if landed.tag == tag {
                found = Some(landed);
                return ControlFlow::Break(());
            }
            ControlFlow::Continue(())
        };
        self.walk(agent, None, visit).await?;
        Ok(found)
    }

    /// The agent's transfers of the last 24 h, newest first, down to signature `after`.
    pub(super) async fn transfers_after(
        &self,
        agent: &Pubkey,
        after: Option<&str>,
    ) -> Result<Vec<LandedTransfer>, ChainError> {
        let mut all = Vec::new();
        let visit = |landed| {
            all.push(landed);
            ControlFlow::Continue(())
        };
        self.walk(agent, after, visit).await?;
        Ok(all)
    }

    async fn walk(
        &self,
        agent: &Pubkey,
        after: Option<&str>,
        mut visit: impl FnMut(LandedTransfer) -> ControlFlow<()> + Send,
    ) -> Result<(), ChainError> {
        let since = self.clock.now().await?.saturating_sub(DAY_SECONDS);
        let mut before: Option<String> = None;
        loop {
            let commitment = self.settings.commitment;
            let page =
                self.rpc.signatures_of(agent, before.as_deref(), after, HISTORY_PAGE, commitment).await?;
            for line in &page {
                if line.block_time.is_some_and(|time| time < since) || Some(line.signature.as_str()) == after
                {
                    return Ok(());
                }
                if line.err.is_some() {
                    continue;
                }
                for landed in self.transfers_in(&line.signature, agent).await? {
                    if visit(landed).is_break() {
                        return Ok(());
                    }
                }
            }
            match page.last() {
                Some(oldest) if page.len() == HISTORY_PAGE => before = Some(oldest.signature.clone()),
                Some(_) | None => return Ok(()),
            }
        }
    }

    /// The transfers of `agent` in a landed transaction.
    async fn transfers_in(&self, signature: &str, agent: &Pubkey) -> Result<Vec<LandedTransfer>, ChainError> {
        let Some(landed) = self.rpc.transaction(signature, self.settings.commitment).await? else {
            return Ok(Vec::new());
        };
        let Some(meta) = landed.meta.filter(|meta| meta.err.is_none()) else { return Ok(Vec::new()) };
        let log = EventLog::read(&self.instructions.program, &meta.log_messages.unwrap_or_default());
        let ours = log.transfers().filter(|event| event.agent == *agent);
        let landed = ours.map(|event| LandedTransfer {
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
        });
        Ok(landed.collect())
    }
}
