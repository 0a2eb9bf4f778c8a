use anchor_lang::prelude::*;
use anchor_lang::system_program;
use anchor_lang::AccountsClose;
use anchor_spl::token::{self, CloseAccount, Token};
use purser_policy::TAG_SECONDS;

use crate::constants::{DRAFT_SEED, LAYOUT_VERSION};
use crate::error::PurserError;
use crate::events::{AgentClosed, DraftClosed};
use crate::instructions::room::return_rent;
use crate::instructions::withdraw::Withdrawal;
use crate::state::{begin, second, Agent, Authority, ClosedAgent, Known, Operator, PolicyDraft};
use crate::token_account::TokenAccount;

/// Closes an agent that paid nothing for 25 hours, with its token account and its draft: created anew, it starts where it
/// would stand anyway, but for a cap of 30 days. That one the admin, who alone does both, could raise as well. What the token
/// account still holds goes to `destination`. A [`ClosedAgent`] stays at its address.
#[derive(Accounts)]
pub struct CloseAgent<'info> {
    /// Pays for what stays. Out of the agent's own rent, whoever paid that would lose by each close.
    #[account(mut)]
    pub admin: Signer<'info>,
    pub operator: AccountLoader<'info, Operator>,
    /// CHECK: loaded as an agent; Anchor would write that back over what is left.
    #[account(mut)]
    pub agent: UncheckedAccount<'info>,
    /// CHECK: must be the agent's `token_account`; the token program checks the rest.
    #[account(mut)]
    pub token_account: UncheckedAccount<'info>,
    /// CHECK: the token program holds it against both token accounts.
    pub usdc_mint: UncheckedAccount<'info>,
    /// CHECK: checked by `TokenAccount::recipient` where there is something to move.
    #[account(mut)]
    pub destination: UncheckedAccount<'info>,
    /// CHECK: must be the agent's `rent_refund`; gets the rent of the agent and its token account.
    #[account(mut)]
    pub rent_refund: UncheckedAccount<'info>,
    /// CHECK: the address by its seeds; often nothing is there.
    #[account(mut, seeds = [DRAFT_SEED, agent.key().as_ref()], bump)]
    pub draft: UncheckedAccount<'info>,
    /// CHECK: must be the draft's `rent_refund` where there is a draft.
    #[account(mut)]
    pub draft_rent_refund: UncheckedAccount<'info>,
    pub token_program: Program<'info, Token>,
    pub system_program: Program<'info, System>,
}

pub(crate) fn handler<'info>(ctx: Context<'info, CloseAgent<'info>>) -> Result<()> {
    let accounts: &CloseAgent<'info> = ctx.accounts;
    accounts.operator.known()?.authorise(accounts.admin.key, Authority::Administer)?;
    let info: &AccountInfo = ctx.accounts.agent.as_ref();
    let loader = AccountLoader::<Agent>::try_from(info)?;
    let agent = *loader.known()?;
    agent.check_operator(&accounts.operator.key())?;
    ensure_same!(*accounts.token_account.key, agent.token_account, PurserError::WrongSource);
    ensure_same!(*accounts.rent_refund.key, agent.rent_refund, PurserError::WrongRentRefund);
    let now = agent.clock(Clock::get()?.unix_timestamp);
    let is_done = agent.payments == 0 || now.saturating_sub(agent.window().latest()) >= TAG_SECONDS;
    ensure!(is_done, PurserError::SpendWindowNotEmpty);

    let balance = {
        let data = accounts.token_account.try_borrow_data()?;
        TokenAccount::of(&accounts.token_account, &data).balance().ok_or(PurserError::WrongSource)?
    };
    if balance > 0 {
        // In another account of its own it would be out of reach until the agent is created anew.
        let is_own = {
            let data = accounts.destination.try_borrow_data()?;
            let owner = TokenAccount::of(&accounts.destination, &data).owner(&token::ID);
            owner == Some(info.key.as_array())
        };
        ensure!(!is_own, PurserError::RecipientIsSource);
        let rest = Withdrawal {
            agent: &loader,
            source: &accounts.token_account,
            mint: &accounts.usdc_mint,
            destination: &accounts.destination,
            token_program: accounts.token_program.as_ref(),
        };
        rest.make(balance, &[])?;
    }
    let bump = [agent.bump];
    token::close_account(CpiContext::new_with_signer(
        accounts.token_program.key(),
        CloseAccount {
            account: accounts.token_account.to_account_info(),
            // Not the refund address: a call that names an account which has become a program is refused.
            destination: info.clone(),
            authority: info.clone(),
        },
        &[&agent.signer_seeds(&bump)],
    ))?;
    let payment = system_program::Transfer { from: accounts.admin.to_account_info(), to: info.clone() };
    let rent = Rent::get()?.minimum_balance(ClosedAgent::BYTES);
    system_program::transfer(CpiContext::new(system_program::ID, payment), rent)?;
    close_draft(accounts, ctx.accounts.draft.as_ref())?;
    info.resize(ClosedAgent::BYTES)?;
    {
        let mut data = info.try_borrow_mut_data()?;
        let (closed, _) = begin::<ClosedAgent>(&mut data).ok_or(PurserError::UnknownLayout)?;
        closed.version = LAYOUT_VERSION;
        closed.second = second(now).max(agent.voided_at);
        closed.rent_refund = accounts.admin.key();
    }
    return_rent(info, &accounts.rent_refund)?;
    emit!(AgentClosed {
        operator: agent.operator,
        agent: accounts.agent.key(),
        agent_id: agent.agent_id,
        payments: agent.payments,
        swept: balance,
        recipient: accounts.destination.key(),
        admin: accounts.admin.key(),
    });
    Ok(())
}

/// A draft that outlived its agent would be waiting for the next one at this address.
fn close_draft<'info>(accounts: &CloseAgent<'info>, info: &'info AccountInfo<'info>) -> Result<()> {
    if *info.owner != crate::ID {
        return Ok(());
    }
    let loader = AccountLoader::<PolicyDraft>::try_from(info)?;
    let hash = {
        let draft = loader.known()?;
        ensure_same!(*accounts.draft_rent_refund.key, draft.rent_refund, PurserError::WrongRentRefund);
        draft.hash
    };
    loader.close(accounts.draft_rent_refund.to_account_info())?;
    emit!(DraftClosed {
        operator: accounts.operator.key(),
        agent: accounts.agent.key(),
        hash,
        signer: accounts.admin.key(),
    });
    Ok(())
}
