use anchor_lang::prelude::*;

use crate::error::PurserError;
use crate::events::OperatorUpdated;
use crate::state::{Known, Operator};

/// Second step of a hand-over: the new admin proves that it holds its key.
#[derive(Accounts)]
pub struct AcceptAdmin<'info> {
    pub pending_admin: Signer<'info>,
    #[account(mut)]
    pub operator: AccountLoader<'info, Operator>,
}

pub(crate) fn handler(ctx: Context<AcceptAdmin>) -> Result<()> {
    let mut operator = ctx.accounts.operator.known_mut()?;
    ensure_same!(*ctx.accounts.pending_admin.key, operator.pending_admin, PurserError::Unauthorized);
    operator.admin = operator.pending_admin;
    operator.pending_admin = Pubkey::default();
    operator.check()?;
    emit!(OperatorUpdated { operator: ctx.accounts.operator.key(), keys: (&*operator).into() });
    Ok(())
}
