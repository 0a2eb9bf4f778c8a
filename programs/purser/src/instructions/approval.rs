//! What an approver saw and signed. Page, link and bytes come from a server that may be stolen, so the wallet has to show what
//! is approved: it shows memos.

use anchor_lang::prelude::*;
use anchor_lang::solana_program::instruction::{get_stack_height, TRANSACTION_LEVEL_STACK_HEIGHT};

use crate::constants::{INSTRUCTIONS_SYSVAR, MEMO_PROGRAM};
use crate::error::PurserError;

/// Bytes of an account in an instruction: its flags and its key.
const ACCOUNT_BYTES: usize = 33;

/// That a memo with this text stands right before this instruction, in the transaction itself. Called by another program, this
/// could be one of several that follow a single memo.
#[inline(never)]
pub(crate) fn check(sysvar: Option<&AccountInfo>, text: &str) -> Result<()> {
    let sysvar = sysvar.filter(|sysvar| *sysvar.key == INSTRUCTIONS_SYSVAR);
    let data = sysvar.ok_or(PurserError::ApprovalMemoMismatch)?.try_borrow_data()?;
    let is_outer = get_stack_height() == TRANSACTION_LEVEL_STACK_HEIGHT;
    ensure!(is_outer && memo_before(&data) == Some(text.as_bytes()), PurserError::ApprovalMemoMismatch);
    Ok(())
}

/// The text of the instruction before the one that runs, if it is a memo. The sysvar's data: how many instructions there are,
/// where each begins, the instructions, and the number of the one that runs; numbers are u16.
fn memo_before(data: &[u8]) -> Option<&[u8]> {
    let number = |at: usize| {
        let bytes = data.get(at..)?.first_chunk()?;
        Some(usize::from(u16::from_le_bytes(*bytes)))
    };
    let current = number(data.len().checked_sub(2)?).filter(|current| *current > 0)?;
    // Behind the count, so two bytes further than its own number says.
    let start = number(2 * current)?;
    let program_at = start + 2 + number(start)? * ACCOUNT_BYTES;
    let program = data.get(program_at..)?.first_chunk::<32>()?;
    let (text_at, bytes) = (program_at + 34, number(program_at + 32)?);
    data.get(text_at..text_at + bytes).filter(|_| program == MEMO_PROGRAM.as_array())
}
