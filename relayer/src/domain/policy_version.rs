use serde::Serialize;
use serde_json::value::RawValue;

use super::policy::policy_of_answer;
use super::{AccountId, Address, Invalid, KeyId, OperatorId, SpendingPolicy, Timestamp, check_name};

/// Longest reason, in characters.
pub const REASON_CHARS_MAX: usize = 200;

/// Why a policy was changed, in the requester's words.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
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

    pub(crate) fn from_stored(text: String) -> Self {
        Self(text)
    }
}

/// The API request for a change.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Asking {
    pub key_id: KeyId,
    pub reason: Option<PolicyReason>,
}

/// A version of a policy, and the transaction that set it.
#[derive(Debug, Clone)]
pub struct PolicyVersion {
    pub operator_id: OperatorId,
    pub account_id: AccountId,
    pub version: u64,
    pub set_at: Timestamp,
    /// `None` when it is unknown.
    pub signer: Option<Address>,
    /// Base58.
    pub tx_signature: String,
    /// The fields as answered; `None` when they could no longer be read.
    pub policy: Option<Box<RawValue>>,
    /// `None`: somebody used their own wallet, or it is unknown.
    pub asking: Option<Asking>,
}

impl PolicyVersion {
    /// The policy itself. `None`: it could no longer be read.
    pub fn read_policy(&self) -> Option<SpendingPolicy> {
        self.policy.as_deref().and_then(policy_of_answer)
    }
}
