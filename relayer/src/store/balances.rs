//! The balances last known to webhooks with a threshold, and the crossings that follow from them.

use futures::FutureExt;
use macro_rules_attribute::derive;

use super::columns::Table;
use super::events::{insert_deliveries, insert_event};
use super::query::query;
use super::row::ByName;
use super::{Store, StoreError, Transaction};
use crate::domain::{Account, BalanceSeen, KnownBalance, OperatorId, Timestamp, Webhook, WebhookId};

const TABLE: Table = Table("webhook_balances");

#[derive(Debug, ByName!)]
struct WebhookBalanceRow {
    balance_usdc: String,
    read_at: String,
}

impl Store {
    /// The operator's webhooks that watch this account.
    pub async fn list_watching(&self, account: &Account) -> Result<Vec<Webhook>, StoreError> {
        if !self.has_thresholds(account.operator_id).await? {
            return Ok(Vec::new());
        }
        let webhooks = self.list_all_webhooks(account.operator_id).await?;
        Ok(webhooks
            .into_iter()
            .filter(|webhook| webhook.subscription.watches(account.id).is_some())
            .collect())
    }

    /// Whether the operator has a webhook with a threshold. Usually not, which spares all further queries.
    pub async fn has_thresholds(&self, operator: OperatorId) -> Result<bool, StoreError> {
        const SQL: &str =
            "SELECT webhook_id FROM webhooks WHERE operator_id = $1 AND threshold_usdc IS NOT NULL LIMIT 1";
        let row: Option<(String,)> =
            query(SQL).bind(operator.to_string()).fetch_optional(self.reader()).await?;
        Ok(row.is_some())
    }

    /// Records an observed balance with the webhooks that watch the account, and announces what [`BalanceSeen::announced`]
    /// says of it. Keeps what is known from a later reading.
    pub async fn mark_balance(
        &self,
        account: &Account,
        seen: BalanceSeen,
        now: Timestamp,
        random: impl Fn() -> u128 + Clone + Send + Sync + 'static,
    ) -> Result<(), StoreError> {
        let webhooks = self.list_watching(account).await?;
        if webhooks.is_empty() {
            return Ok(());
        }
        let account = account.clone();
        let write = self.write(move |tx| {
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
        });
        self.outbox.hint(write.await?);
        Ok(())
    }
}

/// What a webhook knows of the account.
async fn find_known(
    tx: &mut Transaction<'_>,
    webhook: WebhookId,
    account: &Account,
) -> Result<Option<KnownBalance>, StoreError> {
    const SQL: &str = "SELECT balance_usdc, read_at FROM webhook_balances
         WHERE operator_id = $1 AND webhook_id = $2 AND account_id = $3";
    let finding = query(SQL).bind(account.operator_id.to_string()).bind(webhook.to_string());
    let row: Option<WebhookBalanceRow> = finding.bind(account.id.to_string()).fetch_optional(tx).await?;
    row.map(|row| {
        Ok(KnownBalance {
            balance: TABLE.read("balance_usdc", &row.balance_usdc)?,
            read_at: TABLE.read("read_at", &row.read_at)?,
        })
    })
    .transpose()
}

/// `Contended` when another reading came in between.
async fn replace_known(
    tx: &mut Transaction<'_>,
    webhook: WebhookId,
    account: &Account,
    known: Option<KnownBalance>,
    seen: &BalanceSeen,
) -> Result<(), StoreError> {
    const INSERT: &str =
        "INSERT INTO webhook_balances (operator_id, webhook_id, account_id, balance_usdc, read_at)
         VALUES ($1, $2, $3, $4, $5) ON CONFLICT (operator_id, webhook_id, account_id) DO NOTHING";
    const UPDATE: &str = "UPDATE webhook_balances SET balance_usdc = $4, read_at = $5
         WHERE operator_id = $1 AND webhook_id = $2 AND account_id = $3 AND read_at = $6";
    let write = query(if known.is_some() { UPDATE } else { INSERT })
        .bind(account.operator_id.to_string())
        .bind(webhook.to_string())
        .bind(account.id.to_string())
        .bind(seen.balance.to_string())
        .bind(seen.read_at.to_string());
    let write = match known {
        Some(known) => write.bind(known.read_at.to_string()),
        None => write,
    };
    if write.execute(tx).await? == 1 { Ok(()) } else { Err(StoreError::Contended) }
}
