use anchor_lang::prelude::*;

use crate::events::HaltSet;
use crate::state::{Agent, Authority, Known, Operator, Role};

/// Halts or resumes one agent, or without an agent the operator and so all of its agents. Accounts after these are more
/// agents to resume.
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
    let accounts = &*ctx.accounts;
    let role = accounts.operator.known()?.authorise(accounts.authority.key, Authority::Halt)?;
    accounts
        .set(accounts.agent.as_ref(), |halted_by| if halted_by == 0 { role.halt_number() } else { halted_by })
}

/// Whoever may halt can halt each agent by itself, so one signature resumes as many as fit a transaction.
pub(crate) fn resume<'info>(ctx: Context<'info, Halt<'info>>) -> Result<()> {
    let accounts = &*ctx.accounts;
    accounts.operator.known()?.authorise(accounts.authority.key, Authority::Administer)?;
    accounts.set(accounts.agent.as_ref(), |_| 0)?;
    for info in ctx.remaining_accounts {
        accounts.set(Some(&AccountLoader::try_from(info)?), |_| 0)?;
    }
    Ok(())
}

impl<'info> Halt<'info> {
    /// `agent`: `None` for the operator.
    #[inline(never)]
    fn set(&self, agent: Option<&AccountLoader<'info, Agent>>, change: impl Fn(u8) -> u8) -> Result<()> {
        let halted_by = match agent {
            Some(agent) => {
                let mut agent = agent.known_mut()?;
                agent.check_operator(&self.operator.key())?;
                agent.halted_by = change(agent.halted_by);
                agent.halted_by
            }
            None => {
                let mut operator = self.operator.known_mut()?;
                operator.halted_by = change(operator.halted_by);
                operator.halted_by
            }
        };
        emit!(HaltSet {
            operator: self.operator.key(),
            agent: agent.map(|agent| agent.key()),
            halted_by: Role::of_halt(halted_by),
            signer: self.authority.key(),
        });
        Ok(())
    }
}
