use solana_pubkey::Pubkey;

use crate::error::{Error, Result};

pub fn parse_address(text: &str) -> Result<Pubkey> {
    text.parse().map_err(|_| Error::new(format!("\"{text}\" is not a Solana address")))
}
