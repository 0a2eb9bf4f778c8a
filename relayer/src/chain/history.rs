//! Finding what landed: an agent's signatures, and the events in their logs.

use super::decode::to_address;
use super::events::EventLog;
use super::solana::SolanaChain;
use super::wire::LandedTransaction;
use super::{ChainError, LandedTransfer};
use purser_policy::{DAY_SECONDS, UsdcAmount, tag_of};
use solana_sdk::pubkey::Pubkey;
use std::collections::HashSet;
use std::ops::ControlFlow;

/// Signatures on one page of an address's history: the most that nodes give.
const HISTORY_PAGE: usize = 1_000;
/// The program remembers by its clock; blocks bear times that may be a little earlier.
const CLOCKS_DIFFER_SECONDS: i64 = 60;

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

    /// The same, for a transfer that was signed at `since` (unix seconds) at the earliest; sure only if the history shows
    /// every tag of `remembered`.
    pub(super) async fn find_transfer_since(
        &self,
        agent: &Pubkey,
        tag: u64,
        remembered: &[u64],
        since: i64,
    ) -> Result<Option<LandedTransfer>, ChainError> {
        let mut unseen: HashSet<u64> = remembered.iter().copied().collect();
        let mut found = None;
        let visit = |landed: LandedTransfer| {
            unseen.remove(&landed.tag);
            let is_before = landed.block_time.is_some_and(|time| time < since);
            if landed.tag == tag && !is_before {
                found = Some(landed);
            }
            if found.is_some() || (is_before && unseen.is_empty()) {
                return ControlFlow::Break(());
            }
            ControlFlow::Continue(())
        };
        self.walk(agent, None, visit).await?;
        if found.is_none() && !unseen.is_empty() {
            let reason = "the agent's history does not show all that its account remembers".to_owned();
            return Err(ChainError::Unavailable { during: "getSignaturesForAddress", reason });
        }
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
        let since = self.clock.now().await?.saturating_sub(DAY_SECONDS + CLOCKS_DIFFER_SECONDS);
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

    /// The transfers of `agent` in a transaction that its history lists.
    async fn transfers_in(&self, signature: &str, agent: &Pubkey) -> Result<Vec<LandedTransfer>, ChainError> {
        let landed = self.rpc.transaction(signature, self.settings.commitment).await?;
        let Some(Logged { slot, block_time, lines }) = logged(signature, landed)? else {
            return Ok(Vec::new());
        };
        let log = EventLog::read(&self.instructions.0.program, &lines);
        let ours = log.transfers().filter(|event| event.agent == *agent);
        let landed = ours.map(|event| LandedTransfer {
            number: event.number,
            signature: signature.to_owned(),
            slot,
            block_time,
            transfer_id: event.transfer_id,
            tag: tag_of(&event.transfer_id),
            amount: UsdcAmount::from_micros(event.amount),
            recipient: to_address(&event.recipient),
            recipient_owner: to_address(&event.recipient_owner),
            memo: super::happening::text_of(event.memo),
            policy_version: u64::from(event.policy_version),
        });
        Ok(landed.collect())
    }
}

/// What a transaction that landed well has logged.
struct Logged {
    slot: u64,
    block_time: Option<i64>,
    lines: Vec<String>,
}

/// `None` if it failed. A listed transaction that the node does not show whole may hide a transfer: that is no answer.
fn logged(signature: &str, landed: Option<LandedTransaction>) -> Result<Option<Logged>, ChainError> {
    let hidden = |what: &str| ChainError::Unavailable {
        during: "getTransaction",
        reason: format!("the node lists {signature} and does not show {what}"),
    };
    let landed = landed.ok_or_else(|| hidden("it"))?;
    let meta = landed.meta.ok_or_else(|| hidden("its outcome"))?;
    if meta.err.is_some() {
        return Ok(None);
    }
    let lines = meta.log_messages.ok_or_else(|| hidden("its logs"))?;
    Ok(Some(Logged { slot: landed.slot, block_time: landed.block_time, lines }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    fn read(answer: Value) -> Result<Option<Logged>, ChainError> {
        logged("signature", serde_json::from_value(answer).expect("an answer of a node"))
    }

    #[test]
    fn a_listed_transaction_that_is_not_shown_whole_is_no_answer() {
        for hidden in [
            json!(null),
            json!({ "slot": 7, "meta": null }),
            json!({ "slot": 7, "meta": { "err": null } }),
            json!({ "slot": 7, "meta": { "err": null, "logMessages": null } }),
        ] {
            assert!(matches!(read(hidden.clone()), Err(ChainError::Unavailable { .. })), "{hidden}");
        }
        let failed = json!({ "slot": 7, "meta": { "err": { "InstructionError": [0, "Custom"] } } });
        assert!(matches!(read(failed), Ok(None)));
        let whole = json!({ "slot": 7, "blockTime": 9, "meta": { "err": null, "logMessages": ["a"] } });
        let Ok(Some(Logged { slot: 7, block_time: Some(9), lines })) = read(whole) else { panic!("whole") };
        assert_eq!(lines, ["a"]);
    }
}
