//! Deliveries: leased row by row, attempted without a transaction, and written down with every attempt.

use sqlx::{AssertSqlSafe, FromRow};

use super::columns::Table;
use super::delivery_row::{AttemptRow, DeliveryRow, StateColumns, attempt_columns};
use super::events::{COLUMNS as EVENT_COLUMNS, EventRow};
use super::pools::Pools;
use super::query::query;
use super::{Store, StoreError, Transaction, retried};
use crate::domain::{
    Attempt, Delivery, DeliveryState, DeliveryStatus, DisabledReason, Event, EventId, Health, OperatorId,
    Timestamp, WebhookId,
};

/// A delivery that this process has leased, to be attempted now.
#[derive(Debug, Clone)]
pub struct LeasedDelivery {
    pub webhook_id: WebhookId,
    pub event: Event,
    /// Failed attempts in this round.
    pub failures: u32,
}

/// An attempt that was made of a leased delivery.
#[derive(Debug, Clone)]
pub struct AttemptMade {
    pub webhook_id: WebhookId,
    pub event_id: EventId,
    pub attempt: Attempt,
    /// What becomes of the delivery.
    pub next: DeliveryState,
}

#[derive(Debug, FromRow)]
struct LeasedRow {
    event_id: String,
    failures: i64,
}

#[derive(Debug, FromRow)]
struct HealthRow {
    failures: i64,
    failing_since: Option<String>,
    status: String,
}

const TABLE: Table = Table("deliveries");

impl Store {
    /// For the dispatcher: enabled webhooks of every operator with a delivery that is due and that nobody holds.
    pub async fn list_due_webhooks(&self, now: Timestamp) -> Result<Vec<WebhookId>, StoreError> {
        const SQL: &str = "SELECT webhook_id FROM webhooks
             WHERE status = 'enabled' AND EXISTS (
                 SELECT 1 FROM deliveries
                 WHERE deliveries.webhook_id = webhooks.webhook_id AND deliveries.state = 'pending'
                     AND deliveries.next_attempt_at <= $1
                     AND (deliveries.lease_expires_at IS NULL OR deliveries.lease_expires_at <= $1))";
        let rows: Vec<(String,)> = query(SQL).bind(now.to_string()).fetch_all(self.reader()).await?;
        rows.iter().map(|(id,)| TABLE.read("webhook_id", id)).collect()
    }

    /// For the dispatcher: when the next delivery of any operator becomes due, if one is pending for later.
    pub async fn find_next_due(&self, now: Timestamp) -> Result<Option<Timestamp>, StoreError> {
        const SQL: &str =
            "SELECT MIN(next_attempt_at) FROM deliveries WHERE state = 'pending' AND next_attempt_at > $1";
        let rows: Vec<(Option<String>,)> = query(SQL).bind(now.to_string()).fetch_all(self.reader()).await?;
        let next = rows.into_iter().find_map(|(next,)| next);
        TABLE.read_optional("next_attempt_at", next.as_deref())
    }

    /// Takes up to `rows_max` deliveries of a webhook that are due at `now` and that nobody holds, longest due first.
    /// They are the caller's until `lease_expires_at`.
    pub async fn take_due_deliveries(
        &self,
        webhook: WebhookId,
        now: Timestamp,
        lease_expires_at: Timestamp,
        rows_max: u32,
    ) -> Result<Vec<LeasedDelivery>, StoreError> {
        let sql = format!(
            "UPDATE deliveries SET lease_holder = $1, lease_expires_at = $2
             WHERE webhook_id = $3 AND event_id IN (
                 SELECT event_id FROM deliveries
                 WHERE webhook_id = $3 AND state = 'pending' AND next_attempt_at <= $4
                     AND (lease_expires_at IS NULL OR lease_expires_at <= $4)
                 ORDER BY next_attempt_at, event_id LIMIT $5 {})
             RETURNING event_id, failures",
            self.pools.skip_locked()
        );
        let leased: Vec<LeasedRow> = query(AssertSqlSafe(sql))
            .bind(&*self.holder)
            .bind(lease_expires_at.to_string())
            .bind(webhook.to_string())
            .bind(now.to_string())
            .bind(i64::from(rows_max))
            .fetch_all(self.writer())
            .await?;
        let mut events = self.find_any_events(leased.iter().map(|row| row.event_id.as_str())).await?;
        events.sort_by_key(|event| event.id);
        events
            .into_iter()
            .map(|event| {
                let id = event.id.to_string();
                let row = leased.iter().find(|row| row.event_id == id);
                let failures = row.and_then(|row| u32::try_from(row.failures).ok());
                Ok(LeasedDelivery {
                    webhook_id: webhook,
                    event,
                    failures: TABLE.required("failures", failures)?,
                })
            })
            .collect()
    }

    /// Writes attempts down, each with what becomes of its delivery and of its webhook's health; in one transaction,
    /// all or none. A webhook that has only failed for days is disabled. Attempts of what was deleted are forgotten.
    pub async fn mark_attempts(&self, made: &[AttemptMade]) -> Result<(), StoreError> {
        retried(|| async move {
            let mut tx = self.begin().await?;
            for attempt in made {
                self.mark_attempt(&mut tx, attempt).await?;
            }
            Ok(tx.commit().await?)
        })
        .await
    }

