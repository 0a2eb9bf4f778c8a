//! Deliveries and attempts as columns, and back.

use super::Result;
use super::row::{Record, Row, row, unreadable};
use purser_model::{Attempt, AttemptOutcome, Delivery, DeliveryState, EventId, Timestamp};

// Without its attempts: see [`AttemptRow`].
row! { Delivery from row {
    webhook_id, event_id, event_type,
    state = match row.get::<String>("state")?.as_str() {
        "pending" => DeliveryState::Pending {
            failures: row.get("failures")?,
            next_attempt_at: row.get("next_attempt_at")?,
        },
        "delivered" => DeliveryState::Delivered { delivered_at: row.get("ended_at")? },
        "undelivered" => DeliveryState::Undelivered { since: row.get("ended_at")? },
        _ => return Err(unreadable("state")),
    },
    created_at, attempts = Vec::new(),
}}

/// An attempt to deliver an event.
pub(super) struct AttemptRow(pub EventId, pub Attempt);

impl Record for AttemptRow {
    fn read(row: &Row<'_>) -> Result<Self> {
        let outcome = match (row.get("status_code")?, row.get("unanswered")?) {
            (Some(status), None) => AttemptOutcome::Answered {
                status,
                body: row.get::<Option<String>>("body")?.unwrap_or_default(),
            },
            (None, Some(reason)) => AttemptOutcome::Unanswered(reason),
            (Some(_), Some(_)) | (None, None) => return Err(unreadable("status_code")),
        };
        let attempt = Attempt { started_at: row.get("started_at")?, ended_at: row.get("ended_at")?, outcome };
        Ok(Self(row.get("event_id")?, attempt))
    }
}

/// A state as columns.
pub(super) struct DeliveryStateColumns {
    pub state: &'static str,
    pub failures: u32,
    pub next_attempt_at: Option<Timestamp>,
    pub ended_at: Option<Timestamp>,
}

impl From<&DeliveryState> for DeliveryStateColumns {
    fn from(state: &DeliveryState) -> Self {
        let (failures, next_attempt_at, ended_at) = match *state {
            DeliveryState::Pending { failures, next_attempt_at } => (failures, Some(next_attempt_at), None),
            DeliveryState::Delivered { delivered_at } => (0, None, Some(delivered_at)),
            DeliveryState::Undelivered { since } => (0, None, Some(since)),
        };
        Self { state: state.as_str(), failures, next_attempt_at, ended_at }
    }
}
