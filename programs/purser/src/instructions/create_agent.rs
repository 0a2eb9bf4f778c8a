use anchor_lang::prelude::*;
use anchor_spl::associated_token::{self, AssociatedToken};
use anchor_spl::token::Token;

use crate::constants::{AGENT_SEED, LAYOUT_VERSION};
use crate::error::PurserError;
use crate::events::{AgentCreated, PolicyRecord, PolicySet};
use crate::instructions::policy_args::PolicyArgs;
use crate::state::{tail_bytes, write_tail, Agent, Authority, Known, Operator, Role, StoredPolicy};
use crate::token_account::TokenAccount;

#[derive(Accounts)]
#[instruction(agent_id: [u8; 16], policy: PolicyArgs)]
pub struct CreateAgent<'info> {
    /// Policy authority or admin.
    pub authority: Signer<'info>,
    /// Pays for the accounts, and gets it back when they are closed.
    #[account(mut)]
    pub payer: Signer<'info>,
    pub operator: AccountLoader<'info, Operator>,
    /// Lamports sent ahead to this address are no obstacle: `init` then tops up, allocates and assigns.
    #[account(
        init,
        payer = payer,
        space = Agent::BYTES + tail_bytes(&policy.policy()?.allowlist),
        seeds = [AGENT_SEED, operator.key().as_ref(), &agent_id],
        bump
    )]
    pub agent: AccountLoader<'info, Agent>,
    /// CHECK: the associated token program derives and checks the address; one that stands there already is taken.
    #[account(mut)]
    pub token_account: UncheckedAccount<'info>,
    /// CHECK: must be the operator's mint.
    pub usdc_mint: UncheckedAccount<'info>,
    pub token_program: Program<'info, Token>,
    pub associated_token_program: Program<'info, AssociatedToken>,
    pub system_program: Program<'info, System>,
}

pub(crate) fn handler(ctx: Context<CreateAgent>, agent_id: [u8; 16], args: PolicyArgs) -> Result<()> {
    let accounts = &*ctx.accounts;
    let policy = args.policy()?;
    let operator = accounts.operator.known()?;
    let role = operator.authorise(accounts.authority.key, Authority::SetPolicy)?;
    require_keys_eq!(*accounts.usdc_mint.key, operator.usdc_mint, PurserError::WrongMint);
    associated_token::create_idempotent(CpiContext::new(
        accounts.associated_token_program.key(),
        associated_token::Create {
            payer: accounts.payer.to_account_info(),
            associated_token: accounts.token_account.to_account_info(),
            authority: accounts.agent.to_account_info(),
            mint: accounts.usdc_mint.to_account_info(),
            system_program: accounts.system_program.to_account_info(),
            token_program: accounts.token_program.to_account_info(),
        },
    ))?;
    // A closed account may get deposits still. Created anew with a loose policy, it would pay them out at once.
    if role != Role::Admin && operator.loosening_delay_seconds > 0 {
        let data = accounts.token_account.try_borrow_data()?;
        let balance = TokenAccount::of(&accounts.token_account, &data).balance();
        require!(balance == Some(0), PurserError::AccountNotEmpty);
    }
    let now = Clock::get()?.unix_timestamp;
    {
        let mut agent = accounts.agent.load_init()?;
        agent.version = LAYOUT_VERSION;
        agent.bump = ctx.bumps.agent;
        agent.operator = accounts.operator.key();
        agent.agent_id = agent_id;
        agent.token_account = accounts.token_account.key();
        agent.rent_payer = accounts.payer.key();
        agent.policy = StoredPolicy::from(&policy);
        agent.policy_changed(now)?;
    }
    let info: &AccountInfo = accounts.agent.as_ref();
    if let Some(tail) = info.try_borrow_mut_data()?.get_mut(Agent::BYTES..) {
        write_tail(tail, &policy.allowlist);
    }
    emit!(AgentCreated {
        operator: accounts.operator.key(),
        agent: accounts.agent.key(),
        agent_id,
        token_account: accounts.token_account.key(),
    });
    emit!(PolicySet {
        operator: accounts.operator.key(),
        agent: accounts.agent.key(),
        policy_version: 1,
        policy: PolicyRecord::new(&policy, None),
        signer: accounts.authority.key(),
    });
    Ok(())
}
