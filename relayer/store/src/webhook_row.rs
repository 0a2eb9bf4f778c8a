//! A webhook as a row.

use super::Result;
use super::query::{Query, Sql, sql};
use super::row::{Record, Row, row, unreadable};
use purser_model::{EndpointHealth, OperatorId, Subscription, Webhook, WebhookStatus};

/// The columns of a [`Webhook`].
pub(super) const COLUMNS: Sql<&str> =
    Sql("webhook_id, operator_id, url, events, account_ids, threshold_usdc, status,
    disabled_reason, disabled_at, previous_until, failures, failing_since, created_at, updated_at");

row! { EndpointHealth { failures, failing_since } }

impl Record for Webhook {
    fn read(row: &Row<'_>) -> Result<Self> {
        let (events, accounts): (Vec<_>, Vec<_>) = (row.get("events")?, row.get("account_ids")?);
        let subscription = Subscription::new(events, accounts, row.get("threshold_usdc")?);
        Ok(Self {
            id: row.get("webhook_id")?,
            operator_id: row.get("operator_id")?,
            url: row.get("url")?,
            subscription: subscription.map_err(|_| unreadable("events"))?,
            status: match row.get::<String>("status")?.as_str() {
                "enabled" => WebhookStatus::Enabled,
                "disabled" => WebhookStatus::Disabled {
                    reason: row.get("disabled_reason")?,
                    since: row.get("disabled_at")?,
                },
                _ => return Err(unreadable("status")),
            },
            health: EndpointHealth::read(row)?,
            previous_secret_until: row.get("previous_until")?,
            created_at: row.get("created_at")?,
            updated_at: row.get("updated_at")?,
        })
    }
}

/// Every webhook of the operator.
pub(super) fn all_of(operator: OperatorId) -> Query {
    sql! {"SELECT {columns} FROM webhooks WHERE operator_id = {operator}", columns = COLUMNS, operator}
}
