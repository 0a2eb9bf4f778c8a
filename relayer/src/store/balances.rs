//! The balances last known to webhooks with a threshold, and the crossings that follow from them.

use std::collections::BTreeMap;

use futures::FutureExt;
use macro_rules_attribute::derive;

use super::columns::Table;
use super::events::{insert_deliveries, insert_event};
use super::query::query;
use super::row::ByName;
use super::{Store, StoreError, Transaction};
use crate::domain::{
    Account, BalanceSeen, Event, KnownBalance, OperatorId, Timestamp, UsdcAmount, Webhook, WebhookId,
};

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
    async fn has_thresholds(&self, operator: OperatorId) -> Result<bool, StoreError> {
        const SQL: &str =
            "SELECT webhook_id FROM webhooks WHERE operator_id = $1 AND threshold_usdc IS NOT NULL LIMIT 1";
        let row: Option<(String,)> =
            query(SQL).bind(operator.to_string()).fetch_optional(self.reader()).await?;
        Ok(row.is_some())
    }

    /// Records an observed balance. When it is below a webhook's threshold and the last known one was not, announces
    /// `balance.low_threshold`, once per threshold. Keeps what is known from a later reading.
    pub async fn mark_balance(
        &self,
        account: &Account,
        seen: BalanceSeen,
        now: Timestamp,
        random: impl Fn() -> u128 + Clone + Send + Sync + 'static,
    ) -> Result<(), StoreError> {
        let watching = self.list_watching(account).await?;
        if watching.is_empty() {
            return Ok(());
        }
        let account = account.clone();
        let write = self.write(move |tx| {
            async move {
                let mut crossed: BTreeMap<UsdcAmount, Vec<Webhook>> = BTreeMap::new();
                for webhook in watching {
                    let Some(threshold) = webhook.subscription.watches(account.id) else { continue };
                    let before = replace_known(tx, webhook.id, &account, &seen).await?;
                    if before.is_some_and(|before| seen.crosses(threshold, before)) {
                        crossed.entry(threshold).or_default().push(webhook);
                    }
                }
                let mut notified = Vec::new();
                for (threshold, webhooks) in crossed {
                    let event = Event::balance_low(&account, seen.balance, threshold, now, random());
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

/// Returns what the account held before, if this is news. `Contended` when another reading came in between.
async fn replace_known(
    tx: &mut Transaction<'_>,
    webhook: WebhookId,
    account: &Account,
    seen: &BalanceSeen,
) -> Result<Option<UsdcAmount>, StoreError> {
    const KNOWN: &str = "SELECT balance_usdc, read_at FROM webhook_balances
         WHERE operator_id = $1 AND webhook_id = $2 AND account_id = $3";
    const INSERT: &str =
        "INSERT INTO webhook_balances (operator_id, webhook_id, account_id, balance_usdc, read_at)
         VALUES ($1, $2, $3, $4, $5) ON CONFLICT (operator_id, webhook_id, account_id) DO NOTHING";
    const UPDATE: &str = "UPDATE webhook_balances SET balance_usdc = $4, read_at = $5
         WHERE operator_id = $1 AND webhook_id = $2 AND account_id = $3 AND read_at = $6";
    let (balance, read_at) = (seen.balance.to_string(), seen.read_at.to_string());
    let place = |sql| {
        let of_webhook = query(sql).bind(account.operator_id.to_string()).bind(webhook.to_string());
        of_webhook.bind(account.id.to_string())
    };
    let row: Option<WebhookBalanceRow> = place(KNOWN).fetch_optional(&mut *tx).await?;
    let (write, before) = match row {
        None => (place(INSERT).bind(balance).bind(read_at), None),
        Some(row) => {
            let known = KnownBalance {
                balance: TABLE.read("balance_usdc", &row.balance_usdc)?,
                read_at: TABLE.read("read_at", &row.read_at)?,
            };
            let Some(before) = seen.before(known) else { return Ok(None) };
            (place(UPDATE).bind(balance).bind(read_at).bind(row.read_at), Some(before))
        }
    };
    if write.execute(tx).await? == 0 {
        return Err(StoreError::Contended);
    }
    Ok(before)
}
