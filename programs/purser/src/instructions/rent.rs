use anchor_lang::prelude::*;

use crate::error::PurserError;
use crate::events::RentRefundSet;
use crate::instructions::room::{check_refund, return_rent};
use crate::state::{rent_refund, Agent, Known, Operator};

/// Whoever would get the rent back says who gets it instead. Nobody else can: an admin who could would take what the service
/// paid.
#[derive(Accounts)]
pub struct SetRentRefund<'info> {
    /// The agent's refund address.
    pub rent_refund: Signer<'info>,
    pub operator: AccountLoader<'info, Operator>,
    #[account(mut)]
    pub agent: AccountLoader<'info, Agent>,
    /// CHECK: must be a wallet; writable, so that it is none that nothing can be paid to.
    #[account(mut)]
    pub new_rent_refund: UncheckedAccount<'info>,
}

pub(crate) fn set_rent_refund(ctx: Context<SetRentRefund>) -> Result<()> {
    let accounts = &*ctx.accounts;
    accounts.operator.known()?;
    let mut agent = accounts.agent.known_mut()?;
    agent.check_operator(&accounts.operator.key())?;
    ensure_same!(*accounts.rent_refund.key, agent.rent_refund, PurserError::WrongRentRefund);
    check_refund(&accounts.new_rent_refund)?;
    agent.rent_refund = accounts.new_rent_refund.key();
    emit!(RentRefundSet {
        operator: agent.operator,
        agent: accounts.agent.key(),
        rent_refund: agent.rent_refund,
    });
    Ok(())
}

/// Anyone sends home what an account holds beyond its rent: rent that became cheaper, and gifts.
#[derive(Accounts)]
pub struct ReclaimRent<'info> {
    /// CHECK: must be an agent, a draft, a grant or a closed agent.
    #[account(mut)]
    pub account: UncheckedAccount<'info>,
    /// CHECK: must be the account's `rent_refund`.
    #[account(mut)]
    pub rent_refund: UncheckedAccount<'info>,
}

pub(crate) fn reclaim_rent(ctx: Context<ReclaimRent>) -> Result<()> {
    let ReclaimRent { account, rent_refund: to } = &*ctx.accounts;
    let own = *account.owner == crate::ID;
    let known = rent_refund(&account.try_borrow_data()?).filter(|_| own);
    ensure!(known.ok_or(PurserError::UnknownLayout)? == *to.key, PurserError::WrongRentRefund);
    return_rent(account, to)
}
