//! The way in: `transfer` goes straight to its handler, everything else to Anchor.
//!
//! Anchor builds owned, reference-counted views of all accounts before an instruction begins, which costs more than
//! the whole transfer does without them.

use anchor_lang::solana_program::entrypoint;
use anchor_lang::Discriminator;
use core::mem::MaybeUninit;
use solana_program::entrypoint::SUCCESS;

use crate::instructions::transfer;

solana_program::entrypoint::custom_heap_default!();
solana_program::entrypoint::custom_panic_default!();

/// # Safety
/// Called by the runtime, with the accounts and instruction data that it serialised at `input`.
#[cfg_attr(target_os = "solana", no_mangle)]
#[cfg_attr(hot_path, optimize(speed))]
pub unsafe extern "C" fn entrypoint(input: *mut u8) -> u64 {
    let mut views = [const { MaybeUninit::uninit() }; transfer::ACCOUNTS];
    // SAFETY: `input` comes from the runtime and outlives this call.
    let (program_id, count, data) = unsafe { pinocchio::entrypoint::deserialize(input, &mut views) };
    if let Some(arguments) = data.strip_prefix(crate::instruction::Transfer::DISCRIMINATOR) {
        let done = if program_id.as_array() != crate::ID.as_array() || count < transfer::ACCOUNTS {
            Err(crate::error::PurserError::MalformedInstruction)
        } else {
            // SAFETY: `deserialize` wrote as many views as `count` says.
            let views = unsafe { &mut *(&raw mut views).cast() };
            transfer::process(views, arguments)
        };
        return match done {
            Ok(()) => SUCCESS,
            Err(error) => refuse(error),
        };
    }
    // SAFETY: as above; the views are not used any more.
    unsafe { others(input) }
}

/// Everything but `transfer`. A function of its own, so that it is built for size.
///
/// # Safety
/// As [`entrypoint`].
#[inline(never)]
unsafe fn others(input: *mut u8) -> u64 {
    // SAFETY: `input` comes from the runtime.
    let (program_id, accounts, data) = unsafe { entrypoint::deserialize(input) };
    match crate::entry(program_id, &accounts, data) {
        Ok(()) => SUCCESS,
        Err(error) => error.into(),
    }
}

/// Logs an error as Anchor does, for those who read logs, and returns its code.
#[cold]
fn refuse(error: crate::error::PurserError) -> u64 {
    let error = anchor_lang::error::Error::from(error);
    error.log();
    anchor_lang::solana_program::program_error::ProgramError::from(error).into()
}
