//! A policy's way through a draft, as a list of instructions: open, write as often as it takes, apply.
//!
//! Each is a transaction of its own, and they take effect in this order alone.

use anchor_lang::prelude::Pubkey;
use anchor_lang::solana_program::instruction::Instruction;
use purser::state::{DraftView, Operator};
use purser_policy::{Address, Policy};

use crate::instructions::{Deployment, DraftAccounts, RentPayers};
use crate::policy::Proposal;

/// Entries that one `write_draft` carries: as many as fit a transaction with compute-budget instructions, whether or not
/// the payer is another key than the authority.
pub const WRITE_ENTRIES_MAX: usize = 23;
/// Entries up to which an allowlist goes into `set_policy` itself, which then is the only transaction.
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
    /// What is left to do until the draft is sealed. `found`: the draft that the agent has now. One that holds the
    /// beginning of this proposal is gone on with; any other is given up, so look at it before.
    pub fn steps(&self, found: Option<&DraftView>) -> Vec<Instruction> {
        let entries = self.proposal.entries();
        let (mut steps, mut start) = match found {
            Some(found) if self.continues(found) => (Vec::new(), usize::from(found.draft.written)),
            Some(found) => (vec![self.close(found), self.open()], 0),
            None => (vec![self.open()], 0),
        };
        for part in entries.get(start..).unwrap_or(&[]).chunks(WRITE_ENTRIES_MAX) {
            // More entries than fit u16 are refused when the draft is opened.
            let written = u16::try_from(start).unwrap_or(u16::MAX);
            steps.push(self.deployment.write_draft(self.accounts(), self.proposal.hash(), written, part));
            start += part.len();
        }
        steps
    }

    /// Puts the sealed draft in force. `rent_payers`: as agent and draft store them.
    pub fn apply(&self, rent_payers: RentPayers) -> Instruction {
        self.deployment.apply_draft(self.accounts(), self.payer, rent_payers, self.proposal.hash())
    }

    /// Whether `found` is a draft of this proposal, and what was written to it is the proposal's.
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

/// Whether `policy` in the place of `current` has to wait in a draft when `signer` signs.
pub fn must_wait(operator: &Operator, signer: &Pubkey, policy: &Policy, current: &Policy) -> bool {
    operator.loosening_delay_seconds > 0 && operator.admin != *signer && policy.loosens(current)
}
