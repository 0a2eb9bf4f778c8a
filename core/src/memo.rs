use std::fmt;

use super::Invalid;
use super::invalid::check_text;

/// Most characters (Unicode scalar values, not bytes) of a memo submitted here.
pub const MEMO_CHARS_MAX: usize = 200;

/// The text that goes with a transfer, as submitted. Empty counts as none on the chain.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Memo(String);

impl Memo {
    /// Counts characters, not bytes. Invalid: over 200 characters, or a NUL.
    pub fn parse(text: impl Into<String>) -> Result<Self, Invalid> {
        let text = text.into();
        check_text("memo", &text, MEMO_CHARS_MAX)?;
        Ok(Self(text))
    }

    /// A memo from the chain, where the holder of a transfer authority can write anything, or from our records.
    /// Replaces what a database cannot store.
    pub fn written(text: &str) -> Self {
        Self(text.replace('\0', "\u{FFFD}"))
    }

    /// The text as submitted, or as on the chain.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Memo {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memo_is_counted_in_characters() {
        assert!(Memo::parse("\u{1F600}".repeat(200)).is_ok());
        assert!(Memo::parse("a".repeat(201)).is_err());
        assert!(Memo::parse("a\0").is_err());
        assert_eq!(Memo::written(&"a\0".repeat(400)).as_str(), "a\u{FFFD}".repeat(400));
    }
}
