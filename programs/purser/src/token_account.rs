//! SPL Token accounts as the program needs them: three fields read in place.

use anchor_lang::prelude::{AccountInfo, Pubkey};
use anchor_spl::token;

use crate::error::PurserError;

/// Length of a legacy SPL Token account, and where its fields stand (SPL Token interface, `state::Account`).
const BYTES: usize = 165;
const MINT: usize = 0;
const OWNER: usize = 32;
const AMOUNT: usize = 64;
const STATE: usize = 108;
const UNINITIALISED: u8 = 0;
const FROZEN: u8 = 2;

/// A token account: an account's address, the program that owns it, and its data.
#[derive(Clone, Copy)]
pub struct TokenAccount<'a> {
    pub address: &'a [u8; 32],
    pub program: &'a [u8; 32],
    pub data: &'a [u8],
}

impl<'a> TokenAccount<'a> {
    /// An account as Anchor hands it over, with its borrowed `data`.
    pub fn of(info: &'a AccountInfo, data: &'a [u8]) -> Self {
        Self { address: info.key.as_array(), program: info.owner.as_array(), data }
    }

    /// Micro-USDC that it holds. `None` where it is no token account.
    #[inline]
    pub fn balance(&self) -> Option<u64> {
        if !same(self.program, token::ID.as_array()) {
            return None;
        }
        field(self.data, AMOUNT).map(|amount| u64::from_le_bytes(*amount))
    }

    /// Checks that it can be paid out of `source`: an initialised, unfrozen account of `mint`, and not `source` itself.
    /// Returns the wallet that owns it.
    #[inline]
    pub fn recipient(&self, source: &[u8; 32], mint: &Pubkey) -> Result<&'a [u8; 32], PurserError> {
        if same(self.address, source) {
            return Err(PurserError::RecipientIsSource);
        }
        if !same(self.program, token::ID.as_array()) || self.data.len() != BYTES {
            return Err(PurserError::RecipientNotTokenAccount);
        }
        let state = self.data.get(STATE).copied().unwrap_or(UNINITIALISED);
        if state == UNINITIALISED {
            return Err(PurserError::RecipientNotTokenAccount);
        }
        if !field(self.data, MINT).is_some_and(|own| same(own, mint.as_array())) {
            return Err(PurserError::RecipientWrongMint);
        }
        if state == FROZEN {
            return Err(PurserError::RecipientFrozen);
        }
        field(self.data, OWNER).ok_or(PurserError::RecipientNotTokenAccount)
    }
}

/// Equality in four words: on chain, comparing bytes costs more.
#[inline(always)]
pub fn same(left: &[u8; 32], right: &[u8; 32]) -> bool {
    let words = |key: &[u8; 32]| bytemuck::pod_read_unaligned::<[u64; 4]>(key);
    let ([a, b, c, d], [e, f, g, h]) = (words(left), words(right));
    a == e && b == f && c == g && d == h
}

#[inline(always)]
fn field<const N: usize>(data: &[u8], offset: usize) -> Option<&[u8; N]> {
    data.get(offset..offset + N)?.try_into().ok()
}
