use std::fmt;
use std::str::FromStr;

use super::ParseError;

/// A Solana address: 32 bytes, written in base58.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Address([u8; 32]);

impl Address {
    /// The address with these bytes.
    pub const fn from_bytes(bytes: [u8; 32]) -> Self {
        Self(bytes)
    }

    /// The 32 bytes.
    pub const fn bytes(&self) -> [u8; 32] {
        self.0
    }

    /// The 32 bytes, borrowed.
    pub const fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }
}

impl FromStr for Address {
    type Err = ParseError;

    fn from_str(text: &str) -> Result<Self, ParseError> {
        let refused = || ParseError::from("is not a Solana address (base58 of 32 bytes)");
        if text.len() > 44 {
            return Err(refused());
        }
        let mut bytes = [0u8; 32];
        match bs58::decode(text).onto(&mut bytes) {
            Ok(32) => Ok(Self(bytes)),
            Ok(_) | Err(_) => Err(refused()),
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
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn address_text_comes_back(bytes: [u8; 32]) {
            let address = Address::from_bytes(bytes);
            prop_assert_eq!(address.to_string().parse::<Address>(), Ok(address));
        }

        #[test]
        fn any_text_that_parses_is_the_canonical_text(text in "[1-9A-HJ-NP-Za-km-z]{30,46}") {
            if let Ok(address) = text.parse::<Address>() {
                prop_assert_eq!(address.to_string(), text);
            }
        }
    }

    #[test]
    fn other_text_is_refused() {
        for text in
            ["", "1", "0OIl", " 11111111111111111111111111111111", "1111111111111111111111111111111", "é"]
        {
            assert!(text.parse::<Address>().is_err(), "{text:?}");
        }
        assert_eq!("11111111111111111111111111111111".parse(), Ok(Address::from_bytes([0; 32])));
    }
}
