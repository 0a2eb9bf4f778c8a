use anchor_lang::prelude::*;

use crate::constants::ENTRY_BYTES;
use crate::error::PurserError;
use crate::events::{DraftSealed, DraftWritten, PolicyRecord};
use crate::instructions::policy_args::checked;
use crate::state::{Agent, Authority, Known, Operator, PolicyDraft};

#[derive(Accounts)]
pub struct WriteDraft<'info> {
    pub authority: Signer<'info>,
    pub operator: AccountLoader<'info, Operator>,
    pub agent: AccountLoader<'info, Agent>,
    #[account(mut)]
    pub draft: AccountLoader<'info, PolicyDraft>,
}

/// `hash` says which draft is meant, `start` how many entries were written before: a part that is sent twice, or belongs
/// to a draft that somebody closed meanwhile, is refused.
pub(crate) fn handler(
    ctx: Context<WriteDraft>,
    hash: [u8; 32],
    start: u16,
    entries: Vec<Pubkey>,
) -> Result<()> {
    let accounts = &*ctx.accounts;
    let operator = accounts.operator.known()?;
    operator.authorise(accounts.authority.key, Authority::SetPolicy)?;
    let agent = accounts.agent.known()?;
    agent.check_operator(&accounts.operator.key())?;
    {
        let mut draft = accounts.draft.known_mut()?;
        draft.check(&accounts.agent.key(), &hash)?;
        let end = usize::from(start).saturating_add(entries.len());
        let in_order = start == draft.written && end <= usize::from(draft.entry_count) && !draft.is_sealed();
        ensure!(in_order, PurserError::DraftOutOfOrder);
        draft.written = u16::try_from(end).map_err(|_| PurserError::DraftOutOfOrder)?;
    }
    let info: &AccountInfo = accounts.draft.as_ref();
    let tail = {
        let mut data = info.try_borrow_mut_data()?;
        let room = data.get_mut(PolicyDraft::bytes(start)..).ok_or(PurserError::DraftOutOfOrder)?;
        for (slot, entry) in room.chunks_exact_mut(ENTRY_BYTES).zip(&entries) {
            slot.copy_from_slice(entry.as_ref());
        }
        data.get(PolicyDraft::BYTES..).unwrap_or(&[]).to_vec()
    };
    emit!(DraftWritten { agent: accounts.agent.key(), hash, start, entries });
    let mut draft = accounts.draft.known_mut()?;
    if draft.written == draft.entry_count {
        emit!(seal(&mut draft, &tail, &agent, &operator, accounts.authority.key)?);
    }
    Ok(())
}

/// Ends the writing of a draft: from here on it says what it says, and its time runs.
pub(crate) fn seal(
    draft: &mut PolicyDraft,
    tail: &[u8],
    agent: &Agent,
    operator: &Operator,
    signer: &Pubkey,
) -> Result<DraftSealed> {
    let policy = draft.policy.with(tail);
    let (wallets, token_accounts) = policy.allowlist.entries();
    checked(wallets, token_accounts)?;
    let written = PolicyDraft::hash_of(&draft.agent, draft.expected_version, &policy);
    ensure!(written == draft.hash, PurserError::DraftMismatch);
    draft.sealed = 1;
    draft.sealed_at = Clock::get()?.unix_timestamp;
    draft.sealed_delay_seconds = operator.loosening_delay_seconds;
    Ok(DraftSealed {
        operator: agent.operator,
        agent: draft.agent,
        hash: draft.hash,
        expected_version: draft.expected_version,
        policy: PolicyRecord::new(&policy, Some(draft.hash)),
        sealed_at: draft.sealed_at,
        // It was sealed under the delay of now, so there is an end to it.
        loosens_at: draft.loosens_at(operator).unwrap_or(i64::MAX),
        signer: *signer,
    })
}
