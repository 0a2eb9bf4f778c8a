//! The two networks that one relayer serves side by side; the API key picks one.

use std::fmt;
use std::str::FromStr;

/// Which Solana cluster a key, an operator and everything of theirs belong to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Network {
    Test,
    Live,
}

impl Network {
    /// Both, in the order they are listed to people.
    pub const ALL: [Network; 2] = [Network::Test, Network::Live];

    /// The word used in keys, configuration and the database.
    pub const fn as_str(self) -> &'static str {
        match self {
            Network::Test => "test",
            Network::Live => "live",
        }
    }
}

/// The word is neither `test` nor `live`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("network must be test or live")]
pub struct NetworkError;

impl FromStr for Network {
    type Err = NetworkError;

    fn from_str(text: &str) -> Result<Self, NetworkError> {
        Self::ALL.into_iter().find(|network| network.as_str() == text).ok_or(NetworkError)
    }
}

impl fmt::Display for Network {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}
