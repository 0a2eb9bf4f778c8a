//! Events as rows.

use macro_rules_attribute::derive;
use serde_json::value::RawValue;

use super::StoreError;
use super::columns::Table;
use super::row::ByName;
use crate::domain::{AccountId, Event, Subject};

const TABLE: Table = Table("events");

/// The columns of [`EventRow`].
pub(super) const COLUMNS: &str = "events.event_id, events.operator_id, events.event_type, events.account_id,
    events.transfer_id, events.threshold_usdc, events.webhook_id, events.data, events.created_at";

#[derive(Debug, ByName!)]
pub(super) struct EventRow {
    event_id: String,
    operator_id: String,
    event_type: String,
    account_id: Option<String>,
    transfer_id: Option<String>,
    threshold_usdc: Option<String>,
    webhook_id: Option<String>,
    data: String,
    created_at: String,
}

impl TryFrom<EventRow> for Event {
    type Error = StoreError;

    fn try_from(row: EventRow) -> Result<Self, StoreError> {
        let account_id = || {
            let text = TABLE.required("account_id", row.account_id.as_deref())?;
            TABLE.read::<AccountId>("account_id", text)
        };
        let subject = match (&row.transfer_id, &row.threshold_usdc, &row.webhook_id) {
            (Some(transfer_id), None, None) => Subject::Transfer {
                account_id: account_id()?,
                transfer_id: TABLE.read("transfer_id", transfer_id)?,
            },
            (None, Some(threshold), None) => Subject::Balance {
                account_id: account_id()?,
                threshold: TABLE.read("threshold_usdc", threshold)?,
            },
            (None, None, Some(webhook_id)) => Subject::Webhook(TABLE.read("webhook_id", webhook_id)?),
            (None, None, None) => Subject::Account { account_id: account_id()? },
            _ => return Err(TABLE.unreadable("transfer_id")),
        };
        Ok(Self {
            id: TABLE.read("event_id", &row.event_id)?,
            operator_id: TABLE.read("operator_id", &row.operator_id)?,
            subject,
            event_type: TABLE.read("event_type", &row.event_type)?,
            created_at: TABLE.read("created_at", &row.created_at)?,
            fact: None,
            data: RawValue::from_string(row.data).map_err(|_| TABLE.unreadable("data"))?,
        })
    }
}
