//! Events: written in the transaction of the fact they announce, with a delivery for every webhook concerned.

use std::collections::BTreeSet;
use std::sync::{Mutex, PoisonError};

use sqlx::AssertSqlSafe;
use tokio::sync::{Notify, watch};

use super::event_row::{COLUMNS, EventRow};
use super::query::{Query, merged, places, query};
use super::{Store, StoreError, Transaction};
use crate::domain::{
    AccountId, DeliveryState, Event, EventId, EventType, OperatorId, Subject, Timestamp, Webhook, WebhookId,
};

/// The webhooks that just got deliveries, so that this process's dispatcher need not search.
#[derive(Debug, Default)]
pub(super) struct Outbox {
    hinted: Mutex<BTreeSet<WebhookId>>,
    notify: Notify,
    written: watch::Sender<()>,
}

/// Signals when this process has written events since this was created.
pub struct EventsWritten(watch::Receiver<()>);

impl EventsWritten {
    pub async fn wait(mut self) {
        // The sender lives as long as the store.
        let _ = self.0.changed().await;
    }
}

impl Outbox {
    /// Call this after the commit.
    pub(super) fn hint(&self, webhooks: impl IntoIterator<Item = WebhookId>) {
        self.written.send_replace(());
        let mut hinted = self.hinted.lock().unwrap_or_else(PoisonError::into_inner);
        hinted.extend(webhooks);
        if !hinted.is_empty() {
            self.notify.notify_one();
        }
    }
}

