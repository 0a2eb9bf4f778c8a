//! The public networks, and the mint of USDC on each.

use anchor_lang::prelude::Pubkey;

use crate::check::Check;
use crate::replay::Outcome;

pub struct Network {
    pub name: &'static str,
    pub genesis_hash: &'static str,
    /// `None`: Circle issues none there.
    pub usdc_mint: Option<Pubkey>,
    /// Of Solana's own explorer.
    pub explorer_query: &'static str,
}

const MAINNET: &str = "mainnet";

/// Circle publishes the mints.
const NETWORKS: [Network; 3] = [
    Network {
        name: MAINNET,
        genesis_hash: "5eykt4UsFv8P8NJdTREpY1vzqKqZKvdpKuc147dw2N9d",
        usdc_mint: Some(Pubkey::from_str_const("EPjFWdd5AufqSSqeM2qN1xzybapC8G4wEGGkZwyTDt1v")),
        explorer_query: "",
    },
    Network {
        name: "devnet",
        genesis_hash: "EtWTRABZaYq6iMfeYKouRu166VU2xqa1wcaWoxPkrZBG",
        usdc_mint: Some(Pubkey::from_str_const("4zMMC9srt5Ri5X14GAgXhaHii3GnPAEERYPJgZJDncDU")),
        explorer_query: "?cluster=devnet",
    },
    Network {
        name: "testnet",
        genesis_hash: "4uhcVJyU9pJkvQyS88uRDiswHScSCKY3XQsseRfwrTj2",
        usdc_mint: None,
        explorer_query: "?cluster=testnet",
    },
];

/// The public network with this genesis hash.
pub fn network(genesis_hash: &str) -> Option<&'static Network> {
    NETWORKS.iter().find(|network| network.genesis_hash == genesis_hash)
}

/// Network and mint in words.
pub fn names(genesis_hash: &str, mint: &Pubkey) -> (String, String) {
    let of = network(genesis_hash);
    let network = of.map_or("no public network", |network| network.name);
    let mint_of = NETWORKS.iter().find(|network| network.usdc_mint.as_ref() == Some(mint));
    let mint = mint_of.map_or("no public mint of USDC".to_owned(), |it| format!("USDC of {}", it.name));
    (network.to_owned(), mint)
}

/// Whether mint and network belong together. Elsewhere than on a public network anybody can make both.
pub(crate) fn check(genesis_hash: &str, mint: &Pubkey, outcome: &mut Outcome) {
    let of = network(genesis_hash);
    let mint_of = NETWORKS.iter().find(|network| network.usdc_mint.as_ref() == Some(mint));
    let text = match (of, mint_of) {
        (Some(of), Some(mint_of)) if of.name == mint_of.name => None,
        (_, Some(mint_of)) => Some(format!(
            "The mint is the USDC of {}, and the genesis hash {genesis_hash} is that of {}.",
            mint_of.name,
            of.map_or("no public network", |of| of.name)
        )),
        (Some(of), None) if of.name == MAINNET => {
            Some(format!("The mint {mint} is not USDC: money in these accounts is another token."))
        }
        // Test networks have mints of everybody's own.
        (Some(_) | None, None) => return,
    };
    *outcome.examined.entry(Check::Network).or_default() += 1;
    outcome.finds(Check::Network, text);
}
