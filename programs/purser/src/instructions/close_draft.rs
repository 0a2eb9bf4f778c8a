use anchor_lang::prelude::*;
use anchor_lang::AccountsClose;

use crate::error::PurserError;
use crate::events::DraftClosed;
use crate::state::{Agent, Authority, Known, Operator, PolicyDraft};

/// Gives up a draft, whether it is complete or not.
#[derive(Accounts)]
pub struct CloseDraft<'info> {
    /// Guardian, policy authority or admin.
    pub authority: Signer<'info>,
    pub operator: AccountLoader<'info, Operator>,
    pub agent: AccountLoader<'info, Agent>,
    #[account(mut)]
    pub draft: AccountLoader<'info, PolicyDraft>,
    /// CHECK: must be the draft's `rent_refund`.
    #[account(mut)]
    pub rent_refund: UncheckedAccount<'info>,
}

/// `hash` says which draft is meant, so that one that was opened since stays.
pub(crate) fn handler(ctx: Context<CloseDraft>, hash: [u8; 32]) -> Result<()> {
    let accounts = &*ctx.accounts;
    accounts.operator.known()?.authorise(accounts.authority.key, Authority::Halt)?;
    accounts.agent.known()?.check_operator(&accounts.operator.key())?;
    {
        let draft = accounts.draft.known()?;
        draft.check(&accounts.agent.key(), &hash)?;
        ensure_same!(*accounts.rent_refund.key, draft.rent_refund, PurserError::WrongRentRefund);
    }
    accounts.draft.close(accounts.rent_refund.to_account_info())?;
    emit!(DraftClosed {
        operator: accounts.operator.key(),
        agent: accounts.agent.key(),
        hash,
        signer: accounts.authority.key(),
    });
    Ok(())
}
