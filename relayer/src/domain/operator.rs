use super::invalid::check_name;
use super::{Address, Invalid, Network, OperatorId, Timestamp};

/// An operator on one network: the tenant that owns accounts, keys and transfers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Operator {
    pub id: OperatorId,
    pub network: Network,
    pub name: OperatorName,
    /// The on-chain Operator account.
    pub address: Address,
    pub created_at: Timestamp,
}

/// A label of 1 to 200 characters. Display only.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OperatorName(String);

impl OperatorName {
    /// Invalid: blank, over 200 characters, a NUL, or overrides the text direction.
    pub fn parse(text: impl Into<String>) -> Result<Self, Invalid> {
        let text = text.into();
        check_name("name", &text, 200)?;
        Ok(Self(text))
    }

    /// A stored name may predate today's rules.
    pub(crate) const fn from_stored(text: String) -> Self {
        Self(text)
    }

    /// As given.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}
