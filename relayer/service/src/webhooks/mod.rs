//! Webhooks: registered, changed and read here; `purser_webhooks` delivers to them.

mod deliveries;

use std::sync::Arc;
use std::time::Duration;

pub use self::deliveries::{DeliveriesFilter, Replay};
use super::error::{Resource, ServiceError};
use super::events;
use crate::Inside;
use crate::audit_scope::AuditScope;
use purser_base::lookup::LOOKED_UP_FOR;
use purser_model::{
    AccountId, Delivering, DestinationRules, DisabledReason, EndpointHealth, Invalid, Operator, Page,
    PageRequest, SECRET_OVERLAP, SealingKey, SeededRandom, Subscription, Timestamp, UpdateWebhook,
    WEBHOOKS_MAX, Webhook, WebhookId, WebhookSecret, WebhookStatus, WebhookUrl, may_reach,
};
use purser_store::StoreError;
use purser_webhooks::Resolve;

/// How long a registration waits for name resolution.
const RESOLVE_TIMEOUT: Duration = Duration::from_secs(3);
/// How often a change is tried while others keep getting in first.
const TRIES_MAX: usize = 5;
/// Balances read per batch when a threshold is new.
const BASELINE_ROWS: u32 = 100;

/// The configuration of webhooks.
#[derive(Clone)]
pub struct WebhookParts {
    /// `None`: webhooks cannot be registered, and none gets deliveries.
    pub sealing_key: Option<Arc<SealingKey>>,
    pub rules: Arc<DestinationRules>,
    pub resolve: Arc<dyn Resolve>,
}

/// A webhook with its new secret, which is shown only once.
#[derive(Debug, Clone)]
pub struct NewSecret {
    pub webhook: Webhook,
    pub secret: WebhookSecret,
}

/// The endpoints that an operator has registered.
#[derive(Clone)]
pub struct Webhooks {
    inside: Arc<Inside>,
    parts: WebhookParts,
}

impl Webhooks {
    pub(super) fn new(inside: Arc<Inside>, parts: WebhookParts) -> Self {
        Self { inside, parts }
    }

    /// Registers an endpoint. Invalid: no URL or events, a URL that may not be reached, a malformed subscription, a status, an
    /// account that is not the operator's, or more than 100 webhooks. NotConfigured: the service has no key for secrets.
    pub async fn create(
        &self,
        operator: &Operator,
        asked: UpdateWebhook,
        drawn: Option<SeededRandom>,
        scope: &AuditScope,
    ) -> Result<NewSecret, ServiceError> {
        let UpdateWebhook { url, events, account_ids, threshold, status } = asked;
        if status.is_some() {
            return Err(Invalid::new("status", "is set with PATCH; a new webhook is `enabled`").into());
        }
        let events = events.ok_or_else(|| Invalid::new("events", "is required"))?;
        let url = url.ok_or_else(|| Invalid::new("url", "is required"))?;
        let account_ids = account_ids.unwrap_or_default();
        let clock = &self.inside.clock;
        let is_named = drawn.is_some();
        let drawn = drawn.unwrap_or_else(|| clock.draw());
        let id = WebhookId::new(drawn.at, drawn.id_bits);
        let secret = WebhookSecret::new(&drawn.secret);
        if is_named && let Some(webhook) = self.inside.store.webhooks.find_webhook(operator.id, id).await? {
            return Ok(NewSecret { webhook, secret });
        }
        let url = self.parse_url(operator, &url).await?;
        self.check_accounts(operator, &account_ids).await?;
        let subscription = Subscription::new(events, account_ids, threshold.flatten())?;
        let sealing_key = self.sealing_key()?;
        let now = clock.now();
        let webhook = Webhook {
            id,
            operator_id: operator.id,
            url,
            subscription,
            status: WebhookStatus::Enabled,
            health: EndpointHealth::default(),
            previous_secret_until: None,
            watches_since: now,
            created_at: now,
            updated_at: now,
        };
        let sealed = sealing_key.seal(webhook.id, &secret, &clock.random());
        // It gets what happens from here on.
        self.inside.store.events.place_all(operator.id, now).await?;
        scope.makes(webhook.id);
        match self.inside.store.webhooks.insert_webhook(&webhook, &sealed, WEBHOOKS_MAX).await {
            Ok(()) => {}
            Err(StoreError::Full) => {
                let message = format!("is one too many: an operator may have {WEBHOOKS_MAX} webhooks");
                return Err(Invalid::new("url", message).into());
            }
            Err(error) => return Err(error.into()),
        }
        self.learn_balances(operator, &webhook);
        Ok(NewSecret { webhook, secret })
    }

    /// One webhook. NotFound: unknown or another operator's.
    pub async fn get(&self, operator: &Operator, id: WebhookId) -> Result<Webhook, ServiceError> {
        let webhook = self.inside.store.webhooks.find_webhook(operator.id, id).await?;
        webhook.ok_or(ServiceError::NotFound(Resource::Webhook))
    }

