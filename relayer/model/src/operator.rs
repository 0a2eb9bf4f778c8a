use std::path::PathBuf;

use super::name::Label;
use super::{Address, Network, OperatorId, Timestamp};

/// An operator on one network: the tenant that owns accounts, keys and transfers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Operator {
    pub id: OperatorId,
    pub network: Network,
    pub name: Label,
    /// The on-chain Operator account.
    pub address: Address,
    /// Changes of policies need a reason; pauses and halts never do.
    pub requires_reason: bool,
    pub created_at: Timestamp,
}

/// A defence against whoever takes the server that an operator does without.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum OpenDefence {
    NoLooseningDelay,
    NoGuardian,
    /// The admin's key lies in this file on the server.
    AdminKeyHere(PathBuf),
}

impl OpenDefence {
    /// The defence, in a few words.
    pub const fn name(&self) -> &'static str {
        match self {
            Self::NoLooseningDelay => "loosening delay",
            Self::NoGuardian => "guardian",
            Self::AdminKeyHere(_) => "admin key",
        }
    }

    /// What follows from its lack.
    pub const fn in_words(&self) -> &'static str {
        match self {
            Self::NoLooseningDelay => {
                "There is no loosening delay: a looser policy takes effect at once, even one set by someone who broke into the server."
            }
            Self::NoGuardian => {
                "There is no guardian: only the admin and this service can halt the accounts or drop a pending policy."
            }
            Self::AdminKeyHere(_) => {
                "The admin's key lies on the server, beside the service's keys: someone who breaks into the server can withdraw everything."
            }
        }
    }

    /// What the operator at this address does about it.
    pub fn mend(&self, operator: &Address) -> String {
        match self {
            Self::NoLooseningDelay => {
                format!("anchor run operator-update -- --operator {operator} --loosening-delay 1d --yes")
            }
            Self::NoGuardian => {
                format!("anchor run operator-update -- --operator {operator} --guardian ADDRESS --yes")
            }
            Self::AdminKeyHere(_) => {
                "move the file to a machine that serves nothing, and restart the service".to_owned()
            }
        }
    }
}
