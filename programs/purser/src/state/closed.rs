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
    /// The agent's: the next one here begins with another, so that no open grant is its own.
    pub grant_epoch: u8,
    pub reserved: [u8; 6],
    /// The admin that closed it, and paid the rent of this: gets what becomes free of it.
    pub rent_refund: Pubkey,
}

impl ClosedAgent {
    pub const BYTES: usize = DISCRIMINATOR_BYTES + core::mem::size_of::<Self>();

    /// The `grant_epoch` of the closed agent that `info` holds. `None`: it holds none.
    pub fn epoch_at(info: &AccountInfo) -> Result<Option<u8>> {
        let data = info.try_borrow_data()?;
        let is_closed = *info.owner == crate::ID && data.starts_with(Self::DISCRIMINATOR);
        let at = DISCRIMINATOR_BYTES + core::mem::offset_of!(Self, grant_epoch);
        Ok(data.get(at).copied().filter(|_| is_closed))
    }

    /// Reads the data of an account that the program owns, as an RPC node returns it.
    pub fn read(data: &[u8]) -> Option<Self> {
        super::read_body(data)
    }
}
