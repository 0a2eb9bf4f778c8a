//! One transaction in flight: what we know of it, and when to poll it next.

use crate::Commitment;
use crate::send::fault::Fault;
use base64::Engine;
use purser_rpc::wire::SignatureStatus;
use serde_json::Value;
use solana_sdk::pubkey::Pubkey;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::watch;
use tokio::time::Instant;

/// How often to poll young flights, older ones and leftovers.
pub const POLL_YOUNG: Duration = Duration::from_millis(50);
const POLL_OLDER: Duration = Duration::from_millis(100);
const POLL_LEFTOVER: Duration = Duration::from_millis(500);
const YOUNG: Duration = Duration::from_secs(5);
const LEFTOVER: Duration = Duration::from_secs(60);
/// Poll intervals while a notice is expected, in case the websocket missed it: longer than landing takes.
const POLL_NOTICED_CONFIRMED: Duration = Duration::from_secs(5);
const POLL_NOTICED_FINALIZED: Duration = Duration::from_secs(10);
/// Bytes that no node knows are sent again this long after the last send.
const RESEND_INTERVAL: Duration = Duration::from_secs(2);

/// How a transaction ended. Every variant is final.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Landing {
    /// `slot`: where it landed, or where it was first seen.
    Landed {
        slot: u64,
    },
    Failed {
        slot: u64,
        fault: Fault,
    },
    /// No block up to the finalized `slot` holds it, and no later block can.
    Expired {
        slot: u64,
    },
}

impl Landing {
    /// The landing of a transaction at `slot`; `err` is null on success.
    pub fn at(slot: u64, err: &Value) -> Self {
        match err {
            Value::Null => Landing::Landed { slot },
            err => Landing::Failed { slot, fault: Fault::from_json(err) },
        }
    }

    /// The same in this slot, where that is earlier.
    pub fn not_after(self, latest: u64) -> Self {
        match self {
            Landing::Landed { slot } => Landing::Landed { slot: slot.min(latest) },
            Landing::Failed { slot, fault } => Landing::Failed { slot: slot.min(latest), fault },
            Landing::Expired { slot } => Landing::Expired { slot: slot.min(latest) },
        }
    }

    /// True if both succeeded, or both failed with the same error. Their slots may differ.
    pub fn has_result_of(&self, other: &Self) -> bool {
        match (self, other) {
            (Landing::Landed { .. }, Landing::Landed { .. }) => true,
            (Landing::Failed { fault, .. }, Landing::Failed { fault: other, .. }) => fault == other,
            (Landing::Landed { .. } | Landing::Failed { .. } | Landing::Expired { .. }, _) => false,
        }
    }

    /// The landing that a node's status reports.
    pub fn of(status: &SignatureStatus) -> Self {
        Self::at(status.slot, status.err.as_ref().unwrap_or(&Value::Null))
    }
}

/// A payment as a log shows it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LoggedPayment {
    pub transfer_id: [u8; 16],
    /// See [`crate::ProgramEvent::TransferExecuted`].
    pub number: u64,
}

/// Signed bytes to follow.
#[derive(Debug, Clone, Copy)]
pub struct Followed<'a> {
    pub bytes: &'a [u8],
    /// Base58.
    pub signature: &'a str,
    pub last_valid_block_height: u64,
    /// Signs and pays. A websocket reports the transactions that name this key.
    pub payer: Pubkey,
}

#[derive(Debug)]
pub struct Flight {
    transaction_base64: Arc<str>,
    pub last_valid_block_height: u64,
    pub commitment: Commitment,
    pub since: Instant,
    asked_at: Instant,
    pub sent_at: Instant,
    /// The only node that has the bytes so far, until that is judged.
    pub first_node: Option<usize>,
    /// The slot of the last poll that did not know the bytes; and of the one before they went to every node.
    pub unknown_at: u64,
    sent_to_all_at: Option<u64>,
    /// A node knows the signature, but not yet at the commitment.
    pub known: bool,
    /// A websocket will report when the commitment is reached.
    pub noticed: bool,
    /// Its landing was reported, and another node has not been heard on it yet.
    pub in_cross_check: bool,
    /// What the notice of its landing had in its log.
    pub paid: Option<LoggedPayment>,
    pub end: watch::Sender<Progress>,
}

/// How far a flight is.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum Progress {
    #[default]
    UnderWay,
    /// Seen confirmed; still followed to finality.
    Confirmed {
        slot: u64,
    },
    Ended(Landing),
}

impl Flight {
    /// Starts a flight now.
    pub fn new(followed: Followed, commitment: Commitment, noticed: bool) -> Self {
        let now = Instant::now();
        Self {
            transaction_base64: base64::engine::general_purpose::STANDARD.encode(followed.bytes).into(),
            last_valid_block_height: followed.last_valid_block_height,
            commitment,
            since: now,
            asked_at: now,
            sent_at: now,
            first_node: None,
            unknown_at: 0,
            sent_to_all_at: None,
            known: false,
            noticed,
            in_cross_check: false,
            paid: None,
            end: watch::channel(Progress::UnderWay).0,
        }
    }

    /// How long until the next poll.
    pub fn asked_in(&self) -> Duration {
        let interval = match (self.noticed, self.commitment) {
            // A notice may be late; what a node knows is not sent again.
            _ if self.is_due_again() => POLL_YOUNG,
            (true, Commitment::Confirmed) => POLL_NOTICED_CONFIRMED,
            (true, Commitment::Finalized) => POLL_NOTICED_FINALIZED,
            (false, _) => match self.since.elapsed() {
                age if age < YOUNG => POLL_YOUNG,
                age if age < LEFTOVER => POLL_OLDER,
                _ => POLL_LEFTOVER,
            },
        };
        interval.saturating_sub(self.asked_at.elapsed())
    }

    /// A node has seen it in a confirmed block.
    pub fn seen_confirmed(&self, slot: u64) {
        self.end.send_if_modified(|progress| {
            let is_news = *progress == Progress::UnderWay;
            if is_news {
                *progress = Progress::Confirmed { slot };
            }
            is_news
        });
    }

    /// The landing with its slot moved back to where the transaction was first seen, if that was earlier. Some nodes date their
    /// notices by the newest block, not by the block that they report.
    pub fn dated(&self, landing: Landing) -> Landing {
        match (landing, &*self.end.borrow()) {
            (Landing::Landed { slot }, Progress::Confirmed { slot: seen }) => {
                Landing::Landed { slot: slot.min(*seen) }
            }
            (landing, _) => landing,
        }
    }

    pub fn asked(&mut self) {
        self.asked_at = Instant::now();
    }

    /// No node knows the bytes, and they were last sent a while ago. While they are being re-sent, somebody else holds them.
    pub fn is_due_again(&self) -> bool {
        let is_being_sent = Arc::strong_count(&self.transaction_base64) > 1;
        !self.known && !is_being_sent && self.sent_at.elapsed() >= RESEND_INTERVAL
    }

    /// The bytes, for every node; they then count as sent now.
    pub fn resend(&mut self) -> Arc<str> {
        self.sent_at = Instant::now();
        self.sent_to_all_at.get_or_insert(self.unknown_at);
        self.transaction_base64.clone()
    }

    /// The bytes are in the block of `slot`: says once whether the node that alone had them forwarded them, or the others did.
    pub fn first_forwarded(&mut self, slot: u64) -> Option<(usize, bool)> {
        let node = self.first_node.take()?;
        match self.sent_to_all_at {
            None => Some((node, true)),
            Some(unknown_at) => (slot > unknown_at).then_some((node, false)),
        }
    }
}
