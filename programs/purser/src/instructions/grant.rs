use anchor_lang::prelude::*;
use anchor_lang::AccountsClose;

use crate::constants::{GRANT_SECONDS_MAX, GRANT_SEED, LAYOUT_VERSION};
use crate::error::PurserError;
use crate::events::{GrantClosed, GrantOpened, GrantsVoided};
use crate::instructions::room::check_refund;
use crate::instructions::set_paused::SetPaused;
use crate::state::{Agent, Authority, Grant, GrantTerms, Known, Operator};

/// The admin lets one payee be paid beyond the policy, at once: nothing that the admin does waits.
#[derive(Accounts)]
#[instruction(id: u64)]
pub struct OpenGrant<'info> {
    pub admin: Signer<'info>,
    /// Pays for the grant, and says by its signature who gets it back.
    #[account(mut)]
    pub payer: Signer<'info>,
    pub operator: AccountLoader<'info, Operator>,
    pub agent: AccountLoader<'info, Agent>,
    #[account(
        init,
        payer = payer,
        space = Grant::BYTES,
        seeds = [GRANT_SEED, agent.key().as_ref(), &id.to_le_bytes()],
        bump
    )]
    pub grant: AccountLoader<'info, Grant>,
    /// CHECK: gets the rent back; must be a wallet.
    #[account(mut)]
    pub rent_refund: UncheckedAccount<'info>,
    pub system_program: Program<'info, System>,
}

pub(crate) fn open_grant(ctx: Context<OpenGrant>, id: u64, terms: GrantTerms) -> Result<()> {
    let accounts = &*ctx.accounts;
    accounts.operator.known()?.authorise(accounts.admin.key, Authority::Administer)?;
    let agent = accounts.agent.known()?;
    agent.check_operator(&accounts.operator.key())?;
    check_refund(&accounts.rent_refund)?;
    let now = Clock::get()?.unix_timestamp;
    let ends = terms.expires_at > now && terms.expires_at <= now.saturating_add(GRANT_SECONDS_MAX);
    // Stored, 0 stands for none: a grant for one payment would become one for all.
    let named = terms.tag != Some(0) && terms.policy_version != Some(0);
    require!(terms.amount > 0 && ends && named, PurserError::GrantTermsInvalid);
    let mut grant = accounts.grant.load_init()?;
    grant.version = LAYOUT_VERSION;
    grant.bump = ctx.bumps.grant;
    grant.epoch = agent.grant_epoch;
    grant.id = id;
    grant.operator = accounts.operator.key();
    grant.agent = accounts.agent.key();
    grant.rent_refund = accounts.rent_refund.key();
    grant.set_terms(&terms);
    emit!(GrantOpened {
        operator: grant.operator,
        agent: grant.agent,
        grant: accounts.grant.key(),
        id,
        terms,
        signer: accounts.admin.key(),
    });
    Ok(())
}

/// Whoever may halt takes a grant back; one that is over goes by anyone's hand. The agent is not looked at, so that one that
/// was closed keeps nobody's rent.
#[derive(Accounts)]
pub struct CloseGrant<'info> {
    /// Guardian, policy authority or admin; of a grant that is over, anyone.
    pub authority: Signer<'info>,
    pub operator: AccountLoader<'info, Operator>,
    #[account(mut)]
    pub grant: AccountLoader<'info, Grant>,
    /// CHECK: must be the grant's `rent_refund`.
    #[account(mut)]
    pub rent_refund: UncheckedAccount<'info>,
}

pub(crate) fn close_grant(ctx: Context<CloseGrant>) -> Result<()> {
    let accounts = &*ctx.accounts;
    let operator = accounts.operator.known()?;
    let grant = *accounts.grant.known()?;
    require_keys_eq!(grant.operator, accounts.operator.key(), PurserError::WrongOperator);
    if !grant.is_over(Clock::get()?.unix_timestamp) {
        operator.authorise(accounts.authority.key, Authority::Halt)?;
    }
    require_keys_eq!(*accounts.rent_refund.key, grant.rent_refund, PurserError::WrongRentRefund);
    accounts.grant.close(accounts.rent_refund.to_account_info())?;
    emit!(GrantClosed {
        operator: grant.operator,
        agent: grant.agent,
        grant: accounts.grant.key(),
        left: grant.left,
        signer: accounts.authority.key(),
    });
    Ok(())
}

/// Voids every open grant of the agent at once. Signed by guardian, policy authority or admin.
pub(crate) fn void_grants(ctx: Context<SetPaused>) -> Result<()> {
    let accounts = &*ctx.accounts;
    accounts.operator.known()?.authorise(accounts.authority.key, Authority::Halt)?;
    let mut agent = accounts.agent.known_mut()?;
    agent.check_operator(&accounts.operator.key())?;
    agent.grant_epoch = agent.grant_epoch.wrapping_add(1);
    emit!(GrantsVoided {
        operator: agent.operator,
        agent: accounts.agent.key(),
        grant_epoch: agent.grant_epoch,
        signer: accounts.authority.key(),
    });
    Ok(())
}
