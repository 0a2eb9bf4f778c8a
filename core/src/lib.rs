//! The money path and nothing else: what a transfer is, what its idempotency key allows, and what a payment on the chain makes of it.
//!
//! Pure values, parsed once and trusted afterwards. Nothing here knows a database, a node, HTTP or who asked.

mod address;
mod chain_wins;
mod claim;
mod failure;
mod halt;
mod idempotency;
mod ids;
mod invalid;
mod memo;
mod network;
mod payments;
mod recipient;
mod rejection;
mod time;
mod transfer;
mod transfer_state;

pub use address::{Address, AddressError};
pub use chain_wins::{Contradiction, PaymentMade, PaymentMeans, happened_at};
pub use claim::{Claim, Reuse, UsedKey};
pub use failure::{Failure, FailureCode};
pub use halt::{Halt, HaltScope, HaltedBy};
pub use idempotency::{
    Fingerprint, IDEMPOTENCY_KEY_CHARS_MAX, IDEMPOTENCY_SECONDS, IdempotencyKey, transfer_tag,
};
pub use ids::{AccountId, EntryId, EventId, IdError, KeyId, OperatorId, TransferId, WebhookId, new_agent_id};
pub use invalid::{Invalid, check_text};
pub use memo::{MEMO_CHARS_MAX, Memo};
pub use network::{Network, UnknownNetwork};
pub use payments::{KnownPayments, PaymentNumber};
pub use purser_policy::{Limit, UsdcAmount};
pub use recipient::{RECIPIENT_CHARS_MAX, Recipient};
pub use rejection::{CheckedRule, Checks, Rejection, RejectionReason, RuleCheck};
pub use time::{Timestamp, TimestampError};
pub use transfer::{Transfer, TransferRequest};
pub use transfer_state::{Settlement, SignedTransfer, TransferState, TransferStatus, WrongState};
