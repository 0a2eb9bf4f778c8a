//! Purser on chain: one account per agent, its spending policy, and the check of every transfer against it.
//!
//! The rule itself is `purser_policy`; this crate loads what the rule needs, asks it, and acts on the answer.
//! Four kinds of key: the admin may do everything; the policy authority creates agents and sets policies, and waits where
//! it loosens one; up to eight transfer authorities pay within policy and do nothing else; the guardian halts.

// `sbf/build.sh` builds everything for size and sets `hot_path`, which keeps `transfer` built for speed. Other builds need
// no unstable feature.
#![cfg_attr(hot_path, feature(optimize_attribute))]

use anchor_lang::prelude::*;

// First: its macros are used by the others.
#[macro_use]
mod refuse;

pub mod constants;
pub mod entry;
pub mod error;
pub mod events;
pub mod instructions;
#[cfg(target_os = "solana")]
mod security;
pub mod state;
pub mod token_account;

pub use instructions::*;
pub use state::{Bounds, BudgetCaps, GrantPayee, GrantTerms, OpenedBy, Rules};

declare_id!("PujGKaV9Hdg61jtnWf7vFc2ptse8aFEuEAqr81Gv1rx");

#[program]
pub mod purser {
    use super::*;

    /// Signed by the admin, who pays for the account.
    pub fn create_operator(ctx: Context<CreateOperator>, id: u64, keys: OperatorKeys) -> Result<()> {
        instructions::create_operator::handler(ctx, id, keys)
    }

    /// Rotates keys and offers the admin's place. Admin only.
    pub fn update_operator(ctx: Context<UpdateOperator>, update: OperatorUpdate) -> Result<()> {
        instructions::update_operator::handler(ctx, update)
    }

    /// Takes over the admin's place. Signed by the pending admin.
    pub fn accept_admin(ctx: Context<AcceptAdmin>) -> Result<()> {
        instructions::accept_admin::handler(ctx)
    }

    /// Creates an agent account with the policy that it begins with, and its USDC token account. Where one was closed: the
    /// admin alone.
    pub fn create_agent(ctx: Context<CreateAgent>, agent_id: [u8; 16], policy: PolicyArgs) -> Result<()> {
        instructions::create_agent::handler(ctx, agent_id, policy)
    }

    /// Replaces an agent's whole policy at once, if it is still at `expected_version`. One that loosens anything has to
    /// wait in a draft where the operator has set a delay.
    pub fn set_policy(ctx: Context<SetPolicy>, expected_version: u32, policy: PolicyArgs) -> Result<()> {
        instructions::set_policy::handler(ctx, expected_version, policy)
    }

    /// Opens a draft for a policy that does not fit a transaction, or that has to wait.
    pub fn open_draft(ctx: Context<OpenDraft>, args: DraftArgs) -> Result<()> {
        instructions::open_draft::handler(ctx, args)
    }

    /// Adds entries to a draft; the last ones seal it.
    pub fn write_draft(
        ctx: Context<WriteDraft>,
        hash: [u8; 32],
        start: u16,
        entries: Vec<Pubkey>,
    ) -> Result<()> {
        instructions::write_draft::handler(ctx, hash, start, entries)
    }

    /// Puts a sealed draft in force, once its time has come. One that loosens anything while the operator or the agent is
    /// halted: the admin alone.
    pub fn apply_draft(ctx: Context<ApplyDraft>, hash: [u8; 32]) -> Result<()> {
        instructions::apply_draft::handler(ctx, hash)
    }

    /// Gives up a draft.
    pub fn close_draft(ctx: Context<CloseDraft>, hash: [u8; 32]) -> Result<()> {
        instructions::close_draft::handler(ctx, hash)
    }

    /// Pauses one agent by its policy, or lifts that pause.
    pub fn set_paused(ctx: Context<SetPaused>, paused: bool) -> Result<()> {
        instructions::set_paused::handler(ctx, paused)
    }

    /// Halts one agent, or without an agent the operator with all of them.
    pub fn halt(ctx: Context<Halt>) -> Result<()> {
        instructions::halt::halt(ctx)
    }

