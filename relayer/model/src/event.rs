//! What is announced, as far as it decides who receives it. The payloads are in `wire::events`.

use purser_core::words;
use serde_json::value::RawValue;

use super::{
    AccountId, Address, EventId, HaltScope, HaltedBy, OperatorId, SpendingPolicy, Timestamp, TransferId,
    UsdcAmount, WebhookId,
};

macro_rules! event_types {
    ($($(#[doc = $when:literal])+ $variant:ident = $word:literal,)*) => {
        words! {
            /// Event types by their API names.
            pub enum EventType {
                $($(#[doc = $when])+ $variant = $word,)*
            }
        }

        impl EventType {
            /// When it fires, for the API's documentation.
            pub const fn fires_when(self) -> &'static str {
                match self {
                    $(Self::$variant => concat!($($when),+).trim_ascii_start(),)*
                }
            }
        }
    };
}

// The comments are the published descriptions.
event_types! {
    /// A transfer passed policy and was submitted to Solana. It is not final.
    TransferInitiated = "transfer.initiated",
    /// A transfer is final on the chain. May overtake `transfer.initiated`.
    TransferSettled = "transfer.settled",
    /// Policy refused a transfer; nothing was sent. A balance that is too low is no refusal.
    TransferRejected = "transfer.rejected",
    /// A fork of the chain dropped the payment of a transfer that was settled. The transfer is `submitted` again, and
    /// settles, is rejected or fails. Only where `commitment` is `confirmed`.
    TransferReopened = "transfer.reopened",
    /// A transfer that was reopened has ended without a payment. Other failures are the answer to their request.
    TransferFailed = "transfer.failed",
    /// A balance fell from at or above the webhook's threshold to below it. Once, until it was back.
    BalanceLowThreshold = "balance.low_threshold",
    /// A policy that loosens something is on the chain and is pending.
    PolicyPending = "policy.pending",
    /// A pending policy is in force.
    PolicyApplied = "policy.applied",
    /// A payment brought what counts against a limit, of the account or of its budget, to 80 or 100 % of it.
    LimitThreshold = "limit.threshold",
    /// Money came into an account, however it came.
    DepositSettled = "deposit.settled",
    /// The operator's admin took money out of an account.
    WithdrawalSettled = "withdrawal.settled",
    /// Another policy is in force, set through the service or with a wallet.
    PolicyChanged = "policy.changed",
    /// An account was halted, by itself or with its operator.
    AccountHalted = "account.halted",
    /// Policy refused a transfer by a rule that a grant may waive, and it waits for a person: `pending_approval`.
    ApprovalRequested = "approval.requested",
    /// An approver's grant is on the chain, and the transfer is being paid by it.
    ApprovalGranted = "approval.granted",
    /// Somebody said no to a transfer that waited for a person, or the agent has withdrawn it.
    ApprovalRejected = "approval.rejected",
    /// Nobody approved a transfer in time.
    ApprovalExpired = "approval.expired",
    /// A transfer can no longer be approved: the policy was changed, the account stopped, or the grant taken back.
    ApprovalVoid = "approval.void",
    /// A transfer was paid by its grant, and is final.
    ApprovalUsed = "approval.used",
    /// Somebody changed something through the service, with a key, on the dashboard or on the server, and how that ended
    /// is on record: `data` is the action, as it is listed. A webhook for some accounts alone does not get it.
    ActionRecorded = "action.recorded",
    /// You asked for it with `POST /v1/webhooks/{id}/test`.
    WebhookTest = "webhook.test",
}

impl EventType {
    /// The types that a webhook can subscribe to: all but the last, the test.
    pub const SUBSCRIBABLE: [Self; Self::ALL.len() - 1] = match Self::ALL.first_chunk() {
        Some(types) => *types,
        None => [Self::WebhookTest; Self::ALL.len() - 1],
    };
}

/// A recorded fact, announced to its subscribers.
#[derive(Debug, Clone)]
pub struct Event {
    pub id: EventId,
    pub operator_id: OperatorId,
    pub subject: Subject,
    pub event_type: EventType,
    /// When the fact was recorded, by the service's clock.
    pub created_at: Timestamp,
    /// The on-chain fact it announces. Each fact is announced once, whoever records it and however often. `None` when
    /// the subject identifies the fact, and for an event that was read back.
    pub fact: Option<String>,
    /// The payload: a JSON object that never changes, so that every delivery has the same bytes.
    pub data: Box<RawValue>,
}

/// The subject of an event, as far as it decides who receives the event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Subject {
    Transfer {
        account_id: AccountId,
        transfer_id: TransferId,
    },
    Balance {
        account_id: AccountId,
        threshold: UsdcAmount,
    },
    Account {
        account_id: AccountId,
    },
    /// The operator, and none of its accounts.
    Operator,
    Webhook(WebhookId),
}

impl Subject {
    /// True if it is about certain webhooks, and goes to no other that subscribes to its type.
    pub const fn names_webhooks(&self) -> bool {
        match self {
            Self::Balance { .. } | Self::Webhook(_) => true,
            Self::Transfer { .. } | Self::Account { .. } | Self::Operator => false,
        }
    }

    /// The account that the event is about, if any.
    pub const fn account_id(&self) -> Option<AccountId> {
        match self {
            Self::Transfer { account_id, .. }
            | Self::Balance { account_id, .. }
            | Self::Account { account_id } => Some(*account_id),
            Self::Operator | Self::Webhook(_) => None,
        }
    }
}

/// A policy that came into force.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PolicySet {
    pub operator_id: OperatorId,
    pub account_id: AccountId,
    pub version: u64,
    /// `None` when it could not be read.
    pub policy: Option<SpendingPolicy>,
    /// What set it. `None`: it was found in force.
    pub by: Option<SetBy>,
}

/// A transaction that set a policy.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SetBy {
    /// `None` when it is unknown.
    pub signer: Option<Address>,
    /// Base58.
    pub signature: String,
    pub at: Timestamp,
}

/// A transaction that halted accounts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HaltSet {
    pub operator_id: OperatorId,
    pub scope: HaltScope,
    /// `None` when it is unknown.
    pub by: Option<HaltedBy>,
    /// Base58.
    pub signature: String,
    pub at: Timestamp,
}
