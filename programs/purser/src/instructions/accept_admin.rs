use anchor_lang::prelude::*;

use crate::error::PurserError;
use crate::instructions::update_operator::operator_updated;
use crate::state::Operator;

/// Second step of a hand-over: the new admin proves that it holds its key.
#[derive(Accounts)]
pub struct AcceptAdmin<'info> {
    pub pending_admin: Signer<'info>,
    #[account(mut, has_one = pending_admin @ PurserError::Unauthorized)]
    pub operator: AccountLoader<'info, Operator>,
}

pub(crate) fn handler(ctx: Context<AcceptAdmin>) -> Result<()> {
    let mut operator = ctx.accounts.operator.load_mut()?;
    operator.admin = operator.pending_admin;
    operator.pending_admin = Pubkey::default();
    operator.check_keys()?;
    emit!(operator_updated(ctx.accounts.operator.key(), &operator));
    Ok(())
}