    /// The operator's webhooks, newest first.
    pub async fn list(
        &self,
        operator: &Operator,
        request: PageRequest,
    ) -> Result<Page<Webhook>, ServiceError> {
        let listing = request.of(format!("webhooks|{}", operator.id))?;
        let (after, rows_max) = (listing.after, listing.rows_max());
        let rows = self.inside.store.webhooks.list_webhooks(operator.id, after, rows_max).await?;
        Ok(listing.page(rows, |last| last.id))
    }

    /// Changes the given parts. Enabling resets past failures. Errors as [`Webhooks::create`] and [`Webhooks::get`].
    pub async fn update(
        &self,
        operator: &Operator,
        id: WebhookId,
        asked: UpdateWebhook,
        _: &AuditScope,
    ) -> Result<Webhook, ServiceError> {
        let url = match &asked.url {
            Some(text) => Some(self.parse_url(operator, text).await?),
            None => None,
        };
        self.check_accounts(operator, asked.account_ids.as_deref().unwrap_or_default()).await?;
        // It applies to what happens from here on.
        self.inside.store.events.place_all(operator.id, self.inside.clock.now()).await?;
        for _ in 0..TRIES_MAX {
            let seen = self.get(operator, id).await?;
            let changed = change(&seen, &asked, url.clone(), self.inside.clock.now())?;
            match self.inside.store.webhooks.mark_webhook_changed(&seen, &changed).await {
                Ok(()) => {
                    self.learn_balances(operator, &changed);
                    return Ok(changed);
                }
                Err(StoreError::Superseded) => {}
                Err(error) => return Err(error.into()),
            }
        }
        tracing::error!(webhook_id = %id, "gave up changing a webhook: others keep changing it");
        Err(ServiceError::Internal)
    }

    /// Deletes a webhook with its deliveries. NotFound: unknown or another operator's.
    pub async fn delete(
        &self,
        operator: &Operator,
        id: WebhookId,
        _: &AuditScope,
    ) -> Result<(), ServiceError> {
        let deleted = self.inside.store.webhooks.delete_webhook(operator.id, id).await?;
        deleted.then_some(()).ok_or(ServiceError::NotFound(Resource::Webhook))
    }

    /// Gives a webhook a new secret; the previous one also signs for 24 hours. With `drawn` from a request's name, this
    /// happens once. Errors as [`Webhooks::create`].
    pub async fn rotate_secret(
        &self,
        operator: &Operator,
        id: WebhookId,
        drawn: Option<SeededRandom>,
        _: &AuditScope,
    ) -> Result<NewSecret, ServiceError> {
        let clock = &self.inside.clock;
        let is_named = drawn.is_some();
        let secret = WebhookSecret::new(&drawn.unwrap_or_else(|| clock.draw()).secret);
        let sealing_key = self.sealing_key()?;
        for _ in 0..TRIES_MAX {
            let webhook = self.get(operator, id).await?;
            let seen = self.inside.store.webhooks.find_webhook_secrets(id).await?;
            let seen = seen.ok_or(ServiceError::NotFound(Resource::Webhook))?.current;
            // Rotating twice would end the secret that the receiver has.
            let is_done = |current: WebhookSecret| current.bytes() == secret.bytes();
            if is_named && sealing_key.open(id, &seen).is_some_and(is_done) {
                return Ok(NewSecret { webhook, secret });
            }
            let (now, sealed) = (clock.now(), sealing_key.seal(id, &secret, &clock.random()));
            let until = now.after(SECRET_OVERLAP);
            if self
                .inside
                .store
                .webhooks
                .mark_secret_rotated(operator.id, id, &seen, &sealed, until, now)
                .await?
            {
                return Ok(NewSecret { webhook: self.get(operator, id).await?, secret });
            }
        }
        tracing::error!(webhook_id = %id, "gave up rotating a webhook's secret: others keep rotating it");
        Err(ServiceError::Internal)
    }

    fn sealing_key(&self) -> Result<&SealingKey, ServiceError> {
        self.parts.sealing_key.as_deref().ok_or(ServiceError::NotConfigured)
    }

    /// Checks the text and where the name resolves now. A name that does not resolve yet is accepted: every connection checks.
    async fn parse_url(&self, operator: &Operator, text: &str) -> Result<WebhookUrl, ServiceError> {
        let WebhookParts { rules, resolve, .. } = &self.parts;
        let url = WebhookUrl::parse(text, rules)?;
        if let Some(name) = url.host_name() {
            let looking = LOOKED_UP_FOR.scope(operator.id, resolve.resolve(name));
            let found = tokio::time::timeout(RESOLVE_TIMEOUT, looking).await.ok().and_then(Result::ok);
            if !found.unwrap_or_default().iter().all(|address| may_reach(*address, rules)) {
                return Err(Invalid::new("url", "must be at a public address").into());
            }
        }
        Ok(url)
    }

