//! One transaction: its calls in order, on copies of the accounts that they name.

use std::collections::VecDeque;

use anchor_lang::prelude::Pubkey;
use anchor_lang::{Discriminator, Event};
use purser::instruction;
use purser::state::{Authority, Operator, Role};
use purser_client::{Called, Deployment, LandedWell, TokenBalance};
use purser_policy::UsdcAmount;

use super::found::{Found, Move};
use super::{AgentBook, World};
use crate::check::Check;

pub(super) struct Step<'a> {
    pub at: Deployment,
    /// The audited operator.
    pub address: Pubkey,
    /// Unix seconds.
    pub now: i64,
    pub landed: &'a LandedWell,
    /// The memo right before the call at hand.
    pub memo: Option<&'a [u8]>,
    /// Events that the program logged and that were not compared yet.
    pub logged: VecDeque<Vec<u8>>,
    /// Whether the log is complete.
    pub is_whole: bool,
    pub world: World,
    /// What the call at hand has to move; `None` if what it names was never read.
    pub to_move: Option<Vec<(Option<Pubkey>, Move)>>,
    pub found: Found,
}

/// What became of a call.
enum Done {
    Replayed,
    /// It is another operator's.
    Foreign,
}

/// An instruction of the program: its discriminator, where it names the operator, and how it is replayed.
struct Instruction {
    discriminator: &'static [u8],
    operator_place: usize,
    replay: fn(&mut Step<'_>, &Called) -> Option<()>,
}

const fn named_at(
    operator_place: usize,
    discriminator: &'static [u8],
    replay: fn(&mut Step<'_>, &Called) -> Option<()>,
) -> Instruction {
    Instruction { discriminator, operator_place, replay }
}

static INSTRUCTIONS: [Instruction; 28] = [
    named_at(1, instruction::Transfer::DISCRIMINATOR, |step, called| step.transfer(called)),
    named_at(1, instruction::TransferChecked::DISCRIMINATOR, |step, called| step.transfer(called)),
    named_at(1, instruction::CreateOperator::DISCRIMINATOR, |step, called| step.create_operator(called)),
    named_at(1, instruction::UpdateOperator::DISCRIMINATOR, |step, called| step.update_operator(called)),
    named_at(1, instruction::AcceptAdmin::DISCRIMINATOR, |step, called| step.accept_admin(called)),
    named_at(2, instruction::CreateAgent::DISCRIMINATOR, |step, called| step.create_agent(called)),
    named_at(2, instruction::SetPolicy::DISCRIMINATOR, |step, called| step.set_policy(called)),
    named_at(2, instruction::OpenDraft::DISCRIMINATOR, |step, called| step.open_draft(called)),
    named_at(1, instruction::WriteDraft::DISCRIMINATOR, |step, called| step.write_draft(called)),
    named_at(2, instruction::ApplyDraft::DISCRIMINATOR, |step, called| step.apply_draft(called)),
    named_at(1, instruction::CloseDraft::DISCRIMINATOR, |step, called| step.close_draft(called)),
    named_at(1, instruction::SetPaused::DISCRIMINATOR, |step, called| step.set_paused(called)),
    named_at(1, instruction::Halt::DISCRIMINATOR, |step, called| step.halt(called, true)),
    named_at(1, instruction::Resume::DISCRIMINATOR, |step, called| step.halt(called, false)),
    named_at(1, instruction::Withdraw::DISCRIMINATOR, |step, called| step.withdraw(called)),
    named_at(1, instruction::CloseAgent::DISCRIMINATOR, |step, called| step.close_agent(called)),
    named_at(1, instruction::TransferExtended::DISCRIMINATOR, |step, called| step.transfer(called)),
    named_at(2, instruction::OpenGrant::DISCRIMINATOR, |step, called| step.open_grant(called)),
    named_at(1, instruction::CloseGrant::DISCRIMINATOR, |step, called| step.close_grant(called)),
    named_at(1, instruction::VoidGrants::DISCRIMINATOR, |step, called| step.void_grants(called)),
    named_at(2, instruction::SetBounds::DISCRIMINATOR, |step, called| step.set_bounds(called)),
    named_at(2, instruction::SetTagBuckets::DISCRIMINATOR, |step, called| step.set_tag_buckets(called)),
    named_at(1, instruction::SetApprover::DISCRIMINATOR, |step, called| step.set_approver(called)),
    named_at(1, instruction::SetBudget::DISCRIMINATOR, |step, called| step.set_budget(called)),
    named_at(1, instruction::CloseBudget::DISCRIMINATOR, |step, called| step.close_budget(called)),
    named_at(1, instruction::RemoveApprover::DISCRIMINATOR, |step, called| step.remove_approver(called)),
    named_at(1, instruction::SetRentRefund::DISCRIMINATOR, |step, called| step.set_rent_refund(called)),
    // Moves lamports alone. SOL is not audited, which the report says at its beginning; nor does it name an operator.
    named_at(0, instruction::ReclaimRent::DISCRIMINATOR, |_, _| Some(())),
];

/// Whether a call is about this operator, or cannot be read.
pub(super) fn is_about(called: &Called, operator: &Pubkey) -> bool {
    let instruction = INSTRUCTIONS.iter().find(|it| called.data.starts_with(it.discriminator));
    instruction.is_none_or(|it| called.accounts.get(it.operator_place) == Some(operator))
}

impl Step<'_> {
    pub fn run(&mut self) {
        let landed = self.landed;
        for (index, called) in landed.calls.iter().enumerate() {
            self.to_move = Some(Vec::new());
            self.memo = landed.memos.get(&index).map(Vec::as_slice);
            let Some(done) = self.call(called) else {
                let text = "An instruction of the program took effect that cannot be read.".to_owned();
                self.mismatch(Check::Log, None, text);
                continue;
            };
            if let (Done::Replayed, Some(to_move)) = (done, self.to_move.take()) {
                self.moved(index, &to_move);
            }
        }
        let left = self.logged.len();
        if left > 0 {
            let text = format!("The log has {left} event(s) of the program that no instruction made.");
            self.mismatch(Check::Log, None, text);
        }
    }

    /// `None`: the call cannot be read.
    fn call(&mut self, called: &Called) -> Option<Done> {
        let instruction = INSTRUCTIONS.iter().find(|it| called.data.starts_with(it.discriminator))?;
        // Several operators may share a transaction.
        if *called.accounts.get(instruction.operator_place)? != self.address {
            return Some(Done::Foreign);
        }
        (instruction.replay)(self, called).map(|()| Done::Replayed)
    }

    /// Notes that the call at hand has the token program move money of an account.
    pub fn has_moved(&mut self, agent: Pubkey, source: Pubkey, destination: Pubkey, amount: UsdcAmount) {
        if let Some(to_move) = &mut self.to_move {
            to_move.push((Some(agent), Move { source, destination, amount }));
        }
    }

    pub fn mismatch(&mut self, check: Check, account: Option<Pubkey>, text: String) {
        self.found.mismatches.push((check, account, text));
    }

    pub fn examine(&mut self, check: Check, account: Option<Pubkey>) {
        self.found.examined.push((check, account));
    }

    /// The operator. Nothing signed before its creation can have taken effect.
    pub fn operator(&mut self) -> Option<Operator> {
        if self.world.operator.is_none() {
            let text =
                "An instruction took effect before the operator's creation, which was not read.".to_owned();
            self.mismatch(Check::State, None, text);
            self.to_move = None;
        }
        self.world.operator
    }

    /// One of the operator's accounts. An account whose creation was not read cannot be replayed.
    pub fn agent(&mut self, agent: Pubkey) -> Option<AgentBook> {
        let book = self.world.agents.get(&agent).cloned();
        if book.is_none() {
            let text = format!("The account {agent} was used, and its creation was not read.");
            self.mismatch(Check::State, Some(agent), text);
            self.to_move = None;
        }
        book
    }

    /// A call's signer: the first of its accounts. A calling program can sign for its own addresses, which are not on the
    /// curve and which no signature shows. A key on the curve signs the transaction or nothing.
    pub fn signer(&mut self, called: &Called, agent: Option<Pubkey>) -> Option<Pubkey> {
        let signer = *called.accounts.first()?;
        self.examine(Check::Signer, agent);
        let may_be_programs = called.is_inner && !signer.is_on_curve();
        if !may_be_programs && !self.landed.signers.contains(&signer) {
            let text = format!(
                "{signer} is named as the signer of an instruction, and did not sign the transaction."
            );
            self.mismatch(Check::Signer, agent, text);
        }
        Some(signer)
    }

    /// The role of a call's signer. A signer that may not do `what` is reported, and then treated as the lowest role, so that
    /// the rules that bind that role are checked too.
    pub fn role(
        &mut self,
        called: &Called,
        agent: Option<Pubkey>,
        what: Authority,
    ) -> Option<(Pubkey, Role)> {
        let signer = self.signer(called, agent)?;
        let Some(operator) = self.operator() else { return Some((signer, Role::Guardian)) };
        match operator.authorise(&signer, what) {
            Ok(role) => Some((signer, role)),
            Err(_) => {
                let text = format!("{signer} signed what it had no right to: {}.", deed(what));
                self.mismatch(Check::Signer, agent, text);
                Some((signer, Role::Guardian))
            }
        }
    }

    /// Compares a recomputed event with the log.
    pub fn expect<E: Event>(&mut self, agent: Option<Pubkey>, event: &E, name: &str) {
        self.examine(Check::Log, agent);
        match self.take(E::DISCRIMINATOR) {
            Some(logged) if logged == event.data() => {}
            Some(_) => {
                let text = format!("The logged event {name} differs from what the signed instruction gives.");
                self.mismatch(Check::Log, agent, text);
            }
            None => self.missing(agent, name),
        }
    }

    /// An event that the log does not show: cut off if the log was full, otherwise hidden.
    pub fn missing(&mut self, agent: Option<Pubkey>, name: &str) {
        if self.is_whole || !self.logged.is_empty() {
            let text =
                format!("The log hides the event {name} of an instruction that was signed and took effect.");
            self.mismatch(Check::Log, agent, text);
        } else {
            self.found.recomputed += 1;
        }
    }

    /// The next event, if it is of this type.
    pub fn take(&mut self, discriminator: &[u8]) -> Option<Vec<u8>> {
        let is_next = self.logged.front().is_some_and(|payload| payload.starts_with(discriminator));
        is_next.then(|| self.logged.pop_front()).flatten()
    }

    /// The transaction's balance entry of a token account.
    pub fn balance(&self, token_account: &Pubkey) -> Option<TokenBalance> {
        self.landed.balances.iter().find(|balance| balance.token_account == *token_account).copied()
    }
}

fn deed(what: Authority) -> &'static str {
    match what {
        Authority::Administer => "to administer is the admin's alone",
        Authority::SetPolicy => "accounts and policies are for the policy authority and the admin",
        Authority::Halt => "halting is for guardian, policy authority and admin",
    }
}
