use std::borrow::Cow;
use std::fmt::Display;

/// The text does not have the expected form. Says what it must be, for a sentence that begins with the field's name.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct ParseError(Cow<'static, str>);

impl ParseError {
    /// Names the words that are known: it must be `a`, `b` or `c`.
    pub fn not_among<const N: usize>(words: [impl Display; N]) -> Self {
        let mut words: Vec<String> = words.iter().map(|word| format!("`{word}`")).collect();
        Self::from(match (words.pop(), words.is_empty()) {
            (Some(last), false) => format!("must be {} or {last}", words.join(", ")),
            (last, _) => format!("must be {}", last.unwrap_or_default()),
        })
    }
}

impl<T: Into<Cow<'static, str>>> From<T> for ParseError {
    fn from(must_be: T) -> Self {
        Self(must_be.into())
    }
}
