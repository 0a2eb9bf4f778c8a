use std::fmt;
use std::str::FromStr;

use serde_json::value::RawValue;
use serde_json::{Map, Value};

use super::invalid::check_text;
use super::{AccountId, Address, Counterparties, Invalid, OperatorId, Timestamp};

/// Longest account name, in characters.
pub const NAME_CHARS_MAX: usize = 200;
/// Most keys of an account's metadata.
pub const METADATA_KEYS_MAX: usize = 50;
/// Most bytes of an account's metadata as JSON text.
pub const METADATA_BYTES_MAX: usize = 16 * 1024;

/// An agent account, as far as the database knows it. Policy and balance are on the chain.
#[derive(Debug, Clone)]
pub struct Account {
    pub id: AccountId,
    pub operator_id: OperatorId,
    pub name: AccountName,
    pub metadata: Option<Metadata>,
    /// The PDA: `solana_address` in the interface.
    pub address: Address,
    /// Its associated USDC token account: `usdc_token_account` in the interface.
    pub token_account: Address,
    /// As last seen on the chain, for filtering lists; the chain decides.
    pub status: AccountStatus,
    /// The allowlist as submitted, so that account ids are answered as account ids.
    pub counterparties: Counterparties,
    pub provisioning: Provisioning,
    pub created_at: Timestamp,
}

/// Whether the account's PDA is known to be on the chain. Only ready accounts are shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Provisioning {
    /// The row was written before the chain was asked.
    Requested,
    Ready,
}

/// `paused` exactly when the account may not pay: its policy pauses it, or it or its operator is halted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AccountStatus {
    Active,
    Paused,
}

impl AccountStatus {
    /// The status of an account that is paused or halted, or neither.
    pub const fn from_paused(paused: bool) -> Self {
        if paused { Self::Paused } else { Self::Active }
    }

    /// `active` or `paused`.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Active => "active",
            Self::Paused => "paused",
        }
    }
}

impl fmt::Display for AccountStatus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl FromStr for AccountStatus {
    type Err = Invalid;

    fn from_str(text: &str) -> Result<Self, Invalid> {
        [Self::Active, Self::Paused]
            .into_iter()
            .find(|status| status.as_str() == text)
            .ok_or_else(|| Invalid::new("status", "must be `active` or `paused`"))
    }
}

/// A label of 1 to 200 characters. Not unique; display only.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AccountName(String);

impl AccountName {
    /// Invalid: blank, over 200 characters, or a NUL.
    pub fn parse(text: impl Into<String>) -> Result<Self, Invalid> {
        let text = text.into();
        if text.trim().is_empty() {
            return Err(Invalid::new("name", "must not be empty"));
        }
        check_text("name", &text, NAME_CHARS_MAX)?;
        Ok(Self(text))
    }

    /// As submitted.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// A JSON object that the service keeps and returns without reading it; numbers stay as they were written.
#[derive(Debug, Clone)]
pub struct Metadata(Box<RawValue>);

impl Metadata {
    /// Invalid: not an object, over 50 keys, over 16 KiB, or not JSON that every client can read.
    pub fn parse(json: &RawValue) -> Result<Self, Invalid> {
        if json.get().len() > METADATA_BYTES_MAX {
            return Err(Invalid::new(
                "metadata",
                format!("must be at most {METADATA_BYTES_MAX} bytes of JSON"),
            ));
        }
        let keys: Map<String, Value> = serde_json::from_str(json.get())
            .map_err(|_| Invalid::new("metadata", "must be a JSON object of ordinary depth and numbers"))?;
        if keys.len() > METADATA_KEYS_MAX {
            return Err(Invalid::new("metadata", format!("must have at most {METADATA_KEYS_MAX} keys")));
        }
        Ok(Self(json.to_owned()))
    }

    /// The JSON text as submitted.
    pub fn json(&self) -> &RawValue {
        &self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn metadata(json: &str) -> Result<Metadata, Invalid> {
        Metadata::parse(serde_json::from_str(json).expect("JSON"))
    }

    #[test]
    fn metadata_keeps_its_numbers() {
        let json = r#"{"a":1.10,"b":123456789012345678901234567890,"c":null}"#;
        assert_eq!(metadata(json).expect("valid").json().get(), json);
    }

    #[test]
    fn metadata_is_bounded() {
        let object = |keys: usize| {
            let fields: Vec<String> = (0..keys).map(|key| format!("\"{key}\":0")).collect();
            format!("{{{}}}", fields.join(","))
        };
        assert!(metadata(&object(50)).is_ok());
        assert!(metadata(&object(51)).is_err());
        assert!(metadata(&format!("{{\"a\":\"{}\"}}", "x".repeat(METADATA_BYTES_MAX - 8))).is_ok());
        assert!(metadata(&format!("{{\"a\":\"{}\"}}", "x".repeat(METADATA_BYTES_MAX - 7))).is_err());
        assert!(metadata(&format!("{{\"a\":{}{}}}", "[".repeat(500), "]".repeat(500))).is_err());
        for json in ["[]", "1", "\"a\"", "null", r#"{"a":1e999}"#, r#"{"a":"\ud800"}"#] {
            assert!(metadata(json).is_err(), "{json}");
        }
    }

    #[test]
    fn names_have_one_to_200_characters() {
        assert!(AccountName::parse("é".repeat(200)).is_ok());
        for text in ["", "  ", "a\0", &"a".repeat(201)] {
            assert!(AccountName::parse(text).is_err(), "{text:?}");
        }
    }
}
