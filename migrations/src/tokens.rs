//! Token accounts of either token program, and amounts of any mint as exact decimal text.

use std::str::FromStr;

use anchor_lang::prelude::Pubkey;
use anyhow::{Context, Result, anyhow, ensure};
use purser::token_account::{TOKEN_PROGRAMS, TokenAccount};
use solana_sdk::account::Account;

use crate::network::Network;

/// The position of the decimals in a mint, for SPL Token and Token-2022 (`state::Mint`).
const MINT_DECIMALS: usize = 44;

/// The contents of a token account.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Holding {
    pub program: Pubkey,
    pub mint: Pubkey,
    pub owner: Pubkey,
    /// In the mint's smallest unit.
    pub units: u64,
}

impl Holding {
    /// `None` if it is not an initialised account of a token program.
    pub fn read(address: &Pubkey, account: &Account) -> Option<Self> {
        let program = account.owner;
        let data = &account.data;
        let account = TokenAccount { address: address.as_array(), program: program.as_array(), data };
        TOKEN_PROGRAMS.contains(&program).then_some(())?;
        Some(Self {
            program,
            mint: Pubkey::new_from_array(*account.mint(&program)?),
            owner: Pubkey::new_from_array(*account.owner(&program)?),
            units: account.balance()?,
        })
    }
}

/// How many decimals the mint's amounts have.
pub async fn decimals(network: &Network, mint: &Pubkey) -> Result<u8> {
    let account = network.account(mint).await?.filter(|account| TOKEN_PROGRAMS.contains(&account.owner));
    let decimals = account.and_then(|account| account.data.get(MINT_DECIMALS).copied());
    decimals.with_context(|| format!("{mint} is not a mint"))
}

/// An amount as it was typed, before its mint is known.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Amount {
    All,
    Exactly { whole: String, fraction: String },
}

impl FromStr for Amount {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if text == "all" {
            return Ok(Self::All);
        }
        let is_number = |digits: &str| !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
        let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
        if !is_number(whole) || (text.contains('.') && !is_number(fraction)) {
            return Err("is neither a decimal like 12.5 nor \"all\"".to_string());
        }
        if text.bytes().all(|byte| matches!(byte, b'0' | b'.')) {
            return Err("must be above zero".to_string());
        }
        Ok(Self::Exactly { whole: whole.to_string(), fraction: fraction.to_string() })
    }
}

impl Amount {
    /// In the smallest unit of a mint with this many `decimals`; `held` for `all`.
    pub fn units(&self, decimals: u8, held: u64) -> Result<u64> {
        let Self::Exactly { whole, fraction } = self else { return Ok(held) };
        let places = usize::from(decimals);
        ensure!(
            fraction.len() <= places,
            "--amount {whole}.{fraction} has more than the {decimals} digits after the point that this mint has"
        );
        let digits = format!("{whole}{fraction:0<places$}");
        digits.parse().map_err(|_| anyhow!("--amount {whole} is more than any token account can hold"))
    }
}

/// Lamports as exact decimal SOL.
pub fn sol(lamports: u64) -> String {
    decimal(lamports, 9)
}

/// Exact decimal text.
pub fn decimal(units: u64, decimals: u8) -> String {
    let places = usize::from(decimals);
    let digits = format!("{units:0>width$}", width = places + 1);
    let (whole, fraction) = digits.split_at(digits.len() - places);
    if fraction.is_empty() { whole.to_string() } else { format!("{whole}.{fraction}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn amounts_are_exact_in_every_mint() {
        let units = |text: &str, decimals| Amount::from_str(text).unwrap().units(decimals, 7).ok();
        assert_eq!(units("all", 6), Some(7));
        assert_eq!(units("12.5", 6), Some(12_500_000));
        assert_eq!(units("0.000001", 6), Some(1));
        assert_eq!(units("0.0000010", 6), None);
        assert_eq!((units("3", 0), units("3.0", 0)), (Some(3), None));
        assert_eq!(units("18446744073709.551615", 6), Some(u64::MAX));
        assert_eq!(units("18446744073709.551616", 6), None);
        for text in ["", "0", "0.00", ".5", "5.", "-1", "1e3", "All", "1.2.3", " 1"] {
            assert!(Amount::from_str(text).is_err(), "{text:?}");
        }
    }

    #[test]
    fn units_are_shown_with_all_their_digits() {
        assert_eq!(decimal(1, 6), "0.000001");
        assert_eq!(decimal(12_500_000, 6), "12.500000");
        assert_eq!(
            (decimal(0, 0), decimal(12, 0), decimal(5, 9)),
            ("0".into(), "12".into(), "0.000000005".into())
        );
    }

    #[test]
    fn only_initialised_accounts_of_a_token_program_hold_something() {
        let mut data = vec![0; 165];
        data[..32].copy_from_slice(&[1; 32]);
        data[32..64].copy_from_slice(&[2; 32]);
        data[64] = 9;
        data[108] = 1;
        let [legacy, token_2022] = TOKEN_PROGRAMS;
        let account = |owner, data: &[u8]| Account { owner, data: data.to_vec(), ..Account::default() };
        let read = |account| Holding::read(&Pubkey::default(), &account);
        let holding = read(account(legacy, &data)).unwrap();
        assert_eq!((holding.mint.to_bytes(), holding.owner.to_bytes(), holding.units), ([1; 32], [2; 32], 9));
        assert_eq!(read(account(token_2022, &data)).unwrap().program, token_2022);
        assert_eq!(read(account(Pubkey::default(), &data)), None);
        assert_eq!(read(account(legacy, &data[..82])), None);
        data[108] = 0;
        assert_eq!(read(account(legacy, &data)), None);
    }
}
