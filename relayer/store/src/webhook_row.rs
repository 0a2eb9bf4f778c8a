//! A webhook as a row.

use super::query::{Query, sql};
use super::row::{Listed, row, unreadable};
use purser_model::{EndpointHealth, OperatorId, Subscription, Webhook, WebhookStatus};

row! { EndpointHealth { failures, failing_since } }

row! { Webhook from row {
    id: webhook_id, operator_id, url,
    subscription(events, account_ids, threshold_usdc) =
        Subscription::new(events, account_ids, threshold_usdc).map_err(|_| unreadable("events"))?,
    status(status, disabled_reason, disabled_at) =
        match (String::as_str(&status), disabled_reason, disabled_at) {
            ("enabled", _, _) => WebhookStatus::Enabled,
            ("disabled", Some(reason), Some(since)) => WebhookStatus::Disabled { reason, since },
            _ => return Err(unreadable("status")),
        },
    previous_secret_until(previous_until) = previous_until,
    health[failures, failing_since] = row.record()?,
    created_at, updated_at,
}}

/// Every webhook of the operator.
pub(super) fn all_of(operator: OperatorId) -> Query {
    sql! {"SELECT {columns} FROM webhooks WHERE operator_id = {operator}", columns = Webhook::COLUMNS, operator}
}