    async fn check_accounts(&self, operator: &Operator, ids: &[AccountId]) -> Result<(), ServiceError> {
        for (chunk, ids) in ids.chunks(500).enumerate() {
            let found = self.inside.store.accounts.find_accounts(operator.id, ids).await?;
            let missing = ids.iter().position(|id| !found.iter().any(|account| account.id == *id));
            if let Some(at) = missing {
                let param = format!("account_ids[{}]", chunk * 500 + at);
                return Err(Invalid::new(param, "is not one of your accounts").into());
            }
        }
        Ok(())
    }

    /// A new threshold needs a balance to start from. If this fails, the next payment provides one.
    fn learn_balances(&self, operator: &Operator, webhook: &Webhook) {
        if webhook.subscription.threshold().is_none() {
            return;
        }
        let (this, operator, subscription) = (self.clone(), operator.clone(), webhook.subscription.clone());
        self.inside.tasks.start(async move {
            if let Err(error) = this.learn_balances_of(&operator, &subscription).await {
                tracing::warn!(%error, "cannot read balances for a new threshold");
            }
        });
    }

    async fn learn_balances_of(
        &self,
        operator: &Operator,
        subscription: &Subscription,
    ) -> Result<(), ServiceError> {
        if !subscription.accounts().is_empty() {
            for ids in subscription.accounts().chunks(BASELINE_ROWS as usize) {
                let accounts = self.inside.store.accounts.find_accounts(operator.id, ids).await?;
                events::look_at_balances(&self.inside, operator, &accounts).await?;
            }
            return Ok(());
        }
        let mut after = None;
        loop {
            let accounts =
                self.inside.store.accounts.list_accounts(operator.id, None, after, BASELINE_ROWS).await?;
            let Some(last) = accounts.last() else { return Ok(()) };
            after = Some(last.place());
            events::look_at_balances(&self.inside, operator, &accounts).await?;
        }
    }
}

fn change(
    seen: &Webhook,
    asked: &UpdateWebhook,
    url: Option<WebhookUrl>,
    now: Timestamp,
) -> Result<Webhook, Invalid> {
    let before = &seen.subscription;
    let subscription = Subscription::new(
        asked.events.clone().unwrap_or_else(|| before.events().to_vec()),
        asked.account_ids.clone().unwrap_or_else(|| before.accounts().to_vec()),
        asked.threshold.unwrap_or(before.threshold()),
    )?;
    let (status, health) = match (asked.status, seen.status) {
        (Some(Delivering::Enabled), _) => (WebhookStatus::Enabled, EndpointHealth::default()),
        (Some(Delivering::Disabled), WebhookStatus::Enabled) => {
            (WebhookStatus::Disabled { reason: DisabledReason::Requested, since: now }, seen.health)
        }
        (Some(Delivering::Disabled), WebhookStatus::Disabled { .. }) | (None, _) => {
            (seen.status, seen.health)
        }
    };
    let updated_at = now.max(seen.updated_at.after(Duration::from_micros(1)));
    let watches = |of: &Subscription| (of.threshold(), of.accounts().to_vec());
    let watches_since =
        if watches(&subscription) == watches(before) { seen.watches_since } else { updated_at };
    Ok(Webhook {
        url: url.unwrap_or_else(|| seen.url.clone()),
        subscription,
        status,
        health,
        watches_since,
        updated_at,
        ..seen.clone()
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use purser_model::{EventType, OperatorId, UsdcAmount};

    fn at(second: i64) -> Timestamp {
        Timestamp::from_unix_seconds(second)
    }

    #[test]
    fn other_accounts_or_another_threshold_are_watched_from_then_on() {
        let threshold = |whole: u64| Some(UsdcAmount::from_micros(whole * 1_000_000));
        let low = vec![EventType::BalanceLowThreshold];
        let seen = Webhook {
            id: WebhookId::from_bytes([1; 16]),
            operator_id: OperatorId::from_bytes([2; 16]),
            url: WebhookUrl::from_stored("https://a.example.com/").expect("valid"),
            subscription: Subscription::new(low, Vec::new(), threshold(50)).expect("valid"),
            status: WebhookStatus::Enabled,
            health: EndpointHealth::default(),
            previous_secret_until: None,
            watches_since: at(1),
            created_at: at(1),
            updated_at: at(1),
        };
        let since = |asked: UpdateWebhook| change(&seen, &asked, None, at(9)).expect("valid").watches_since;
        let disabled = Some(Delivering::Disabled);
        assert_eq!(since(UpdateWebhook { status: disabled, ..UpdateWebhook::default() }), at(1));
        assert_eq!(
            since(UpdateWebhook { threshold: Some(threshold(50)), ..UpdateWebhook::default() }),
            at(1)
        );
        assert_eq!(
            since(UpdateWebhook { threshold: Some(threshold(60)), ..UpdateWebhook::default() }),
            at(9)
        );
        let account_ids = Some(vec![AccountId::from_bytes([3; 16])]);
        assert_eq!(since(UpdateWebhook { account_ids, ..UpdateWebhook::default() }), at(9));
    }
}
