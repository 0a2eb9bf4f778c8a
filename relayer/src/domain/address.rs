//! A Solana address as the domain sees it: 32 bytes, written in base58.

use std::fmt;
use std::str::FromStr;

/// Any 32-byte Solana address: a wallet, a PDA, a token account, a mint or a program.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(transparent)]
pub struct Address([u8; 32]);

impl Address {
    /// The longest base58 text that 32 bytes can have, in characters.
    pub const TEXT_CHARS_MAX: usize = 44;

    /// Wraps 32 bytes; every value is an address, whether or not anything lives there.
    pub const fn new(bytes: [u8; 32]) -> Self {
        Self(bytes)
    }

    /// The 32 bytes.
    pub const fn to_bytes(self) -> [u8; 32] {
        self.0
    }

    /// The 32 bytes, borrowed.
    pub const fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }
}

/// The text is not base58, or not of 32 bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("not a Solana address (base58 of 32 bytes)")]
pub struct AddressError;

impl FromStr for Address {
    type Err = AddressError;

    fn from_str(text: &str) -> Result<Self, AddressError> {
        if text.len() > Self::TEXT_CHARS_MAX {
            return Err(AddressError);
        }
        let mut bytes = [0; 32];
        match bs58::decode(text).onto(&mut bytes[..]) {
            Ok(32) => Ok(Self(bytes)),
            Ok(_) | Err(_) => Err(AddressError),
        }
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&bs58::encode(self.0).into_string())
    }
}

impl fmt::Debug for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Address({self})")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_and_bytes_round_trip() {
        let text = "EPjFWdd5AufqSSqeM2qN1xzybapC8G4wEGGkZwyTDt1v";
        let address: Address = text.parse().unwrap();
        assert_eq!(address.to_string(), text);
        assert_eq!(Address::new(address.to_bytes()), address);
    }

    #[test]
    fn text_of_another_length_or_alphabet_is_refused() {
        for text in ["", "1", "0OIl", &"1".repeat(31), &"1".repeat(33), &"z".repeat(44), &"2".repeat(100_000)] {
            assert_eq!(text.parse::<Address>(), Err(AddressError), "{text:.50}");
        }
    }
}
