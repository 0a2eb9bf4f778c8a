use super::{AccountId, KeyId, Operator, OperatorId, Scope, Scopes};

/// The caller, identified by the API key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Principal {
    /// The operator: all of its accounts.
    Operator { operator: Operator, key_id: KeyId, scopes: Scopes },
    /// An agent: one account of the operator, and never its policy.
    Agent { operator: Operator, account_id: AccountId, key_id: KeyId, scopes: Scopes },
}

impl Principal {
    /// The operator whose data the caller may touch.
    pub fn operator(&self) -> &Operator {
        match self {
            Self::Operator { operator, .. } | Self::Agent { operator, .. } => operator,
        }
    }

    /// The operator's id: the first argument of every finder.
    pub fn operator_id(&self) -> OperatorId {
        self.operator().id
    }

    /// The key in use; rate limits count per key.
    pub fn key_id(&self) -> KeyId {
        match self {
            Self::Operator { key_id, .. } | Self::Agent { key_id, .. } => *key_id,
        }
    }

    /// What the key in use may do.
    pub fn scopes(&self) -> Scopes {
        match self {
            Self::Operator { scopes, .. } | Self::Agent { scopes, .. } => *scopes,
        }
    }

    /// Whether what belongs to this account is shown to it.
    pub fn may_see(&self, account: AccountId) -> bool {
        match self {
            Self::Operator { .. } => true,
            Self::Agent { account_id, .. } => *account_id == account,
        }
    }

    /// Whether it can halt or pause something. No agent can.
    pub fn may_stop(&self) -> bool {
        match self {
            Self::Operator { scopes, .. } => scopes.have_one_of(Scopes::of(&[Scope::Halt, Scope::Policy])),
            Self::Agent { .. } => false,
        }
    }
}
