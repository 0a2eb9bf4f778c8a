//! Deliveries: leased row by row, attempted outside transactions, and recorded with every attempt.

use std::time::Duration;

use macro_rules_attribute::derive;
use sqlx::AssertSqlSafe;

use super::columns::Table;
use super::delivery_row::{AttemptRow, DeliveryRow, DeliveryStateColumns};
use super::due::Due;
use super::event_row::{COLUMNS as EVENT_COLUMNS, EventRow};
use super::pools::Pools;
use super::query::{places, query};
use super::row::ByName;
use super::{Store, StoreError, Transaction};
use crate::domain::{
    Delivery, DeliveryState, DeliveryStatus, Event, EventId, OperatorId, Timestamp, Webhook, WebhookId,
};

/// A delivery that this process has leased, to be attempted now.
#[derive(Debug, Clone)]
pub struct LeasedDelivery {
    pub webhook_id: WebhookId,
    pub event: Event,
    /// Failed attempts in this round.
    pub failures: u32,
}

#[derive(Debug, ByName!)]
struct LeasedRow {
    event_id: String,
    failures: i64,
}

const TABLE: Table = Table("deliveries");

impl Store {
    /// For the dispatcher: enabled webhooks of every operator with a delivery that is due and not leased for `lease`.
    pub async fn list_due_webhooks(
        &self,
        now: Timestamp,
        lease: Duration,
    ) -> Result<Vec<WebhookId>, StoreError> {
        let due = Due::within(now, lease);
        let sql = format!(
            "SELECT webhook_id FROM webhooks
             WHERE status = 'enabled' AND EXISTS (
                 SELECT 1 FROM deliveries
                 WHERE deliveries.operator_id = webhooks.operator_id AND deliveries.webhook_id = webhooks.webhook_id
                     AND deliveries.state = 'pending' AND deliveries.next_attempt_at <= $1
                     AND (deliveries.lease_expires_at IS NULL OR {}))",
            Due::sql("deliveries.lease_expires_at", 1, 2)
        );
        // Only our own constants are interpolated.
        let listing = query(AssertSqlSafe(sql)).bind(due.now.to_string()).bind(due.latest.to_string());
        let rows: Vec<(String,)> = listing.fetch_all(self.lister()).await?;
        rows.iter().map(|(id,)| TABLE.read("webhook_id", id)).collect()
    }

    /// Which of the operator's webhooks (100 at most) have undelivered deliveries.
    pub async fn list_undelivered_webhooks(
        &self,
        operator: OperatorId,
    ) -> Result<Vec<WebhookId>, StoreError> {
        const SQL: &str = "SELECT webhook_id FROM webhooks
             WHERE operator_id = $1 AND EXISTS (
                 SELECT 1 FROM deliveries
                 WHERE deliveries.operator_id = webhooks.operator_id AND deliveries.webhook_id = webhooks.webhook_id
                     AND deliveries.state = 'undelivered')";
        let rows: Vec<(String,)> = query(SQL).bind(operator.to_string()).fetch_all(self.lister()).await?;
        rows.iter().map(|(id,)| TABLE.read("webhook_id", id)).collect()
    }

