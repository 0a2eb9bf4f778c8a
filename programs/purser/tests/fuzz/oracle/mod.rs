//! What the program should do, written a second time and as plainly as possible. No code of the program or its policy crate
//! decides anything here. Client types only encode events.

mod agents;
mod approvers;
mod budgets;
pub mod code;
mod drafts;
mod grants;
mod money;
mod month;
mod operators;
mod policy;
mod rent;
mod table;
mod transfer;
mod window;

use std::collections::{BTreeMap, VecDeque};

use anchor_lang::prelude::Pubkey;
use anchor_spl::token;

pub use approvers::{approval, Approver};
pub use budgets::Budget;
pub use drafts::draft_hash;
pub use grants::{Grant, Opener};
pub use month::Month;
pub use policy::{Only, Policy};
pub use table::Table;
pub use window::{as_u64, Window, DAY, SPANS, STRETCH};

use purser::Bounds;

use crate::call::{Args, Call};
use crate::cast;

/// Why a transaction failed.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Refusal {
    Code(u32),
    /// An error without a code, by its name.
    Other(String),
}

impl From<u32> for Refusal {
    fn from(code: u32) -> Self {
        Self::Code(code)
    }
}

/// The events' bytes, or the reason for the refusal.
pub type Answer = Result<Vec<Vec<u8>>, Refusal>;

/// Every account that the oracle knows.
#[derive(Clone)]
pub struct Model {
    pub now: i64,
    pub operators: BTreeMap<Pubkey, Operator>,
    pub agents: BTreeMap<Pubkey, Agent>,
    pub drafts: BTreeMap<Pubkey, Draft>,
    pub grants: BTreeMap<Pubkey, Grant>,
    pub approvers: BTreeMap<Pubkey, Approver>,
    pub budgets: BTreeMap<Pubkey, Budget>,
    /// The admins that closed agents, and the latest seconds that these knew, by address.
    pub closed: BTreeMap<Pubkey, (Pubkey, i64)>,
    pub tokens: BTreeMap<Pubkey, Token>,
    /// Mints and their token programs.
    pub mints: BTreeMap<Pubkey, Pubkey>,
    pub lamports: BTreeMap<Pubkey, u64>,
    /// Lamports for an empty account, and for each additional byte.
    pub rent: (u64, u64),
    /// A promise of the rule that the rule itself did not keep.
    pub broken: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Operator {
    pub id: u64,
    pub created_by: Pubkey,
    pub admin: Pubkey,
    pub pending_admin: Option<Pubkey>,
    pub policy_authority: Pubkey,
    pub guardian: Option<Pubkey>,
    pub transfer_authorities: Vec<Pubkey>,
    pub delay: u32,
    pub mint: Pubkey,
    pub halted_by: Option<Role>,
    pub approvers_voided_at: i64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    Admin,
    PolicyAuthority,
    Guardian,
}

#[derive(Clone, Debug)]
pub struct Agent {
    pub operator: Pubkey,
    pub id: [u8; 16],
    pub token_account: Pubkey,
    pub rent_refund: Pubkey,
    pub version: u32,
    pub updated_at: i64,
    pub halted_by: Option<Role>,
    pub voided_at: i64,
    pub by_grant_only: bool,
    /// The cap for 30 days, and what was paid since there is one.
    pub month: Option<Month>,
    pub budget: Option<Pubkey>,
    pub policy: Policy,
    pub window: Window,
    /// The second of the newest payment past the daily limit, by the window's time.
    pub past_the_cap: Option<i64>,
    /// How many payments the agent made.
    pub payments: u64,
    /// Tags of the newest payments and their seconds, newest last. More than the rule reads, for the actions to choose from.
    pub tags: VecDeque<(u64, i64)>,
    /// The tags that are kept, by bucket.
    pub table: Table,
}

#[derive(Clone, Debug)]
pub struct Draft {
    pub agent: Pubkey,
    pub rent_refund: Pubkey,
    pub hash: [u8; 32],
    pub expected_version: u32,
    /// Has no entries until it is sealed.
    pub policy: Policy,
    pub wallets: usize,
    pub count: usize,
    pub entries: Vec<Pubkey>,
    /// The second of its seal, and the operator's delay at that moment.
    pub sealed: Option<(i64, u32)>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Token {
    pub program: Pubkey,
    pub mint: Pubkey,
    pub owner: Pubkey,
    pub amount: u64,
    pub frozen: bool,
}

impl Model {
    /// Executes the call completely, or changes nothing.
    pub fn answer(&mut self, call: &Call) -> Answer {
        let signed = call.signs(&call.slots[0]);
        if let Args::Transfer(payment) | Args::TransferChecked(payment) = &call.args {
            return self.transfer(payment, &call.slots, signed);
        }
        if let Args::TransferExtended(payment) = &call.args {
            return self.transfer_extended(payment, &call.slots, signed);
        }
        if let Args::ReclaimRent = &call.args {
            return self.reclaim_rent(&call.slots);
        }
        if !signed {
            return Err(code::NOT_SIGNER.into());
        }
        let slots = &call.slots[..];
        match &call.args {
            Args::Transfer(_) | Args::TransferChecked(_) | Args::TransferExtended(_) | Args::ReclaimRent => {
                unreachable!("answered above")
            }
            Args::CreateOperator { id, keys } => self.create_operator(*id, keys, slots),
            Args::UpdateOperator(update) => self.update_operator(update, slots),
            Args::AcceptAdmin => self.accept_admin(slots),
            Args::CreateAgent { agent_id, policy } => self.create_agent(agent_id, policy, slots),
            Args::SetPolicy { expected_version, policy } => self.set_policy(*expected_version, policy, slots),
            Args::OpenDraft(args) => self.open_draft(args, slots),
            Args::WriteDraft { hash, start, entries } => self.write_draft(hash, *start, entries, slots),
            Args::ApplyDraft { hash } => self.apply_draft(hash, slots),
            Args::CloseDraft { hash } => self.close_draft(hash, slots),
            Args::SetPaused(paused) => self.set_paused(*paused, slots),
            Args::Halt { resume } => self.halt(*resume, slots),
            Args::ResumeMore => self.resume_more(slots),
            Args::Withdraw { amount } => self.withdraw(*amount, slots),
            Args::CloseAgent => self.close_agent(slots),
            Args::SetRentRefund => self.set_rent_refund(slots),
            Args::OpenGrant { id, terms, memo } => self.open_grant(*id, terms, memo.as_deref(), slots),
            Args::SetApprover { key, max_grant, max_daily } => {
                self.set_approver(key, *max_grant, *max_daily, slots)
            }
            Args::RemoveApprover => self.remove_approver(slots),
            Args::SetBounds { by_grant_only, cap, budget, expected } => {
                let bounds =
                    Bounds { by_grant_only: *by_grant_only, max_30_day_spend: *cap, budget: *budget };
                self.set_bounds(bounds, *expected, slots)
            }
            Args::SetBudget { id, caps, expected } => self.set_budget(*id, caps, *expected, slots),
            Args::SetTagBuckets(buckets) => self.set_tag_buckets(*buckets, slots),
            Args::CloseBudget => self.close_budget(slots),
            Args::CloseGrant => self.close_grant(slots),
            Args::VoidGrants => self.void_grants(slots),
        }
    }