    async fn mark_attempt(&self, tx: &mut Transaction, made: &AttemptMade) -> Result<(), StoreError> {
        let Some(number) = self.move_delivery(tx, made).await? else { return Ok(()) };
        insert_attempt(tx, made, number).await?;
        mark_health(tx, made).await
    }

    /// Gives the attempt's number; `None` when there is no such delivery any longer.
    async fn move_delivery(
        &self,
        tx: &mut Transaction,
        made: &AttemptMade,
    ) -> Result<Option<i64>, StoreError> {
        // What was acknowledged is delivered, whoever holds the lease by now.
        const DELIVERED: &str =
            "UPDATE deliveries SET attempts = attempts + 1, state = 'delivered', failures = $3,
                 next_attempt_at = NULL, ended_at = $4, lease_holder = NULL, lease_expires_at = NULL
             WHERE webhook_id = $1 AND event_id = $2 RETURNING attempts";
        const FAILED: &str = "UPDATE deliveries SET attempts = attempts + 1, state = $3, failures = $4,
                 next_attempt_at = $5, ended_at = $6, lease_holder = NULL, lease_expires_at = NULL
             WHERE webhook_id = $1 AND event_id = $2 AND state = 'pending' AND lease_holder = $7
             RETURNING attempts";
        const COUNTED: &str = "UPDATE deliveries SET attempts = attempts + 1
             WHERE webhook_id = $1 AND event_id = $2 RETURNING attempts";
        let (webhook, event) = (made.webhook_id.to_string(), made.event_id.to_string());
        let columns = StateColumns::from(&made.next);
        let moved: Option<(i64,)> = match made.next {
            DeliveryState::Delivered { .. } => {
                let update = query(DELIVERED).bind(webhook.as_str()).bind(event.as_str());
                update.bind(columns.failures).bind(columns.ended_at).fetch_optional(&mut *tx).await?
            }
            DeliveryState::Pending { .. } | DeliveryState::Undelivered { .. } => {
                let update = query(FAILED).bind(webhook.as_str()).bind(event.as_str());
                update
                    .bind(columns.state)
                    .bind(columns.failures)
                    .bind(columns.next_attempt_at)
                    .bind(columns.ended_at)
                    .bind(&*self.holder)
                    .fetch_optional(&mut *tx)
                    .await?
            }
        };
        let counted: Option<(i64,)> = match moved {
            Some(moved) => Some(moved),
            None => query(COUNTED).bind(webhook).bind(event).fetch_optional(tx).await?,
        };
        Ok(counted.map(|(number,)| number))
    }

    /// For a worker: gives back deliveries that were taken and not attempted.
    pub async fn release_deliveries(&self) -> Result<(), StoreError> {
        const SQL: &str =
            "UPDATE deliveries SET lease_holder = NULL, lease_expires_at = NULL WHERE lease_holder = $1";
        query(SQL).bind(&*self.holder).execute(self.writer()).await?;
        Ok(())
    }

    /// Ends the leases of processes that are gone. For a start: a SQLite file serves one relayer, so whoever held a
    /// lease before is gone; on Postgres the others may be alive, and a dead one's leases end by themselves.
    pub async fn release_orphaned_deliveries(&self) -> Result<(), StoreError> {
        const SQL: &str = "UPDATE deliveries SET lease_holder = NULL, lease_expires_at = NULL
             WHERE lease_holder IS NOT NULL AND lease_holder <> $1";
        match self.pools {
            Pools::Sqlite { .. } => {
                query(SQL).bind(&*self.holder).execute(self.writer()).await?;
            }
            Pools::Postgres(_) => {}
        }
        Ok(())
    }

    /// Up to `rows_max` deliveries to the operator's webhook with every attempt, newest event first, those after
    /// `after` in that order.
    pub async fn list_deliveries(
        &self,
        operator: OperatorId,
        webhook: WebhookId,
        status: Option<DeliveryStatus>,
        after: Option<EventId>,
        rows_max: u32,
    ) -> Result<Vec<Delivery>, StoreError> {
        const SQL: &str = "SELECT deliveries.webhook_id, deliveries.event_id, events.event_type,
                 deliveries.state, deliveries.failures, deliveries.next_attempt_at, deliveries.ended_at,
                 deliveries.created_at
             FROM deliveries
             JOIN events ON events.event_id = deliveries.event_id
             WHERE events.operator_id = $1 AND deliveries.webhook_id = $2
                 AND ($3 = '' OR deliveries.state = $3) AND ($4 = '' OR deliveries.event_id < $4)
             ORDER BY deliveries.event_id DESC LIMIT $5";
        let rows: Vec<DeliveryRow> = query(SQL)
            .bind(operator.to_string())
            .bind(webhook.to_string())
            .bind(status.map_or("", DeliveryStatus::as_str))
            .bind(after.map_or_else(String::new, |after| after.to_string()))
            .bind(i64::from(rows_max))
            .fetch_all(self.reader())
            .await?;
        if rows.is_empty() {
            return Ok(Vec::new());
        }
        let places: Vec<String> = (2..rows.len() + 2).map(|place| format!("${place}")).collect();
        let sql = format!(
            "SELECT event_id, started_at, ended_at, status_code, body, unanswered FROM delivery_attempts
             WHERE webhook_id = $1 AND event_id IN ({}) ORDER BY event_id, attempt",
            places.join(", ")
        );
        // Only placeholders were put into the text.
        let attempts: Vec<AttemptRow> = query(AssertSqlSafe(sql))
            .bind(webhook.to_string())
            .bind_all(rows.iter().map(|row| row.event_id.as_str()))
            .fetch_all(self.reader())
            .await?;
        rows.into_iter().map(|row| row.into_delivery(&attempts)).collect()
    }

