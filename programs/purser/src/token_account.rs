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
/// Where a mint keeps its decimals (`state::Mint`).
const MINT_DECIMALS: usize = 44;
/// `AccountType::Account`, behind the fields above in a Token-2022 account with extensions.
const TYPE_ACCOUNT: u8 = 2;

const TOKEN_2022: Pubkey = Pubkey::from_str_const("TokenzQdBNbLqP5VEhdkAS6EPFLC1PHnBqCXEpPxuEb");
/// SPL Token and Token-2022.
pub const TOKEN_PROGRAMS: [Pubkey; 2] = [token::ID, TOKEN_2022];

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

    /// What it holds, in its mint's smallest unit. `None` where it is no token account.
    #[inline]
    pub fn balance(&self) -> Option<u64> {
        if !same(self.program, token::ID.as_array()) && !same(self.program, TOKEN_2022.as_array()) {
            return None;
        }
        field(self.data, AMOUNT).map(|amount| u64::from_le_bytes(*amount))
    }

    /// The wallet that owns it. `None` where it is no account of the token program `program`.
    pub fn owner(&self, program: &Pubkey) -> Option<&'a [u8; 32]> {
        self.is_initialised(program).then(|| field(self.data, OWNER)).flatten()
    }

    /// Its mint. `None` where it is no account of the token program `program`.
    pub fn mint(&self, program: &Pubkey) -> Option<&'a [u8; 32]> {
        self.is_initialised(program).then(|| field(self.data, MINT)).flatten()
    }

    /// Checks that it can be paid: an initialised, unfrozen account of `mint` under the token program `program`.
    /// Returns the wallet that owns it.
    #[inline(always)]
    pub fn recipient(&self, program: &Pubkey, mint: &Pubkey) -> Result<&'a [u8; 32], PurserError> {
        if !self.is_initialised(program) {
            return Err(PurserError::RecipientNotTokenAccount);
        }
        if !field(self.data, MINT).is_some_and(|own| same(own, mint.as_array())) {
            return Err(PurserError::RecipientWrongMint);
        }
        if self.data.get(STATE) == Some(&FROZEN) {
            return Err(PurserError::RecipientFrozen);
        }
        field(self.data, OWNER).ok_or(PurserError::RecipientNotTokenAccount)
    }

    /// Whether `program` owns it and wrote it as a token account.
    #[inline(always)]
    fn is_initialised(&self, program: &Pubkey) -> bool {
        let state = self.data.get(STATE).copied().unwrap_or(UNINITIALISED);
        same(self.program, program.as_array()) && self.is_account() && state != UNINITIALISED
    }

    /// By its length, or with extensions by the type that stands behind it: a Token-2022 mint with extensions is as long.
    #[inline(always)]
    fn is_account(&self) -> bool {
        self.data.len() == BYTES
            || same(self.program, TOKEN_2022.as_array()) && self.data.get(BYTES) == Some(&TYPE_ACCOUNT)
    }
}

/// Decimals of a mint of either token program. `None` where it is none.
pub fn mint_decimals(info: &AccountInfo) -> Option<u8> {
    let data = info.try_borrow_data().ok()?;
    TOKEN_PROGRAMS.contains(info.owner).then(|| data.get(MINT_DECIMALS).copied()).flatten()
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
