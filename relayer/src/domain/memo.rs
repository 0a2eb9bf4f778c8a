use purser_policy::MEMO_CHARS_MAX;

use super::Invalid;
use super::invalid::check_text;

/// The text that goes with a transfer, as submitted: at most 200 characters. Empty counts as none on the chain.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Memo(String);

impl Memo {
    /// Counts characters, not bytes. Invalid: over 200 characters, or a NUL.
    pub fn parse(text: impl Into<String>) -> Result<Self, Invalid> {
        let text = text.into();
        check_text("memo", &text, MEMO_CHARS_MAX)?;
        Ok(Self(text))
    }

    /// As submitted.
    pub fn as_str(&self) -> &str {
        &self.0
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
    }
}
