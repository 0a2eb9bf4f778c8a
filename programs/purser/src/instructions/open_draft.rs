use anchor_lang::prelude::*;
use purser_policy::ALLOWLIST_ENTRIES_MAX;

use crate::constants::{DRAFT_SEED, LAYOUT_VERSION};
use crate::error::PurserError;
use crate::state::{Agent, AllowlistDraft, Authority, Operator};

#[derive(Accounts)]
#[instruction(entry_count: u16)]
pub struct OpenDraft<'info> {
    /// Policy authority or admin; pays for the draft.
    #[account(mut)]
    pub authority: Signer<'info>,
    pub operator: AccountLoader<'info, Operator>,
    #[account(has_one = operator @ PurserError::WrongOperator)]
    pub agent: AccountLoader<'info, Agent>,
    #[account(
        init,
        payer = authority,
        space = bytes(entry_count)?,
        seeds = [DRAFT_SEED, agent.key().as_ref()],
        bump
    )]
    pub draft: AccountLoader<'info, AllowlistDraft>,
    pub system_program: Program<'info, System>,
}

pub(crate) fn handler(ctx: Context<OpenDraft>, entry_count: u16) -> Result<()> {
    ctx.accounts.operator.load()?.authorise(ctx.accounts.authority.key, Authority::SetPolicy)?;
    let mut draft = ctx.accounts.draft.load_init()?;
    draft.version = LAYOUT_VERSION;
    draft.bump = ctx.bumps.draft;
    draft.entry_count = entry_count;
    draft.agent = ctx.accounts.agent.key();
    Ok(())
}

/// Refuses before there is anything to pay for.
fn bytes(entry_count: u16) -> Result<usize> {
    require!(usize::from(entry_count) <= ALLOWLIST_ENTRIES_MAX, PurserError::AllowlistTooLong);
    Ok(AllowlistDraft::bytes(entry_count))
}
