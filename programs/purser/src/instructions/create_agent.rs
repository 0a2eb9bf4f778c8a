use anchor_lang::prelude::*;
use anchor_spl::associated_token::{self, AssociatedToken};
use anchor_spl::token::Token;
use purser_policy::Policy;

use crate::constants::{AGENT_SEED, LAYOUT_VERSION};
use crate::error::PurserError;
use crate::events::AgentCreated;
use crate::state::{Agent, Authority, Operator};

#[derive(Accounts)]
#[instruction(agent_id: [u8; 16])]
pub struct CreateAgent<'info> {
    /// Policy authority or admin; pays for the accounts.
    #[account(mut)]
    pub authority: Signer<'info>,
    #[account(has_one = usdc_mint @ PurserError::WrongMint)]
    pub operator: AccountLoader<'info, Operator>,
    /// Lamports sent ahead to this address are no obstacle: `init` then tops up, allocates and assigns.
    #[account(
        init,
        payer = authority,
        space = Agent::BYTES,
        seeds = [AGENT_SEED, operator.key().as_ref(), &agent_id],
        bump
    )]
    pub agent: AccountLoader<'info, Agent>,
    /// CHECK: the associated token program derives and checks the address; one that stands there already is taken.
    #[account(mut)]
    pub token_account: UncheckedAccount<'info>,
    /// CHECK: the operator's mint, by `has_one`.
    pub usdc_mint: UncheckedAccount<'info>,
    pub token_program: Program<'info, Token>,
    pub associated_token_program: Program<'info, AssociatedToken>,
    pub system_program: Program<'info, System>,
}

pub(crate) fn handler(ctx: Context<CreateAgent>, agent_id: [u8; 16]) -> Result<()> {
    let accounts = &ctx.accounts;
    accounts.operator.load()?.authorise(accounts.authority.key, Authority::SetPolicy)?;
    associated_token::create_idempotent(CpiContext::new(
        accounts.associated_token_program.key(),
        associated_token::Create {
            payer: accounts.authority.to_account_info(),
            associated_token: accounts.token_account.to_account_info(),
            authority: accounts.agent.to_account_info(),
            mint: accounts.usdc_mint.to_account_info(),
            system_program: accounts.system_program.to_account_info(),
            token_program: accounts.token_program.to_account_info(),
        },
    ))?;
    let mut agent = accounts.agent.load_init()?;
    agent.version = LAYOUT_VERSION;
    agent.bump = ctx.bumps.agent;
    agent.operator = accounts.operator.key();
    agent.agent_id = agent_id;
    agent.token_account = accounts.token_account.key();
    agent.set_policy(&Policy::OPEN, Clock::get()?.unix_timestamp)?;
    emit!(AgentCreated {
        operator: agent.operator,
        agent: accounts.agent.key(),
        agent_id,
        token_account: agent.token_account,
    });
    Ok(())
}
