//! Deliveries and attempts as columns, and back.

use super::row::{row, unreadable};
use purser_model::{Attempt, AttemptOutcome, Delivery, DeliveryState, Timestamp};

// Without its attempts.
row! { Delivery of deliveries from row {
    webhook_id, event_id, event_type = row.get("event_type")?,
    state(state, failures, next_attempt_at, ended_at) =
        match (String::as_str(&state), next_attempt_at, ended_at) {
            ("pending", Some(next_attempt_at), _) => DeliveryState::Pending { failures, next_attempt_at },
            ("delivered", _, Some(delivered_at)) => DeliveryState::Delivered { delivered_at },
            ("undelivered", _, Some(since)) => DeliveryState::Undelivered { since },
            _ => return Err(unreadable("state")),
        },
    created_at, attempts = Vec::new(),
}}

row! { Attempt {
    started_at, ended_at,
    outcome(status_code, body, unanswered) = match (status_code, unanswered) {
        (Some(status), None) => AttemptOutcome::Answered { status, body: Option::unwrap_or_default(body) },
        (None, Some(reason)) => AttemptOutcome::Unanswered(reason),
        (Some(_), Some(_)) | (None, None) => return Err(unreadable("status_code")),
    },
}}

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
