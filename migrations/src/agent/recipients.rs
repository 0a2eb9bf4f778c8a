//! The allowlist, as the command line gives it.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use anchor_lang::prelude::Pubkey;
use anyhow::{Context, Result, anyhow, bail, ensure};
use clap::Args;
use purser::token_account::TOKEN_PROGRAMS;
use purser_client::OwnedAllowlist;
use purser_policy::ALLOWLIST_ENTRIES_MAX;
use solana_sdk::account::Account;

use crate::arguments::{self, AccountId, AgentName};
use crate::network::Network;
use crate::tokens::Holding;

#[derive(Args)]
pub struct RecipientArgs {
    /// Everyone may be paid
    #[arg(long, conflicts_with_all = ["allow_nobody", "allow", "allow_wallet", "allow_token_account", "allow_file"])]
    allow_anyone: bool,
    /// Nobody may be paid
    #[arg(long, conflicts_with_all = ["allow", "allow_wallet", "allow_token_account", "allow_file"])]
    allow_nobody: bool,
    /// Only these may be paid, in the place of the whole list so far: an account id of this operator, a token account of
    /// USDC, or a wallet; which of the two an address is, the chain says. May be repeated
    #[arg(long, value_name = "acct_ID|ADDRESS", value_parser = arguments::agent_name)]
    allow: Vec<AgentName>,
    /// As --allow: every USDC token account that this wallet owns, now or later; may be repeated
    #[arg(long, value_name = "ADDRESS", value_parser = arguments::address)]
    allow_wallet: Vec<Pubkey>,
    /// As --allow: this token account, whoever owns it; may be repeated
    #[arg(long, value_name = "ADDRESS", value_parser = arguments::address)]
    allow_token_account: Vec<Pubkey>,
    /// As --allow for each line of this file; `wallet ADDRESS` and `token-account ADDRESS` say it outright, `#` begins a
    /// remark
    #[arg(long, value_name = "FILE")]
    allow_file: Option<PathBuf>,
}

/// A recipient as it was typed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Named {
    Agent(AccountId),
    Wallet(Pubkey),
    TokenAccount(Pubkey),
    /// The chain decides which kind it is.
    Either(Pubkey),
}

impl From<AgentName> for Named {
    fn from(name: AgentName) -> Self {
        match name {
            AgentName::Id(id) => Self::Agent(id),
            AgentName::Address(address) => Self::Either(address),
        }
    }
}

impl RecipientArgs {
    /// The requested allowlist; `None` if the command line does not mention one.
    pub async fn read(
        &self,
        network: &Network,
        operator: &Pubkey,
        usdc_mint: &Pubkey,
    ) -> Result<Option<OwnedAllowlist>> {
        if self.allow_anyone {
            return Ok(Some(OwnedAllowlist::Anyone));
        }
        let names = self.names()?;
        if names.is_empty() && !self.allow_nobody && self.allow_file.is_none() {
            return Ok(None);
        }
        let unclear: Vec<Pubkey> = names
            .iter()
            .filter_map(|name| match name {
                Named::Either(address) => Some(*address),
                Named::Agent(_) | Named::Wallet(_) | Named::TokenAccount(_) => None,
            })
            .collect();
        let mut found = network.many_accounts(&unclear).await?.into_iter();
        // An id under which no account stands is refused: nobody knows whom it would pay.
        let names_accounts = names.iter().any(|name| matches!(name, Named::Agent(_)));
        let accounts = if names_accounts { super::by_id(network, operator).await? } else { HashMap::new() };
        let (mut wallets, mut token_accounts) = (Vec::new(), Vec::new());
        for name in names {
            match name {
                Named::Agent(id) => {
                    let found = accounts.get(&id).copied();
                    wallets.push(found.ok_or_else(|| super::unknown(network, operator, &id))?);
                }
                Named::Wallet(address) => wallets.push(address),
                Named::TokenAccount(address) => token_accounts.push(address),
                Named::Either(address) => match kind(&address, found.next().flatten().as_ref(), usdc_mint)? {
                    Kind::Wallet => wallets.push(address),
                    Kind::TokenAccount => token_accounts.push(address),
                },
            }
        }
        let bytes = |keys: Vec<Pubkey>| keys.into_iter().map(|key| key.to_bytes()).collect();
        let list = OwnedAllowlist::only(bytes(wallets), bytes(token_accounts));
        ensure!(
            list.len() <= ALLOWLIST_ENTRIES_MAX,
            "an allowlist has at most {ALLOWLIST_ENTRIES_MAX} entries, and these are {}",
            list.len()
        );
        Ok(Some(list))
    }

    fn names(&self) -> Result<Vec<Named>> {
        let mut names: Vec<Named> = self.allow.iter().copied().map(Named::from).collect();
        names.extend(self.allow_wallet.iter().copied().map(Named::Wallet));
        names.extend(self.allow_token_account.iter().copied().map(Named::TokenAccount));
        if let Some(file) = &self.allow_file {
            names.extend(read_file(file)?);
        }
        Ok(names)
    }
}

