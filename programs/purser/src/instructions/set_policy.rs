use anchor_lang::prelude::*;

use crate::error::PurserError;
use crate::events::{PolicyRecord, PolicySet};
use crate::instructions::policy_args::{must_not_loosen, replace, PolicyArgs};
use crate::state::{Agent, Authority, Known, Operator, Role};

#[derive(Accounts)]
pub struct SetPolicy<'info> {
    /// Policy authority or admin.
    pub authority: Signer<'info>,
    /// Pays for a longer allowlist.
    #[account(mut)]
    pub payer: Signer<'info>,
    pub operator: AccountLoader<'info, Operator>,
    #[account(mut)]
    pub agent: AccountLoader<'info, Agent>,
    /// CHECK: must be the agent's `rent_refund`; gets back what a shorter allowlist frees.
    #[account(mut)]
    pub rent_refund: UncheckedAccount<'info>,
    pub system_program: Program<'info, System>,
}

/// `expected_version`: the policy version that the new policy was written against.
pub(crate) fn handler(ctx: Context<SetPolicy>, expected_version: u32, args: PolicyArgs) -> Result<()> {
    let accounts = &*ctx.accounts;
    let policy = args.policy()?;
    {
        let operator = accounts.operator.known()?;
        let role = operator.authorise(accounts.authority.key, Authority::SetPolicy)?;
        let agent = accounts.agent.known()?;
        agent.check_operator(&accounts.operator.key())?;
        ensure!(agent.policy_version == expected_version, PurserError::PolicyChanged);
        if role != Role::Admin && operator.loosening_delay_seconds > 0 {
            must_not_loosen(&accounts.agent, &policy, PurserError::LooseningMustWait)?;
        }
    }
    let policy_version = replace(&accounts.agent, &policy, &accounts.payer, &accounts.rent_refund)?;
    emit!(PolicySet {
        operator: accounts.operator.key(),
        agent: accounts.agent.key(),
        policy_version,
        policy: PolicyRecord::new(&policy, None),
        signer: accounts.authority.key(),
    });
    Ok(())
}
