//! The payload of each event type, for the API's documentation.

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

impl EventType {
    /// The name of its envelope's schema: `TransferSettledEvent`.
    pub fn schema_name(self) -> String {
        let words = self.as_str().split(['.', '_']).map(|word| {
            let (first, rest) = word.split_at(1);
            first.to_uppercase() + rest
        });
        words.collect::<String>() + "Event"
    }

    /// Its envelope, and the named schemas that this refers to.
    pub fn described(self) -> (Schema, Vec<(String, RefOr<Schema>)>) {
        match self {
            Self::TransferInitiated => self.with::<InitiatedData>(),
            Self::TransferSettled => self.with::<SettledData>(),
            Self::TransferRejected => self.with::<RejectedData>(),
            Self::TransferReopened => self.with::<ReopenedData>(),
            Self::TransferFailed => self.with::<FailedData>(),
            Self::BalanceLowThreshold => self.with::<LowBalanceData>(),
            Self::PolicyPending => self.with::<PendingData>(),
            Self::PolicyApplied => self.with::<AppliedData>(),
            Self::LimitThreshold => self.with::<ThresholdData>(),
            Self::DepositSettled => self.with::<DepositData>(),
            Self::WithdrawalSettled => self.with::<WithdrawalData>(),
            Self::PolicyChanged => self.with::<ChangedData>(),
            Self::AccountHalted => self.with::<HaltedData>(),
            Self::ApprovalRequested
            | Self::ApprovalGranted
            | Self::ApprovalRejected
            | Self::ApprovalExpired
            | Self::ApprovalVoid
            | Self::ApprovalUsed => self.with::<ApprovalData>(),
            Self::ActionRecorded => self.with::<ActionResponse>(),
            Self::WebhookTest => self.with::<TestData>(),
        }
    }

    fn with<Data: ToSchema>(self) -> (Schema, Vec<(String, RefOr<Schema>)>) {
        let mut data = reference::<Data>();
        data.description = "Event payload.".to_owned();
        let kind = ObjectBuilder::new().schema_type(Type::String).enum_values(Some([self.as_str()]));
        let envelope = envelope(self.fires_when(), kind, data);
        let mut refers_to = vec![
            (EventId::name().into_owned(), EventId::schema()),
            (Timestamp::name().into_owned(), Timestamp::schema()),
            (Data::name().into_owned(), Data::schema()),
        ];
        Data::schemas(&mut refers_to);
        (envelope, refers_to)
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
