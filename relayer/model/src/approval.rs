use purser_core::words;

use super::{AccountId, Failure, FailureCode, OperatorId, Transfer, TransferState};

words! {
    /// What became of asking a person about a transfer.
    pub enum ApprovalState = "ApprovalState":
        "`pending` waits for a person, `granted` is being paid, `used` is paid, `failed` was granted and not \
         paid. `rejected` says that a person said no, `withdrawn` that whoever had asked took it back. `void` says that the policy was changed, the account stopped, or the grant taken back." {
        /// Nobody has answered yet.
        Pending = "pending",
        /// A grant covers it: the payment is on its way.
        Granted = "granted",
        /// It was paid by its grant.
        Used = "used",
        /// A person said no.
        Rejected = "rejected",
        /// Whoever had asked for it took it back.
        Withdrawn = "withdrawn",
        Expired = "expired",
        /// The policy has changed, the account was stopped, or the grant was taken back.
        Void = "void",
        /// It was granted, and the payment was not made all the same.
        Failed = "failed",
    }
}

impl ApprovalState {
    /// Of a transfer about which a person was asked.
    pub const fn of(transfer: &Transfer) -> Self {
        match &transfer.state {
            TransferState::Claimed | TransferState::PendingApproval(_) => Self::Pending,
            TransferState::Signed(_) | TransferState::Sent { .. } => Self::Granted,
            TransferState::Settled(_) => Self::Used,
            TransferState::Failed(Failure { code: FailureCode::ApprovalRejected, .. }) => Self::Rejected,
            TransferState::Failed(Failure { code: FailureCode::ApprovalWithdrawn, .. }) => Self::Withdrawn,
            TransferState::Failed(Failure { code: FailureCode::ApprovalExpired, .. }) => Self::Expired,
            TransferState::Failed(Failure { code: FailureCode::ApprovalVoid, .. }) => Self::Void,
            TransferState::Rejected(_) | TransferState::Failed(_) => Self::Failed,
        }
    }

    /// Whether a grant was found that covered it.
    pub const fn is_granted(self) -> bool {
        match self {
            Self::Granted | Self::Used | Self::Failed => true,
            Self::Pending | Self::Rejected | Self::Withdrawn | Self::Expired | Self::Void => false,
        }
    }
}

/// Which approvals a list shows; `None` shows all.
#[derive(Debug, Clone, Copy, Default)]
pub struct ApprovalFilter {
    pub account: Option<AccountId>,
    pub state: Option<ApprovalState>,
}

impl ApprovalFilter {
    /// Binds a cursor of the list to its operator and filter.
    pub fn text(&self, operator_id: OperatorId) -> String {
        let account = self.account.map_or_else(String::new, |id| id.to_string());
        format!("approvals|{operator_id}|{account}|{}", self.state.map_or("", ApprovalState::as_str))
    }
}
