//! The balances last known to webhooks with a threshold, and the crossings that follow from them.

use super::events::{all_of, insert_deliveries, insert_event};
use super::query::{columns, sql};
use super::row::{Listed, row};
use super::{Events, Result, StoreError, Transaction};
use futures::FutureExt;
use purser_model::{Account, BalanceSeen, KnownBalance, OperatorId, Timestamp, Webhook, WebhookId};

row! { KnownBalance { balance: balance_usdc, read_at } }

impl Events {
    /// The operator's webhooks that watch this account.
    pub async fn list_watching(&self, account: &Account) -> Result<Vec<Webhook>> {
        if !self.has_thresholds(account.operator_id).await? {
            return Ok(Vec::new());
        }
        let webhooks: Vec<Webhook> = all_of(account.operator_id).fetch_all(self.reader()).await?;
        Ok(webhooks
            .into_iter()
            .filter(|webhook| webhook.subscription.watches(account.id).is_some())
            .collect())
    }

    /// Whether the operator has a webhook with a threshold. Usually not, which spares all further queries.
    pub async fn has_thresholds(&self, operator: OperatorId) -> Result<bool> {
        let any: Option<WebhookId> = sql! {
            "SELECT webhook_id FROM webhooks
             WHERE operator_id = {operator} AND threshold_usdc IS NOT NULL LIMIT 1",
            operator
        }
        .fetch_optional(self.reader())
        .await?;
        Ok(any.is_some())
    }

    /// Records an observed balance with the webhooks that watch the account, and announces what [`BalanceSeen::announced`]
    /// says of it. Keeps what is known from a later reading.
    pub async fn mark_balance(
        &self,
        account: &Account,
        seen: BalanceSeen,
        now: Timestamp,
        random: impl Fn() -> u128 + Clone + Send + Sync + 'static,
    ) -> Result<()> {
        let webhooks = self.list_watching(account).await?;
        if webhooks.is_empty() {
            return Ok(());
        }
        let account = account.clone();
        self.write_and_hint(move |tx| {
            async move {
                let mut watching = Vec::new();
                for webhook in webhooks {
                    let known = find_known(tx, webhook.id, &account).await?;
                    if seen.is_news(known) {
                        replace_known(tx, webhook.id, &account, known, &seen).await?;
                    }
                    watching.push((webhook, known));
                }
                let mut notified = Vec::new();
                for (event, webhooks) in seen.announced(&account, &watching, now, random) {
                    insert_event(tx, &event).await?;
                    notified.extend(insert_deliveries(tx, &event, &webhooks, now).await?);
                }
                Ok(notified)
            }
            .boxed()
        })
        .await
    }
}

/// What a webhook knows of the account.
async fn find_known(
    tx: &mut Transaction<'_>,
    webhook: WebhookId,
    account: &Account,
) -> Result<Option<KnownBalance>> {
    sql! {
        "SELECT {columns} FROM webhook_balances
         WHERE operator_id = {operator_id} AND webhook_id = {webhook} AND account_id = {id}",
        columns = KnownBalance::COLUMNS, account.operator_id, webhook, account.id
    }
    .fetch_optional(tx)
    .await
}

/// `Contended` when another reading came in between.
async fn replace_known(
    tx: &mut Transaction<'_>,
    webhook: WebhookId,
    account: &Account,
    known: Option<KnownBalance>,
    seen: &BalanceSeen,
) -> Result<()> {
    let write = match known {
        None => sql! {
            "INSERT INTO webhook_balances {row} ON CONFLICT (operator_id, webhook_id, account_id) DO NOTHING",
            row = columns! {
                account.operator_id, webhook_id = webhook, account_id = account.id,
                balance_usdc = seen.balance, seen.read_at
            }
        },
        Some(known) => sql! {
            "UPDATE webhook_balances SET balance_usdc = {balance}, read_at = {read_at}
             WHERE operator_id = {operator_id} AND webhook_id = {webhook} AND account_id = {id} AND read_at = {known}",
            account.operator_id, webhook, account.id, seen.balance, seen.read_at, known = known.read_at
        },
    };
    if write.touches(tx).await? { Ok(()) } else { Err(StoreError::Contended) }
}
