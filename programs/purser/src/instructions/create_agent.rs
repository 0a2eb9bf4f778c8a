use anchor_lang::prelude::*;
use anchor_spl::associated_token::{self, AssociatedToken};
use anchor_spl::token::Token;
use purser_policy::{SpendWindow, TagBucket};

use crate::constants::{AGENT_SEED, LAYOUT_VERSION};
use crate::error::PurserError;
use crate::events::{AgentCreated, PolicyRecord, PolicySet};
use crate::instructions::policy_args::PolicyArgs;
use crate::instructions::room::{check_refund, create, pay_beside, return_rent};
use crate::state::{begin, tail_bytes, write_tail, Agent, Authority, ClosedAgent, Known, Operator, Role};
use crate::token_account::TokenAccount;

#[derive(Accounts)]
#[instruction(agent_id: [u8; 16])]
pub struct CreateAgent<'info> {
    /// Policy authority or admin.
    pub authority: Signer<'info>,
    /// Pays for the accounts, and says by its signature who gets it back.
    #[account(mut)]
    pub payer: Signer<'info>,
    pub operator: AccountLoader<'info, Operator>,
    /// CHECK: the address by its seeds. Nothing is there, or a closed agent; lamports sent ahead are no obstacle.
    #[account(mut, seeds = [AGENT_SEED, operator.key().as_ref(), &agent_id], bump)]
    pub agent: UncheckedAccount<'info>,
    /// CHECK: the associated token program derives and checks the address; one that stands there already is taken.
    #[account(mut)]
    pub token_account: UncheckedAccount<'info>,
    /// CHECK: must be the operator's mint.
    pub usdc_mint: UncheckedAccount<'info>,
    /// CHECK: gets the rent back; must be a wallet.
    #[account(mut)]
    pub rent_refund: UncheckedAccount<'info>,
    /// CHECK: where a closed agent is, its `rent_refund`, which gets what that held.
    #[account(mut)]
    pub closed_rent_refund: Option<UncheckedAccount<'info>>,
    pub token_program: Program<'info, Token>,
    pub associated_token_program: Program<'info, AssociatedToken>,
    pub system_program: Program<'info, System>,
}

pub(crate) fn handler(ctx: Context<CreateAgent>, agent_id: [u8; 16], args: PolicyArgs) -> Result<()> {
    let accounts = &*ctx.accounts;
    let policy = args.policy()?;
    let operator = accounts.operator.known()?;
    let role = operator.authorise(accounts.authority.key, Authority::SetPolicy)?;
    ensure_same!(*accounts.usdc_mint.key, operator.usdc_mint, PurserError::WrongMint);
    let closed = ClosedAgent::at(&accounts.agent)?;
    ensure!(role == Role::Admin || closed.is_none(), PurserError::AgentClosed);
    let bytes = Agent::BYTES + tail_bytes(&policy.allowlist) + size_of::<TagBucket>();
    let bump = [ctx.bumps.agent];
    let refund = accounts.closed_rent_refund.as_ref();
    if let Some(closed) = &closed {
        let is_its_own = refund.is_some_and(|info| *info.key == closed.rent_refund);
        ensure!(is_its_own, PurserError::WrongRentRefund);
        pay_beside(&accounts.agent, bytes, &accounts.payer)?;
        accounts.agent.resize(bytes)?;
    } else {
        let seeds: [&[u8]; 4] = [AGENT_SEED, accounts.operator.as_ref().key.as_ref(), &agent_id, &bump];
        create(&accounts.agent, bytes, &accounts.payer, &seeds)?;
    }
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
    // What the closed agent held. After all calls, none of which names who gets it.
    if let (Some(_), Some(refund)) = (&closed, refund) {
        return_rent(&accounts.agent, refund)?;
    }
    // By now the agent and its token account belong to programs.
    check_refund(&accounts.rent_refund)?;
    // What was sent ahead was meant for an account that somebody has described. Created with a loose policy, it would pay
    // that out at once; where the policy lets nothing out, it has to be loosened first, and that waits.
    if role != Role::Admin && operator.loosening_delay_seconds > 0 && !policy.refuses_all() {
        let data = accounts.token_account.try_borrow_data()?;
        let balance = TokenAccount::of(&accounts.token_account, &data).balance();
        ensure!(balance == Some(0), PurserError::AccountNotEmpty);
    }
    let now = Clock::get()?.unix_timestamp;
    {
        let mut data = accounts.agent.try_borrow_mut_data()?;
        let (agent, tail) = begin::<Agent>(&mut data).ok_or(PurserError::UnknownLayout)?;
        agent.version = LAYOUT_VERSION;
        [agent.bump] = bump;
        agent.operator = accounts.operator.key();
        agent.agent_id = agent_id;
        agent.token_account = accounts.token_account.key();
        agent.rent_refund = accounts.rent_refund.key();
        if let Some(closed) = &closed {
            agent.voided_at = closed.second;
            *agent.window_mut() = SpendWindow::beginning(closed.second.into());
        }
        agent.policy.tag_buckets = 1;
        agent.set_policy(&policy);
        agent.policy_changed(now)?;
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
