//! What a relayer stores.

use crate::chain::Numbers;

/// Everything that a wipe deletes and a restore brings back.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Database {
    /// The claim of the key.
    pub claim: Option<Transfer>,
    /// The numbered payments that were read from the chain.
    pub known: Numbers,
}

impl Database {
    /// The number up to which no payment is missing.
    pub fn known_up_to(&self) -> u8 {
        self.known.trailing_ones() as u8
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Transfer {
    pub id: u8,
    pub request: u8,
    pub state: State,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum State {
    Claimed,
    /// With the bytes that may land.
    Signed(usize),
    Settled,
    /// The policy refused it: nothing was paid, and the key keeps the answer.
    Rejected,
    /// Nothing was paid; another request tries it again.
    Failed,
}
