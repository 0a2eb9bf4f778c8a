use std::fmt;
use std::str::FromStr;

/// The Solana network a key works on. A process may serve both.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Network {
    Test,
    Live,
}

impl Network {
    /// Both networks.
    pub const ALL: [Network; 2] = [Network::Test, Network::Live];

    /// `test` or `live`, as in keys, configuration and the database.
    pub const fn as_str(self) -> &'static str {
        match self {
            Network::Test => "test",
            Network::Live => "live",
        }
    }
}

impl fmt::Display for Network {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// The text is neither `test` nor `live`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("network must be `test` or `live`")]
pub struct UnknownNetwork;

impl FromStr for Network {
    type Err = UnknownNetwork;

    fn from_str(text: &str) -> Result<Self, UnknownNetwork> {
        Self::ALL.into_iter().find(|network| network.as_str() == text).ok_or(UnknownNetwork)
    }
}
