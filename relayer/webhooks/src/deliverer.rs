//! One endpoint's queue: takes due deliveries, attempts them and hands in the outcomes, until nothing is due.

use parking_lot::{Mutex, MutexGuard};
use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

use futures::StreamExt;
use futures::stream::FuturesUnordered;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::client::Post;
use super::lanes::Lanes;
use super::payload::Payload;
use super::recorder::Recorder;
use super::{ATTEMPT_TIMEOUT, Clock};
use purser_base::lookup::LOOKED_UP_FOR;
use purser_base::metrics::Metrics;
use purser_base::shares::{Outgoing, Share};
use purser_base::tasks::Tasks;
use purser_model::{
    Attempt, DeliveryState, Event, SealingKey, Webhook, WebhookId, WebhookSecret, WebhookStatus,
};
use purser_store::{AttemptMade, Deliveries, StoreError, Webhooks};

/// How long a process holds a taken delivery: an attempt, recording it, and some slack.
pub(super) const LEASE: Duration = Duration::from_secs(ATTEMPT_TIMEOUT.as_secs() * 3);

/// When a delivery is tried again that was not attempted: it uses up none of its attempts.
const AGAIN_AFTER: Duration = Duration::from_secs(5);

/// How many secrets are checked at a time.
const SECRETS_AT_ONCE: u32 = 500;
const CLOSED: &str = "secrets of webhooks were sealed with another key than the one in `webhooks`: nothing is delivered to \
                      them until they are rotated, or the service has that key again";

/// Attempts deliveries.
#[derive(Clone)]
pub struct Deliverer {
    webhooks: Webhooks,
    deliveries: Deliveries,
    sealing_key: Arc<SealingKey>,
    post: Arc<dyn Post>,
    clock: Clock,
    lanes: Lanes,
    recorder: Recorder,
    /// Webhooks whose secrets this key does not open; each was logged.
    closed: Arc<Mutex<HashSet<WebhookId>>>,
    stop: CancellationToken,
    metrics: Metrics,
}

/// An endpoint in its current state.
struct Endpoint {
    webhook: Webhook,
    secret: WebhookSecret,
    previous: Option<WebhookSecret>,
}

impl Deliverer {
    /// Its recorder runs on `tasks` until the deliverer is dropped; once they stop, it takes nothing more.
    pub fn new(
        (webhooks, deliveries): (Webhooks, Deliveries),
        sealing_key: Arc<SealingKey>,
        post: Arc<dyn Post>,
        clock: Clock,
        tasks: &Tasks,
        (outgoing, metrics): (Outgoing, Metrics),
    ) -> Self {
        let recorder = Recorder::start(deliveries.clone(), tasks, metrics.clone());
        let (closed, stop) = (Arc::default(), tasks.stop.clone());
        let lanes = Lanes::new(outgoing);
        Self { webhooks, deliveries, sealing_key, post, clock, lanes, recorder, closed, stop, metrics }
    }

    pub(super) fn deliveries(&self) -> &Deliveries {
        &self.deliveries
    }

    pub(super) fn metrics(&self) -> &Metrics {
        &self.metrics
    }

    pub(super) fn clock(&self) -> &Clock {
        &self.clock
    }

    /// Logs how many secrets this key does not open, if any: once, before the first delivery.
    pub(super) async fn check_secrets(&self) -> Result<(), StoreError> {
        let (mut after, mut webhooks) = (None, 0_usize);
        loop {
            let sealed = self.webhooks.list_sealed_secrets(after, SECRETS_AT_ONCE).await?;
            let Some((last, _)) = sealed.last() else { break };
            after = Some(*last);
            webhooks += sealed.len();
            let closed = sealed.iter().filter(|(id, secret)| self.sealing_key.open(*id, secret).is_none());
            self.closed().extend(closed.map(|(id, _)| *id));
        }
        let count = self.closed().len();
        if count > 0 {
            tracing::error!(count, webhooks, "{CLOSED}");
        }
        Ok(())
    }

