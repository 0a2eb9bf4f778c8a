//! What stays at the address of an agent that was closed.

use anchor_lang::prelude::*;

use crate::constants::DISCRIMINATOR_BYTES;

/// A closed agent, at its address. Whoever listed that address meant the account that it was, so nobody but the admin makes
/// another one there.
#[account(zero_copy)]
#[derive(Debug, PartialEq, Eq)]
#[repr(C)]
pub struct ClosedAgent {
    pub version: u8,
    pub reserved: [u8; 7],
    /// The admin that closed it, and paid the rent of this: gets what becomes free of it.
    pub rent_refund: Pubkey,
}

impl ClosedAgent {
    pub const BYTES: usize = DISCRIMINATOR_BYTES + core::mem::size_of::<Self>();

    /// Whether a closed agent is what `info` holds.
    pub fn is_at(info: &AccountInfo) -> Result<bool> {
        Ok(*info.owner == crate::ID && info.try_borrow_data()?.starts_with(Self::DISCRIMINATOR))
    }

    /// Reads the data of an account that the program owns, as an RPC node returns it.
    pub fn read(data: &[u8]) -> Option<Self> {
        super::read_body(data)
    }
}
