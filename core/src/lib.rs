//! The payment engine and nothing else: what a transfer is, what its idempotency key allows, how it is paid once whatever happens
//! meanwhile, and what a payment on the chain makes of it.
//!
//! Its values are parsed once and trusted afterwards; [`PaymentEngine`] carries transfers out. What it needs of the world it gets as
//! arguments ([`Ledger`], [`Chain`], [`Clock`], [`Observer`], [`Tasks`]): nothing here knows a database, a node, HTTP or who asked.

/// The target of step spans. The log leaves them out, so that a line logged within a step names the request.
pub const STEP: &str = "purser::step";

/// A span for a step of a request: what was done, and how long it took.
#[macro_export]
macro_rules! step {
    // At the highest level, like the request's span, so that no filter drops it from the traces.
    ($name:literal $($fields:tt)*) => {
        tracing::error_span!(target: $crate::STEP, $name $($fields)*)
    };
}

#[macro_use]
mod json;
#[macro_use]
mod words;

mod address;
mod amount_text;
mod approval;
mod caps;
mod chain;
mod chain_wins;
mod claim;
pub mod crash_point;
mod engine;
mod failure;
mod halt;
mod idempotency;
mod ids;
mod invalid;
mod memo;
mod network;
mod new_transfer;
mod outside;
mod parse_error;
mod recipient;
mod rejection;
#[cfg(feature = "schema")]
pub mod schema;
mod time;
mod transfer;
mod transfer_state;

pub use address::Address;
pub use amount_text::usdc_text;
pub use approval::{Approval, ApprovalEnd, ApprovalRequested, ApprovalWanted};
pub use caps::{BudgetState, CapsInUse, MonthCap};
pub use chain::{
    AgentAddresses, Beyond, ChainFault, ChainView, Destination, Granted, NotWallet, Outcome, Payer, Refusal,
    SharedAllowlist, UnsignedTransfer, clocks_agree,
};
pub use chain_wins::{Contradiction, PaymentMade, PaymentMeans, happened_at};
pub use claim::{Claim, Reuse, UsedKey};
pub use engine::{
    Decision, Ended, HandOver, Order, Payment, PaymentEngine, PaymentError, PaymentTask, PendingLimits,
    PendingPlace, Rejected, Started, decide,
};
pub use failure::{Failure, FailureCode, TOKEN_ACCOUNT_RENT_LAMPORTS};
pub use halt::{Halt, HaltScope, HaltedBy};
pub use idempotency::{
    Fingerprint, IDEMPOTENCY_KEY_CHARS_MAX, IDEMPOTENCY_SECONDS, IdempotencyKey, transfer_tag,
};
pub use ids::{
    AccountId, ActionId, EntryId, EventId, KeyId, OperatorId, PasskeyId, TransferId, WebhookId, new_agent_id,
};
pub use invalid::{Invalid, check_text};
pub use memo::{MEMO_CHARS_MAX, Memo};
pub use network::Network;
pub use new_transfer::{
    AskedTransfer, ClaimClock, DUPLICATE_WITHIN, Duplicates, KeyUse, NewTransfer, OtherSender, RefusalLimits,
};
pub use outside::{
    Chain, Clock, GivesBack, Ledger, LedgerError, Observer, Outside, Room, Signer, Tasks, Work, agreed_now,
};
pub use parse_error::ParseError;
pub use purser_policy::{Limit, REQUEST_AHEAD_SECONDS, REQUEST_SECONDS, UsdcAmount};
pub use recipient::{RECIPIENT_CHARS_MAX, Recipient};
pub use rejection::{CheckedRule, Checks, Rejection, RejectionReason, RuleCheck};
pub use time::Timestamp;
pub use transfer::{Transfer, TransferRequest};
pub use transfer_state::{Settlement, SignedTransfer, TransferState, TransferStatus, WrongState};
