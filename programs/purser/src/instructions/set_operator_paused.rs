use anchor_lang::prelude::*;

use crate::events::PausedSet;
use crate::state::{Authority, Operator};

#[derive(Accounts)]
pub struct SetOperatorPaused<'info> {
    /// Guardian, policy authority or admin to pause; policy authority or admin to resume.
    pub authority: Signer<'info>,
    #[account(mut)]
    pub operator: AccountLoader<'info, Operator>,
}

pub(crate) fn handler(ctx: Context<SetOperatorPaused>, paused: bool) -> Result<()> {
    let mut operator = ctx.accounts.operator.load_mut()?;
    let needed = if paused { Authority::Pause } else { Authority::SetPolicy };
    operator.authorise(ctx.accounts.authority.key, needed)?;
    operator.paused = u8::from(paused);
    emit!(PausedSet {
        operator: ctx.accounts.operator.key(),
        agent: None,
        paused,
        policy_version: 0,
        signer: ctx.accounts.authority.key(),
    });
    Ok(())
}
