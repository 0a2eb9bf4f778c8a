//! Events of transfers about which a person is asked.

use serde::Serialize;
use utoipa::ToSchema;

use crate::domain::{ApprovalRequested, Event, EventType, FailureCode, Timestamp, Transfer, TransferState};
use crate::wire::schema::{self, Message, Text, Usdc};

#[derive(Serialize, ToSchema)]
pub(crate) struct ApprovalData {
    transfer_id: schema::TransferId,
    /// The account that is to pay.
    account_id: schema::AccountId,
    to: schema::Recipient,
    amount_usdc: Usdc,
    #[schema(required)]
    memo: Option<schema::Memo>,
    idempotency_key: schema::IdempotencyKey,
    /// Why policy refused it.
    rejection_reason: schema::RejectionReason,
    /// Until when it can be approved.
    expires_at: schema::Timestamp,
    /// For people: which limit refused it, or why it is over. `null` where it was granted.
    #[schema(required)]
    message: Option<Message>,
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
                    FailureCode::ApprovalRejected => EventType::ApprovalRejected,
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
        let request = &transfer.request;
        let data = ApprovalData {
            transfer_id: transfer.id.into(),
            account_id: request.from.into(),
            to: request.to.clone().into(),
            amount_usdc: request.amount.into(),
            memo: request.memo.clone().map(Text),
            idempotency_key: request.idempotency_key.clone().into(),
            rejection_reason: reason.into(),
            expires_at: expires_at.into(),
            message: message.map(Message::from),
        };
        // A fork may take the payment back, which is then made once more.
        let fact = format!("{}|{}", transfer.id, transfer.reopened);
        Some(Self::of_account((transfer.operator_id, request.from), event_type, &fact, &data, now))
    }
}
