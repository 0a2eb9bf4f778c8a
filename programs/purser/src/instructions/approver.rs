use anchor_lang::prelude::*;

use crate::constants::{APPROVER_SEED, LAYOUT_VERSION};
use crate::error::PurserError;
use crate::events::{ApproverRemoved, ApproverSet};
use crate::instructions::room::create;
use crate::state::{begin, existing, Approver, Authority, Known, Operator};

/// Makes a key an approver, or gives an approver other limits. What it granted still counts, also if it was removed since; lower
/// limits void nothing that it granted.
#[derive(Accounts)]
#[instruction(key: Pubkey)]
pub struct SetApprover<'info> {
    /// Pays for the account.
    #[account(mut)]
    pub admin: Signer<'info>,
    pub operator: AccountLoader<'info, Operator>,
    /// CHECK: the address by its seeds. Nothing is there, or this approver.
    #[account(mut, seeds = [APPROVER_SEED, operator.key().as_ref(), key.as_ref()], bump)]
    pub approver: UncheckedAccount<'info>,
    pub system_program: Program<'info, System>,
}

pub(crate) fn set_approver(
    ctx: Context<SetApprover>,
    key: Pubkey,
    max_grant: u64,
    max_daily: u64,
) -> Result<()> {
    let accounts = &*ctx.accounts;
    let operator = accounts.operator.known()?;
    operator.authorise(accounts.admin.key, Authority::Administer)?;
    ensure!(operator.may_approve(&key), PurserError::KeysNotDistinct);
    let operator = accounts.operator.key();
    if *accounts.approver.owner != crate::ID {
        let bump = [ctx.bumps.approver];
        let seeds: [&[u8]; 4] = [APPROVER_SEED, operator.as_ref(), key.as_ref(), &bump];
        create(&accounts.approver, Approver::BYTES, &accounts.admin, &seeds)?;
        let mut data = accounts.approver.try_borrow_mut_data()?;
        let (approver, _) = begin::<Approver>(&mut data).ok_or(PurserError::UnknownLayout)?;
        approver.version = LAYOUT_VERSION;
        approver.bump = ctx.bumps.approver;
        approver.operator = operator;
        approver.key = key;
    }
    let mut data = accounts.approver.try_borrow_mut_data()?;
    let approver = existing::<Approver>(&mut data).ok_or(PurserError::UnknownLayout)?;
    approver.removed = 0;
    approver.max_grant = max_grant;
    approver.max_daily = max_daily;
    emit!(ApproverSet { operator, key, max_grant, max_daily, admin: accounts.admin.key() });
    Ok(())
}

/// Removes an approver, and voids every grant of the operator's approvers that is open: which one opened them is not asked. Its account
/// stays, with what it granted.
#[derive(Accounts)]
pub struct RemoveApprover<'info> {
    pub admin: Signer<'info>,
    #[account(mut)]
    pub operator: AccountLoader<'info, Operator>,
    #[account(mut)]
    pub approver: AccountLoader<'info, Approver>,
}

pub(crate) fn remove_approver(ctx: Context<RemoveApprover>) -> Result<()> {
    let accounts = &*ctx.accounts;
    let mut operator = accounts.operator.known_mut()?;
    operator.authorise(accounts.admin.key, Authority::Administer)?;
    let (key, now) = {
        let mut approver = accounts.approver.known_mut()?;
        ensure_same!(approver.operator, accounts.operator.key(), PurserError::WrongOperator);
        // A second time it would void what other approvers opened since.
        ensure!(!approver.is_removed(), PurserError::Unauthorized);
        approver.removed = 1;
        // Not before any of its grants.
        (approver.key, approver.window().effective(Clock::get()?.unix_timestamp))
    };
    operator.approvers_voided_at = operator.approvers_voided_at.max(now);
    emit!(ApproverRemoved {
        operator: accounts.operator.key(),
        key,
        voided_at: operator.approvers_voided_at,
        admin: accounts.admin.key(),
    });
    Ok(())
}
