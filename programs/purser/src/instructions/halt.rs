use anchor_lang::prelude::*;

use crate::events::HaltSet;
use crate::state::{Agent, Authority, Known, Operator, Role};

/// Halts or resumes one agent, or without an agent the operator and so all of its agents.
#[derive(Accounts)]
pub struct Halt<'info> {
    /// To halt: guardian, policy authority or admin. To resume: the admin.
    pub authority: Signer<'info>,
    #[account(mut)]
    pub operator: AccountLoader<'info, Operator>,
    #[account(mut)]
    pub agent: Option<AccountLoader<'info, Agent>>,
}

pub(crate) fn halt(ctx: Context<Halt>) -> Result<()> {
    let role = ctx.accounts.operator.known()?.authorise(ctx.accounts.authority.key, Authority::Halt)?;
    set(&ctx, |halted_by| {
        if *halted_by == 0 {
            *halted_by = role.halt_number()
        }
    })
}

pub(crate) fn resume(ctx: Context<Halt>) -> Result<()> {
    ctx.accounts.operator.known()?.authorise(ctx.accounts.authority.key, Authority::Administer)?;
    set(&ctx, |halted_by| *halted_by = 0)
}

fn set(ctx: &Context<Halt>, change: impl FnOnce(&mut u8)) -> Result<()> {
    let Halt { authority, operator, agent } = &*ctx.accounts;
    let halted_by = match agent {
        Some(agent) => {
            let mut agent = agent.known_mut()?;
            agent.check_operator(&operator.key())?;
            change(&mut agent.halted_by);
            agent.halted_by
        }
        None => {
            let mut operator = operator.known_mut()?;
            change(&mut operator.halted_by);
            operator.halted_by
        }
    };
    emit!(HaltSet {
        operator: operator.key(),
        agent: agent.as_ref().map(|agent| agent.key()),
        halted_by: Role::of_halt(halted_by),
        signer: authority.key(),
    });
    Ok(())
}
