//! Lamports and bytes of the program's accounts.

use anchor_lang::prelude::*;
use anchor_lang::system_program;

use crate::error::PurserError;

/// Has `payer` pay what an account of `bytes` lacks for its rent.
#[inline(never)]
pub(crate) fn pay_rent<'info>(info: &AccountInfo<'info>, bytes: usize, payer: &Signer<'info>) -> Result<()> {
    let missing = Rent::get()?.minimum_balance(bytes).saturating_sub(info.lamports());
    if missing > 0 {
        pay(info, missing, payer)?;
    }
    Ok(())
}

/// Has `payer` pay the whole rent of an account of `bytes`, beside what it holds.
pub(crate) fn pay_beside<'info>(
    info: &AccountInfo<'info>,
    bytes: usize,
    payer: &Signer<'info>,
) -> Result<()> {
    pay(info, Rent::get()?.minimum_balance(bytes), payer)
}

fn pay<'info>(info: &AccountInfo<'info>, lamports: u64, payer: &Signer<'info>) -> Result<()> {
    let payment = system_program::Transfer { from: payer.to_account_info(), to: info.clone() };
    system_program::transfer(CpiContext::new(system_program::ID, payment), lamports)
}

/// Makes an account of this program at the address that `seeds` with their bump give. Lamports sent ahead are no obstacle;
/// where an account stands already, the system program refuses.
#[inline(never)]
pub(crate) fn create<'info>(
    info: &AccountInfo<'info>,
    bytes: usize,
    payer: &Signer<'info>,
    seeds: &[&[u8]],
) -> Result<()> {
    pay_rent(info, bytes, payer)?;
    let signers = &[seeds];
    let allocate = system_program::Allocate { account_to_allocate: info.clone() };
    system_program::allocate(
        CpiContext::new_with_signer(system_program::ID, allocate, signers),
        bytes as u64,
    )?;
    let assign = system_program::Assign { account_to_assign: info.clone() };
    system_program::assign(CpiContext::new_with_signer(system_program::ID, assign, signers), &crate::ID)
}

/// Gives `to` the lamports of `info` beyond the rent of its bytes. An account of fewer lamports than an empty one needs may
/// not exist: then they stay here, because nobody who cuts a list may have to wait for lamports of somebody else.
#[inline(never)]
pub(crate) fn return_rent<'info>(info: &AccountInfo<'info>, to: &AccountInfo<'info>) -> Result<()> {
    let rent = Rent::get()?;
    let surplus = info.lamports().saturating_sub(rent.minimum_balance(info.data_len()));
    if surplus > 0 && rent.is_exempt(to.lamports().saturating_add(surplus), to.data_len()) {
        info.sub_lamports(surplus)?;
        to.add_lamports(surplus)?;
    }
    Ok(())
}

/// That rent can always go to `to`: a wallet, or the vault of a multisig. An account of another program might refuse, and
/// this program's own are closed.
pub(crate) fn check_refund(to: &AccountInfo) -> Result<()> {
    ensure_same!(*to.owner, system_program::ID, PurserError::WrongRentRefund);
    Ok(())
}
