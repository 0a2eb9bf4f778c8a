//! Records attempts, each with the next state of its delivery and the health of its webhook.

use futures::FutureExt;
use macro_rules_attribute::derive;

use super::columns::Table;
use super::deliveries::{GIVEN_UP_AT_ONCE, give_up_some};
use super::delivery_row::{DeliveryStateColumns, attempt_columns};
use super::query::query;
use super::row::ByName;
use super::{Store, StoreError, Transaction};
use crate::domain::{Attempt, DeliveryState, EndpointHealth, EventId, OperatorId, WebhookId};

const TABLE: Table = Table("webhooks");

/// An attempt made on a leased delivery.
#[derive(Debug, Clone)]
pub struct AttemptMade {
    pub operator_id: OperatorId,
    pub webhook_id: WebhookId,
    pub event_id: EventId,
    pub attempt: Attempt,
    /// The delivery's next state.
    pub next: DeliveryState,
}

#[derive(Debug, ByName!)]
struct HealthRow {
    failures: i64,
    failing_since: Option<String>,
    status: String,
}

impl Store {
    /// Records attempts, each with the next state of its delivery and its webhook's health; all in one transaction.
    /// Disables a webhook that has only failed for days. Drops attempts on deleted webhooks or deliveries.
    pub async fn mark_attempts(&self, made: &[AttemptMade]) -> Result<(), StoreError> {
        let (made, holder) = (made.to_vec(), self.holder.clone());
        self.write(move |tx| {
            async move {
                for attempt in &made {
                    mark_attempt(tx, attempt, &holder).await?;
                }
                Ok(())
            }
            .boxed()
        })
        .await
    }
}

async fn mark_attempt(tx: &mut Transaction<'_>, made: &AttemptMade, holder: &str) -> Result<(), StoreError> {
    let Some(number) = move_delivery(tx, made, holder).await? else { return Ok(()) };
    insert_attempt(tx, made, number).await?;
    mark_health(tx, made).await
}

/// Returns the attempt's number; `None` when the delivery no longer exists.
async fn move_delivery(
    tx: &mut Transaction<'_>,
    made: &AttemptMade,
    holder: &str,
) -> Result<Option<i64>, StoreError> {
    // An acknowledged event is delivered, whoever holds the lease now.
    const DELIVERED: &str =
        "UPDATE deliveries SET attempts = attempts + 1, state = 'delivered', failures = $4,
             next_attempt_at = NULL, ended_at = $5, lease_holder = NULL, lease_expires_at = NULL
         WHERE operator_id = $1 AND webhook_id = $2 AND event_id = $3 RETURNING attempts";
    const FAILED: &str = "UPDATE deliveries SET attempts = attempts + 1, state = $4, failures = $5,
             next_attempt_at = $6, ended_at = $7, lease_holder = NULL, lease_expires_at = NULL
         WHERE operator_id = $1 AND webhook_id = $2 AND event_id = $3 AND state = 'pending' AND lease_holder = $8
         RETURNING attempts";
    const COUNTED: &str = "UPDATE deliveries SET attempts = attempts + 1
         WHERE operator_id = $1 AND webhook_id = $2 AND event_id = $3 RETURNING attempts";
    let of_delivery = |sql| {
        let of_webhook = query(sql).bind(made.operator_id.to_string()).bind(made.webhook_id.to_string());
        of_webhook.bind(made.event_id.to_string())
    };
    let columns = DeliveryStateColumns::from(&made.next);
    let moved: Option<(i64,)> = match made.next {
        DeliveryState::Delivered { .. } => {
            let update = of_delivery(DELIVERED);
            update.bind(columns.failures).bind(columns.ended_at).fetch_optional(&mut *tx).await?
        }
        DeliveryState::Pending { .. } | DeliveryState::Undelivered { .. } => {
            of_delivery(FAILED)
                .bind(columns.state)
                .bind(columns.failures)
                .bind(columns.next_attempt_at)
                .bind(columns.ended_at)
                .bind(holder)
                .fetch_optional(&mut *tx)
                .await?
        }
    };
    let counted: Option<(i64,)> = match moved {
        Some(moved) => Some(moved),
        None => of_delivery(COUNTED).fetch_optional(tx).await?,
    };
    Ok(counted.map(|(number,)| number))
}

async fn insert_attempt(tx: &mut Transaction<'_>, made: &AttemptMade, number: i64) -> Result<(), StoreError> {
    const SQL: &str = "INSERT INTO delivery_attempts
             (operator_id, webhook_id, event_id, attempt, started_at, ended_at, status_code, body, unanswered)
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)";
    let (status_code, body, unanswered) = attempt_columns(&made.attempt.outcome);
    query(SQL)
        .bind(made.operator_id.to_string())
        .bind(made.webhook_id.to_string())
        .bind(made.event_id.to_string())
        .bind(number)
        .bind(made.attempt.started_at.to_string())
        .bind(made.attempt.ended_at.to_string())
        .bind(status_code)
        .bind(body)
        .bind(unanswered)
        .execute(tx)
        .await?;
    Ok(())
}

async fn mark_health(tx: &mut Transaction<'_>, made: &AttemptMade) -> Result<(), StoreError> {
    const WELL: &str =
        "UPDATE webhooks SET failures = 0, failing_since = NULL WHERE webhook_id = $1 AND failures > 0";
    const FAILED: &str = "UPDATE webhooks
         SET failures = failures + 1, failing_since = COALESCE(failing_since, $2)
         WHERE webhook_id = $1 RETURNING failures, failing_since, status";
    // A concurrent change that has not seen this must not undo it: see `mark_webhook_changed`.
    const DISABLED: &str = "UPDATE webhooks
         SET status = 'disabled', disabled_reason = $2, disabled_at = $3, updated_at = $3
         WHERE webhook_id = $1";
    let (webhook, ended_at) = (made.webhook_id.to_string(), made.attempt.ended_at);
    if made.attempt.outcome.is_success() {
        query(WELL).bind(webhook).execute(tx).await?;
        return Ok(());
    }
    let marked = query(FAILED).bind(webhook.as_str()).bind(ended_at.to_string());
    let row: Option<HealthRow> = marked.fetch_optional(&mut *tx).await?;
    let Some(row) = row else { return Ok(()) };
    let health = EndpointHealth {
        failures: u32::try_from(row.failures).unwrap_or(u32::MAX),
        failing_since: TABLE.read_optional("failing_since", row.failing_since.as_deref())?,
    };
    if let Some(reason) = health.disables(row.status == "enabled", ended_at) {
        let disabled = query(DISABLED).bind(webhook).bind(reason.as_str()).bind(ended_at.to_string());
        disabled.execute(&mut *tx).await?;
        give_up_some(tx, (made.operator_id, made.webhook_id), ended_at, GIVEN_UP_AT_ONCE).await?;
    }
    Ok(())
}
