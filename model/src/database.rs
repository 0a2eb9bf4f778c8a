//! What a relayer keeps.

use crate::chain::Numbers;

/// Everything that a wipe takes and a restore takes back.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Database {
    /// What stands under the key.
    pub claim: Option<Transfer>,
    /// The numbered payments that were read from the chain.
    pub known: Numbers,
}

impl Database {
    /// The number up to which none is missing.
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
    /// Nothing was paid: asked for again, it is tried again.
    Failed,
}
