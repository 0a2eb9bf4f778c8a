//! Events: written in the transaction of the fact they announce. Their deliveries follow: see `streams`.

use futures::future::BoxFuture;
use parking_lot::Mutex;
use std::collections::BTreeSet;

use tokio::sync::{Notify, watch};

use super::query::{Each, Piece, Place, Query, Sql, joined, merged, sql, text};
use super::row::{Listed, row, unreadable};
use super::stored::{Below, OrEmpty};
use super::{Database, Events, Result, Transaction};
use purser_model::{
    AccountId, DeliveryState, Event, EventId, EventType, OperatorId, Subject, Timestamp, Webhook, WebhookId,
};

row! { Event of events {
    id: event_id, operator_id, event_type,
    subject(account_id, transfer_id, threshold_usdc, webhook_id) =
        match (account_id, transfer_id, threshold_usdc, webhook_id) {
            (Some(account_id), Some(transfer_id), None, None) => {
                Subject::Transfer { account_id, transfer_id }
            }
            (Some(account_id), None, Some(threshold), None) => Subject::Balance { account_id, threshold },
            (Some(account_id), None, None, None) => Subject::Account { account_id },
            (None, None, None, None) => Subject::Operator,
            (_, None, None, Some(webhook_id)) => Subject::Webhook(webhook_id),
            _ => return Err(unreadable("transfer_id")),
        },
    data, created_at, fact = None,
}}

/// Events and deliveries that this process has just written, so that its dispatcher and streams need not search.
#[derive(Debug, Default)]
pub(super) struct Outbox {
    /// The webhooks that got deliveries.
    hinted: Mutex<BTreeSet<WebhookId>>,
    notify: Notify,
    written: watch::Sender<()>,
}

impl Outbox {
    /// Events were written, and deliveries for these webhooks. Call this after the commit.
    pub(super) fn hint(&self, webhooks: impl IntoIterator<Item = WebhookId>) {
        self.written.send_replace(());
        let mut hinted = self.hinted.lock();
        hinted.extend(webhooks);
        if !hinted.is_empty() {
            self.notify.notify_one();
        }
    }
}

impl Events {
    /// For the dispatcher: waits until this process has written deliveries, and returns their webhooks.
    pub async fn hinted_webhooks(&self) -> BTreeSet<WebhookId> {
        self.outbox.notify.notified().await;
        std::mem::take(&mut *self.outbox.hinted.lock())
    }

    /// Changes when this process writes events from now on. Its sender lives as long as the store.
    pub fn events_written(&self) -> watch::Receiver<()> {
        self.outbox.written.subscribe()
    }

    /// The operator's event with this id.
    pub async fn find_event(&self, operator: OperatorId, id: EventId) -> Result<Option<Event>> {
        sql! {
            "SELECT {columns} FROM events WHERE operator_id = {operator} AND event_id = {id}",
            columns = Event::COLUMNS, operator, id
        }
        .fetch_optional(self.reader())
        .await
    }

    /// Up to `rows_max` events of the operator, newest first, starting after `after`.
    pub async fn list_events(
        &self,
        operator: OperatorId,
        event_type: Option<EventType>,
        account: Option<AccountId>,
        after: Option<EventId>,
        rows_max: u32,
    ) -> Result<Vec<Event>> {
        let pages = Piece(|values: &mut Vec<_>| {
            let (operator, below) = (operator.place(values), Below(after).place(values));
            let ending = format!("ORDER BY event_id DESC LIMIT {}", rows_max.place(values));
            let of_account = account.map(|account| format!("AND account_id = {}", account.place(values)));
            let page = |of_type: &str| {
                let Sql(columns) = Event::COLUMNS;
                let of_account = of_account.as_deref().unwrap_or_default();
                format!(
                    "SELECT {columns} FROM events
                     WHERE operator_id = {operator} AND event_id < {below} {of_account} {of_type} {ending}"
                )
            };
            let of_type = |of: &EventType| page(&format!("AND event_type = '{of}'"));
            // An account's events are found by type; an index by account would be written with every transfer.
            match (event_type, account) {
                (Some(event_type), _) => of_type(&event_type),
                (None, Some(_)) => merged(EventType::ALL.iter().map(of_type), &ending),
                (None, None) => page(""),
            }
        });
        sql! {"{pages}", pages}.fetch_all(self.lister()).await
    }

