use serde::{Deserialize, Serialize};

use super::Invalid;
use super::label::check_name;
use super::wire::schema::{LABEL, bounded, written};

/// The longest label, in characters.
pub const NAME_CHARS_MAX: usize = 200;

/// A label of 1 to 200 characters. Not unique; display only.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String")]
pub struct Label(String);

impl Label {
    /// Invalid: blank, over 200 characters, a NUL, or overrides the text direction.
    pub fn parse(text: impl Into<String>) -> Result<Self, Invalid> {
        let text = text.into();
        check_name("name", &text, NAME_CHARS_MAX)?;
        Ok(Self(text))
    }

    /// A stored name may predate today's rules.
    pub const fn from_stored(text: String) -> Self {
        Self(text)
    }

    /// As submitted.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

written! {
    Label = "Name": bounded(
        "A label for people, not unique: 1 to 200 characters, not blank, none that override the direction of text.",
        (1, NAME_CHARS_MAX), LABEL, "Research agent"
    );
}

impl TryFrom<String> for Label {
    type Error = Invalid;

    fn try_from(text: String) -> Result<Self, Invalid> {
        Self::parse(text)
    }
}