    fn closed(&self) -> MutexGuard<'_, HashSet<WebhookId>> {
        self.closed.lock()
    }

    /// Attempts everything that is due for one webhook, including what becomes due meanwhile.
    pub async fn serve(&self, id: WebhookId) -> Result<(), StoreError> {
        let mut under_way = FuturesUnordered::new();
        let mut interrupted = Ok(());
        loop {
            if !self.stop.is_cancelled() && interrupted.is_ok() {
                match self.take_more(id, under_way.len()).await {
                    Ok(more) => under_way.extend(
                        more.into_iter().map(|(endpoint, one, place)| self.deliver(endpoint, one, place)),
                    ),
                    // Attempts under way still come to their end.
                    Err(error) => interrupted = Err(error),
                }
            }
            if under_way.next().await.is_none() {
                return interrupted;
            }
        }
    }

    /// Takes what is due, as far as there is room. From here on, changes, rotations, disabling and deletion apply.
    async fn take_more(
        &self,
        id: WebhookId,
        under_way: usize,
    ) -> Result<Vec<(Arc<Endpoint>, (Event, u32), Share)>, StoreError> {
        let Some(endpoint) = self.find_endpoint(id).await?.map(Arc::new) else { return Ok(Vec::new()) };
        let lane = self.lanes.of(&endpoint.webhook);
        // Several at a time rather than one by one.
        if under_way > lane.at_once / 2 {
            return Ok(Vec::new());
        }
        let places = lane.take(lane.at_once - under_way, under_way == 0).await;
        let taken = self.take(&endpoint.webhook, places.len()).await?;
        Ok(taken.into_iter().zip(places).map(|(one, place)| (endpoint.clone(), one, place)).collect())
    }

    async fn take(&self, webhook: &Webhook, places: usize) -> Result<Vec<(Event, u32)>, StoreError> {
        let rows_max = u32::try_from(places).unwrap_or(u32::MAX);
        if rows_max == 0 {
            return Ok(Vec::new());
        }
        let now = (self.clock)();
        self.deliveries.take_due_deliveries(webhook, now, now.after(LEASE), rows_max).await
    }

    async fn deliver(&self, endpoint: Arc<Endpoint>, (event, failures): (Event, u32), place: Share) {
        let started_at = (self.clock)();
        let previous = endpoint.previous.as_ref();
        let body = event.envelope().get().into();
        let payload = Payload::new(event.id, body, started_at, &endpoint.secret, previous);
        let (begun, operator_id, webhook_id) = (Instant::now(), event.operator_id, endpoint.webhook.id);
        let posting = self.post.post(&endpoint.webhook.url, payload);
        let outcome = LOOKED_UP_FOR.scope(operator_id, posting).await;
        let ended_at = (self.clock)();
        drop(place);
        let Ok(outcome) = outcome else {
            let again_at = ended_at.after(AGAIN_AFTER);
            let postponed = self.deliveries.postpone_delivery((operator_id, webhook_id), event.id, again_at);
            if let Err(error) = postponed.await {
                tracing::warn!(%error, "cannot release a delivery; its lease will expire");
            }
            return;
        };
        self.lanes.took(webhook_id, begun.elapsed());
        let next = if outcome.is_success() {
            DeliveryState::Delivered { delivered_at: ended_at }
        } else {
            DeliveryState::after_failure(failures, ended_at)
        };
        let made = AttemptMade {
            operator_id,
            webhook_id,
            event_id: event.id,
            attempt: Attempt { started_at, ended_at, outcome },
            next,
        };
        self.recorder.record(made).await;
    }

    /// `None` if there is nothing to deliver to.
    async fn find_endpoint(&self, id: WebhookId) -> Result<Option<Endpoint>, StoreError> {
        let Some(webhook) = self.webhooks.find_any_webhook(id).await? else { return Ok(None) };
        match webhook.status {
            WebhookStatus::Enabled => {}
            WebhookStatus::Disabled { .. } => return Ok(None),
        }
        let Some(sealed) = self.webhooks.find_webhook_secrets(id).await? else { return Ok(None) };
        let now = (self.clock)();
        let previous = sealed.previous.filter(|(_, until)| now < *until);
        let opened = self.sealing_key.open(id, &sealed.current);
        // If it was sealed with another key, that is why it was rotated.
        let previous = previous.and_then(|(sealed, _)| self.sealing_key.open(id, &sealed));
        match opened {
            Some(secret) => {
                self.closed().remove(&id);
                Ok(Some(Endpoint { webhook, secret, previous }))
            }
            None => {
                if self.closed().insert(id) {
                    tracing::error!(webhook_id = %id, "{CLOSED}");
                }
                Ok(None)
            }
        }
    }
}
