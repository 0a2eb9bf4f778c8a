//! Events as rows.

use super::Result;
use super::query::Sql;
use super::row::{Record, Row, unreadable};
use purser_model::{Event, Subject};

/// The columns of an [`Event`].
pub(super) const COLUMNS: Sql<&str> =
    Sql("events.event_id, events.operator_id, events.event_type, events.account_id,
    events.transfer_id, events.threshold_usdc, events.webhook_id, events.data, events.created_at");

impl Record for Event {
    fn read(row: &Row<'_>) -> Result<Self> {
        let columns = (row.get("transfer_id")?, row.get("threshold_usdc")?, row.get("webhook_id")?);
        let subject = match columns {
            (Some(transfer_id), None, None) => {
                Subject::Transfer { account_id: row.get("account_id")?, transfer_id }
            }
            (None, Some(threshold), None) => {
                Subject::Balance { account_id: row.get("account_id")?, threshold }
            }
            (None, None, Some(webhook_id)) => Subject::Webhook(webhook_id),
            (None, None, None) => match row.get("account_id")? {
                Some(account_id) => Subject::Account { account_id },
                None => Subject::Operator,
            },
            _ => return Err(unreadable("transfer_id")),
        };
        Ok(Self {
            id: row.get("event_id")?,
            operator_id: row.get("operator_id")?,
            subject,
            event_type: row.get("event_type")?,
            created_at: row.get("created_at")?,
            fact: None,
            data: row.get("data")?,
        })
    }
}
