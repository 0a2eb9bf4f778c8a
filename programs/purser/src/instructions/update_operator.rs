use anchor_lang::prelude::*;

use crate::events::OperatorUpdated;
use crate::state::{Authority, Known, Operator};

/// What to change; `None` leaves it as it is, the default key removes a guardian or a pending admin.
#[derive(AnchorSerialize, AnchorDeserialize, Clone, Debug, Default, PartialEq, Eq)]
pub struct OperatorUpdate {
    pub policy_authority: Option<Pubkey>,
    /// All of them, one to eight. An old and a new key side by side make a rotation without a refusal.
    pub transfer_authorities: Option<Vec<Pubkey>>,
    pub guardian: Option<Pubkey>,
    /// First step of a hand-over: the second is `accept_admin`, signed by this key.
    pub pending_admin: Option<Pubkey>,
    pub loosening_delay_seconds: Option<u32>,
}

#[derive(Accounts)]
pub struct UpdateOperator<'info> {
    pub admin: Signer<'info>,
    #[account(mut)]
    pub operator: AccountLoader<'info, Operator>,
}

pub(crate) fn handler(ctx: Context<UpdateOperator>, update: OperatorUpdate) -> Result<()> {
    let mut operator = ctx.accounts.operator.known_mut()?;
    operator.authorise(ctx.accounts.admin.key, Authority::Administer)?;
    let OperatorUpdate {
        policy_authority,
        transfer_authorities,
        guardian,
        pending_admin,
        loosening_delay_seconds,
    } = update;
    operator.policy_authority = policy_authority.unwrap_or(operator.policy_authority);
    operator.guardian = guardian.unwrap_or(operator.guardian);
    operator.pending_admin = pending_admin.unwrap_or(operator.pending_admin);
    operator.loosening_delay_seconds = loosening_delay_seconds.unwrap_or(operator.loosening_delay_seconds);
    if let Some(keys) = transfer_authorities {
        operator.set_transfer_authorities(&keys)?;
    }
    operator.check()?;
    emit!(OperatorUpdated { operator: ctx.accounts.operator.key(), keys: (&*operator).into() });
    Ok(())
}
