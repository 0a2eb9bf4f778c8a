use futures::FutureExt;
use macro_rules_attribute::derive;
use sqlx::AssertSqlSafe;

use super::columns::Table;
use super::deliveries::{GIVEN_UP_AT_ONCE, give_up_some};
use super::limits::watch_if_named;
use super::operators::{count_in, lock_operator};
use super::query::query;
use super::row::ByName;
use super::{Store, StoreError};
use crate::domain::{
    AccountId, DisabledReason, EndpointHealth, EventType, OperatorId, SealedSecret, Subscription, Timestamp,
    Webhook, WebhookId, WebhookStatus, WebhookUrl,
};

const TABLE: Table = Table("webhooks");

const COLUMNS: &str = "webhook_id, operator_id, url, events, account_ids, threshold_usdc, status,
    disabled_reason, disabled_at, previous_until, failures, failing_since, created_at, updated_at";

#[derive(Debug, ByName!)]
struct WebhookRow {
    webhook_id: String,
    operator_id: String,
    url: String,
    events: String,
    account_ids: String,
    threshold_usdc: Option<String>,
    status: String,
    disabled_reason: Option<String>,
    disabled_at: Option<String>,
    previous_until: Option<String>,
    failures: i64,
    failing_since: Option<String>,
    created_at: String,
    updated_at: String,
}

impl TryFrom<WebhookRow> for Webhook {
    type Error = StoreError;

    fn try_from(row: WebhookRow) -> Result<Self, StoreError> {
        let threshold = TABLE.read_optional("threshold_usdc", row.threshold_usdc.as_deref())?;
        let subscription = Subscription::new(
            read_list::<EventType>("events", &row.events)?,
            read_list::<AccountId>("account_ids", &row.account_ids)?,
            threshold,
        );
        Ok(Self {
            id: TABLE.read("webhook_id", &row.webhook_id)?,
            operator_id: TABLE.read("operator_id", &row.operator_id)?,
            url: WebhookUrl::from_stored(&row.url).ok_or_else(|| TABLE.unreadable("url"))?,
            subscription: subscription.map_err(|_| TABLE.unreadable("events"))?,
            status: match row.status.as_str() {
                "enabled" => WebhookStatus::Enabled,
                "disabled" => {
                    let reason = row.disabled_reason.as_deref().and_then(DisabledReason::from_stored);
                    let since = TABLE.required("disabled_at", row.disabled_at.as_deref())?;
                    WebhookStatus::Disabled {
                        reason: TABLE.required("disabled_reason", reason)?,
                        since: TABLE.read("disabled_at", since)?,
                    }
                }
                _ => return Err(TABLE.unreadable("status")),
            },
            health: EndpointHealth {
                failures: u32::try_from(row.failures).map_err(|_| TABLE.unreadable("failures"))?,
                failing_since: TABLE.read_optional("failing_since", row.failing_since.as_deref())?,
            },
            previous_secret_until: TABLE.read_optional("previous_until", row.previous_until.as_deref())?,
            created_at: TABLE.read("created_at", &row.created_at)?,
            updated_at: TABLE.read("updated_at", &row.updated_at)?,
        })
    }
}

fn read_list<T: std::str::FromStr>(column: &'static str, json: &str) -> Result<Vec<T>, StoreError> {
    let texts: Vec<String> = serde_json::from_str(json).map_err(|_| TABLE.unreadable(column))?;
    texts.iter().map(|text| TABLE.read(column, text)).collect()
}

fn write_list<T: ToString>(items: &[T]) -> String {
    serde_json::Value::from_iter(items.iter().map(T::to_string)).to_string()
}

fn disabled(status: &WebhookStatus) -> (Option<&'static str>, Option<String>) {
    match status {
        WebhookStatus::Enabled => (None, None),
        WebhookStatus::Disabled { reason, since } => (Some(reason.as_str()), Some(since.to_string())),
    }
}

/// A webhook's signing secrets, sealed.
#[derive(Debug, Clone)]
pub struct SealedSecrets {
    pub current: SealedSecret,
    /// The previous secret, and until when it also signs.
    pub previous: Option<(SealedSecret, Timestamp)>,
}

#[derive(Debug, ByName!)]
struct SecretsRow {
    secret: String,
    previous_secret: Option<String>,
    previous_until: Option<String>,
}

impl TryFrom<SecretsRow> for SealedSecrets {
    type Error = StoreError;

