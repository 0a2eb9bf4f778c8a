use super::deliveries::{GIVEN_UP_AT_ONCE, give_up_some};
use super::limits::watch_if_named;
use super::operators::lock_operator;
use super::query::{columns, sql};
use super::row::{Listed, row, unreadable};
use super::stored::{Below, OrEmpty};
use super::{Result, StoreError, Webhooks};
use futures::FutureExt;
use purser_model::{
    DisabledReason, EndpointHealth, Network, OperatorId, SealedSecret, Subscription, Timestamp, Webhook,
    WebhookId, WebhookStatus,
};

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
    watches_since, created_at, updated_at,
}}

fn disabled(status: &WebhookStatus) -> (Option<DisabledReason>, Option<Timestamp>) {
    match status {
        WebhookStatus::Enabled => (None, None),
        WebhookStatus::Disabled { reason, since } => (Some(*reason), Some(*since)),
    }
}

/// A webhook's signing secrets, sealed.
#[derive(Debug, Clone)]
pub struct SealedSecrets {
    pub current: SealedSecret,
    /// The previous secret, and until when it also signs.
    pub previous: Option<(SealedSecret, Timestamp)>,
}

row! { SealedSecrets {
    current: secret,
    previous(previous_secret, previous_until) = Option::zip(previous_secret, previous_until),
}}

impl Webhooks {
    /// Stores a new webhook with its sealed secret. `Full`: the operator has `webhooks_max`.
    pub async fn insert_webhook(
        &self,
        webhook: &Webhook,
        secret: &SealedSecret,
        webhooks_max: u32,
    ) -> Result<()> {
        let (disabled_reason, disabled_at) = disabled(&webhook.status);
        let insert = sql! {
            "INSERT INTO webhooks {row}",
            row = columns! {
                ..webhook, events = *webhook.subscription.events(), account_ids = *webhook.subscription.accounts(),
                threshold_usdc = webhook.subscription.threshold(), status = webhook.status.as_str(), disabled_reason,
                disabled_at, secret, failures = 0_u32
            }
        };
        let operator = webhook.operator_id;
        let count = sql! {"SELECT COUNT(*) FROM webhooks WHERE operator_id = {operator}", operator};
        let (subscription, now) = (webhook.subscription.clone(), webhook.created_at);
        self.write(move |tx| {
            async move {
                lock_operator(tx, operator).await?;
                if count.count(&mut *tx).await? >= u64::from(webhooks_max) {
                    return Err(StoreError::Full);
                }
                insert.execute(&mut *tx).await?;
                watch_if_named(tx, operator, &subscription, now).await
            }
            .boxed()
        })
        .await
    }

    /// For the deliverer: the secrets of enabled webhooks of every operator, up to `rows_max` in id order, starting
    /// after `after`.
    pub async fn list_sealed_secrets(
        &self,
        after: Option<WebhookId>,
        rows_max: u32,
    ) -> Result<Vec<(WebhookId, SealedSecret)>> {
        sql! {
            "SELECT webhook_id, secret FROM webhooks
             WHERE webhook_id > {after} AND status = 'enabled' ORDER BY webhook_id LIMIT {rows_max}",
            after = OrEmpty(after), rows_max
        }
        .fetch_all(self.reader())
        .await
    }

    /// The operator's webhook with this id.
    pub async fn find_webhook(&self, operator: OperatorId, id: WebhookId) -> Result<Option<Webhook>> {
        sql! {
            "SELECT {columns} FROM webhooks WHERE operator_id = {operator} AND webhook_id = {id}",
            columns = Webhook::COLUMNS, operator, id
        }
        .fetch_optional(self.reader())
        .await
    }

    /// The webhook with this id, for any owner. For workers and the command line.
    pub async fn find_any_webhook(&self, id: WebhookId) -> Result<Option<Webhook>> {
        sql! {"SELECT {columns} FROM webhooks WHERE webhook_id = {id}", columns = Webhook::COLUMNS, id}
            .fetch_optional(self.reader())
            .await
    }

    /// For the deliverer: the secrets of a webhook, for any owner.
    pub async fn find_webhook_secrets(&self, id: WebhookId) -> Result<Option<SealedSecrets>> {
        sql! {"SELECT {columns} FROM webhooks WHERE webhook_id = {id}", columns = SealedSecrets::COLUMNS, id}
            .fetch_optional(self.reader())
            .await
    }

    /// For the doctor: the present secrets of up to `rows_max` webhooks of any operator, newest first.
    pub async fn list_webhook_secrets(&self, rows_max: u32) -> Result<Vec<(WebhookId, SealedSecret)>> {
        sql! {"SELECT webhook_id, secret FROM webhooks ORDER BY webhook_id DESC LIMIT {rows_max}", rows_max}
            .fetch_all(self.lister())
            .await
    }

