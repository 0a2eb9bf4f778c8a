use serde_json::value::RawValue;

use super::{AccountId, Address, Invalid, KeyId, OperatorId, Timestamp, check_name};

/// Longest reason, in characters.
pub const REASON_CHARS_MAX: usize = 200;

/// Why a policy was changed, in the words of who asked for it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PolicyReason(String);

impl PolicyReason {
    /// Invalid: as a name is, or over 200 characters.
    pub fn parse(text: String) -> Result<Self, Invalid> {
        check_name("reason", &text, REASON_CHARS_MAX)?;
        Ok(Self(text))
    }

    /// As submitted.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    pub(crate) fn from_stored(text: String) -> Self {
        Self(text)
    }
}

/// Who asked for a change over the API.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Asking {
    pub key_id: KeyId,
    pub reason: Option<PolicyReason>,
}

/// A version of a policy, and what set it.
#[derive(Debug, Clone)]
pub struct PolicyVersion {
    pub operator_id: OperatorId,
    pub account_id: AccountId,
    pub version: u64,
    pub set_at: Timestamp,
    /// `None` where nobody can tell.
    pub signer: Option<Address>,
    /// Base58.
    pub tx_signature: String,
    /// The fields as they are answered; `None` where they could not be read any more.
    pub policy: Option<Box<RawValue>>,
    /// `None`: somebody's own wallet, or it is not known.
    pub asking: Option<Asking>,
}