    pub fn rent(&self, bytes: usize) -> u64 {
        self.rent.0 + self.rent.1 * bytes as u64
    }

    pub fn lamports(&self, key: &Pubkey) -> u64 {
        self.lamports.get(key).copied().unwrap_or(0)
    }

    fn pay(&mut self, from: &Pubkey, to: &Pubkey, lamports: u64) {
        *self.lamports.entry(*from).or_default() -= lamports;
        *self.lamports.entry(*to).or_default() += lamports;
    }

    /// Moves all lamports of an account to `to`.
    fn sweep(&mut self, from: &Pubkey, to: &Pubkey) {
        let lamports = self.lamports.remove(from).unwrap_or(0);
        *self.lamports.entry(*to).or_default() += lamports;
    }

    /// Anchor's error for an account of the wrong kind in a slot.
    fn not_of_the_kind(&self, key: &Pubkey) -> Refusal {
        let own = self.operators.contains_key(key)
            || self.agents.contains_key(key)
            || self.drafts.contains_key(key)
            || self.grants.contains_key(key)
            || self.approvers.contains_key(key)
            || self.budgets.contains_key(key)
            || self.closed.contains_key(key);
        let code = if own { code::DISCRIMINATOR_MISMATCH } else { code::OWNED_BY_WRONG_PROGRAM };
        code.into()
    }

    fn operator(&self, key: &Pubkey) -> Result<&Operator, Refusal> {
        self.operators.get(key).ok_or_else(|| self.not_of_the_kind(key))
    }

    fn agent(&self, key: &Pubkey) -> Result<&Agent, Refusal> {
        self.agents.get(key).ok_or_else(|| self.not_of_the_kind(key))
    }

    fn draft(&self, key: &Pubkey) -> Result<&Draft, Refusal> {
        self.drafts.get(key).ok_or_else(|| self.not_of_the_kind(key))
    }

    /// An account of this token program that payments can go to.
    fn payable(&self, key: &Pubkey, program: &Pubkey, mint: &Pubkey) -> Result<&Token, Refusal> {
        let account = self.tokens.get(key).filter(|account| account.program == *program);
        let account = account.ok_or(code::RECIPIENT_NOT_TOKEN_ACCOUNT)?;
        ensure(account.mint == *mint, code::RECIPIENT_WRONG_MINT)?;
        ensure(!account.frozen, code::RECIPIENT_FROZEN)?;
        Ok(account)
    }

    fn move_tokens(&mut self, from: &Pubkey, to: &Pubkey, amount: u64) {
        self.tokens.get_mut(from).expect("checked").amount -= amount;
        self.tokens.get_mut(to).expect("checked").amount += amount;
    }

    /// A USDC account, as the associated token program creates it.
    pub fn empty_token_account(owner: Pubkey) -> Token {
        Token { program: token::ID, mint: cast::MINT, owner, amount: 0, frozen: false }
    }
}

fn ensure(holds: bool, code: u32) -> Result<(), Refusal> {
    if holds {
        Ok(())
    } else {
        Err(code.into())
    }
}
