//! An allowlist on its way: too long for one transaction, written in parts, then taken over at once.

use anchor_lang::prelude::*;

use crate::constants::{DISCRIMINATOR_BYTES, ENTRY_BYTES};

/// A draft. Address: `["draft", agent]`. Room for `entry_count` entries follows at the tail.
#[account(zero_copy)]
#[derive(Debug, PartialEq, Eq)]
#[repr(C)]
pub struct AllowlistDraft {
    pub version: u8,
    pub bump: u8,
    pub entry_count: u16,
    /// Entries written so far.
    pub written: u16,
    pub reserved: [u8; 2],
    pub agent: Pubkey,
}

const _: () = assert!(core::mem::size_of::<AllowlistDraft>() == 40);

impl AllowlistDraft {
    pub const BYTES: usize = DISCRIMINATOR_BYTES + core::mem::size_of::<Self>();

    /// Length of the account's data.
    pub const fn bytes(entry_count: u16) -> usize {
        Self::BYTES + entry_count as usize * ENTRY_BYTES
    }
}