    fn try_from(row: SecretsRow) -> Result<Self, StoreError> {
        let until = TABLE.read_optional("previous_until", row.previous_until.as_deref())?;
        Ok(Self {
            current: SealedSecret::from_stored(row.secret),
            previous: row.previous_secret.map(SealedSecret::from_stored).zip(until),
        })
    }
}

impl Store {
    /// Stores a new webhook with its sealed secret. `Full`: the operator has `webhooks_max`.
    pub async fn insert_webhook(
        &self,
        webhook: &Webhook,
        secret: &SealedSecret,
        webhooks_max: u32,
    ) -> Result<(), StoreError> {
        const SQL: &str = "INSERT INTO webhooks
                 (webhook_id, operator_id, url, events, account_ids, threshold_usdc, status, disabled_reason,
                  disabled_at, secret, failures, created_at, updated_at)
             VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, 0, $11, $12)";
        const COUNT: &str = "SELECT COUNT(*) FROM webhooks WHERE operator_id = $1";
        let (reason, since) = disabled(&webhook.status);
        let insert = query(SQL)
            .bind(webhook.id.to_string())
            .bind(webhook.operator_id.to_string())
            .bind(webhook.url.as_str())
            .bind(write_list(webhook.subscription.events()))
            .bind(write_list(webhook.subscription.accounts()))
            .bind(webhook.subscription.threshold().map(|threshold| threshold.to_string()))
            .bind(webhook.status.as_str())
            .bind(reason)
            .bind(since)
            .bind(secret.as_str())
            .bind(webhook.created_at.to_string())
            .bind(webhook.updated_at.to_string());
        let operator = webhook.operator_id;
        let (subscription, now) = (webhook.subscription.clone(), webhook.created_at);
        self.write(move |tx| {
            async move {
                lock_operator(tx, operator).await?;
                let count = query(COUNT).bind(operator.to_string());
                if count_in(tx, count).await? >= i64::from(webhooks_max) {
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
    ) -> Result<Vec<(WebhookId, SealedSecret)>, StoreError> {
        const SQL: &str = "SELECT webhook_id, secret FROM webhooks
             WHERE webhook_id > $1 AND status = 'enabled' ORDER BY webhook_id LIMIT $2";
        let rows: Vec<(String, String)> = query(SQL)
            .bind(after.map_or_else(String::new, |after| after.to_string()))
            .bind(i64::from(rows_max))
            .fetch_all(self.reader())
            .await?;
        let read = |(id, secret): (String, String)| {
            Ok((TABLE.read("webhook_id", &id)?, SealedSecret::from_stored(secret)))
        };
        rows.into_iter().map(read).collect()
    }

    /// The operator's webhook with this id.
    pub async fn find_webhook(
        &self,
        operator: OperatorId,
        id: WebhookId,
    ) -> Result<Option<Webhook>, StoreError> {
        let sql = format!("SELECT {COLUMNS} FROM webhooks WHERE operator_id = $1 AND webhook_id = $2");
        let row: Option<WebhookRow> = query(AssertSqlSafe(sql))
            .bind(operator.to_string())
            .bind(id.to_string())
            .fetch_optional(self.reader())
            .await?;
        row.map(Webhook::try_from).transpose()
    }

    /// The webhook with this id, for any owner. For workers and the command line.
    pub async fn find_any_webhook(&self, id: WebhookId) -> Result<Option<Webhook>, StoreError> {
        let sql = format!("SELECT {COLUMNS} FROM webhooks WHERE webhook_id = $1");
        let row: Option<WebhookRow> =
            query(AssertSqlSafe(sql)).bind(id.to_string()).fetch_optional(self.reader()).await?;
        row.map(Webhook::try_from).transpose()
    }

    /// For the deliverer: the secrets of a webhook, for any owner.
    pub async fn find_webhook_secrets(&self, id: WebhookId) -> Result<Option<SealedSecrets>, StoreError> {
        const SQL: &str =
            "SELECT secret, previous_secret, previous_until FROM webhooks WHERE webhook_id = $1";
        let row: Option<SecretsRow> = query(SQL).bind(id.to_string()).fetch_optional(self.reader()).await?;
        row.map(SealedSecrets::try_from).transpose()
    }

    /// For the doctor: the present secrets of up to `rows_max` webhooks of any operator, newest first.
    pub async fn list_webhook_secrets(
        &self,
        rows_max: u32,
    ) -> Result<Vec<(WebhookId, SealedSecret)>, StoreError> {
        const SQL: &str = "SELECT webhook_id, secret FROM webhooks ORDER BY webhook_id DESC LIMIT $1";
        let rows: Vec<(String, String)> =
            query(SQL).bind(i64::from(rows_max)).fetch_all(self.lister()).await?;
        let read = |(id, secret): (String, String)| {
            Ok((TABLE.read("webhook_id", &id)?, SealedSecret::from_stored(secret)))
        };
        rows.into_iter().map(read).collect()
    }

    /// Up to `rows_max` webhooks of the operator, newest first, starting after `after`.
    pub async fn list_webhooks(
        &self,
        operator: OperatorId,
        after: Option<WebhookId>,
        rows_max: u32,
    ) -> Result<Vec<Webhook>, StoreError> {
        let sql = format!(
            "SELECT {COLUMNS} FROM webhooks
             WHERE operator_id = $1 AND webhook_id < $2 ORDER BY webhook_id DESC LIMIT $3"
        );
        let rows: Vec<WebhookRow> = query(AssertSqlSafe(sql))
            .bind(operator.to_string())
            .bind_below(after)
            .bind(i64::from(rows_max))
            .fetch_all(self.lister())
            .await?;
        rows.into_iter().map(Webhook::try_from).collect()
    }

    /// Every webhook of the operator.
    pub(super) async fn list_all_webhooks(&self, operator: OperatorId) -> Result<Vec<Webhook>, StoreError> {
        let sql = format!("SELECT {COLUMNS} FROM webhooks WHERE operator_id = $1");
        let listing = query(AssertSqlSafe(sql)).bind(operator.to_string());
        let rows: Vec<WebhookRow> = listing.fetch_all(self.reader()).await?;
        rows.into_iter().map(Webhook::try_from).collect()
    }

    /// Replaces `seen` by `changed`, including its health. When it becomes disabled, its pending deliveries become
    /// undelivered; a large number of them a little later. `Superseded` when the stored webhook no longer equals `seen`.
    pub async fn mark_webhook_changed(&self, seen: &Webhook, changed: &Webhook) -> Result<(), StoreError> {
        const SQL: &str = "UPDATE webhooks SET url = $4, events = $5, account_ids = $6, threshold_usdc = $7,
                 status = $8, disabled_reason = $9, disabled_at = $10, failures = $11, failing_since = $12,
                 updated_at = $13
             WHERE operator_id = $1 AND webhook_id = $2 AND updated_at = $3";
        let (reason, since) = disabled(&changed.status);
        let change = query(SQL)
            .bind(seen.operator_id.to_string())
            .bind(seen.id.to_string())
            .bind(seen.updated_at.to_string())
            .bind(changed.url.as_str())
            .bind(write_list(changed.subscription.events()))
            .bind(write_list(changed.subscription.accounts()))
            .bind(changed.subscription.threshold().map(|threshold| threshold.to_string()))
            .bind(changed.status.as_str())
            .bind(reason)
            .bind(since)
            .bind(i64::from(changed.health.failures))
            .bind(changed.health.failing_since.map(|since| since.to_string()))
            .bind(changed.updated_at.to_string());
        let (id, status, changed) = ((seen.operator_id, seen.id), changed.status, changed.clone());
        self.write(move |tx| {
            async move {
                if change.execute(&mut *tx).await? == 0 {
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
    ) -> Result<bool, StoreError> {
        const SQL: &str = "UPDATE webhooks
             SET previous_secret = secret, previous_until = $4, secret = $3, updated_at = $5
             WHERE operator_id = $1 AND webhook_id = $2 AND secret = $6";
        let touched = query(SQL)
            .bind(operator.to_string())
            .bind(id.to_string())
            .bind(secret.as_str())
            .bind(previous_until.to_string())
            .bind(now.to_string())
            .bind(seen.as_str())
            .execute(self.writer())
            .await?;
        Ok(touched == 1)
    }

    /// Deletes a webhook. [`Store::clean_up`] deletes its deliveries, since there may be a million. `false` when the
    /// operator has no such webhook.
    pub async fn delete_webhook(&self, operator: OperatorId, id: WebhookId) -> Result<bool, StoreError> {
        const SQL: &str = "DELETE FROM webhooks WHERE operator_id = $1 AND webhook_id = $2";
        let delete = query(SQL).bind(operator.to_string()).bind(id.to_string());
        self.write(move |tx| {
            async move {
                if delete.execute(&mut *tx).await? == 0 {
                    return Ok(false);
                }
                query("INSERT INTO deleted_webhooks (operator_id, webhook_id) VALUES ($1, $2)")
                    .bind(operator.to_string())
                    .bind(id.to_string())
                    .execute(tx)
                    .await?;
                Ok(true)
            }
            .boxed()
        })
        .await
    }
}
