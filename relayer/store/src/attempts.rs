//! Records attempts, each with the next state of its delivery and the health of its webhook.

use super::deliveries::{GIVEN_UP_AT_ONCE, columns_of, give_up_some};
use super::query::{columns, sql};
use super::row::{Listed, row, unreadable};
use super::{Deliveries, Result, Transaction};
use futures::FutureExt;
use purser_model::{Attempt, AttemptOutcome, DeliveryState, EndpointHealth, EventId, OperatorId, WebhookId};

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

row! { Attempt {
    started_at, ended_at,
    outcome(status_code, body, unanswered) = match (status_code, unanswered) {
        (Some(status), None) => AttemptOutcome::Answered { status, body: Option::unwrap_or_default(body) },
        (None, Some(reason)) => AttemptOutcome::Unanswered(reason),
        (Some(_), Some(_)) | (None, None) => return Err(unreadable("status_code")),
    },
}}

impl Deliveries {
    /// Records attempts, each with the next state of its delivery and its webhook's health; all in one transaction.
    /// Disables a webhook that has only failed for days. Drops attempts on deleted webhooks or deliveries.
    pub async fn mark_attempts(&self, made: &[AttemptMade]) -> Result<()> {
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

async fn mark_attempt(tx: &mut Transaction<'_>, made: &AttemptMade, holder: &str) -> Result<()> {
    let Some(number) = move_delivery(tx, made, holder).await? else { return Ok(()) };
    insert_attempt(tx, made, number).await?;
    mark_health(tx, made).await
}

/// Returns the attempt's number; `None` when the delivery no longer exists.
async fn move_delivery(tx: &mut Transaction<'_>, made: &AttemptMade, holder: &str) -> Result<Option<i64>> {
    let AttemptMade { operator_id, webhook_id, event_id, .. } = made;
    let (failures, next_attempt_at, ended_at) = columns_of(&made.next);
    let moved: Option<i64> = match made.next {
        // An acknowledged event is delivered, whoever holds the lease now.
        DeliveryState::Delivered { .. } => sql! {
            "UPDATE deliveries SET attempts = attempts + 1, state = 'delivered', failures = {failures},
                 next_attempt_at = NULL, ended_at = {ended_at}, lease_holder = NULL, lease_expires_at = NULL
             WHERE operator_id = {operator_id} AND webhook_id = {webhook_id} AND event_id = {event_id}
             RETURNING attempts",
            failures, ended_at, operator_id, webhook_id, event_id
        },
        DeliveryState::Pending { .. } | DeliveryState::Undelivered { .. } => sql! {
            "UPDATE deliveries SET attempts = attempts + 1, state = {state}, failures = {failures},
                 next_attempt_at = {next_attempt_at}, ended_at = {ended_at}, lease_holder = NULL,
                 lease_expires_at = NULL
             WHERE operator_id = {operator_id} AND webhook_id = {webhook_id} AND event_id = {event_id}
                 AND state = 'pending' AND lease_holder = {holder}
             RETURNING attempts",
            state = made.next.as_str(), failures, next_attempt_at, ended_at, operator_id, webhook_id, event_id, holder
        },
    }
    .fetch_optional(&mut *tx)
    .await?;
    if moved.is_some() {
        return Ok(moved);
    }
    sql! {
        "UPDATE deliveries SET attempts = attempts + 1
         WHERE operator_id = {operator_id} AND webhook_id = {webhook_id} AND event_id = {event_id}
         RETURNING attempts",
        operator_id, webhook_id, event_id
    }
    .fetch_optional(tx)
    .await
}

async fn insert_attempt(tx: &mut Transaction<'_>, made: &AttemptMade, number: i64) -> Result<()> {
    let attempt = &made.attempt;
    let (status_code, body, unanswered) = match &attempt.outcome {
        AttemptOutcome::Answered { status, body } => (Some(status), Some(body), None),
        AttemptOutcome::Unanswered(reason) => (None, None, Some(reason.as_str())),
    };
    sql! {
        "INSERT INTO delivery_attempts {row}",
        row = columns! {
            ..attempt, made.operator_id, made.webhook_id, made.event_id, attempt = number, status_code, body,
            unanswered
        }
    }
    .run(tx)
    .await
}

async fn mark_health(tx: &mut Transaction<'_>, made: &AttemptMade) -> Result<()> {
    let AttemptMade { operator_id, webhook_id, .. } = made;
    let ended_at = made.attempt.ended_at;
    if made.attempt.outcome.is_success() {
        sql! {
            "UPDATE webhooks SET failures = 0, failing_since = NULL
             WHERE operator_id = {operator_id} AND webhook_id = {webhook_id} AND failures > 0",
            operator_id, webhook_id
        }
        .execute(tx)
        .await?;
        return Ok(());
    }
    let marked: Option<(String, EndpointHealth)> = sql! {
        "UPDATE webhooks
         SET failures = failures + 1, failing_since = COALESCE(failing_since, {ended_at})
         WHERE operator_id = {operator_id} AND webhook_id = {webhook_id}
         RETURNING status, {health}",
        health = EndpointHealth::COLUMNS, ended_at, operator_id, webhook_id
    }
    .fetch_optional(&mut *tx)
    .await?;
    let Some((status, health)) = marked else { return Ok(()) };
    if let Some(reason) = health.disables(status == "enabled", ended_at) {
        // A concurrent change that has not seen this must not undo it: see `mark_webhook_changed`.
        sql! {
            "UPDATE webhooks
             SET status = 'disabled', disabled_reason = {reason}, disabled_at = {ended_at}, updated_at = {ended_at}
             WHERE operator_id = {operator_id} AND webhook_id = {webhook_id}",
            reason, ended_at, operator_id, webhook_id
        }
        .execute(&mut *tx)
        .await?;
        give_up_some(tx, (*operator_id, *webhook_id), ended_at, GIVEN_UP_AT_ONCE).await?;
    }
    Ok(())
}
