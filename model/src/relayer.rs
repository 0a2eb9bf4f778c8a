//! What a relayer's process knows and is doing. A crash takes all of it.

use crate::chain::Numbers;
use crate::database::{State, Transfer};

/// A process.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Relayer {
    pub work: Option<Work>,
    /// The numbers of the payments that its views have shown.
    pub seen: Numbers,
    /// Whether one of these was under the key.
    pub seen_tag: bool,
    /// What it believes its database to know, where it does not ask it each time.
    pub believed: Numbers,
}

/// The transfer under way, as it was last written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Work {
    pub transfer: Transfer,
    pub step: Step,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Step {
    /// Is about to read the account and to decide.
    Reads {
        /// Bytes that expired: whether they landed is to be found out.
        expired: Option<usize>,
    },
    /// Has signed, and nobody knows of it.
    HasSigned { sequence: u32, last_block: u8 },
    /// The bytes are stored and sent; waits for what becomes of them. A crash between the two is the same as bytes that are
    /// lost on their way.
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