    /// How many deliveries to a webhook wait for the first attempt of their round; counts no further than `at_most`.
    pub async fn count_unattempted(
        &self,
        operator: OperatorId,
        webhook: WebhookId,
        at_most: u32,
    ) -> Result<u64, StoreError> {
        const SQL: &str = "SELECT COUNT(*) FROM (
                 SELECT 1 FROM deliveries
                 WHERE operator_id = $1 AND webhook_id = $2 AND state = 'pending' AND failures = 0 LIMIT $3) AS waiting";
        let counting = query(SQL).bind(operator.to_string()).bind(webhook.to_string());
        let row: Option<(i64,)> = counting.bind(i64::from(at_most)).fetch_optional(self.lister()).await?;
        Ok(row.map_or(0, |(count,)| count.cast_unsigned()))
    }

    /// For the dispatcher: when the next delivery of any operator becomes due, if one is scheduled.
    pub async fn find_next_due(&self, now: Timestamp) -> Result<Option<Timestamp>, StoreError> {
        const SQL: &str =
            "SELECT MIN(next_attempt_at) FROM deliveries WHERE state = 'pending' AND next_attempt_at > $1";
        let rows: Vec<(Option<String>,)> = query(SQL).bind(now.to_string()).fetch_all(self.lister()).await?;
        let next = rows.into_iter().find_map(|(next,)| next);
        TABLE.read_optional("next_attempt_at", next.as_deref())
    }

    /// For the dispatcher: makes up to `rows_max` deliveries of any operator due now that a clock which was ahead set
    /// further ahead than `longest`, the longest delay before a retry.
    pub async fn hasten_deliveries(
        &self,
        now: Timestamp,
        longest: Duration,
        rows_max: u32,
    ) -> Result<(), StoreError> {
        const ANY: &str = "SELECT webhook_id FROM deliveries
             WHERE state = 'pending' AND next_attempt_at > $1 LIMIT 1";
        const SQL: &str = "UPDATE deliveries SET next_attempt_at = $2
             WHERE state = 'pending' AND next_attempt_at > $1 AND (operator_id, webhook_id, event_id) IN (
                 SELECT operator_id, webhook_id, event_id FROM deliveries
                 WHERE state = 'pending' AND next_attempt_at > $1 LIMIT $3)";
        let due = Due::within(now, longest);
        let latest = due.latest.to_string();
        // There are hardly ever any, and looking does not hold up the writer.
        let any: Option<(String,)> = query(ANY).bind(latest.as_str()).fetch_optional(self.lister()).await?;
        if any.is_some() {
            let hasten = query(SQL).bind(latest).bind(due.now.to_string()).bind(i64::from(rows_max));
            hasten.execute(self.writer()).await?;
        }
        Ok(())
    }

    /// Leases up to `rows_max` of a webhook's due and unleased deliveries, longest due first.
    /// The caller holds them until `lease_expires_at`.
    pub async fn take_due_deliveries(
        &self,
        webhook: &Webhook,
        now: Timestamp,
        lease_expires_at: Timestamp,
        rows_max: u32,
    ) -> Result<Vec<LeasedDelivery>, StoreError> {
        let (due, is_free) = (Due::of_lease(now, lease_expires_at), Due::sql("lease_expires_at", 5, 7));
        // A separate CTE, so that Postgres runs it once; inside a join it may run repeatedly and exceed the limit.
        let sql = format!(
            "WITH due AS MATERIALIZED (
                 SELECT event_id FROM deliveries
                 WHERE operator_id = $3 AND webhook_id = $4 AND state = 'pending' AND next_attempt_at <= $5
                     AND (lease_expires_at IS NULL OR {is_free})
                 ORDER BY next_attempt_at, event_id LIMIT $6 {})
             UPDATE deliveries SET lease_holder = $1, lease_expires_at = $2
             WHERE operator_id = $3 AND webhook_id = $4 AND event_id IN (SELECT event_id FROM due)
             RETURNING event_id, failures",
            self.pools.skip_locked()
        );
        let leased: Vec<LeasedRow> = query(AssertSqlSafe(sql))
            .bind(&*self.holder)
            .bind(lease_expires_at.to_string())
            .bind(webhook.operator_id.to_string())
            .bind(webhook.id.to_string())
            .bind(due.now.to_string())
            .bind(i64::from(rows_max))
            .bind(due.latest.to_string())
            .fetch_all(self.writer())
            .await?;
        let mut events =
            self.find_events(webhook.operator_id, leased.iter().map(|row| row.event_id.as_str())).await?;
        events.sort_by_key(|event| event.id);
        events
            .into_iter()
            .map(|event| {
                let id = event.id.to_string();
                let row = leased.iter().find(|row| row.event_id == id);
                let failures = row.and_then(|row| u32::try_from(row.failures).ok());
                Ok(LeasedDelivery {
                    webhook_id: webhook.id,
                    event,
                    failures: TABLE.required("failures", failures)?,
                })
            })
            .collect()
    }

    /// Gives back a delivery that was leased and not attempted; it is due again at `due_at`.
    pub async fn postpone_delivery(
        &self,
        (operator, webhook): (OperatorId, WebhookId),
        event: EventId,
        due_at: Timestamp,
    ) -> Result<(), StoreError> {
        const SQL: &str = "UPDATE deliveries SET next_attempt_at = $4, lease_holder = NULL, lease_expires_at = NULL
             WHERE operator_id = $1 AND webhook_id = $2 AND event_id = $3 AND state = 'pending' AND lease_holder = $5";
        let of_delivery =
            query(SQL).bind(operator.to_string()).bind(webhook.to_string()).bind(event.to_string());
        of_delivery.bind(due_at.to_string()).bind(&*self.holder).execute(self.writer()).await?;
        Ok(())
    }

    /// Ends the leases of dead processes, at a start. A SQLite file serves one relayer, so every earlier holder is
    /// gone. On Postgres others may be alive, and leases of dead ones expire by themselves.
    pub async fn release_orphaned_deliveries(&self) -> Result<(), StoreError> {
        const SQL: &str = "UPDATE deliveries SET lease_holder = NULL, lease_expires_at = NULL
             WHERE lease_holder IS NOT NULL AND lease_holder <> $1";
        match self.pools {
            Pools::Sqlite { .. } => {
                query(SQL).bind(&*self.holder).execute(self.writer()).await?;
            }
            Pools::Postgres { .. } => {}
        }
        Ok(())
    }

    /// Up to `rows_max` deliveries to the operator's webhook with every attempt, newest event first, starting after `after`.
    pub async fn list_deliveries(
        &self,
        operator: OperatorId,
        webhook: WebhookId,
        status: Option<DeliveryStatus>,
        after: Option<EventId>,
        rows_max: u32,
    ) -> Result<Vec<Delivery>, StoreError> {
        // Two separate conditions, because an "or" would use no index.
        let of_status = if status.is_some() { "deliveries.state = $3" } else { "$3 = ''" };
        let sql = format!(
            "SELECT deliveries.webhook_id, deliveries.event_id, events.event_type,
                 deliveries.state, deliveries.failures, deliveries.next_attempt_at, deliveries.ended_at,
                 deliveries.created_at
             FROM deliveries
             JOIN events ON events.operator_id = deliveries.operator_id AND events.event_id = deliveries.event_id
             WHERE deliveries.operator_id = $1 AND deliveries.webhook_id = (
                     SELECT webhook_id FROM webhooks WHERE operator_id = $1 AND webhook_id = $2)
                 AND {of_status} AND deliveries.event_id < $4
             ORDER BY deliveries.event_id DESC LIMIT $5"
        );
        let rows: Vec<DeliveryRow> = query(AssertSqlSafe(sql))
            .bind(operator.to_string())
            .bind(webhook.to_string())
            .bind(status.map_or("", DeliveryStatus::as_str))
            .bind_below(after)
            .bind(i64::from(rows_max))
            .fetch_all(self.lister())
            .await?;
        if rows.is_empty() {
            return Ok(Vec::new());
        }
        let sql = format!(
            "SELECT event_id, started_at, ended_at, status_code, body, unanswered FROM delivery_attempts
             WHERE operator_id = $1 AND webhook_id = $2 AND event_id IN ({}) ORDER BY event_id, attempt",
            places(3, rows.len())
        );
        // Only placeholders are interpolated.
        let attempts: Vec<AttemptRow> = query(AssertSqlSafe(sql))
            .bind(operator.to_string())
            .bind(webhook.to_string())
            .bind_all(rows.iter().map(|row| row.event_id.as_str()))
            .fetch_all(self.lister())
            .await?;
        rows.into_iter().map(|row| row.into_delivery(&attempts)).collect()
    }

    async fn find_events<'a>(
        &self,
        operator: OperatorId,
        ids: impl ExactSizeIterator<Item = &'a str>,
    ) -> Result<Vec<Event>, StoreError> {
        if ids.len() == 0 {
            return Ok(Vec::new());
        }
        let sql = format!(
            "SELECT {EVENT_COLUMNS} FROM events WHERE operator_id = $1 AND event_id IN ({})",
            places(2, ids.len())
        );
        // Only placeholders are interpolated.
        let finding = query(AssertSqlSafe(sql)).bind(operator.to_string()).bind_all(ids);
        let rows: Vec<EventRow> = finding.fetch_all(self.reader()).await?;
        rows.into_iter().map(Event::try_from).collect()
    }
}

