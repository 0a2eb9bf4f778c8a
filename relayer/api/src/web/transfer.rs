//! A transfer as it is answered, and what every request for one has.

use serde::Serialize;
use utoipa::ToSchema;

use super::error::Code;
use super::error::{ApiError, failure_code, rejection_code};
use super::unpaid::{Unpaid, refused_and_open};
use purser_model::wire::CheckBody;
use purser_model::wire::schema::{ApprovalLink, ExplorerLink, Message, Signature, Usdc};
use purser_model::{
    AccountId, Address, IdempotencyKey, Invalid, Memo, Recipient, Rejection, Timestamp, TransferId,
    TransferState, TransferStatus,
};
use purser_service::{TransferAnswer, TransferView};

/// Invalid: it is not given.
pub fn required<T>(param: &str, value: Option<T>) -> Result<T, Invalid> {
    value.ok_or_else(|| Invalid::new(param, "is required"))
}

/// The idempotency key, from the body or from the header.
pub fn named_once(
    body: Option<IdempotencyKey>,
    header: Option<String>,
) -> Result<Option<IdempotencyKey>, Invalid> {
    match (body, header) {
        (Some(body), Some(header)) if body.as_str() != header => {
            Err(Invalid::new("idempotency_key", "differs from the header `Idempotency-Key`"))
        }
        (Some(key), _) => Ok(Some(key)),
        (None, header) => header.map(IdempotencyKey::parse).transpose(),
    }
}

/// A transfer in any state.
#[derive(Serialize, ToSchema)]
#[schema(as = Transfer)]
pub struct TransferResponse {
    transfer_id: TransferId,
    status: TransferStatus,
    /// The account that pays.
    from: AccountId,
    /// As submitted.
    to: Recipient,
    /// The wallet that was named as the payee; `to` is its USDC token account then.
    to_wallet: Option<Address>,
    amount_usdc: Usdc,
    #[schema(required)]
    memo: Option<Memo>,
    idempotency_key: IdempotencyKey,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    tx_signature: Option<Signature>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    solana_explorer_url: Option<ExplorerLink>,
    /// Of what is settled.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    settled_at: Option<Timestamp>,
    created_at: Timestamp,
    /// Of what was rejected or failed, or what a seller refused.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    error: Option<Code>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    message: Option<Message>,
    /// When the rolling window has room for the amount, or the account for one more payment, if nothing else is paid.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    retry_at: Option<Timestamp>,
    /// Of what was rejected: what every rule said, in the order in which they win.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false, max_items = 16)]
    checks: Option<Vec<CheckBody>>,
    /// `true`: a person can approve it, if it is sent again under the same idempotency key with `"approval": "request"`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    approvable: Option<bool>,
    /// Of one about which a person was asked: until when it can be approved.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    approval_expires_at: Option<Timestamp>,
    /// The page to show to whoever approves it, where the service has a `server.public_url`. Whoever has the link sees the payment.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    approval_url: Option<ApprovalLink>,
    /// The wallet that approved it, once its grant has let it through.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    approved_by: Option<Address>,
    /// Of the transaction in which it did.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    grant_tx_signature: Option<Signature>,
}

impl TransferResponse {
    pub const fn is_submitted(&self) -> bool {
        matches!(self.status, TransferStatus::Submitted)
    }

    fn new(view: &TransferView) -> Self {
        let TransferView { transfer, explorer, approval_url, approved_by } = view;
        let request = &transfer.request;
        let bare = Self {
            transfer_id: transfer.id,
            status: transfer.state.status(),
            from: request.from,
            to: request.to.clone(),
            to_wallet: request.to.wallet(),
            amount_usdc: request.amount.into(),
            memo: request.memo.clone(),
            idempotency_key: transfer.idempotency_key.clone(),
            tx_signature: transfer.tx_signature().map(Signature::from),
            solana_explorer_url: transfer.tx_signature().map(|signature| explorer.of(signature).into()),
            settled_at: None,
            created_at: transfer.created_at,
            error: None,
            message: None,
            retry_at: None,
            checks: None,
            approvable: None,
            approval_expires_at: transfer.approval.requested().map(|requested| requested.expires_at),
            approval_url: approval_url.clone().map(ApprovalLink),
            approved_by: approved_by.as_ref().map(|by| by.signer),
            grant_tx_signature: approved_by.as_ref().map(|by| by.signature.as_str().into()),
        };
        match &transfer.state {
            TransferState::Claimed | TransferState::Signed(_) | TransferState::Sent { .. } => {
                let message = refused_and_open(transfer.refusal.as_ref(), &transfer.state);
                Self {
                    error: message.as_ref().map(|_| Code::PaymentRefused),
                    message: message.map(Message::from),
                    ..bare
                }
            }
            TransferState::Settled(settlement) => Self { settled_at: Some(settlement.settled_at), ..bare },
            TransferState::PendingApproval(wanted) => Self::refused(bare, &wanted.rejection),
            TransferState::Rejected(rejection) => Self {
                approvable: transfer.approval.would_help(rejection).then_some(true),
                ..Self::refused(bare, rejection)
            },
            TransferState::Failed(failure) => Self {
                error: Some(failure_code(failure.code)),
                message: Some(failure.message.as_str().into()),
                retry_at: failure.retry_at,
                ..bare
            },
        }
    }
}

impl TransferResponse {
    /// With what policy said.
    fn refused(bare: Self, rejection: &Rejection) -> Self {
        Self {
            error: Some(rejection_code(rejection.reason)),
            message: Some(rejection.message.as_str().into()),
            retry_at: rejection.retry_at,
            checks: Some(CheckBody::list(&rejection.checks)),
            ..bare
        }
    }
}

impl From<TransferView> for TransferResponse {
    fn from(view: TransferView) -> Self {
        Self::new(&view)
    }
}

/// A rejected or failed transfer is an error.
impl TryFrom<TransferAnswer> for TransferResponse {
    type Error = ApiError;

    fn try_from(answer: TransferAnswer) -> Result<Self, ApiError> {
        let TransferAnswer { view, checks, .. } = answer;
        match &view.transfer.state {
            TransferState::Claimed | TransferState::Signed(_) | TransferState::Sent { .. }
                if view.transfer.refusal.is_some() =>
            {
                Err(Unpaid { checks, ..view.transfer.into() }.into())
            }
            TransferState::Claimed
            | TransferState::PendingApproval(_)
            | TransferState::Signed(_)
            | TransferState::Sent { .. }
            | TransferState::Settled(_) => Ok(view.into()),
            TransferState::Rejected(_) | TransferState::Failed(_) => {
                Err(Unpaid { checks, ..view.transfer.into() }.into())
            }
        }
    }
}
