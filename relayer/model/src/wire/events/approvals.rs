//! Events of transfers about which a person is asked.

use serde::Serialize;
use utoipa::ToSchema;

use super::payload;
use crate::wire::schema::Message;
use crate::{
    ApprovalRequested, Event, EventType, FailureCode, RejectionReason, Timestamp, Transfer, TransferState,
};

payload! {
    ApprovalData {
        /// Why policy refused it.
        rejection_reason: RejectionReason,
        /// Until when it can be approved.
        expires_at: Timestamp,
        /// For people: which limit refused it, or why it is over. `null` where it was granted.
        #[schema(required)]
        message: Option<Message>,
        /// Whether the operator's admin alone can let it pass, because it exceeds the daily limit. `null` once it does not wait any more.
        #[schema(required)]
        needs_admin: Option<bool>,
    }
}

impl Event {
    /// The event of a step of a transfer about which a person is or was asked.
    pub(super) fn of_approval(transfer: &Transfer, next: &TransferState, now: Timestamp) -> Option<Self> {
        let (event_type, requested, message) = match next {
            TransferState::PendingApproval(wanted) => {
                let message = Some(wanted.rejection.message.as_str());
                (EventType::ApprovalRequested, wanted.requested().requested()?, message)
            }
            TransferState::Signed(_) if matches!(transfer.state, TransferState::PendingApproval(_)) => {
                (EventType::ApprovalGranted, transfer.approval.requested()?, None)
            }
            TransferState::Settled(_) => (EventType::ApprovalUsed, transfer.approval.requested()?, None),
            TransferState::Failed(failure) => {
                let event_type = match failure.code {
                    FailureCode::ApprovalRejected | FailureCode::ApprovalWithdrawn => {
                        EventType::ApprovalRejected
                    }
                    FailureCode::ApprovalExpired => EventType::ApprovalExpired,
                    FailureCode::ApprovalVoid => EventType::ApprovalVoid,
                    _ => return None,
                };
                (event_type, transfer.approval.requested()?, Some(failure.message.as_str()))
            }
            TransferState::Claimed
            | TransferState::Signed(_)
            | TransferState::Sent { .. }
            | TransferState::Rejected(_) => return None,
        };
        let ApprovalRequested { reason, expires_at } = requested;
        let needs_admin = match next {
            TransferState::PendingApproval(wanted) => Some(!wanted.rejection.is_for_approvers()),
            TransferState::Claimed
            | TransferState::Signed(_)
            | TransferState::Sent { .. }
            | TransferState::Settled(_)
            | TransferState::Rejected(_)
            | TransferState::Failed(_) => None,
        };
        let data = ApprovalData::of(transfer, reason, expires_at, message.map(Message::from), needs_admin);
        // A fork may take the payment back, which is then made once more.
        let fact = format!("{}|{}", transfer.id, transfer.reopened);
        Some(Self::of_account((transfer.operator_id, transfer.request.from), event_type, &fact, &data, now))
    }
}
