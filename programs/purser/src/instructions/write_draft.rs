use anchor_lang::prelude::*;

use crate::constants::ENTRY_BYTES;
use crate::error::PurserError;
use crate::events::DraftWritten;
use crate::state::{Agent, AllowlistDraft, Authority, Operator};

#[derive(Accounts)]
pub struct WriteDraft<'info> {
    pub authority: Signer<'info>,
    pub operator: AccountLoader<'info, Operator>,
    #[account(has_one = operator @ PurserError::WrongOperator)]
    pub agent: AccountLoader<'info, Agent>,
    #[account(mut, has_one = agent @ PurserError::DraftMismatch)]
    pub draft: AccountLoader<'info, AllowlistDraft>,
}

/// `start` is the number of entries written before, so that a part sent twice is refused, not repeated.
pub(crate) fn handler(ctx: Context<WriteDraft>, start: u16, entries: Vec<Pubkey>) -> Result<()> {
    ctx.accounts.operator.load()?.authorise(ctx.accounts.authority.key, Authority::SetPolicy)?;
    {
        let mut draft = ctx.accounts.draft.load_mut()?;
        let end = usize::from(start).saturating_add(entries.len());
        let in_order = start == draft.written && end <= usize::from(draft.entry_count);
        require!(in_order, PurserError::DraftOutOfOrder);
        draft.written = u16::try_from(end).map_err(|_| PurserError::DraftOutOfOrder)?;
    }
    let info = ctx.accounts.draft.to_account_info();
    let mut data = info.try_borrow_mut_data()?;
    let room = data.get_mut(AllowlistDraft::bytes(start)..).ok_or(PurserError::DraftOutOfOrder)?;
    for (slot, entry) in room.chunks_exact_mut(ENTRY_BYTES).zip(&entries) {
        slot.copy_from_slice(entry.as_ref());
    }
    emit!(DraftWritten { agent: ctx.accounts.agent.key(), start, entries });
    Ok(())
}
