//! Purser on chain: one account per agent, its spending policy, and the check of every transfer against it.
//!
//! The rule itself is `purser_policy`; this crate loads what the rule needs, asks it, and acts on the answer.
//! Four keys: the admin may do everything; the policy authority creates agents and sets policies; the transfer
//! authority pays within policy and nothing else; the guardian pauses.

// `sbf/build.sh` builds everything for size and sets `hot_path`, which keeps `transfer` built for speed. Other builds need
// no unstable feature.
#![cfg_attr(hot_path, feature(optimize_attribute))]

use anchor_lang::prelude::*;

pub mod constants;
pub mod entry;
pub mod error;
pub mod events;
pub mod instructions;
pub mod state;
pub mod token_account;

pub use instructions::*;

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

    /// Stops or resumes all agents of an operator.
    pub fn set_operator_paused(ctx: Context<SetOperatorPaused>, paused: bool) -> Result<()> {
        instructions::set_operator_paused::handler(ctx, paused)
    }

    /// Creates an agent account with an open policy, and its USDC token account.
    pub fn create_agent(ctx: Context<CreateAgent>, agent_id: [u8; 16]) -> Result<()> {
        instructions::create_agent::handler(ctx, agent_id)
    }

    /// Replaces an agent's whole policy at once.
    pub fn set_policy(ctx: Context<SetPolicy>, policy: PolicyArgs) -> Result<()> {
        instructions::set_policy::handler(ctx, policy)
    }

    /// Opens a draft for an allowlist that does not fit a transaction.
    pub fn open_draft(ctx: Context<OpenDraft>, entry_count: u16) -> Result<()> {
        instructions::open_draft::handler(ctx, entry_count)
    }

    /// Adds entries to a draft.
    pub fn write_draft(ctx: Context<WriteDraft>, start: u16, entries: Vec<Pubkey>) -> Result<()> {
        instructions::write_draft::handler(ctx, start, entries)
    }

    /// Gives up a draft.
    pub fn close_draft(ctx: Context<CloseDraft>) -> Result<()> {
        instructions::close_draft::handler(ctx)
    }

    /// Stops or resumes one agent.
    pub fn set_paused(ctx: Context<SetPaused>, paused: bool) -> Result<()> {
        instructions::set_paused::handler(ctx, paused)
    }

    /// Pays within the policy. `amount` in micro-USDC; an empty memo is none; the `tag` is the same for every try.
    /// `sequence` is `RecentTags::sequence` of the account where it was seen that the tag had not been paid.
    ///
    /// Declared here for the interface: `entry` answers it before Anchor is asked, for a quarter of the compute units. Half
    /// a discriminator, so that an 800-byte memo fits a transaction.
    #[instruction(discriminator = [163, 52, 200, 231])]
    pub fn transfer(
        ctx: Context<Transfer>,
        transfer_id: [u8; 16],
        tag: u64,
        sequence: u32,
        amount: u64,
        memo: String,
    ) -> Result<()> {
        let _ = (ctx, transfer_id, tag, sequence, amount, memo);
        err!(anchor_lang::error::ErrorCode::InstructionFallbackNotFound)
    }

    /// Takes `amount` micro-USDC out of an agent account. Admin only.
    pub fn withdraw(ctx: Context<Withdraw>, amount: u64) -> Result<()> {
        instructions::withdraw::handler(ctx, amount)
    }

    /// Closes an agent account that is empty and has been quiet for 24 hours. Admin only.
    pub fn close_agent(ctx: Context<CloseAgent>) -> Result<()> {
        instructions::close_agent::handler(ctx)
    }
}
