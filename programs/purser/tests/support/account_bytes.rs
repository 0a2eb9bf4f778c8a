use anchor_lang::prelude::Pubkey;
use anchor_spl::token::spl_token::state::{Account as TokenState, Mint};
use solana_account::Account;
use solana_program_pack::Pack;

pub use anchor_spl::token::spl_token::state::AccountState as TokenAccountState;

/// More than any account here needs for rent exemption.
const LAMPORTS: u64 = 1_000_000_000;

pub fn account(owner: Pubkey, data: Vec<u8>) -> Account {
    Account { lamports: LAMPORTS, data, owner, executable: false, rent_epoch: u64::MAX }
}

/// A token account of `program` with the legacy layout.
pub fn token_account(
    program: Pubkey,
    mint: Pubkey,
    owner: Pubkey,
    amount: u64,
    state: TokenAccountState,
) -> Account {
    let mut data = vec![0; TokenState::LEN];
    TokenState { mint, owner, amount, state, ..TokenState::default() }.pack_into_slice(&mut data);
    account(program, data)
}

/// A mint of `program` with the legacy layout.
pub fn mint_account(program: Pubkey, decimals: u8, is_initialized: bool) -> Account {
    let mut data = vec![0; Mint::LEN];
    Mint { supply: u64::MAX, decimals, is_initialized, ..Mint::default() }.pack_into_slice(&mut data);
    account(program, data)
}
