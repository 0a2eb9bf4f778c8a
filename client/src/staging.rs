//! Staging a policy through a draft, as a list of instructions: open, write as often as needed, apply.
//!
//! Each is a transaction of its own, and they only take effect in this order.

use anchor_lang::prelude::Pubkey;
use anchor_lang::solana_program::instruction::Instruction;
use purser::state::{DraftView, Operator};
use purser_policy::{Address, Policy};

use crate::instructions::{Deployment, DraftAccounts, RentPayers};
use crate::policy::Proposal;

/// How many entries one `write_draft` carries: as many as fit a transaction with compute-budget instructions, even if
/// the payer and the authority are different keys.
pub const WRITE_ENTRIES_MAX: usize = 23;
/// The longest allowlist that goes into `set_policy` itself, which then is the only transaction.
pub const INLINE_ENTRIES_MAX: usize = 20;

/// One proposal, and who sends it.
#[derive(Debug, Clone, Copy)]
pub struct Staging<'a> {
    pub deployment: Deployment,
    /// Policy authority or admin.
    pub authority: Pubkey,
    /// Pays for the draft, and gets it back.
    pub payer: Pubkey,
    pub operator: Pubkey,
    pub proposal: &'a Proposal,
}

impl Staging<'_> {
    /// The remaining steps until the draft is sealed. `found`: the agent's current draft. If it holds the beginning of this
    /// proposal, the steps continue it. They discard any other draft, so check it first.
    pub fn steps(&self, found: Option<&DraftView>) -> Vec<Instruction> {
        let entries = self.proposal.entries();
        let (mut steps, mut start) = match found {
            Some(found) if self.continues(found) => (Vec::new(), usize::from(found.draft.written)),
            Some(found) => (vec![self.close(found), self.open()], 0),
            None => (vec![self.open()], 0),
        };
        for part in entries.get(start..).unwrap_or(&[]).chunks(WRITE_ENTRIES_MAX) {
            // Opening the draft refuses more entries than fit u16.
            let written = u16::try_from(start).unwrap_or(u16::MAX);
            steps.push(self.deployment.write_draft(self.accounts(), self.proposal.hash(), written, part));
            start += part.len();
        }
        steps
    }

    /// Puts the sealed draft in force. `rent_payers`: as stored in agent and draft.
    pub fn apply(&self, rent_payers: RentPayers) -> Instruction {
        self.deployment.apply_draft(self.accounts(), self.payer, rent_payers, self.proposal.hash())
    }

    /// Whether `found` is a draft of this proposal, with only this proposal's entries.
    pub fn continues(&self, found: &DraftView) -> bool {
        if found.draft.hash != self.proposal.hash() {
            return false;
        }
        let policy = found.policy();
        let (wallets, token_accounts) = policy.allowlist.entries();
        let written = wallets.iter().chain(token_accounts).take(found.draft.written.into());
        let entries = self.proposal.entries();
        written.zip(&entries).all(|(written, entry): (&Address, &Pubkey)| written == entry.as_array())
    }

    fn open(&self) -> Instruction {
        self.deployment.open_draft(self.authority, self.payer, self.operator, self.proposal)
    }

    fn close(&self, found: &DraftView) -> Instruction {
        self.deployment.close_draft(self.accounts(), found.draft.rent_payer, found.draft.hash)
    }

    fn accounts(&self) -> DraftAccounts {
        DraftAccounts { authority: self.authority, operator: self.operator, agent: self.proposal.agent }
    }
}

/// Whether replacing `current` by `policy` has to wait in a draft when `signer` signs.
pub fn must_wait(operator: &Operator, signer: &Pubkey, policy: &Policy, current: &Policy) -> bool {
    operator.loosening_delay_seconds > 0 && operator.admin != *signer && policy.loosens(current)
}
