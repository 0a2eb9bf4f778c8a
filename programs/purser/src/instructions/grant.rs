use anchor_lang::prelude::*;
use anchor_lang::AccountsClose;

use crate::constants::{GRANT_SECONDS_MAX, GRANT_SEED, LAYOUT_VERSION};
use crate::error::PurserError;
use crate::events::{GrantClosed, GrantOpened, GrantsVoided};
use crate::instructions::approval;
use crate::instructions::room::{check_refund, create};
use crate::instructions::set_paused::SetPaused;
use crate::state::{begin, Agent, Approver, Authority, Grant, GrantTerms, Known, OpenedBy, Operator, Role};

/// Lets one payee be paid beyond the policy, or at all where an agent pays by grants alone. One of the admin pays at once, and
/// so does one of an approver, which is for a single payment; one of the policy authority waits where it loosens anything.
#[derive(Accounts)]
#[instruction(id: u64)]
pub struct OpenGrant<'info> {
    /// Admin, policy authority, or the approver's key.
    pub authority: Signer<'info>,
    /// Pays for the grant, and says by its signature who gets it back.
    #[account(mut)]
    pub payer: Signer<'info>,
    pub operator: AccountLoader<'info, Operator>,
    pub agent: AccountLoader<'info, Agent>,
    /// CHECK: the address by its seeds; the system program refuses where anything is.
    #[account(mut, seeds = [GRANT_SEED, agent.key().as_ref(), &id.to_le_bytes()], bump)]
    pub grant: UncheckedAccount<'info>,
    /// CHECK: gets the rent back; must be a wallet.
    #[account(mut)]
    pub rent_refund: UncheckedAccount<'info>,
    /// Where an approver signs.
    #[account(mut)]
    pub approver: Option<AccountLoader<'info, Approver>>,
    /// CHECK: where an approver signs, the sysvar of this transaction's instructions.
    pub instructions: Option<UncheckedAccount<'info>>,
    pub system_program: Program<'info, System>,
}

pub(crate) fn open_grant(ctx: Context<OpenGrant>, id: u64, terms: GrantTerms) -> Result<()> {
    let accounts = &*ctx.accounts;
    let operator = accounts.operator.known()?;
    let agent = accounts.agent.known()?;
    let opened_by = match &accounts.approver {
        Some(_) => OpenedBy::Approver,
        None => match operator.authorise(accounts.authority.key, Authority::SetPolicy)? {
            Role::Admin => OpenedBy::Admin,
            Role::PolicyAuthority | Role::Guardian => OpenedBy::PolicyAuthority,
        },
    };
    agent.check_operator(&accounts.operator.key())?;
    let chain = Clock::get()?.unix_timestamp;
    let mut now = agent.clock(chain);
    if let Some(approver) = &accounts.approver {
        now = approver.known()?.window().effective(now);
    }
    let ends = terms.expires_at > now && terms.expires_at <= now.saturating_add(GRANT_SECONDS_MAX);
    // Stored, 0 stands for none: a grant for one payment would become one for all.
    let named = terms.tag != Some(0) && terms.policy_version != Some(0) && terms.memo_hash != Some([0; 32]);
    ensure!(terms.amount > 0 && ends && named, PurserError::GrantTermsInvalid);
    if opened_by != OpenedBy::Admin {
        ensure!(!terms.beyond_daily_limit, PurserError::Unauthorized);
        ensure!(operator.halted_by | agent.halted_by == 0, PurserError::Halted);
    }
    if let Some(approver) = &accounts.approver {
        approve(accounts, approver, (&operator, &agent), &terms, now)?;
    }
    let (agent_key, bump) = (accounts.agent.key(), [ctx.bumps.grant]);
    let seeds: [&[u8]; 4] = [GRANT_SEED, agent_key.as_ref(), &id.to_le_bytes(), &bump];
    create(&accounts.grant, Grant::BYTES, &accounts.payer, &seeds)?;
    // By now the grant belongs to this program, and is no wallet.
    check_refund(&accounts.rent_refund)?;
    {
        let mut data = accounts.grant.try_borrow_mut_data()?;
        let (grant, _) = begin::<Grant>(&mut data).ok_or(PurserError::UnknownLayout)?;
        grant.version = LAYOUT_VERSION;
        [grant.bump] = bump;
        grant.id = id;
        grant.operator = accounts.operator.key();
        grant.agent = agent_key;
        grant.rent_refund = accounts.rent_refund.key();
        grant.set_terms(&terms, opened_by, &operator, now);
        // It would never pay.
        ensure!(!grant.is_void(&operator, &agent), PurserError::GrantTooEarly);
    }
    emit!(GrantOpened {
        operator: accounts.operator.key(),
        agent: agent_key,
        grant: accounts.grant.key(),
        id,
        terms,
        opened_by,
        signer: accounts.authority.key(),
    });
    Ok(())
}

/// That an approver says by its signature what is approved, within its limits.
#[inline(never)]
fn approve<'info>(
    accounts: &OpenGrant<'info>,
    approver: &AccountLoader<'info, Approver>,
    (operator, agent): (&Operator, &Agent),
    terms: &GrantTerms,
    now: i64,
) -> Result<()> {
    let mut approver = approver.known_mut()?;
    ensure_same!(approver.operator, accounts.operator.key(), PurserError::WrongOperator);
    // The operator may have removed it since, or given the key another part.
    let signer = accounts.authority.key;
    let may = approver.key == *signer && !approver.is_removed() && operator.may_approve(signer);
    ensure!(may, PurserError::Unauthorized);
    ensure!(terms.is_one_payment(agent), PurserError::GrantTermsInvalid);
    let sysvar: Option<&AccountInfo> = accounts.instructions.as_ref().map(AsRef::as_ref);
    approval::check(sysvar, &terms.approval(accounts.agent.as_ref().key))?;
    Ok(approver.grants(terms.amount, now)?)
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
    ensure_same!(grant.operator, accounts.operator.key(), PurserError::WrongOperator);
    if !grant.is_over(Clock::get()?.unix_timestamp) {
        operator.authorise(accounts.authority.key, Authority::Halt)?;
    }
    ensure_same!(*accounts.rent_refund.key, grant.rent_refund, PurserError::WrongRentRefund);
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
    let voided_at = agent.void_grants(Clock::get()?.unix_timestamp).into();
    emit!(GrantsVoided {
        operator: agent.operator,
        agent: accounts.agent.key(),
        voided_at,
        signer: accounts.authority.key(),
    });
    Ok(())
}
