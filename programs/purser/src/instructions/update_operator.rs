use anchor_lang::prelude::*;

use crate::events::OperatorUpdated;
use crate::state::{Authority, Operator};

/// What to change; `None` leaves a key as it is, the default key removes a guardian or a pending admin.
#[derive(AnchorSerialize, AnchorDeserialize, Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct OperatorUpdate {
    pub policy_authority: Option<Pubkey>,
    pub transfer_authority: Option<Pubkey>,
    pub guardian: Option<Pubkey>,
    /// First step of a hand-over: the second is `accept_admin`, signed by this key.
    pub pending_admin: Option<Pubkey>,
}

#[derive(Accounts)]
pub struct UpdateOperator<'info> {
    pub admin: Signer<'info>,
    #[account(mut)]
    pub operator: AccountLoader<'info, Operator>,
}

pub(crate) fn handler(ctx: Context<UpdateOperator>, update: OperatorUpdate) -> Result<()> {
    let mut operator = ctx.accounts.operator.load_mut()?;
    operator.authorise(ctx.accounts.admin.key, Authority::Administer)?;
    let OperatorUpdate { policy_authority, transfer_authority, guardian, pending_admin } = update;
    operator.policy_authority = policy_authority.unwrap_or(operator.policy_authority);
    operator.transfer_authority = transfer_authority.unwrap_or(operator.transfer_authority);
    operator.guardian = guardian.unwrap_or(operator.guardian);
    operator.pending_admin = pending_admin.unwrap_or(operator.pending_admin);
    operator.check_keys()?;
    emit!(operator_updated(ctx.accounts.operator.key(), &operator));
    Ok(())
}

pub(crate) fn operator_updated(address: Pubkey, operator: &Operator) -> OperatorUpdated {
    OperatorUpdated {
        operator: address,
        admin: operator.admin,
        pending_admin: operator.pending_admin,
        policy_authority: operator.policy_authority,
        transfer_authority: operator.transfer_authority,
        guardian: operator.guardian,
    }
}
