use anchor_lang::prelude::*;
use anchor_lang::AccountsClose;

use crate::error::PurserError;
use crate::events::{PolicyRecord, PolicySet};
use crate::instructions::policy_args::{must_not_loosen, replace};
use crate::state::{Agent, Authority, Known, Operator, PolicyDraft, Role};

#[derive(Accounts)]
pub struct ApplyDraft<'info> {
    /// Policy authority or admin.
    pub authority: Signer<'info>,
    /// Pays for a longer allowlist.
    #[account(mut)]
    pub payer: Signer<'info>,
    pub operator: AccountLoader<'info, Operator>,
    #[account(mut)]
    pub agent: AccountLoader<'info, Agent>,
    #[account(mut)]
    pub draft: AccountLoader<'info, PolicyDraft>,
    /// CHECK: must be the agent's `rent_refund`.
    #[account(mut)]
    pub rent_refund: UncheckedAccount<'info>,
    /// CHECK: must be the draft's `rent_refund`.
    #[account(mut)]
    pub draft_rent_refund: UncheckedAccount<'info>,
    pub system_program: Program<'info, System>,
}

/// Puts a sealed draft in force, and closes it. One that loosens anything waits for the operator's delay and does not end
/// its wait in a halt, unless the admin signs.
pub(crate) fn handler(ctx: Context<ApplyDraft>, hash: [u8; 32]) -> Result<()> {
    let accounts = &*ctx.accounts;
    let draft_data = {
        let info: &AccountInfo = accounts.draft.as_ref();
        info.try_borrow_data()?.get(PolicyDraft::BYTES..).unwrap_or(&[]).to_vec()
    };
    let draft = *accounts.draft.known()?;
    let policy = draft.policy.with(&draft_data);
    {
        let operator = accounts.operator.known()?;
        let role = operator.authorise(accounts.authority.key, Authority::SetPolicy)?;
        let agent = accounts.agent.known()?;
        agent.check_operator(&accounts.operator.key())?;
        draft.check(&accounts.agent.key(), &hash)?;
        ensure!(draft.is_sealed(), PurserError::DraftIncomplete);
        ensure!(agent.policy_version == draft.expected_version, PurserError::PolicyChanged);
        ensure_same!(*accounts.draft_rent_refund.key, draft.rent_refund, PurserError::WrongRentRefund);
        // Where nothing waits, `set_policy` would do the same at once.
        if role != Role::Admin && draft.waits_seconds(&operator) != Some(0) {
            let now = Clock::get()?.unix_timestamp;
            if operator.halted_by | agent.halted_by != 0 {
                must_not_loosen(&accounts.agent, &policy, PurserError::Halted)?;
            } else if draft.loosens_at(&operator).is_none_or(|at| now < at) {
                must_not_loosen(&accounts.agent, &policy, PurserError::LooseningMustWait)?;
            }
        }
    }
    let policy_version = replace(&accounts.agent, &policy, &accounts.payer, &accounts.rent_refund)?;
    accounts.draft.close(accounts.draft_rent_refund.to_account_info())?;
    emit!(PolicySet {
        operator: accounts.operator.key(),
        agent: accounts.agent.key(),
        policy_version,
        policy: PolicyRecord::new(&policy, Some(hash)),
        signer: accounts.authority.key(),
    });
    Ok(())
}
