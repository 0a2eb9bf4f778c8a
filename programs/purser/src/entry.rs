//! The way in: all forms of a transfer go straight to their handler, everything else to Anchor.
//!
//! Anchor builds owned, reference-counted views of all accounts before an instruction begins, which costs more than
//! the whole transfer does without them.

use anchor_lang::solana_program::entrypoint;
use anchor_lang::solana_program::program_error::ProgramError;
use core::mem::MaybeUninit;
use solana_program::entrypoint::SUCCESS;

use crate::constants::{
    TRANSFER_CHECKED_DISCRIMINATOR, TRANSFER_DISCRIMINATOR, TRANSFER_EXTENDED_DISCRIMINATOR,
};
use crate::error::PurserError;
use crate::instructions::transfer::{self, Form, Views};

solana_program::entrypoint::custom_heap_default!();
solana_program::entrypoint::custom_panic_default!();

/// # Safety
/// Called by the runtime, with the accounts and instruction data that it serialised at `input`.
#[cfg_attr(target_os = "solana", no_mangle)]
#[cfg_attr(hot_path, optimize(speed))]
pub unsafe extern "C" fn entrypoint(input: *mut u8) -> u64 {
    let mut views: Views = [const { MaybeUninit::uninit() }; Form::Extended.accounts()];
    // SAFETY: `input` comes from the runtime and outlives this call.
    let (program_id, count, data) = unsafe { pinocchio::entrypoint::deserialize(input, &mut views) };
    if let Some((form, arguments)) = transfer_form(data) {
        let done = if program_id.as_array() != crate::ID.as_array() || count < form.accounts() {
            Err(PurserError::MalformedInstruction)
        } else {
            // SAFETY: `deserialize` wrote as many views as `count` says.
            unsafe { transfer::process(&mut views, form, arguments) }
        };
        return match done {
            Ok(()) => SUCCESS,
            Err(error) => refuse(error),
        };
    }
    // SAFETY: as above; the views are not used any more.
    unsafe { others(input) }
}

/// Told by arrays: comparing slices in two places is a call, which made every instruction cost 60 units more.
#[inline(always)]
fn transfer_form(data: &[u8]) -> Option<(Form, &[u8])> {
    if let Some((&TRANSFER_DISCRIMINATOR, arguments)) = data.split_first_chunk() {
        return Some((Form::Plain, arguments));
    }
    let (discriminator, arguments) = data.split_first_chunk()?;
    let form = match *discriminator {
        TRANSFER_CHECKED_DISCRIMINATOR => Form::Checked,
        TRANSFER_EXTENDED_DISCRIMINATOR => Form::Extended,
        _ => return None,
    };
    Some((form, arguments))
}

/// Everything but transfers. A function of its own, so that it is built for size.
///
/// # Safety
/// As [`entrypoint`].
#[inline(never)]
unsafe fn others(input: *mut u8) -> u64 {
    // SAFETY: `input` comes from the runtime.
    let (program_id, accounts, data) = unsafe { entrypoint::deserialize(input) };
    // Not Anchor's `entry`, which writes the error into the log first: the runtime logs its code.
    match crate::try_entry(program_id, &accounts, data) {
        Ok(()) => SUCCESS,
        Err(error) => ProgramError::from(error).into(),
    }
}

#[cold]
#[inline(never)]
fn refuse(error: PurserError) -> u64 {
    ProgramError::Custom(error.into()).into()
}
