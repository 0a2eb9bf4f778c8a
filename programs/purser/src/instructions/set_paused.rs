use anchor_lang::prelude::*;

use crate::error::PurserError;
use crate::events::PausedSet;
use crate::state::{Agent, Authority, Operator};

#[derive(Accounts)]
pub struct SetPaused<'info> {
    /// Guardian, policy authority or admin to pause; policy authority or admin to resume.
    pub authority: Signer<'info>,
    pub operator: AccountLoader<'info, Operator>,
    #[account(mut, has_one = operator @ PurserError::WrongOperator)]
    pub agent: AccountLoader<'info, Agent>,
}

pub(crate) fn handler(ctx: Context<SetPaused>, paused: bool) -> Result<()> {
    let needed = if paused { Authority::Pause } else { Authority::SetPolicy };
    ctx.accounts.operator.load()?.authorise(ctx.accounts.authority.key, needed)?;
    let mut agent = ctx.accounts.agent.load_mut()?;
    agent.set_paused(paused, Clock::get()?.unix_timestamp)?;
    emit!(PausedSet {
        operator: agent.operator,
        agent: Some(ctx.accounts.agent.key()),
        paused,
        policy_version: agent.policy_version,
        signer: ctx.accounts.authority.key(),
    });
    Ok(())
}
