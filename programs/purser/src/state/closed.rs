//! What stays at the address of an agent that was closed.

use anchor_lang::prelude::*;

use crate::constants::DISCRIMINATOR_BYTES;
use crate::error::PurserError;

/// A closed agent, at its address. Whoever listed that address meant the account that it was, so nobody but the admin makes
/// another one there.
#[account(zero_copy)]
#[derive(Debug, PartialEq, Eq)]
#[repr(C)]
pub struct ClosedAgent {
    pub version: u8,
    pub reserved: [u8; 3],
    /// The latest Unix second that the agent knew when it was closed. The clock of the next one here begins with it, and grants that
    /// were opened until then pay nothing.
    pub second: u32,
    /// The admin that closed it, and paid the rent of this: gets what becomes free of it.
    pub rent_refund: Pubkey,
}

impl ClosedAgent {
    pub const BYTES: usize = DISCRIMINATOR_BYTES + core::mem::size_of::<Self>();

    /// The closed agent that `info` holds. `None`: it holds none.
    pub fn at(info: &AccountInfo) -> Result<Option<Self>> {
        let data = info.try_borrow_data()?;
        if *info.owner != crate::ID || !data.starts_with(Self::DISCRIMINATOR) {
            return Ok(None);
        }
        Ok(Some(Self::read(&data).ok_or(PurserError::UnknownLayout)?))
    }

    /// Reads the data of an account that the program owns, as an RPC node returns it.
    pub fn read(data: &[u8]) -> Option<Self> {
        super::read_body(data)
    }
}