    /// Lifts a halt, and those of the agents that follow. Admin only.
    pub fn resume<'info>(ctx: Context<'info, Halt<'info>>) -> Result<()> {
        instructions::halt::resume(ctx)
    }

    // All forms of a transfer are declared here for the interface alone: `entry` answers them before Anchor is asked, for a
    // quarter of the compute units. So the build for the chain leaves these out.

    /// Pays within the policy. `amount` in micro-USDC; an empty memo is none. The last eight bytes of
    /// `transfer_id` are the payment's tag, and `asked_at` is the chain's Unix second when it was asked for: both the same for every
    /// try.
    ///
    /// Half a discriminator, so that an 800-byte memo fits a transaction.
    #[cfg(not(target_os = "solana"))]
    #[instruction(discriminator = &constants::TRANSFER_DISCRIMINATOR)]
    pub fn transfer(
        ctx: Context<Transfer>,
        transfer_id: [u8; 16],
        asked_at: u32,
        amount: u64,
        memo: Vec<u8>,
    ) -> Result<()> {
        let _ = (ctx, transfer_id, asked_at, amount, memo);
        err!(anchor_lang::error::ErrorCode::InstructionFallbackNotFound)
    }

    /// The same by `TransferChecked`, for those who look into a transaction for that (x402 facilitators).
    #[cfg(not(target_os = "solana"))]
    #[instruction(discriminator = &constants::TRANSFER_CHECKED_DISCRIMINATOR)]
    pub fn transfer_checked(
        ctx: Context<TransferChecked>,
        transfer_id: [u8; 16],
        asked_at: u32,
        amount: u64,
        memo: Vec<u8>,
    ) -> Result<()> {
        let _ = (ctx, transfer_id, asked_at, amount, memo);
        err!(anchor_lang::error::ErrorCode::InstructionFallbackNotFound)
    }

    /// The same as `transfer_checked`, past the rules that the grant waives. Accounts that are bounded pay by this alone.
    #[cfg(not(target_os = "solana"))]
    #[instruction(discriminator = &constants::TRANSFER_EXTENDED_DISCRIMINATOR)]
    pub fn transfer_extended(
        ctx: Context<TransferExtended>,
        transfer_id: [u8; 16],
        asked_at: u32,
        amount: u64,
        memo: Vec<u8>,
    ) -> Result<()> {
        let _ = (ctx, transfer_id, asked_at, amount, memo);
        err!(anchor_lang::error::ErrorCode::InstructionFallbackNotFound)
    }

    /// Lets one payee be paid beyond the policy, up to an amount and an end: admin, at once and alone past the daily limit;
    /// policy authority, after the loosening delay; an approver, at once, for a single payment that a memo describes.
    pub fn open_grant(ctx: Context<OpenGrant>, id: u64, terms: GrantTerms) -> Result<()> {
        instructions::grant::open_grant(ctx, id, terms)
    }

    /// Takes a grant back. One that has expired or is spent, anyone.
    pub fn close_grant(ctx: Context<CloseGrant>) -> Result<()> {
        instructions::grant::close_grant(ctx)
    }

    /// Voids every open grant of an agent.
    pub fn void_grants(ctx: Context<SetPaused>) -> Result<()> {
        instructions::grant::void_grants(ctx)
    }

    /// Replaces what binds an agent beside its policy: what is `expected` to bind it, if that is given. What loosens it where
    /// loosened policies wait: admin only.
    pub fn set_bounds(ctx: Context<SetBounds>, bounds: Bounds, expected: Option<Bounds>) -> Result<()> {
        instructions::set_bounds::handler(ctx, bounds, expected)
    }

    /// Gives an agent so many buckets of tags, 16 payments each: more, 53 at a time, or
    /// fewer, while those of the last 25 hours fit.
    pub fn set_tag_buckets(ctx: Context<SetPolicy>, buckets: u16) -> Result<()> {
        instructions::tag_buckets::handler(ctx, buckets)
    }

    /// Makes a key an approver, or changes its limits, in micro-USDC: for one grant, and for those of 24 hours. Lower ones void
    /// nothing. Admin only.
    pub fn set_approver(
        ctx: Context<SetApprover>,
        key: Pubkey,
        max_grant: u64,
        max_daily: u64,
    ) -> Result<()> {
        instructions::approver::set_approver(ctx, key, max_grant, max_daily)
    }

    /// Removes an approver and voids all open grants of approvers; what it granted still counts if it is made anew. Admin only.
    pub fn remove_approver(ctx: Context<RemoveApprover>) -> Result<()> {
        instructions::approver::remove_approver(ctx)
    }

    /// Makes a budget or changes its caps: the admin, at once; the policy authority, who makes none, waits where it raises one;
    /// the guardian lowers. It replaces the caps that are `expected` to be in force, if those are given.
    pub fn set_budget(
        ctx: Context<SetBudget>,
        id: u64,
        caps: BudgetCaps,
        expected: Option<BudgetCaps>,
    ) -> Result<()> {
        instructions::budget::set_budget(ctx, id, caps, expected)
    }

    /// Closes a budget in which nothing counts any more. Admin only.
    pub fn close_budget(ctx: Context<CloseBudget>) -> Result<()> {
        instructions::budget::close_budget(ctx)
    }

    /// Takes `amount` out of any token account of the agent, in the mint's smallest unit. Admin only.
    pub fn withdraw<'info>(ctx: Context<'info, Withdraw<'info>>, amount: u64) -> Result<()> {
        instructions::withdraw::handler(ctx, amount)
    }

    /// Names another refund address of an agent's rent. Signed by the one that it has.
    pub fn set_rent_refund(ctx: Context<SetRentRefund>) -> Result<()> {
        instructions::rent::set_rent_refund(ctx)
    }

    /// Sends what an account holds beyond its rent to its refund address. Signed by anyone.
    pub fn reclaim_rent(ctx: Context<ReclaimRent>) -> Result<()> {
        instructions::rent::reclaim_rent(ctx)
    }

    /// Closes an agent account that paid nothing for 25 hours; a mark stays at its address. Admin only.
    pub fn close_agent<'info>(ctx: Context<'info, CloseAgent<'info>>) -> Result<()> {
        instructions::close_agent::handler(ctx)
    }
}
