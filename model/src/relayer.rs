//! What a relayer's process knows and does. A crash loses all of it.

use crate::chain::Numbers;
use crate::database::{State, Transfer};

/// A process.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Relayer {
    pub work: Option<Work>,
    /// The numbers of the payments in the views that it has read.
    pub seen: Numbers,
    /// Whether one of these was under the key.
    pub seen_tag: bool,
    /// What its database was read to know, if it does not query it each time.
    pub known_up_to: Numbers,
}

/// The transfer under way, as it was last stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Work {
    pub transfer: Transfer,
    pub step: Step,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Step {
    /// About to read the account and decide.
    Reads {
        /// Expired bytes that may have landed, which it has yet to find out.
        expired: Option<usize>,
    },
    /// Has signed, and nobody else knows.
    HasSigned { sequence: u32, last_block: u8 },
    /// The bytes are stored and sent; waits for their outcome. A crash between storing and sending is the same as bytes that
    /// get lost.
    Follows(usize),
}

impl Work {
    pub fn begins(transfer: Transfer) -> Self {
        let step = match transfer.state {
            State::Signed(bytes) => Step::Follows(bytes),
            State::Claimed | State::Settled | State::Rejected | State::Failed => {
                Step::Reads { expired: None }
            }
        };
        Self { transfer, step }
    }
}
