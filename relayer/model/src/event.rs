//! What is announced, as far as it decides who receives it. The payloads are in `wire::events`.

use purser_core::words;
use serde_json::value::RawValue;

use super::{
    AccountId, Address, EventId, HaltScope, HaltedBy, OperatorId, SpendingPolicy, Timestamp, TransferId,
    UsdcAmount, WebhookId,
};

words! {
    /// Event types by their API names.
    pub enum EventType {
        /// A transfer passed policy and was submitted; not final yet.
        TransferInitiated = "transfer.initiated",
        /// A transfer is final on the chain.
        TransferSettled = "transfer.settled",
        /// Policy refused a transfer.
        TransferRejected = "transfer.rejected",
        /// A fork dropped the payment of a transfer that was settled: it is submitted again.
        TransferReopened = "transfer.reopened",
        /// A transfer that was reopened ended without a payment.
        TransferFailed = "transfer.failed",
        /// An account's balance fell below a webhook's threshold.
        BalanceLowThreshold = "balance.low_threshold",
        /// A policy that loosens something is pending on the chain.
        PolicyPending = "policy.pending",
        /// A pending policy is in force.
        PolicyApplied = "policy.applied",
        /// A payment brought the spending of 24 hours to a share of the daily cap.
        LimitThreshold = "limit.threshold",
        /// An account received money.
        DepositSettled = "deposit.settled",
        /// The operator's admin withdrew money from an account.
        WithdrawalSettled = "withdrawal.settled",
        /// A different policy is in force, whoever set it.
        PolicyChanged = "policy.changed",
        /// An account was halted, alone or with its operator.
        AccountHalted = "account.halted",
        /// Policy refused a transfer, and a person is asked.
        ApprovalRequested = "approval.requested",
        /// A grant covers the transfer, which is being paid by it.
        ApprovalGranted = "approval.granted",
        /// A person, or whoever had asked for the transfer, said no.
        ApprovalRejected = "approval.rejected",
        /// Nobody approved the transfer in time.
        ApprovalExpired = "approval.expired",
        /// What a person was asked about holds no longer.
        ApprovalVoid = "approval.void",
        /// The transfer was paid by its grant.
        ApprovalUsed = "approval.used",
        /// Somebody changed something through the service, and how that ended is on record.
        ActionRecorded = "action.recorded",
        /// An operator asked for a test of one webhook. Cannot be subscribed to.
        WebhookTest = "webhook.test",
    }
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