#[derive(Debug, PartialEq, Eq)]
enum Kind {
    Wallet,
    TokenAccount,
}

/// The kind of an address that was given without one. An entry of the wrong kind would allow nobody, or somebody else.
fn kind(address: &Pubkey, found: Option<&Account>, usdc_mint: &Pubkey) -> Result<Kind> {
    if let Some(account) = found.filter(|account| TOKEN_PROGRAMS.contains(&account.owner)) {
        let Some(holding) = Holding::read(address, account) else {
            bail!(
                "{address} is neither a token account nor a wallet, but another account of a token program"
            );
        };
        ensure!(
            holding.mint == *usdc_mint,
            "{address} is a token account of the mint {}, which no USDC can be paid to",
            holding.mint
        );
        return Ok(Kind::TokenAccount);
    }
    // A wallet has a private key, so its address is a point on the curve. A program's address is not.
    ensure!(
        address.is_on_curve(),
        "{address} is not a token account on this cluster, and nobody holds a key to it: say what it is with \
         --allow-wallet {address} (as the vault of a multisig that owns token accounts) or --allow-token-account {address}"
    );
    Ok(Kind::Wallet)
}

fn read_file(file: &Path) -> Result<Vec<Named>> {
    let shown = file.display();
    let text = std::fs::read_to_string(file).with_context(|| format!("cannot read the allowlist {shown}"))?;
    let lines =
        text.lines().map(|line| line.split_once('#').map_or(line, |(entry, _)| entry).trim()).enumerate();
    lines
        .filter(|(_, entry)| !entry.is_empty())
        .map(|(index, entry)| {
            named(entry).map_err(|error| anyhow!("{shown}, line {}: \"{entry}\" {error}", index + 1))
        })
        .collect()
}

fn named(entry: &str) -> Result<Named, String> {
    match entry.split_once(char::is_whitespace) {
        None => arguments::agent_name(entry).map(Named::from),
        Some(("wallet", address)) => arguments::address(address.trim()).map(Named::Wallet),
        Some(("token-account", address)) => arguments::address(address.trim()).map(Named::TokenAccount),
        Some(_) => Err("is not an address, \"wallet ADDRESS\" or \"token-account ADDRESS\"".to_string()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const USDC: Pubkey = Pubkey::new_from_array([1; 32]);

    fn token_account(mint: Pubkey) -> Account {
        let mut data = vec![0; 165];
        data[..32].copy_from_slice(mint.as_array());
        data[108] = 1;
        Account { owner: anchor_spl::token::ID, data, ..Account::default() }
    }

    /// The first address from `seed` on that lies on the curve, or does not.
    fn address(on_curve: bool) -> Pubkey {
        let mut all = (0..=u8::MAX).map(|seed| Pubkey::new_from_array([seed; 32]));
        all.find(|address| address.is_on_curve() == on_curve).unwrap()
    }

    #[test]
    fn the_chain_says_what_an_address_is_and_the_curve_where_it_says_nothing() {
        let (wallet, derived) = (address(true), address(false));
        for address in [wallet, derived] {
            assert_eq!(kind(&address, Some(&token_account(USDC)), &USDC).unwrap(), Kind::TokenAccount);
        }
        assert_eq!(kind(&wallet, None, &USDC).unwrap(), Kind::Wallet);
        assert_eq!(kind(&wallet, Some(&Account::default()), &USDC).unwrap(), Kind::Wallet);
        let unclear = kind(&derived, None, &USDC).unwrap_err().to_string();
        assert!(unclear.contains(&format!("--allow-wallet {derived}")), "{unclear}");
        assert!(unclear.contains(&format!("--allow-token-account {derived}")), "{unclear}");
    }

    #[test]
    fn accounts_that_no_usdc_can_be_paid_to_are_refused() {
        let wallet = address(true);
        assert!(kind(&wallet, Some(&token_account(Pubkey::default())), &USDC).is_err());
        let mint = Account { owner: anchor_spl::token::ID, data: vec![0; 82], ..Account::default() };
        assert!(kind(&wallet, Some(&mint), &USDC).is_err());
    }

    #[test]
    fn lines_of_a_file_may_say_the_kind() {
        let text = USDC.to_string();
        assert_eq!(named(&text), Ok(Named::Either(USDC)));
        assert_eq!(named(&format!("wallet  {text}")), Ok(Named::Wallet(USDC)));
        assert_eq!(named(&format!("token-account {text}")), Ok(Named::TokenAccount(USDC)));
        assert_eq!(named(&AccountId([7; 16]).to_string()), Ok(Named::Agent(AccountId([7; 16]))));
        for line in ["wallet", &format!("owner {text}"), &format!("wallet {text} {text}")] {
            assert!(named(line).is_err(), "{line}");
        }
    }
}
