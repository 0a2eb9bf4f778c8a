//! What a draft said that is gone: it is read where it was written.

use crate::history::SolanaHistory;
use crate::history::landed::LandedRecord;
use crate::history::policy_steps::{PolicyCall, PolicyStep};
use crate::read::decode::{self, to_address, to_pubkey};
use crate::{ChainError, DraftOnChain, Looked, SignaturePage};
use purser_client::{Deployment, Proposal};
use purser_model::{Address, SpendingPolicy};
use solana_sdk::pubkey::Pubkey;
use std::collections::BTreeMap;

/// The most transactions of a draft that are read for what it said. A policy of 256 entries takes about a dozen; anybody can
/// name a draft in others.
const DRAFT_TRANSACTIONS_MAX: usize = 100;

impl SolanaHistory {
    /// The drafts of up to [`BALANCES_MAX`](super::BALANCES_MAX) agents, complete or not, read at `slot` or later.
    pub async fn drafts(
        &self,
        agents: &[Address],
        slot: u64,
    ) -> Result<Vec<Option<DraftOnChain>>, ChainError> {
        let keys: Vec<Pubkey> = agents.iter().map(|agent| self.draft_address(agent)).collect();
        let read = self.rpc.accounts_at(self.commitment, &keys, slot).await?;
        let drafts = read.value.iter().map(|account| decode::draft(&self.program, account.as_ref()?));
        Ok(drafts.map(|view| view.map(|view| decode::draft_on_chain(&view))).collect())
    }

    /// The policy that the draft with this hash held when `record` applied it, and the version that it became: from the account,
    /// if it is in force still; otherwise from the transactions that wrote the draft. The hash proves both. `None`: not found.
    pub async fn applied_draft(
        &self,
        record: &LandedRecord,
        agent: &Address,
        hash: [u8; 32],
    ) -> Result<Option<(u64, SpendingPolicy)>, ChainError> {
        if let Some((version, policy)) =
            self.policies(&[*agent], record.slot).await?.into_iter().flatten().next()
        {
            let expected_version = u32::try_from(version).unwrap_or(u32::MAX).saturating_sub(1);
            let proposal = Proposal { agent: to_pubkey(agent), expected_version, policy };
            if proposal.hash() == hash {
                return Ok(Some((version, proposal.policy)));
            }
        }
        let mut writing = WrittenDraft { agent: *agent, hash, entries: BTreeMap::new() };
        if let Some(found) = writing.goes_back_over(&record.policy_steps) {
            return Ok(Some(found));
        }
        let lines = self
            .signatures(SignaturePage {
                address: &to_address(&self.draft_address(agent)),
                before: Some(&record.signature),
                until: None,
                lines_max: DRAFT_TRANSACTIONS_MAX,
            })
            .await?;
        let (mut shown, mut failed) = (0, None);
        for line in lines.iter().filter(|line| line.reached && !line.failed) {
            match self.transaction(&line.signature).await {
                Ok(Looked::Found(written)) => {
                    shown += 1;
                    if let Some(found) = writing.goes_back_over(&written.policy_steps) {
                        return Ok(Some(found));
                    }
                }
                Ok(Looked::Failed | Looked::Unknown) => {}
                Err(error) => failed = Some(error),
            }
        }
        // A node that answers nothing is asked again; one that cannot show a transaction would not show it next time.
        failed.filter(|_| shown == 0).map_or(Ok(None), Err)
    }

    fn draft_address(&self, agent: &Address) -> Pubkey {
        let at = Deployment { program: self.program, usdc_mint: self.usdc_mint };
        at.draft_address(&to_pubkey(agent))
    }
}

/// A draft that is put together from the end of its transactions to their beginning.
struct WrittenDraft {
    agent: Address,
    hash: [u8; 32],
    /// By the number of entries before them.
    entries: BTreeMap<u16, Vec<Pubkey>>,
}

impl WrittenDraft {
    /// The whole draft, once its opening is met.
    fn goes_back_over(&mut self, steps: &[PolicyStep]) -> Option<(u64, SpendingPolicy)> {
        for step in steps.iter().rev().filter(|step| step.agent == self.agent) {
            match &step.what {
                PolicyCall::Written { hash, start, entries } if *hash == self.hash => {
                    self.entries.entry(*start).or_insert_with(|| entries.clone());
                }
                PolicyCall::Opened(args) if args.hash == self.hash => {
                    let entries: Vec<Pubkey> = self.entries.values().flatten().copied().collect();
                    let proposal = Proposal::of(to_pubkey(&self.agent), args, &entries)?;
                    return Some((u64::from(proposal.expected_version).saturating_add(1), proposal.policy));
                }
                _ => {}
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::history::policy_steps::policy_steps;
    use purser_client::{Called, DraftAccounts};
    use purser_model::AllowedRecipients;
    use solana_sdk::instruction::Instruction;

    const AT: Deployment = Deployment { program: purser::ID, usdc_mint: Pubkey::new_from_array([8; 32]) };

    fn called(instruction: Instruction) -> Called {
        let Instruction { program_id, accounts, data } = instruction;
        let accounts = accounts.iter().map(|meta| meta.pubkey).collect();
        Called { program: program_id, accounts, data, is_inner: false }
    }

    fn accounts() -> DraftAccounts {
        let [authority, operator, agent] = [11, 12, 13].map(|byte| Pubkey::new_from_array([byte; 32]));
        DraftAccounts { authority, operator, agent }
    }

    fn long() -> SpendingPolicy {
        let wallets = (0..40).map(|byte| [byte; 32]).collect();
        SpendingPolicy {
            require_memo: true,
            ..SpendingPolicy::default().over(AllowedRecipients::only(wallets, vec![]))
        }
    }

    #[test]
    fn a_draft_is_put_together_from_its_transactions_backwards() {
        let at = accounts();
        let proposal = Proposal { agent: at.agent, expected_version: 3, policy: long() };
        let (hash, entries) = (proposal.hash(), proposal.entries());
        let steps = |instructions: Vec<Instruction>| {
            policy_steps(&instructions.into_iter().map(called).collect::<Vec<_>>())
        };
        let opened = steps(vec![
            AT.open_draft(at.authority, at.authority, at.authority, at.operator, &proposal),
            AT.write_draft(at, hash, 0, &entries[..15]),
        ]);
        let written = steps(vec![AT.write_draft(at, hash, 15, &entries[15..])]);
        let of_another = steps(vec![AT.write_draft(at, [1; 32], 0, &entries[..15])]);
        let mut writing = WrittenDraft { agent: to_address(&at.agent), hash, entries: BTreeMap::new() };
        for later in [&written, &of_another] {
            assert_eq!(writing.goes_back_over(later), None);
        }
        assert_eq!(writing.goes_back_over(&opened), Some((4, long())));
        let mut cut = WrittenDraft { agent: to_address(&at.agent), hash, entries: BTreeMap::new() };
        assert_eq!(cut.goes_back_over(&opened), None, "entries are missing, so the hash is another");
    }
}
