use anchor_lang::prelude::*;
use anchor_spl::token::Token;

use crate::error::PurserError;
use crate::events::Withdrawn;
use crate::state::{Agent, Authority, Operator};
use crate::token_account::{self, TokenAccount};

/// The admin's way out: any amount to any USDC account, past the policy and outside its window.
#[derive(Accounts)]
pub struct Withdraw<'info> {
    pub admin: Signer<'info>,
    pub operator: AccountLoader<'info, Operator>,
    #[account(has_one = operator @ PurserError::WrongOperator)]
    pub agent: AccountLoader<'info, Agent>,
    /// CHECK: must be the agent's `token_account`; the token program checks the rest.
    #[account(mut)]
    pub source: UncheckedAccount<'info>,
    /// CHECK: checked by `token_account::recipient`.
    #[account(mut)]
    pub destination: UncheckedAccount<'info>,
    pub token_program: Program<'info, Token>,
}

pub(crate) fn handler(ctx: Context<Withdraw>, amount: u64) -> Result<()> {
    let accounts = &*ctx.accounts;
    require!(amount > 0, PurserError::AmountZero);
    let recipient = {
        let operator = accounts.operator.load()?;
        operator.authorise(accounts.admin.key, Authority::Administer)?;
        let source = accounts.agent.load()?.token_account;
        require_keys_eq!(*accounts.source.key, source, PurserError::WrongSource);
        token_account::recipient(&accounts.destination, accounts.source.key, &operator.usdc_mint)?
    };
    let balance = TokenAccount::balance(&accounts.source);
    require!(balance >= Some(amount), PurserError::InsufficientBalance);
    token_account::pay(&accounts.agent, &accounts.source, &accounts.destination, amount)?;
    emit!(Withdrawn {
        operator: accounts.operator.key(),
        agent: accounts.agent.key(),
        amount,
        recipient: accounts.destination.key(),
        recipient_owner: recipient.owner,
        admin: accounts.admin.key(),
    });
    Ok(())
}
