//! Describes each event type for the API's documentation.

use utoipa::openapi::schema::{ObjectBuilder, Type};
use utoipa::openapi::{RefOr, Schema};
use utoipa::{PartialSchema, ToSchema};

use super::approvals::ApprovalData;
use super::entries::{DepositData, ThresholdData, WithdrawalData};
use super::policies::{AppliedData, ChangedData, HaltedData, PendingData};
use super::{FailedData, InitiatedData, LowBalanceData, RejectedData, ReopenedData, SettledData, TestData};
use crate::wire::ActionResponse;
use crate::wire::schema::reference;
use crate::{EventId, EventType, Timestamp};

/// An event type in words and as a schema.
pub struct Described {
    pub fires_when: &'static str,
    pub envelope: Schema,
    /// The named schemas that the envelope refers to.
    pub refers_to: Vec<(String, RefOr<Schema>)>,
}

impl EventType {
    /// The name of its envelope's schema: `TransferSettledEvent`.
    pub fn schema_name(self) -> String {
        let words = self.as_str().split(['.', '_']).map(|word| {
            let (first, rest) = word.split_at(1);
            first.to_uppercase() + rest
        });
        words.collect::<String>() + "Event"
    }

    pub fn described(self) -> Described {
        match self {
            Self::TransferInitiated => self.with::<InitiatedData>(
                "A transfer passed policy and was submitted to Solana. It is not final.",
            ),
            Self::TransferSettled => {
                self.with::<SettledData>("A transfer is final on the chain. May overtake `transfer.initiated`.")
            }
            Self::TransferRejected => self.with::<RejectedData>(
                "Policy refused a transfer; nothing was sent. A balance that is too low is no refusal.",
            ),
            Self::TransferReopened => self.with::<ReopenedData>(
                "A fork of the chain dropped the payment of a transfer that was settled. The transfer is `submitted` again, and \
                 settles, is rejected or fails. Only where `commitment` is `confirmed`.",
            ),
            Self::TransferFailed => self.with::<FailedData>(
                "A transfer that was reopened has ended without a payment. Other failures are the answer to their request.",
            ),
            Self::BalanceLowThreshold => self.with::<LowBalanceData>(
                "A balance fell from at or above the webhook's threshold to below it. Once, until it was back.",
            ),
            Self::PolicyPending => {
                self.with::<PendingData>("A policy that loosens something is on the chain and is pending.")
            }
            Self::PolicyApplied => self.with::<AppliedData>("A pending policy is in force."),
            Self::LimitThreshold => self.with::<ThresholdData>(
                "A payment brought what counts against a limit, of the account or of its budget, to 80 or 100 % of it.",
            ),
            Self::DepositSettled => {
                self.with::<DepositData>("Money came into an account, however it came.")
            }
            Self::WithdrawalSettled => {
                self.with::<WithdrawalData>("The operator's admin took money out of an account.")
            }
            Self::PolicyChanged => {
                self.with::<ChangedData>("Another policy is in force, whoever set it.")
            }
            Self::AccountHalted => {
                self.with::<HaltedData>("An account was halted, by itself or with its operator.")
            }
            Self::ApprovalRequested => self.with::<ApprovalData>(
                "Policy refused a transfer by a rule that a grant may waive, and it waits for a person: `pending_approval`.",
            ),
            Self::ApprovalGranted => {
                self.with::<ApprovalData>("An approver's grant is on the chain, and the transfer is being paid by it.")
            }
            Self::ApprovalRejected => self.with::<ApprovalData>(
                "Somebody said no to a transfer that waited for a person, or the agent has withdrawn it.",
            ),
            Self::ApprovalExpired => self.with::<ApprovalData>("Nobody approved a transfer in time."),
            Self::ApprovalVoid => self.with::<ApprovalData>(
                "A transfer can no longer be approved: the policy was changed, the account stopped, or the grant taken back.",
            ),
            Self::ApprovalUsed => self.with::<ApprovalData>("A transfer was paid by its grant, and is final."),
            Self::ActionRecorded => self.with::<ActionResponse>(
                "Somebody changed something through the service, with a key, on the dashboard or on the server, and how that ended \
                 is on record: `data` is the action, as it is listed. A webhook for some accounts alone does not get it.",
            ),
            Self::WebhookTest => self.with::<TestData>("You asked for it with `POST /v1/webhooks/{id}/test`."),
        }
    }

    fn with<Data: ToSchema>(self, fires_when: &'static str) -> Described {
        let mut data = reference::<Data>();
        data.description = "Event payload.".to_owned();
        let kind = ObjectBuilder::new().schema_type(Type::String).enum_values(Some([self.as_str()]));
        let envelope = envelope(fires_when, kind, data);
        let mut refers_to = vec![
            (EventId::name().into_owned(), EventId::schema()),
            (Timestamp::name().into_owned(), Timestamp::schema()),
            (Data::name().into_owned(), Data::schema()),
        ];
        Data::schemas(&mut refers_to);
        Described { fires_when, envelope, refers_to }
    }
}

/// Events of one type, or of types that nobody knows yet.
pub fn envelope(description: &str, kind: ObjectBuilder, data: impl Into<RefOr<Schema>>) -> Schema {
    let event = ObjectBuilder::new()
        .schema_type(Type::Object)
        .description(Some(description))
        .property("id", reference::<EventId>())
        .property("type", kind)
        .property("created_at", reference::<Timestamp>())
        .property("data", data);
    ["id", "type", "created_at", "data"].into_iter().fold(event, ObjectBuilder::required).build().into()
}
