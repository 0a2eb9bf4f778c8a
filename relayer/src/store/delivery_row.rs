//! Deliveries and attempts as columns, and back.

use macro_rules_attribute::derive;

use super::StoreError;
use super::columns::Table;
use super::row::ByName;
use crate::domain::{Attempt, AttemptOutcome, Delivery, DeliveryState, Unanswered};

const TABLE: Table = Table("deliveries");
const ATTEMPTS: Table = Table("delivery_attempts");

#[derive(Debug, ByName!)]
pub(super) struct DeliveryRow {
    webhook_id: String,
    pub event_id: String,
    event_type: String,
    state: String,
    failures: i64,
    next_attempt_at: Option<String>,
    ended_at: Option<String>,
    created_at: String,
}

#[derive(Debug, ByName!)]
pub(super) struct AttemptRow {
    event_id: String,
    started_at: String,
    ended_at: String,
    status_code: Option<i64>,
    body: Option<String>,
    unanswered: Option<String>,
}

impl DeliveryRow {
    /// The delivery, with its own rows among `attempts`, in their order.
    pub fn into_delivery(self, attempts: &[AttemptRow]) -> Result<Delivery, StoreError> {
        let own = attempts.iter().filter(|attempt| attempt.event_id == self.event_id);
        Ok(Delivery {
            webhook_id: TABLE.read("webhook_id", &self.webhook_id)?,
            event_id: TABLE.read("event_id", &self.event_id)?,
            event_type: TABLE.read("event_type", &self.event_type)?,
            state: self.read_state()?,
            created_at: TABLE.read("created_at", &self.created_at)?,
            attempts: own.map(AttemptRow::read).collect::<Result<_, _>>()?,
        })
    }

    fn read_state(&self) -> Result<DeliveryState, StoreError> {
        let ended_at = || TABLE.read("ended_at", TABLE.required("ended_at", self.ended_at.as_deref())?);
        Ok(match self.state.as_str() {
            "pending" => {
                let next = TABLE.required("next_attempt_at", self.next_attempt_at.as_deref())?;
                DeliveryState::Pending {
                    failures: u32::try_from(self.failures).map_err(|_| TABLE.unreadable("failures"))?,
                    next_attempt_at: TABLE.read("next_attempt_at", next)?,
                }
            }
            "delivered" => DeliveryState::Delivered { delivered_at: ended_at()? },
            "undelivered" => DeliveryState::Undelivered { since: ended_at()? },
            _ => return Err(TABLE.unreadable("state")),
        })
    }
}

impl AttemptRow {
    fn read(&self) -> Result<Attempt, StoreError> {
        let outcome = match (self.status_code, &self.unanswered) {
            (Some(status), None) => AttemptOutcome::Answered {
                status: u16::try_from(status).map_err(|_| ATTEMPTS.unreadable("status_code"))?,
                body: self.body.clone().unwrap_or_default(),
            },
            (None, Some(reason)) => {
                let reason = Unanswered::from_stored(reason);
                AttemptOutcome::Unanswered(ATTEMPTS.required("unanswered", reason)?)
            }
            (Some(_), Some(_)) | (None, None) => return Err(ATTEMPTS.unreadable("status_code")),
        };
        Ok(Attempt {
            started_at: ATTEMPTS.read("started_at", &self.started_at)?,
            ended_at: ATTEMPTS.read("ended_at", &self.ended_at)?,
            outcome,
        })
    }
}

/// A state as columns.
pub(super) struct DeliveryStateColumns {
    pub state: &'static str,
    pub failures: i64,
    pub next_attempt_at: Option<String>,
    pub ended_at: Option<String>,
}

impl From<&DeliveryState> for DeliveryStateColumns {
    fn from(state: &DeliveryState) -> Self {
        let (failures, next_attempt_at, ended_at) = match state {
            DeliveryState::Pending { failures, next_attempt_at } => {
                (i64::from(*failures), Some(next_attempt_at.to_string()), None)
            }
            DeliveryState::Delivered { delivered_at } => (0, None, Some(delivered_at.to_string())),
            DeliveryState::Undelivered { since } => (0, None, Some(since.to_string())),
        };
        Self { state: state.as_str(), failures, next_attempt_at, ended_at }
    }
}

/// An outcome as the columns `status_code`, `body` and `unanswered`.
pub(super) fn attempt_columns(
    outcome: &AttemptOutcome,
) -> (Option<i64>, Option<String>, Option<&'static str>) {
    match outcome {
        AttemptOutcome::Answered { status, body } => (Some(i64::from(*status)), Some(body.clone()), None),
        AttemptOutcome::Unanswered(reason) => (None, None, Some(reason.as_str())),
    }
}