impl Store {
    /// For the dispatcher: waits until this process has written deliveries, and returns their webhooks.
    pub async fn hinted_webhooks(&self) -> BTreeSet<WebhookId> {
        self.outbox.notify.notified().await;
        std::mem::take(&mut *self.outbox.hinted.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// For streams: signals when this process writes events from now on.
    pub fn events_written(&self) -> EventsWritten {
        EventsWritten(self.outbox.written.subscribe())
    }

    /// The operator's event with this id.
    pub async fn find_event(&self, operator: OperatorId, id: EventId) -> Result<Option<Event>, StoreError> {
        let sql = format!("SELECT {COLUMNS} FROM events WHERE operator_id = $1 AND event_id = $2");
        let row: Option<EventRow> = query(AssertSqlSafe(sql))
            .bind(operator.to_string())
            .bind(id.to_string())
            .fetch_optional(self.reader())
            .await?;
        row.map(Event::try_from).transpose()
    }

    /// Up to `rows_max` events of the operator, newest first, starting after `after`.
    pub async fn list_events(
        &self,
        operator: OperatorId,
        event_type: Option<EventType>,
        account: Option<AccountId>,
        after: Option<EventId>,
        rows_max: u32,
    ) -> Result<Vec<Event>, StoreError> {
        const ENDING: &str = "ORDER BY event_id DESC LIMIT $4";
        let page = |filter: &str| {
            format!("SELECT {COLUMNS} FROM events WHERE operator_id = $1 AND event_id < $3 {filter} {ENDING}")
        };
        let of_account = if account.is_some() { "AND account_id = $2" } else { "AND $2 = ''" };
        let of_type = |event_type: &EventType| {
            page(&format!("{of_account} AND event_type = '{}'", event_type.as_str()))
        };
        // An account's events are found by type; an index by account would be written with every transfer.
        let pages = match (event_type, account) {
            (Some(event_type), _) => vec![of_type(&event_type)],
            (None, Some(_)) => EventType::ALL.iter().map(of_type).collect(),
            (None, None) => vec![page(of_account)],
        };
        let Some(sql) = merged(pages, ENDING) else { return Ok(Vec::new()) };
        // Only our own constants are interpolated.
        let rows: Vec<EventRow> = query(AssertSqlSafe(sql))
            .bind(operator.to_string())
            .bind(account.map_or_else(String::new, |account| account.to_string()))
            .bind_below(after)
            .bind(i64::from(rows_max))
            .fetch_all(self.lister())
            .await?;
        rows.into_iter().map(Event::try_from).collect()
    }

    /// Up to `rows_max` events of the operator created from `since` on and before `until`, oldest first, starting after `after`.
    pub async fn list_events_between(
        &self,
        operator: OperatorId,
        since: Timestamp,
        until: Timestamp,
        after: Option<EventId>,
        rows_max: u32,
    ) -> Result<Vec<Event>, StoreError> {
        let sql = format!(
            "SELECT {COLUMNS} FROM events WHERE {IN_SPAN} AND event_id > $6 ORDER BY event_id LIMIT $7"
        );
        let rows: Vec<EventRow> = in_span(query(AssertSqlSafe(sql)), operator, since, until)
            .bind(after.map_or_else(String::new, |after| after.to_string()))
            .bind(i64::from(rows_max))
            .fetch_all(self.lister())
            .await?;
        rows.into_iter().map(Event::try_from).collect()
    }
}

/// Selects an operator's events of a time span with the first five placeholders: see [`in_span`].
const IN_SPAN: &str =
    "operator_id = $1 AND event_id BETWEEN $2 AND $3 AND created_at >= $4 AND created_at < $5";

/// Binds the values of [`IN_SPAN`]. Ids begin with the millisecond of their events, so they select the span.
fn in_span(query: Query, operator: OperatorId, since: Timestamp, until: Timestamp) -> Query {
    query
        .bind(operator.to_string())
        .bind(EventId::new(since, 0).to_string())
        .bind(EventId::new(until, u128::MAX).to_string())
        .bind(since.to_string())
        .bind(until.to_string())
}

/// Inserts missing events in the transaction of the fact that they announce, with a delivery for each of `webhooks`
/// that they concern. Returns the webhooks to hint at after the commit.
pub(super) async fn announce(
    tx: &mut Transaction<'_>,
    events: &[Event],
    webhooks: &[Webhook],
    now: Timestamp,
) -> Result<Vec<WebhookId>, StoreError> {
    let mut notified = Vec::new();
    if events.is_empty() {
        return Ok(notified);
    }
    if webhooks.is_empty() {
        insertion(events, "").execute(tx).await?;
        return Ok(notified);
    }
    let inserted: Vec<(String,)> = insertion(events, "RETURNING event_id").fetch_all(&mut *tx).await?;
    let inserted: BTreeSet<String> = inserted.into_iter().map(|(id,)| id).collect();
    for event in events.iter().filter(|event| inserted.contains(&event.id.to_string())) {
        notified.extend(insert_deliveries(tx, event, webhooks, now).await?);
    }
    Ok(notified)
}

/// Inserts an event if it is missing.
pub(super) async fn insert_event(tx: &mut Transaction<'_>, event: &Event) -> Result<(), StoreError> {
    insertion(std::slice::from_ref(event), "").execute(tx).await.map(|_| ())
}

/// Inserts the missing ones of these events (at least one); `ending` may return which those were.
fn insertion(events: &[Event], ending: &str) -> Query {
    const COLUMNS: usize = 10;
    // An event waits for its place if its operator has a stream: see `streams`.
    let row = |at: usize| {
        let operator = at * COLUMNS + 2;
        format!(
            "({}, (SELECT CAST(0 AS BIGINT) FROM event_streams WHERE operator_id = ${operator}))",
            places(at * COLUMNS + 1, COLUMNS)
        )
    };
    let rows: Vec<String> = (0..events.len()).map(row).collect();
    let sql = format!(
        "INSERT INTO events
             (event_id, operator_id, event_type, account_id, transfer_id, threshold_usdc, webhook_id, data, created_at,
              fact, place)
         VALUES {}
         ON CONFLICT DO NOTHING {ending}",
        rows.join(", ")
    );
    // Only placeholders are interpolated.
    events.iter().fold(query(AssertSqlSafe(sql)), |insert, event| {
        let (transfer_id, threshold, webhook_id) = match event.subject {
            Subject::Transfer { transfer_id, .. } => (Some(transfer_id.to_string()), None, None),
            Subject::Balance { threshold, .. } => (None, Some(threshold.to_string()), None),
            Subject::Account { .. } => (None, None, None),
            Subject::Webhook(webhook_id) => (None, None, Some(webhook_id.to_string())),
        };
        insert
            .bind(event.id.to_string())
            .bind(event.operator_id.to_string())
            .bind(event.event_type.as_str())
            .bind(event.subject.account_id().map(|account| account.to_string()))
            .bind(transfer_id)
            .bind(threshold)
            .bind(webhook_id)
            .bind(event.data.get())
            .bind(event.created_at.to_string())
            .bind(event.fact.clone())
    })
}

/// Inserts a delivery of the event for each of `webhooks` that it concerns. Returns those with one to attempt.
pub(super) async fn insert_deliveries(
    tx: &mut Transaction<'_>,
    event: &Event,
    webhooks: &[Webhook],
    now: Timestamp,
) -> Result<Vec<WebhookId>, StoreError> {
    let concerned: Vec<(WebhookId, DeliveryState)> =
        webhooks.iter().filter_map(|webhook| Some((webhook.id, webhook.delivery_of(event, now)?))).collect();
    super::deliveries::insert_deliveries(tx, (event.operator_id, event.id), &concerned, now).await?;
    let pending = concerned.iter().filter(|(_, state)| matches!(state, DeliveryState::Pending { .. }));
    Ok(pending.map(|(webhook, _)| *webhook).collect())
}
