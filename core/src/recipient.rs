use std::fmt;

use super::invalid::check_text;
use super::{AccountId, Address, Invalid};

/// Longest recipient text that is accepted for reading, in characters.
pub const RECIPIENT_CHARS_MAX: usize = 200;

/// Where a transfer goes, as submitted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Recipient {
    /// Another account of the service.
    Agent(AccountId),
    /// A Solana address, expected to be a USDC token account.
    TokenAccount(Address),
    /// A wallet, which is paid at its associated USDC token account.
    Wallet { wallet: Address, token_account: Address },
    /// Neither: kept as submitted, and answered with 422 `invalid_recipient`.
    Unreadable(String),
}

impl Recipient {
    /// Reads an `acct_` id or a base58 address; never a wallet, which is named as one. Invalid (400): over 200 characters, or a NUL.
    pub fn parse(text: impl Into<String>) -> Result<Self, Invalid> {
        let text = text.into();
        check_text("to", &text, RECIPIENT_CHARS_MAX)?;
        Ok(if let Ok(id) = text.parse() {
            Self::Agent(id)
        } else if let Ok(address) = text.parse() {
            Self::TokenAccount(address)
        } else {
            Self::Unreadable(text)
        })
    }

    /// The text as submitted, since each id and address has only one text; of a wallet that of its token account.
    pub fn text(&self) -> String {
        self.to_string()
    }

    /// The wallet, if it was named as one.
    pub const fn wallet(&self) -> Option<Address> {
        match self {
            Self::Wallet { wallet, .. } => Some(*wallet),
            Self::Agent(_) | Self::TokenAccount(_) | Self::Unreadable(_) => None,
        }
    }
}

impl fmt::Display for Recipient {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Agent(id) => id.fmt(f),
            Self::TokenAccount(token_account) | Self::Wallet { token_account, .. } => token_account.fmt(f),
            Self::Unreadable(text) => f.write_str(text),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_recipient_keeps_its_text() {
        for text in
            ["acct_01ARZ3NDEKTSV4RRFFQ69G5FAV", "11111111111111111111111111111111", "acct_nobody", "", "🙂"]
        {
            assert_eq!(Recipient::parse(text).expect("valid").text(), text);
        }
        assert!(matches!(Recipient::parse("acct_nobody"), Ok(Recipient::Unreadable(_))));
        assert!(Recipient::parse("a".repeat(201)).is_err());
    }
}