/// Inserts deliveries of one event, at most 100. Keeps existing ones. Returns the number of new ones.
pub(super) async fn insert_deliveries(
    tx: &mut Transaction<'_>,
    (operator, event): (OperatorId, EventId),
    deliveries: &[(WebhookId, DeliveryState)],
    now: Timestamp,
) -> Result<u64, StoreError> {
    if deliveries.is_empty() {
        return Ok(0);
    }
    let row = |at: usize| format!("($1, $2, $3, 0, {})", places(5 * at + 4, 5));
    let rows: Vec<String> = (0..deliveries.len()).map(row).collect();
    let sql = format!(
        "INSERT INTO deliveries
             (operator_id, event_id, created_at, attempts, webhook_id, state, failures, next_attempt_at, ended_at)
         VALUES {} ON CONFLICT (operator_id, webhook_id, event_id) DO NOTHING",
        rows.join(", ")
    );
    // Only placeholders are interpolated.
    let mut insert =
        query(AssertSqlSafe(sql)).bind(operator.to_string()).bind(event.to_string()).bind(now.to_string());
    for (webhook, state) in deliveries {
        let columns = DeliveryStateColumns::from(state);
        insert = insert.bind(webhook.to_string()).bind(columns.state).bind(columns.failures);
        insert = insert.bind(columns.next_attempt_at).bind(columns.ended_at);
    }
    insert.execute(tx).await
}

/// How many deliveries are given up in the step that disables a webhook; [`Store::clean_up`] does the rest.
pub(super) const GIVEN_UP_AT_ONCE: i64 = 200;

/// Marks up to `rows` of a webhook's pending deliveries as undelivered. Returns how many.
pub(super) async fn give_up_some(
    tx: &mut Transaction<'_>,
    (operator, webhook): (OperatorId, WebhookId),
    now: Timestamp,
    rows: i64,
) -> Result<u64, StoreError> {
    const SQL: &str = "UPDATE deliveries SET state = 'undelivered', next_attempt_at = NULL, ended_at = $3,
             lease_holder = NULL, lease_expires_at = NULL
         WHERE operator_id = $1 AND webhook_id = $2 AND state = 'pending' AND event_id IN (
             SELECT event_id FROM deliveries
             WHERE operator_id = $1 AND webhook_id = $2 AND state = 'pending' LIMIT $4)";
    query(SQL)
        .bind(operator.to_string())
        .bind(webhook.to_string())
        .bind(now.to_string())
        .bind(rows)
        .execute(tx)
        .await
}
