use anchor_lang::prelude::*;
use anchor_spl::token::{self, Token};

use crate::error::PurserError;
use crate::events::Withdrawn;
use crate::state::{Agent, Authority, Operator};
use crate::token_account::TokenAccount;

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
    /// CHECK: checked by `TokenAccount::recipient`.
    #[account(mut)]
    pub destination: UncheckedAccount<'info>,
    pub token_program: Program<'info, Token>,
}

pub(crate) fn handler(ctx: Context<Withdraw>, amount: u64) -> Result<()> {
    let accounts = &*ctx.accounts;
    require!(amount > 0, PurserError::AmountZero);
    let agent = *accounts.agent.load()?;
    let recipient_owner = {
        let operator = accounts.operator.load()?;
        operator.authorise(accounts.admin.key, Authority::Administer)?;
        require_keys_eq!(*accounts.source.key, agent.token_account, PurserError::WrongSource);
        let data = accounts.destination.try_borrow_data()?;
        let recipient = TokenAccount::of(&accounts.destination, &data);
        Pubkey::from(*recipient.recipient(agent.token_account.as_array(), &operator.usdc_mint)?)
    };
    let balance = TokenAccount::of(&accounts.source, &accounts.source.try_borrow_data()?).balance();
    require!(balance >= Some(amount), PurserError::InsufficientBalance);
    let payment = token::Transfer {
        from: accounts.source.to_account_info(),
        to: accounts.destination.to_account_info(),
        authority: accounts.agent.to_account_info(),
    };
    let program = accounts.token_program.key();
    let bump = [agent.bump];
    token::transfer(CpiContext::new_with_signer(program, payment, &[&agent.signer_seeds(&bump)]), amount)?;
    emit!(Withdrawn {
        operator: accounts.operator.key(),
        agent: accounts.agent.key(),
        amount,
        recipient: accounts.destination.key(),
        recipient_owner,
        admin: accounts.admin.key(),
    });
    Ok(())
}
