//! Event payloads: how each is made of its fact, and the envelope around them.

mod approvals;
mod described;
mod entries;
mod policies;
mod steps;

pub use self::described::envelope;
pub use self::policies::AnnouncedHalt;
use serde::Serialize;
use serde_json::value::RawValue;
use sha2::{Digest, Sha256};
use utoipa::ToSchema;

use super::ActionResponse;
use super::schema::{Message, Signature, Usdc};
use crate::{
    Account, AccountId, Address, Event, EventId, EventType, Failure, ListedAction, OperatorId, Rejection,
    RejectionReason, Settlement, Subject, Timestamp, Transfer, UsdcAmount, WebhookId,
};

#[derive(Serialize)]
struct Envelope<'a> {
    id: EventId,
    #[serde(rename = "type")]
    event_type: EventType,
    created_at: Timestamp,
    data: &'a RawValue,
}

/// The payload of an event of a transfer: what every one of them says, and what this one adds.
macro_rules! payload {
    ($name:ident { $($(#[$attribute:meta])* $field:ident: $type:ty),* $(,)? }) => {
        #[derive(Serialize, ToSchema)]
        pub struct $name {
            transfer_id: $crate::TransferId,
            /// The account that pays, or was to pay.
            account_id: $crate::AccountId,
            to: $crate::Recipient,
            /// The wallet that was named as the payee; `to` is its USDC token account then.
            to_wallet: Option<$crate::Address>,
            amount_usdc: $crate::wire::schema::Usdc,
            #[schema(required)]
            memo: Option<$crate::Memo>,
            idempotency_key: $crate::IdempotencyKey,
            $($(#[$attribute])* $field: $type,)*
        }

        impl $name {
            fn of(transfer: &Transfer, $($field: $type),*) -> Self {
                let request = &transfer.request;
                Self {
                    transfer_id: transfer.id.into(),
                    account_id: request.from.into(),
                    to: request.to.clone().into(),
                    to_wallet: request.to.wallet(),
                    amount_usdc: request.amount.into(),
                    memo: request.memo.clone(),
                    idempotency_key: transfer.idempotency_key.clone().into(),
                    $($field,)*
                }
            }
        }
    };
}
use payload;

payload! {
    InitiatedData { tx_signature: Signature }
}

payload! {
    SettledData {
        tx_signature: Signature,
        settled_at: Timestamp,
    }
}

payload! {
    RejectedData {
        rejection_reason: RejectionReason,
        /// Names the limit that refused, for people.
        message: Message,
    }
}

payload! {
    ReopenedData {
        /// Of the payment that is gone.
        tx_signature: Signature,
    }
}

payload! {
    FailedData {
        /// Why, for people.
        message: Message,
    }
}

#[derive(Serialize, ToSchema)]
pub struct LowBalanceData {
    account_id: AccountId,
    balance_usdc: Usdc,
    /// Where it is funded.
    usdc_token_account: Address,
    /// The webhook's `low_balance_threshold_usdc`.
    threshold_usdc: Usdc,
}

#[derive(Serialize, ToSchema)]
pub struct TestData {
    webhook_id: WebhookId,
}

impl Event {
    /// A node accepted the transfer under this signature (base58).
    pub fn transfer_initiated(transfer: &Transfer, tx_signature: &str, now: Timestamp) -> Self {
        let data = InitiatedData::of(transfer, tx_signature.into());
        Self::of_transfer(transfer, EventType::TransferInitiated, &data, now)
    }

    /// The transfer is final.
    pub fn transfer_settled(transfer: &Transfer, settlement: &Settlement, now: Timestamp) -> Self {
        let Settlement { signature, settled_at, .. } = settlement;
        let data = SettledData::of(transfer, signature.as_str().into(), *settled_at);
        Self::of_transfer(transfer, EventType::TransferSettled, &data, now)
    }

    /// Policy refused the transfer.
    pub fn transfer_rejected(transfer: &Transfer, rejection: &Rejection, now: Timestamp) -> Self {
        let data = RejectedData::of(transfer, rejection.reason, rejection.message.as_str().into());
        Self::of_transfer(transfer, EventType::TransferRejected, &data, now)
    }

    /// A fork dropped the payment with this signature (base58), which had settled the transfer.
    pub fn transfer_reopened(transfer: &Transfer, tx_signature: &str, now: Timestamp) -> Self {
        let data = ReopenedData::of(transfer, tx_signature.into());
        Self::of_transfer(transfer, EventType::TransferReopened, &data, now)
    }

    /// The transfer ended without a payment.
    pub fn transfer_failed(transfer: &Transfer, failure: &Failure, now: Timestamp) -> Self {
        let data = FailedData::of(transfer, failure.message.as_str().into());
        Self::of_transfer(transfer, EventType::TransferFailed, &data, now)
    }

    /// The balance of `account` fell below `threshold`.
    pub fn balance_low(
        account: &Account,
        balance: UsdcAmount,
        threshold: UsdcAmount,
        now: Timestamp,
        random: u128,
    ) -> Self {
        let data = LowBalanceData {
            account_id: account.id,
            balance_usdc: balance.into(),
            usdc_token_account: account.token_account,
            threshold_usdc: threshold.into(),
        };
        let subject = Subject::Balance { account_id: account.id, threshold };
        let of = (account.operator_id, subject);
        Self::new(EventId::new(now, random), of, EventType::BalanceLowThreshold, &data, now)
    }

    /// A test of one webhook.
    pub fn webhook_test(operator_id: OperatorId, webhook: WebhookId, now: Timestamp, random: u128) -> Self {
        let (of, data) = ((operator_id, Subject::Webhook(webhook)), TestData { webhook_id: webhook });
        Self::new(EventId::new(now, random), of, EventType::WebhookTest, &data, now)
    }

    /// An action, as it ended and as it is listed.
    pub fn action_recorded(listed: ListedAction, now: Timestamp) -> Self {
        let (operator_id, event_type) = (listed.action.operator_id, EventType::ActionRecorded);
        let fact = format!("{event_type}|{}", listed.action.id);
        let id = id_of(fact.as_bytes(), event_type, now);
        let data = ActionResponse::from(listed);
        Self { fact: Some(fact), ..Self::new(id, (operator_id, Subject::Operator), event_type, &data, now) }
    }

    /// The id follows from the transfer and the type, so everybody who records the fact makes the same event.
    fn of_transfer(
        transfer: &Transfer,
        event_type: EventType,
        data: &impl Serialize,
        now: Timestamp,
    ) -> Self {
        // A step is announced once, and once more after each time that the transfer was reopened.
        let again =
            (transfer.reopened > 0).then(|| format!("{event_type}|{}|{}", transfer.id, transfer.reopened));
        let id = again.as_ref().map_or_else(|| transfer.id.bytes().to_vec(), |fact| fact.as_bytes().to_vec());
        let subject = Subject::Transfer { account_id: transfer.request.from, transfer_id: transfer.id };
        let of = (transfer.operator_id, subject);
        Self { fact: again, ..Self::new(id_of(&id, event_type, now), of, event_type, data, now) }
    }

    /// An on-chain fact about an account, announced once per `fact`.
    fn of_account(
        (operator_id, account_id): (OperatorId, AccountId),
        event_type: EventType,
        fact: &str,
        data: &impl Serialize,
        now: Timestamp,
    ) -> Self {
        let fact = format!("{event_type}|{fact}");
        let (id, of) =
            (id_of(fact.as_bytes(), event_type, now), (operator_id, Subject::Account { account_id }));
        Self { fact: Some(fact), ..Self::new(id, of, event_type, data, now) }
    }

    fn new(
        id: EventId,
        (operator_id, subject): (OperatorId, Subject),
        event_type: EventType,
        data: &impl Serialize,
        created_at: Timestamp,
    ) -> Self {
        Self { id, operator_id, subject, event_type, created_at, fact: None, data: raw(data) }
    }

    /// The envelope: `{"id":"evt_...","type":"...","created_at":"...","data":{...}}`. Always the same text.
    pub fn envelope(&self) -> Box<RawValue> {
        raw(&Envelope {
            id: self.id,
            event_type: self.event_type,
            created_at: self.created_at,
            data: &self.data,
        })
    }
}

/// The id of `subject`'s event of this type at this time.
fn id_of(subject: &[u8], event_type: EventType, now: Timestamp) -> EventId {
    let digest: [u8; 32] =
        Sha256::new().chain_update(subject).chain_update(event_type.as_str()).finalize().into();
    let (bits, _) = digest.split_first_chunk().unwrap_or((&[0; 16], &[]));
    EventId::new(now, u128::from_le_bytes(*bits))
}

fn raw(value: &impl Serialize) -> Box<RawValue> {
    // Structs of texts always serialise to JSON, so the fallback is never taken.
    serde_json::value::to_raw_value(value).unwrap_or_else(|_| RawValue::NULL.to_owned())
}

#[cfg(test)]
mod tests;
