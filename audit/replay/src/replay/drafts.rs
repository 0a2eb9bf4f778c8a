//! Staged policies: opened, written, sealed, applied or dropped.

use anchor_lang::prelude::Pubkey;
use bytemuck::Zeroable;
use purser::constants::{DRAFT_SEED, ENTRY_BYTES, LAYOUT_VERSION};
use purser::events::{DraftClosed, DraftSealed, DraftWritten, PolicyRecord};
use purser::state::{Authority, Operator, PolicyDraft, Role, StoredPolicy};
use purser::{DraftArgs, instruction};
use purser_client::{Called, arguments};
use purser_policy::Allowlist;

use super::step::Step;
use super::timeline::terms;
use super::{DraftBook, MomentKind};
use crate::check::Check;

impl Step<'_> {
    pub(super) fn open_draft(&mut self, called: &Called) -> Option<()> {
        let instruction::OpenDraft { args } = arguments(&called.data)?;
        let (agent, rent_refund) = (*called.accounts.get(3)?, *called.accounts.get(5)?);
        let (signer, _) = self.role(called, Some(agent), Authority::SetPolicy)?;
        let Some(book) = self.agent(agent) else { return Some(()) };
        self.written_against(agent, args.expected_version, book.agent.policy_version);
        let DraftArgs { hash, expected_version, rules, .. } = args;
        let wallets = args.entries.map(|entries| entries.wallets);
        let count = |entries: purser::EntryCounts| entries.wallets.checked_add(entries.token_accounts);
        let entry_count = args.entries.map_or(Some(0), count)?;
        let (_, bump) = Pubkey::find_program_address(&[DRAFT_SEED, agent.as_ref()], &self.at.program);
        let draft = PolicyDraft {
            version: LAYOUT_VERSION,
            bump,
            entry_count,
            expected_version,
            agent,
            rent_refund,
            hash,
            policy: StoredPolicy::new(&rules, wallets),
            ..PolicyDraft::zeroed()
        };
        let tail = vec![0; usize::from(entry_count) * ENTRY_BYTES];
        self.world.drafts.insert(agent, DraftBook { draft, tail });
        if entry_count == 0 {
            self.seal(agent, signer);
        }
        Some(())
    }

    pub(super) fn write_draft(&mut self, called: &Called) -> Option<()> {
        let instruction::WriteDraft { hash, start, entries } = arguments(&called.data)?;
        let agent = *called.accounts.get(2)?;
        let (signer, _) = self.role(called, Some(agent), Authority::SetPolicy)?;
        let Some(mut book) = self.draft(agent, hash) else { return Some(()) };
        let written: Vec<u8> = entries.iter().flat_map(|entry| entry.to_bytes()).collect();
        let from = usize::from(start) * ENTRY_BYTES;
        self.examine(Check::PolicyChanges, Some(agent));
        match book.tail.get_mut(from..from + written.len()) {
            Some(room) if start == book.draft.written && !book.draft.is_sealed() => {
                room.copy_from_slice(&written)
            }
            Some(_) | None => {
                let text =
                    "Entries were written to a draft out of their order, or after it was sealed.".to_owned();
                self.mismatch(Check::PolicyChanges, Some(agent), text);
                return Some(());
            }
        }
        book.draft.written = start.saturating_add(u16::try_from(entries.len()).unwrap_or(u16::MAX));
        let is_complete = book.draft.written == book.draft.entry_count;
        self.world.drafts.insert(agent, book);
        self.expect(Some(agent), &DraftWritten { agent, hash, start, entries }, "DraftWritten");
        if is_complete {
            self.seal(agent, signer);
        }
        Some(())
    }

    /// From here on the draft's proposal is fixed, and its delay runs.
    fn seal(&mut self, agent: Pubkey, signer: Pubkey) {
        let (Some(mut book), Some(operator)) = (self.world.drafts.get(&agent).cloned(), self.operator())
        else {
            return;
        };
        (book.draft.sealed, book.draft.sealed_at) = (1, self.now);
        book.draft.sealed_delay_seconds = operator.loosening_delay_seconds;
        let (draft, tail) = (book.draft, book.tail.clone());
        let policy = draft.policy.with(&tail);
        let (wallets, token_accounts) = policy.allowlist.entries();
        let is_list =
            policy.allowlist == Allowlist::Anyone || Allowlist::only(wallets, token_accounts).is_some();
        if !is_list || PolicyDraft::hash_of(&agent, draft.expected_version, &policy) != draft.hash {
            let text = "A draft was sealed that does not hold what it was opened for.".to_owned();
            self.mismatch(Check::PolicyChanges, Some(agent), text);
        }
        let event = DraftSealed {
            operator: self.address,
            agent,
            hash: draft.hash,
            expected_version: draft.expected_version,
            policy: PolicyRecord::new(&policy, Some(draft.hash)),
            sealed_at: draft.sealed_at,
            loosens_at: draft.loosens_at(&operator).unwrap_or(i64::MAX),
            signer,
        };
        self.world.drafts.insert(agent, book);
        self.expect(Some(agent), &event, "DraftSealed");
        self.tells(
            MomentKind::DraftSealed,
            Some(agent),
            format!("A policy was sealed by {signer}, to come into force later: {}.", terms(&policy)),
        );
    }

    pub(super) fn apply_draft(&mut self, called: &Called) -> Option<()> {
        let instruction::ApplyDraft { hash } = arguments(&called.data)?;
        let agent = *called.accounts.get(3)?;
        let (signer, role) = self.role(called, Some(agent), Authority::SetPolicy)?;
        let (Some(draft), Some(book)) = (self.draft(agent, hash), self.agent(agent)) else { return Some(()) };
        let policy = draft.draft.policy.with(&draft.tail);
        self.examine(Check::PolicyChanges, Some(agent));
        if !draft.draft.is_sealed() {
            let text = "A draft was put in force before it was sealed.".to_owned();
            self.mismatch(Check::PolicyChanges, Some(agent), text);
        }
        let Some(operator) = self.operator() else { return Some(()) };
        if role != Role::Admin && policy.loosens(&book.policy()) {
            let halted = operator.halted_by | book.agent.halted_by != 0;
            if let Some(why) = must_wait(&draft.draft, &operator, halted, self.now) {
                let text = format!("{signer} put a loosened policy in force: {why}.");
                self.mismatch(Check::PolicyChanges, Some(agent), text);
            }
        }
        let version = self.replace_policy(agent, book, draft.draft.expected_version, &policy, signer);
        self.policy_set(agent, version, PolicyRecord::new(&policy, Some(hash)), signer);
        self.world.drafts.remove(&agent);
        Some(())
    }

    pub(super) fn close_draft(&mut self, called: &Called) -> Option<()> {
        let instruction::CloseDraft { hash } = arguments(&called.data)?;
        let agent = *called.accounts.get(2)?;
        let (signer, _) = self.role(called, Some(agent), Authority::Halt)?;
        let Some(_) = self.draft(agent, hash) else { return Some(()) };
        self.world.drafts.remove(&agent);
        self.expect(Some(agent), &DraftClosed { operator: self.address, agent, hash, signer }, "DraftClosed");
        let text = format!("The waiting policy was dropped by {signer}.");
        self.tells(MomentKind::DraftDropped, Some(agent), text);
        Some(())
    }

    /// The account's draft, if an instruction names that one.
    fn draft(&mut self, agent: Pubkey, hash: [u8; 32]) -> Option<DraftBook> {
        let found = self.world.drafts.get(&agent).filter(|book| book.draft.hash == hash).cloned();
        if found.is_none() {
            let text = "A draft was used whose opening was not read.".to_owned();
            self.mismatch(Check::PolicyChanges, Some(agent), text);
        }
        found
    }

    fn written_against(&mut self, agent: Pubkey, expected: u32, version: u32) {
        self.examine(Check::PolicyChanges, Some(agent));
        if expected != version {
            let text = format!("A draft against version {expected} was opened over version {version}.");
            self.mismatch(Check::PolicyChanges, Some(agent), text);
        }
    }
}

/// Why a draft that loosens something could be put in force by nobody but the admin. `None`: its wait was over.
fn must_wait(draft: &PolicyDraft, operator: &Operator, halted: bool, now: i64) -> Option<String> {
    match (draft.waits_seconds(operator), draft.loosens_at(operator)) {
        (Some(0), _) => None,
        _ if halted => Some("in a halt the admin alone does that".to_owned()),
        (Some(waits), Some(at)) if now < at => {
            let waited = now.saturating_sub(draft.sealed_at);
            Some(format!("it was sealed {waited} seconds before, and has to wait for {waits}"))
        }
        (Some(_), Some(_)) => None,
        (None, _) | (_, None) => {
            Some("it was sealed while nothing had to wait, so only the admin applies it now".to_owned())
        }
    }
}
