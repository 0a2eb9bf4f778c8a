use std::fmt;
use std::str::FromStr;

use super::ParseError;

const CHARS_MAX: usize = 16;

/// The name of a cell: a group of relayers that share a database. It is part of the API keys made there, where a load
/// balancer reads it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CellName(String);

impl CellName {
    /// The name as it appears in keys.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for CellName {
    type Err = ParseError;

    fn from_str(text: &str) -> Result<Self, ParseError> {
        let is_name = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
        let is_short = (1..=CHARS_MAX).contains(&text.len());
        if !is_short || !text.bytes().all(is_name) {
            return Err(format!("must be 1 to {CHARS_MAX} of a-z and 0-9").into());
        }
        Ok(Self(text.to_owned()))
    }
}

impl fmt::Display for CellName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_short_and_needs_no_quoting_anywhere() {
        for name in ["a", "7", "eu1", "abcdefghijklmnop"] {
            assert_eq!(name.parse::<CellName>().map(|cell| cell.to_string()).as_deref(), Ok(name));
        }
        for other in ["", "abcdefghijklmnopq", "A", "eu-1", "eu_1", "eu 1", "\u{e4}", "a\n"] {
            assert!(other.parse::<CellName>().is_err(), "{other:?}");
        }
    }
}
