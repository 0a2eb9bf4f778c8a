//! The balances that webhooks with a threshold watch, and the crossings that follow from them.

use super::events::{all_of, announce, insert_deliveries};
use super::query::sql;
use super::row::{Listed, row};
use super::stored::OrEmpty;
use super::{Events, Result, StoreError, Transaction};
use futures::FutureExt;
use purser_model::{Account, BalanceSeen, KnownBalance, OperatorId, Timestamp, Webhook, WebhookId};

row! { KnownBalance { balance: watched_usdc, read_at: watched_at } }

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

    /// Records an observed balance, if webhooks watch the account, and announces what [`BalanceSeen::announced`]
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
        let notified = self.write(move |tx| {
            async move {
                let known = find_known(tx, &account).await?;
                if !seen.is_news(known, &webhooks) {
                    return Ok(Vec::new());
                }
                replace_known(tx, &account, known, &seen).await?;
                let mut notified = Vec::new();
                for (event, webhooks) in seen.announced(&account, known, &webhooks, now, random) {
                    announce(tx, std::slice::from_ref(&event)).await?;
                    notified.extend(insert_deliveries(tx, &event, &webhooks, now).await?);
                }
                Ok(notified)
            }
            .boxed()
        });
        self.outbox.hint(notified.await?);
        Ok(())
    }
}

async fn find_known(tx: &mut Transaction<'_>, account: &Account) -> Result<Option<KnownBalance>> {
    sql! {
        "SELECT {columns} FROM accounts
         WHERE operator_id = {operator_id} AND account_id = {id} AND watched_at IS NOT NULL",
        columns = KnownBalance::COLUMNS, account.operator_id, account.id
    }
    .fetch_optional(tx)
    .await
}

/// `Contended` when another reading came in between.
async fn replace_known(
    tx: &mut Transaction<'_>,
    account: &Account,
    known: Option<KnownBalance>,
    seen: &BalanceSeen,
) -> Result<()> {
    let replaced = sql! {
        "UPDATE accounts SET watched_usdc = {balance}, watched_at = {read_at}
         WHERE operator_id = {operator_id} AND account_id = {id} AND COALESCE(watched_at, '') = {known}",
        account.operator_id, account.id, seen.balance, seen.read_at,
        known = OrEmpty(known.map(|known| known.read_at))
    };
    if replaced.touches(tx).await? { Ok(()) } else { Err(StoreError::Contended) }
}
