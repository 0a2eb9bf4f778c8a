use anchor_lang::prelude::*;

use crate::error::PurserError;
use crate::events::PausedSet;
use crate::state::{Agent, Authority, Known, Operator, Role};

/// Changes `paused` in the policy and nothing else.
#[derive(Accounts)]
pub struct SetPaused<'info> {
    /// Policy authority or admin. Where loosened policies wait, the admin alone lifts a pause at once.
    pub authority: Signer<'info>,
    pub operator: AccountLoader<'info, Operator>,
    #[account(mut)]
    pub agent: AccountLoader<'info, Agent>,
}

pub(crate) fn handler(ctx: Context<SetPaused>, paused: bool) -> Result<()> {
    let operator = ctx.accounts.operator.known()?;
    let role = operator.authorise(ctx.accounts.authority.key, Authority::SetPolicy)?;
    let mut agent = ctx.accounts.agent.known_mut()?;
    agent.check_operator(&ctx.accounts.operator.key())?;
    let loosens = agent.policy.is_paused() && !paused;
    let may = !loosens || role == Role::Admin || operator.loosening_delay_seconds == 0;
    ensure!(may, PurserError::LooseningMustWait);
    agent.policy.set_paused(paused);
    agent.policy_changed(Clock::get()?.unix_timestamp)?;
    emit!(PausedSet {
        operator: agent.operator,
        agent: ctx.accounts.agent.key(),
        paused,
        policy_version: agent.policy_version,
        signer: ctx.accounts.authority.key(),
    });
    Ok(())
}
