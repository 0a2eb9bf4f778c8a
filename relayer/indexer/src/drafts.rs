//! Drafts that somebody sealed past this service: written down before their transactions count as read, then watched and
//! announced by whoever looks after policies that wait.

use std::collections::{BTreeMap, HashMap};

use super::book::Parties;
use super::{IndexError, Indexer};
use purser_chain::{BALANCES_MAX, LandedRecord, PolicyCall};
use purser_model::{Address, PendingPolicy};

impl Indexer {
    /// Looks at every draft that these transactions may have sealed; they must come in the chain's order.
    pub(super) async fn note_drafts<'a>(
        &self,
        records: impl Iterator<Item = &'a (LandedRecord, i64)>,
        parties: &Parties,
    ) -> Result<(), IndexError> {
        // By agent: who wrote each draft last.
        let mut written: BTreeMap<[u8; 32], HashMap<[u8; 32], Address>> = BTreeMap::new();
        let (mut changed, mut slot) = (HashMap::new(), 0);
        for (record, _) in records {
            for step in &record.policy_steps {
                let Some(party) = parties.of_agent(&step.agent) else { continue };
                if step.what.sets() || step.what == PolicyCall::Closed {
                    changed.insert(party.account_id, party.operator_id);
                }
                if let Some(hash) = step.what.written() {
                    written.entry(step.agent.bytes()).or_default().insert(hash, step.signer);
                    slot = slot.max(record.slot);
                }
            }
        }
        // What waited may be in force, void or gone.
        for (account, operator) in changed {
            self.parts.policies.look_at_pending_policies(operator, account).await?;
        }
        let agents: Vec<Address> = written.keys().map(|agent| Address::from_bytes(*agent)).collect();
        for agents in agents.chunks(BALANCES_MAX) {
            let drafts = self.parts.history.drafts(agents, slot).await?;
            for (agent, draft) in agents.iter().zip(drafts) {
                // One that is gone, or that waits for more entries, is no news; a later one has its own transactions.
                let (Some(draft), Some(party)) = (draft, parties.of_agent(agent)) else { continue };
                let signer = written.get(&agent.bytes()).and_then(|hashes| hashes.get(&draft.hash));
                let (Some(signer), Some(_)) = (signer, draft.sealed_at) else { continue };
                let pending = PendingPolicy {
                    operator_id: party.operator_id,
                    account_id: party.account_id,
                    hash: draft.hash,
                    expected_version: draft.expected_version,
                    allowlist_entries: 0,
                    due_at: 0,
                    is_announced: false,
                    created_at: self.parts.clock.now(),
                    sealed_by: Some(*signer),
                };
                self.parts.policies.insert_sealed_draft(&pending).await?;
            }
        }
        Ok(())
    }
}
