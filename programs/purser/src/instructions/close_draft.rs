use anchor_lang::prelude::*;

use crate::error::PurserError;
use crate::state::{Agent, AllowlistDraft, Authority, Operator};

/// Gives up a draft; its rent goes to the signer.
#[derive(Accounts)]
pub struct CloseDraft<'info> {
    #[account(mut)]
    pub authority: Signer<'info>,
    pub operator: AccountLoader<'info, Operator>,
    #[account(has_one = operator @ PurserError::WrongOperator)]
    pub agent: AccountLoader<'info, Agent>,
    #[account(mut, has_one = agent @ PurserError::DraftMismatch, close = authority)]
    pub draft: AccountLoader<'info, AllowlistDraft>,
}

pub(crate) fn handler(ctx: Context<CloseDraft>) -> Result<()> {
    ctx.accounts.operator.load()?.authorise(ctx.accounts.authority.key, Authority::SetPolicy)
}
