use anchor_lang::prelude::*;
use anchor_spl::token::{self, CloseAccount, Token};

use crate::error::PurserError;
use crate::events::AgentClosed;
use crate::state::{Agent, Authority, Operator};
use crate::token_account::TokenAccount;

/// Closes an account that holds nothing and paid nothing for 24 hours: created anew, it starts where it would be anyway.
#[derive(Accounts)]
pub struct CloseAgent<'info> {
    /// Gets the rent back.
    #[account(mut)]
    pub admin: Signer<'info>,
    pub operator: AccountLoader<'info, Operator>,
    #[account(mut, has_one = operator @ PurserError::WrongOperator, close = admin)]
    pub agent: AccountLoader<'info, Agent>,
    /// CHECK: must be the agent's `token_account`; the token program checks the rest.
    #[account(mut)]
    pub token_account: UncheckedAccount<'info>,
    pub token_program: Program<'info, Token>,
}

pub(crate) fn handler(ctx: Context<CloseAgent>) -> Result<()> {
    let accounts = &*ctx.accounts;
    accounts.operator.load()?.authorise(accounts.admin.key, Authority::Administer)?;
    let agent = *accounts.agent.load()?;
    require_keys_eq!(*accounts.token_account.key, agent.token_account, PurserError::WrongSource);
    require!(agent.window().is_empty(Clock::get()?.unix_timestamp), PurserError::SpendWindowNotEmpty);
    let balance =
        TokenAccount::of(&accounts.token_account, &accounts.token_account.try_borrow_data()?).balance();
    require!(balance == Some(0), PurserError::AccountNotEmpty);
    let bump = [agent.bump];
    let seeds = agent.signer_seeds(&bump);
    token::close_account(CpiContext::new_with_signer(
        accounts.token_program.key(),
        CloseAccount {
            account: accounts.token_account.to_account_info(),
            destination: accounts.admin.to_account_info(),
            authority: accounts.agent.to_account_info(),
        },
        &[&seeds],
    ))?;
    emit!(AgentClosed { operator: agent.operator, agent: accounts.agent.key(), agent_id: agent.agent_id });
    Ok(())
}