    /// For metrics: how many enabled webhooks of each network have answered no attempt since they last answered one.
    pub async fn count_failing_webhooks(&self) -> Result<Vec<(Network, u64)>> {
        sql! {
            "SELECT network, COUNT(*) FROM webhooks
                 JOIN operators ON operators.operator_id = webhooks.operator_id
             WHERE status = 'enabled' AND failing_since IS NOT NULL GROUP BY network"
        }
        .fetch_all(self.lister())
        .await
    }

    /// Up to `rows_max` webhooks of the operator, newest first, starting after `after`.
    pub async fn list_webhooks(
        &self,
        operator: OperatorId,
        after: Option<WebhookId>,
        rows_max: u32,
    ) -> Result<Vec<Webhook>> {
        sql! {
            "SELECT {columns} FROM webhooks
             WHERE operator_id = {operator} AND webhook_id < {below} ORDER BY webhook_id DESC LIMIT {rows_max}",
            columns = Webhook::COLUMNS, operator, below = Below(after), rows_max
        }
        .fetch_all(self.lister())
        .await
    }

    /// Replaces `seen` by `changed`, including its health. When it becomes disabled, its pending deliveries become
    /// undelivered; a large number of them a little later. `Superseded` when the stored webhook no longer equals `seen`.
    pub async fn mark_webhook_changed(&self, seen: &Webhook, changed: &Webhook) -> Result<()> {
        let (disabled_reason, disabled_at) = disabled(&changed.status);
        let change = sql! {
            "UPDATE webhooks SET url = {url}, events = {events}, account_ids = {accounts},
                 threshold_usdc = {threshold}, status = {status}, disabled_reason = {disabled_reason},
                 disabled_at = {disabled_at}, failures = {failures}, failing_since = {failing_since},
                 watches_since = {watches_since}, updated_at = {updated_at}
             WHERE operator_id = {operator_id} AND webhook_id = {id} AND updated_at = {seen_at}",
            changed.url, events = *changed.subscription.events(), accounts = *changed.subscription.accounts(),
            threshold = changed.subscription.threshold(), status = changed.status.as_str(), disabled_reason,
            disabled_at, failures = changed.health.failures, failing_since = changed.health.failing_since,
            changed.watches_since, changed.updated_at, seen.operator_id, seen.id, seen_at = seen.updated_at
        };
        let (id, status, changed) = ((seen.operator_id, seen.id), changed.status, changed.clone());
        self.write(move |tx| {
            async move {
                if !change.touches(&mut *tx).await? {
                    return Err(StoreError::Superseded);
                }
                watch_if_named(tx, changed.operator_id, &changed.subscription, changed.updated_at).await?;
                if let WebhookStatus::Disabled { since, .. } = status {
                    give_up_some(tx, id, since, GIVEN_UP_AT_ONCE).await?;
                }
                Ok(())
            }
            .boxed()
        })
        .await
    }

    /// Gives a webhook a new secret; the previous one also signs until `previous_until`. `false` when the operator
    /// has no such webhook, or its secret is not the one in `seen`.
    pub async fn mark_secret_rotated(
        &self,
        operator: OperatorId,
        id: WebhookId,
        seen: &SealedSecret,
        secret: &SealedSecret,
        previous_until: Timestamp,
        now: Timestamp,
    ) -> Result<bool> {
        sql! {
            "UPDATE webhooks SET previous_secret = secret, previous_until = {previous_until}, secret = {secret},
                 updated_at = {now}
             WHERE operator_id = {operator} AND webhook_id = {id} AND secret = {seen}",
            previous_until, secret, now, operator, id, seen
        }
        .touches(self.writer())
        .await
    }

    /// Deletes a webhook. [`Upkeep::clean_up`](super::Upkeep::clean_up) deletes its deliveries, since there may be a million. `false` when the
    /// operator has no such webhook.
    pub async fn delete_webhook(&self, operator: OperatorId, id: WebhookId) -> Result<bool> {
        let delete = sql! {
            "DELETE FROM webhooks WHERE operator_id = {operator} AND webhook_id = {id}",
            operator, id
        };
        let note = sql! {
            "INSERT INTO deleted_webhooks {row}",
            row = columns! { operator_id = operator, webhook_id = id }
        };
        self.write(move |tx| {
            async move {
                if !delete.touches(&mut *tx).await? {
                    return Ok(false);
                }
                note.execute(tx).await?;
                Ok(true)
            }
            .boxed()
        })
        .await
    }
}
