//! Staging a policy through a draft: open, write as often as needed, apply.
//!
//! Each is a transaction of its own, and they only take effect in this order.

use anchor_lang::prelude::Pubkey;
use anchor_lang::solana_program::instruction::Instruction;
use purser::state::{DraftView, Operator};
use purser_policy::{Address, Policy};

use crate::instructions::{Deployment, DraftAccounts, RentRefunds};
use crate::policy::Proposal;

/// The longest allowlist that goes into `set_policy` or `create_agent` itself, which then is the only transaction.
pub const INLINE_ENTRIES_MAX: usize = 20;

/// Entries in one `write_draft`, so that it fits a transaction with compute-budget instructions.
const WRITE_ENTRIES: usize = 24;
/// The same beside the key and the signature of a payer who is not the authority.
const WRITE_ENTRIES_BESIDE_PAYER: usize = 23;

/// One proposal, and who sends it.
#[derive(Debug, Clone, Copy)]
pub struct Staging<'a> {
    /// The program.
    pub deployment: Deployment,
    /// Policy authority or admin.
    pub authority: Pubkey,
    /// Pays for the draft.
    pub payer: Pubkey,
    /// Gets the draft's rent back.
    pub rent_refund: Pubkey,
    /// Owns the agent.
    pub operator: Pubkey,
    /// What is staged.
    pub proposal: &'a Proposal,
}

/// A transaction on a proposal's way to its sealed draft.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Step {
    /// What it does.
    pub kind: StepKind,
    /// Alone in its transaction, but for compute-budget instructions.
    pub instruction: Instruction,
}

/// What a [`Step`] does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StepKind {
    /// Discards the draft that is in the way.
    Close,
    /// Makes the draft, and seals it if there are no entries.
    Open,
    /// The last one seals the draft.
    Write,
}

impl Staging<'_> {
    /// The remaining steps until the draft is sealed. `found`: the agent's current draft. If it holds the beginning of this
    /// proposal, the steps continue it. They discard any other draft, so check it first.
    pub fn steps(&self, found: Option<&DraftView>) -> Vec<Step> {
        match found {
            Some(found) if self.continues(found) => self.writes(found.draft.written.into()).collect(),
            Some(_) | None => self.anew(found),
        }
    }

    /// The same without continuing a draft of this proposal: discards that too.
    pub fn anew(&self, found: Option<&DraftView>) -> Vec<Step> {
        let open = self.deployment.open_draft(
            self.authority,
            self.payer,
            self.rent_refund,
            self.operator,
            self.proposal,
        );
        let close = |found: &DraftView| {
            let close =
                self.deployment.close_draft(self.accounts(), found.draft.rent_refund, found.draft.hash);
            Step { kind: StepKind::Close, instruction: close }
        };
        let open = Step { kind: StepKind::Open, instruction: open };
        found.map(close).into_iter().chain([open]).chain(self.writes(0)).collect()
    }

    fn writes(&self, written: usize) -> impl Iterator<Item = Step> {
        let (hash, at, deployment) = (self.proposal.hash(), self.accounts(), self.deployment);
        let size = if self.payer == self.authority { WRITE_ENTRIES } else { WRITE_ENTRIES_BESIDE_PAYER };
        let entries = self.proposal.entries();
        (written..entries.len()).step_by(size).map(move |start| {
            let part = &entries[start..entries.len().min(start + size)];
            // Opening the draft refuses more entries than fit u16.
            let start = u16::try_from(start).unwrap_or(u16::MAX);
            Step { kind: StepKind::Write, instruction: deployment.write_draft(at, hash, start, part) }
        })
    }

    /// Puts the sealed draft in force. `rent_refunds`: as stored in agent and draft.
    pub fn apply(&self, rent_refunds: RentRefunds) -> Instruction {
        self.deployment.apply_draft(self.accounts(), self.payer, rent_refunds, self.proposal.hash())
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

    fn accounts(&self) -> DraftAccounts {
        DraftAccounts { authority: self.authority, operator: self.operator, agent: self.proposal.agent }
    }
}

/// Whether replacing `current` by `policy` has to wait in a draft when `signer` signs.
pub fn must_wait(operator: &Operator, signer: &Pubkey, policy: &Policy, current: &Policy) -> bool {
    operator.loosening_delay_seconds > 0 && operator.admin != *signer && policy.loosens(current)
}
