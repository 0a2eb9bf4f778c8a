use serde::Serialize;
use utoipa::ToSchema;

use super::wire::schema::Signature;
use super::{AccountId, ActionId, HaltedBy, OperatorId, Timestamp};

/// A pause or a halt of ours that landed. A fork may still drop it, until it is final.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stop {
    pub operator_id: OperatorId,
    /// `None`: it had to do without a record.
    pub action_id: Option<ActionId>,
    pub what: Stopped,
    /// Base58.
    pub tx_signature: String,
    /// When it landed, or landed again, by the service's clock.
    pub landed_at: Timestamp,
}

/// What a stop stops.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stopped {
    /// By the account's policy.
    Paused(AccountId),
    /// One account, or every account of the operator.
    Halted(Option<AccountId>),
}

impl Stopped {
    pub const fn account_id(self) -> Option<AccountId> {
        match self {
            Self::Paused(account) => Some(account),
            Self::Halted(account) => account,
        }
    }

    /// `pause` or `halt`.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Paused(_) => "pause",
            Self::Halted(_) => "halt",
        }
    }
}

/// What is halted: the operator, or one account.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct Halted {
    /// Always `true`.
    pub halted: bool,
    pub halted_by: HaltedBy,
    pub tx_signature: Signature,
    /// This request, on record; `null` where its record could not be written, which no halt waits for.
    #[schema(required)]
    pub action_id: Option<ActionId>,
}
