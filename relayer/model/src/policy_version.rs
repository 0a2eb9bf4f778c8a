use serde::{Deserialize, Serialize};

use super::{Invalid, KeyId, check_name};

/// Longest reason, in characters.
pub const REASON_CHARS_MAX: usize = 200;

/// Why a policy was changed, in the requester's words.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String")]
pub struct PolicyReason(String);

impl PolicyReason {
    /// Invalid: as for a name, or over 200 characters.
    pub fn parse(text: String) -> Result<Self, Invalid> {
        check_name("reason", &text, REASON_CHARS_MAX)?;
        Ok(Self(text))
    }

    /// As submitted.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    pub fn from_stored(text: String) -> Self {
        Self(text)
    }
}

impl TryFrom<String> for PolicyReason {
    type Error = Invalid;

    fn try_from(text: String) -> Result<Self, Invalid> {
        Self::parse(text)
    }
}

/// The API request for a change.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Asking {
    pub key_id: KeyId,
    pub reason: Option<PolicyReason>,
}