    /// The latest `account.halted` of each of these accounts of the operator.
    pub async fn list_latest_halts(
        &self,
        operator: OperatorId,
        accounts: &[AccountId],
    ) -> Result<Vec<Event>> {
        if accounts.is_empty() {
            return Ok(Vec::new());
        }
        sql! {
            "SELECT {columns} FROM events
             WHERE operator_id = {operator} AND event_id IN (
                 SELECT (
                     SELECT latest.event_id FROM events AS latest
                     WHERE latest.operator_id = accounts.operator_id AND latest.account_id = accounts.account_id
                         AND latest.event_type = 'account.halted'
                     ORDER BY latest.event_id DESC LIMIT 1)
                 FROM accounts WHERE accounts.operator_id = {operator} AND accounts.account_id IN ({accounts}))",
            columns = Event::COLUMNS, operator, accounts = Each(accounts)
        }
        .fetch_all(self.lister())
        .await
    }
}

impl Database {
    /// Runs `work`, which may announce events, in a transaction.
    pub(super) async fn write_events<T, F>(&self, work: F) -> Result<T>
    where
        F: for<'c> FnOnce(&'c mut Transaction<'_>) -> BoxFuture<'c, Result<T>>,
        F: Clone + Send + 'static,
        T: Send + 'static,
    {
        let done = self.write(work).await?;
        self.outbox.hint([]);
        Ok(done)
    }

    /// Up to `rows_max` events of the operator created from `since` on and before `until`, oldest first, starting after `after`.
    pub async fn list_events_between(
        &self,
        operator: OperatorId,
        since: Timestamp,
        until: Timestamp,
        after: Option<EventId>,
        rows_max: u32,
    ) -> Result<Vec<Event>> {
        // Ids begin with the millisecond of their events, so they select the span.
        let (first, last) = (EventId::new(since, 0), EventId::new(until, u128::MAX));
        sql! {
            "SELECT {columns} FROM events
             WHERE operator_id = {operator} AND event_id BETWEEN {first} AND {last} AND created_at >= {since}
                 AND created_at < {until} AND event_id > {after}
             ORDER BY event_id LIMIT {rows_max}",
            columns = Event::COLUMNS, operator, first, last, since, until, after = OrEmpty(after), rows_max
        }
        .fetch_all(self.lister())
        .await
    }
}

/// Every webhook of the operator.
pub(super) fn all_of(operator: OperatorId) -> Query {
    sql! {"SELECT {columns} FROM webhooks WHERE operator_id = {operator}", columns = Webhook::COLUMNS, operator}
}

/// Inserts missing events, in the transaction of the fact that they announce.
pub(super) async fn announce(tx: &mut Transaction<'_>, events: &[Event]) -> Result<()> {
    if events.is_empty() {
        return Ok(());
    }
    insertion(events).run(tx).await
}

/// Inserts the missing ones of these events, at least one. They wait for their places, and with these for their deliveries.
fn insertion(events: &[Event]) -> Query {
    let row = |event: &Event, values: &mut Vec<_>| {
        let (transfer_id, threshold, webhook_id) = match event.subject {
            Subject::Transfer { transfer_id, .. } => (Some(transfer_id), None, None),
            Subject::Balance { threshold, .. } => (None, Some(threshold), None),
            Subject::Account { .. } | Subject::Operator => (None, None, None),
            Subject::Webhook(webhook_id) => (None, None, Some(webhook_id)),
        };
        text! {
            values,
            "({id}, {operator_id}, {event_type}, {account_id}, {transfer_id}, {threshold}, {webhook_id}, {data},
              {created_at}, {fact}, 0)",
            event.id, event.operator_id, event.event_type, account_id = event.subject.account_id(), transfer_id,
            threshold, webhook_id, event.data, event.created_at, event.fact
        }
    };
    sql! {
        "INSERT INTO events
             (event_id, operator_id, event_type, account_id, transfer_id, threshold_usdc, webhook_id, data, created_at,
              fact, place)
         VALUES {rows}
         ON CONFLICT DO NOTHING",
        rows = Piece(|values: &mut Vec<_>| joined(events.iter().map(|event| row(event, values))))
    }
}

/// Inserts a delivery of the event for each of `webhooks` that it concerns. Returns those with one to attempt.
pub(super) async fn insert_deliveries(
    tx: &mut Transaction<'_>,
    event: &Event,
    webhooks: &[Webhook],
    now: Timestamp,
) -> Result<Vec<WebhookId>> {
    let concerned: Vec<(WebhookId, DeliveryState)> =
        webhooks.iter().filter_map(|webhook| Some((webhook.id, webhook.delivery_of(event, now)?))).collect();
    super::deliveries::insert_deliveries(tx, (event.operator_id, event.id), &concerned, now).await?;
    let pending = concerned.iter().filter(|(_, state)| matches!(state, DeliveryState::Pending { .. }));
    Ok(pending.map(|(webhook, _)| *webhook).collect())
}