    async fn find_any_events<'a>(
        &self,
        ids: impl ExactSizeIterator<Item = &'a str>,
    ) -> Result<Vec<Event>, StoreError> {
        if ids.len() == 0 {
            return Ok(Vec::new());
        }
        let places: Vec<String> = (1..=ids.len()).map(|place| format!("${place}")).collect();
        let sql = format!("SELECT {EVENT_COLUMNS} FROM events WHERE event_id IN ({})", places.join(", "));
        // Only placeholders were put into the text.
        let rows: Vec<EventRow> = query(AssertSqlSafe(sql)).bind_all(ids).fetch_all(self.reader()).await?;
        rows.into_iter().map(Event::try_from).collect()
    }
}

/// A new delivery. One that is there already stays.
pub(super) async fn insert_delivery(
    tx: &mut Transaction,
    webhook: WebhookId,
    event: EventId,
    state: &DeliveryState,
    now: Timestamp,
) -> Result<(), StoreError> {
    const SQL: &str = "INSERT INTO deliveries
             (webhook_id, event_id, state, failures, next_attempt_at, ended_at, attempts, created_at)
         VALUES ($1, $2, $3, $4, $5, $6, 0, $7)
         ON CONFLICT (webhook_id, event_id) DO NOTHING";
    let columns = StateColumns::from(state);
    query(SQL)
        .bind(webhook.to_string())
        .bind(event.to_string())
        .bind(columns.state)
        .bind(columns.failures)
        .bind(columns.next_attempt_at)
        .bind(columns.ended_at)
        .bind(now.to_string())
        .execute(tx)
        .await?;
    Ok(())
}

/// Everything that is pending for a webhook is undelivered.
pub(super) async fn give_up_all(
    tx: &mut Transaction,
    webhook: WebhookId,
    now: Timestamp,
) -> Result<(), StoreError> {
    const SQL: &str = "UPDATE deliveries SET state = 'undelivered', next_attempt_at = NULL, ended_at = $2,
             lease_holder = NULL, lease_expires_at = NULL
         WHERE webhook_id = $1 AND state = 'pending'";
    query(SQL).bind(webhook.to_string()).bind(now.to_string()).execute(tx).await?;
    Ok(())
}

async fn insert_attempt(tx: &mut Transaction, made: &AttemptMade, number: i64) -> Result<(), StoreError> {
    const SQL: &str = "INSERT INTO delivery_attempts
             (webhook_id, event_id, attempt, started_at, ended_at, status_code, body, unanswered)
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8)";
    let (status_code, body, unanswered) = attempt_columns(&made.attempt.outcome);
    query(SQL)
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

async fn mark_health(tx: &mut Transaction, made: &AttemptMade) -> Result<(), StoreError> {
    const WELL: &str =
        "UPDATE webhooks SET failures = 0, failing_since = NULL WHERE webhook_id = $1 AND failures > 0";
    const FAILED: &str = "UPDATE webhooks
         SET failures = failures + 1, failing_since = COALESCE(failing_since, $2)
         WHERE webhook_id = $1 RETURNING failures, failing_since, status";
    const DISABLED: &str = "UPDATE webhooks SET status = 'disabled', disabled_reason = $2, disabled_at = $3
         WHERE webhook_id = $1";
    let (webhook, ended_at) = (made.webhook_id.to_string(), made.attempt.ended_at);
    if made.attempt.outcome.is_success() {
        query(WELL).bind(webhook).execute(tx).await?;
        return Ok(());
    }
    let marked = query(FAILED).bind(webhook.as_str()).bind(ended_at.to_string());
    let row: Option<HealthRow> = marked.fetch_optional(&mut *tx).await?;
    let Some(row) = row else { return Ok(()) };
    let health = Health {
        failures: u32::try_from(row.failures).unwrap_or(u32::MAX),
        failing_since: TABLE.read_optional("failing_since", row.failing_since.as_deref())?,
    };
    if row.status == "enabled" && health.is_hopeless(ended_at) {
        let reason = DisabledReason::Failing.as_str();
        query(DISABLED).bind(webhook).bind(reason).bind(ended_at.to_string()).execute(&mut *tx).await?;
        give_up_all(tx, made.webhook_id, ended_at).await?;
    }
    Ok(())
}
