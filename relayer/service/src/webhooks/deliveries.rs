//! Shows the outcome of deliveries, and replays them.

use super::Webhooks;
use crate::audit_scope::AuditScope;
use crate::error::{Resource, ServiceError};
use crate::parts::finish;
use purser_model::{
    BlockedBy, Delivery, DeliveryStatus, Event, EventId, Invalid, Operator, OperatorId, Page, PageRequest,
    ReplayScope, SeededRandom, Timestamp, WebhookId, WebhookStatus,
};
use purser_store::StoreError;

/// Which deliveries a list shows.
#[derive(Debug, Clone, Copy)]
pub struct DeliveriesFilter {
    pub webhook_id: WebhookId,
    pub status: Option<DeliveryStatus>,
}

impl DeliveriesFilter {
    /// Binds a cursor of the list to its operator and filter.
    pub fn text(&self, operator_id: OperatorId) -> String {
        let status = self.status.map_or("", DeliveryStatus::as_str);
        format!("deliveries|{operator_id}|{}|{status}", self.webhook_id)
    }
}

/// What to deliver once more.
#[derive(Debug, Clone, Copy)]
pub enum Replay {
    /// One event, whatever became of its delivery.
    Event(EventId),
    /// Events from `since` on and before `until`; without `until`, until now.
    Span { since: Timestamp, until: Option<Timestamp>, scope: ReplayScope },
}

impl Webhooks {
    /// The deliveries to a webhook with every attempt, newest event first, and what blocks attempts of the pending
    /// ones. NotFound: the webhook.
    pub async fn deliveries(
        &self,
        operator: &Operator,
        filter: DeliveriesFilter,
        request: PageRequest,
    ) -> Result<(Page<Delivery>, Option<BlockedBy>), ServiceError> {
        let listing = request.of(filter.text(operator.id))?;
        let webhook = self.get(operator, filter.webhook_id).await?;
        let blocked_by = self.blocked_by(webhook.id).await?;
        let rows = self
            .inside
            .store
            .deliveries
            .list_deliveries(operator.id, webhook.id, filter.status, listing.after, listing.rows_max())
            .await?;
        Ok((listing.page(rows, |last| last.event_id), blocked_by))
    }

    /// One delivery with every attempt. NotFound: the webhook, or the event was not for it.
    pub async fn delivery(
        &self,
        operator: &Operator,
        id: WebhookId,
        event_id: EventId,
    ) -> Result<Delivery, ServiceError> {
        let webhook = self.get(operator, id).await?;
        let next_id = u128::from_be_bytes(event_id.bytes()).saturating_add(1);
        let below = Some(EventId::from_bytes(next_id.to_be_bytes()));
        let found =
            self.inside.store.deliveries.list_deliveries(operator.id, webhook.id, None, below, 1).await?;
        let found = found.into_iter().find(|delivery| delivery.event_id == event_id);
        found.ok_or(ServiceError::NotFound(Resource::Event))
    }

    /// The webhooks that have undelivered deliveries.
    pub async fn undelivered(&self, operator: &Operator) -> Result<Vec<WebhookId>, ServiceError> {
        Ok(self.inside.store.deliveries.list_undelivered_webhooks(operator.id).await?)
    }

    /// How many deliveries to a webhook wait for the first attempt of their round; counts no further than `at_most`.
    /// NotFound: the webhook.
    pub async fn unattempted(
        &self,
        operator: &Operator,
        id: WebhookId,
        at_most: u32,
    ) -> Result<u64, ServiceError> {
        let webhook = self.get(operator, id).await?;
        Ok(self.inside.store.deliveries.count_unattempted(operator.id, webhook.id, at_most).await?)
    }

    async fn blocked_by(&self, id: WebhookId) -> Result<Option<BlockedBy>, ServiceError> {
        let Some(sealing_key) = &self.parts.sealing_key else {
            return Ok(Some(BlockedBy::NoSealingKey));
        };
        let sealed = self.inside.store.webhooks.find_webhook_secrets(id).await?;
        let is_closed = sealed.is_some_and(|sealed| sealing_key.open(id, &sealed.current).is_none());
        Ok(is_closed.then_some(BlockedBy::OtherSealingKey))
    }

    /// Sends a `webhook.test` event to this webhook alone; with `drawn` from a request's name, repeating the call gives
    /// the same event. NotFound: the webhook. Invalid: it is disabled.
    pub async fn test(
        &self,
        operator: &Operator,
        id: WebhookId,
        drawn: Option<SeededRandom>,
        _: &AuditScope,
    ) -> Result<Event, ServiceError> {
        let webhook = self.get_enabled(operator, id).await?;
        let clock = &self.inside.clock;
        let drawn = drawn.unwrap_or_else(|| clock.draw());
        let event = Event::webhook_test(operator.id, webhook.id, drawn.at, drawn.id_bits);
        match self.inside.store.webhooks.insert_test_event(&webhook, &event, clock.now()).await {
            Ok(()) | Err(StoreError::AlreadyThere) => Ok(event),
            Err(error) => Err(error.into()),
        }
    }

    /// Delivers once more, with the same event ids, and returns the number of deliveries. Skips deliveries that are
    /// being attempted right now and does not count them. NotFound: the webhook, or the event. Invalid: the webhook is
    /// disabled, or the span is empty.
    pub async fn replay(
        &self,
        operator: &Operator,
        id: WebhookId,
        asked: Replay,
        _: &AuditScope,
    ) -> Result<u64, ServiceError> {
        let webhook = self.get_enabled(operator, id).await?;
        let (announced, webhooks) = (self.inside.store.events.clone(), self.inside.store.webhooks.clone());
        let now = self.inside.clock.now();
        match asked {
            Replay::Event(event_id) => {
                let event = announced.find_event(operator.id, event_id).await?;
                let event = event.ok_or(ServiceError::NotFound(Resource::Event))?;
                Ok(u64::from(webhooks.replay_event(&webhook, &event, now).await?))
            }
            Replay::Span { since, until, scope } => {
                let until = until.unwrap_or(now);
                if until <= since {
                    return Err(Invalid::new("until", "must be after `since`").into());
                }
                let replaying =
                    async move { Ok(webhooks.replay_span(&webhook, since, until, scope, now).await?) };
                finish(&self.inside.tasks, replaying).await
            }
        }
    }

    async fn get_enabled(
        &self,
        operator: &Operator,
        id: WebhookId,
    ) -> Result<purser_model::Webhook, ServiceError> {
        let webhook = self.get(operator, id).await?;
        match webhook.status {
            WebhookStatus::Enabled => Ok(webhook),
            WebhookStatus::Disabled { .. } => {
                Err(Invalid::new("status", "is `disabled`: enable the webhook first").into())
            }
        }
    }
}
