//! The balances that webhooks with a threshold know, and the crossings that follow from them.

use std::collections::BTreeMap;

use futures::FutureExt;
use sqlx::FromRow;

use super::columns::Table;
use super::events::{insert_deliveries, insert_event};
use super::query::query;
use super::{Store, StoreError, Transaction};
use crate::domain::{Account, Event, OperatorId, Timestamp, UsdcAmount, Webhook, WebhookId};

const TABLE: Table = Table("webhook_balances");

/// What an account was seen to hold.
#[derive(Debug, Clone, Copy)]
pub struct BalanceSeen {
    pub balance: UsdcAmount,
    /// When the reading began.
    pub read_at: Timestamp,
    /// The payment after which it was read, if there was one.
    pub paid: Option<PaidBefore>,
}

/// A payment that has been made before a reading. Where nobody has looked since it went out, the account held at least
/// as much more before it: a deposit that nobody noticed is seen by what it let the account pay.
#[derive(Debug, Clone, Copy)]
pub struct PaidBefore {
    pub amount: UsdcAmount,
    pub sent_at: Timestamp,
}

#[derive(Debug, FromRow)]
struct KnownRow {
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

    /// Whether the operator has a webhook with a threshold: mostly not, and then nothing more is asked.
    async fn has_thresholds(&self, operator: OperatorId) -> Result<bool, StoreError> {
        const SQL: &str =
            "SELECT webhook_id FROM webhooks WHERE operator_id = $1 AND threshold_usdc IS NOT NULL LIMIT 1";
        let row: Option<(String,)> =
            query(SQL).bind(operator.to_string()).fetch_optional(self.reader()).await?;
        Ok(row.is_some())
    }

    /// Writes down what an account was seen to hold. Where that is below the threshold of a webhook that last knew it at
    /// or above, it announces `balance.low_threshold`, once per threshold. What is known from a later reading stays.
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
                    let before = replace_known(tx, webhook.id, &account, seen).await?;
                    if before.is_some_and(|before| before >= threshold) && seen.balance < threshold {
                        crossed.entry(threshold).or_default().push(webhook);
                    }
                }
                let mut told = Vec::new();
                for (threshold, webhooks) in crossed {
                    let event = Event::balance_low(&account, seen.balance, threshold, now, random());
                    insert_event(tx, &event).await?;
                    told.extend(insert_deliveries(tx, &event, &webhooks, now).await?);
                }
                Ok(told)
            }
            .boxed()
        });
        self.outbox.hint(write.await?);
        Ok(())
    }
}

/// Gives what the account held before, if this is news. `Contended` when another reading came in between.
async fn replace_known(
    tx: &mut Transaction<'_>,
    webhook: WebhookId,
    account: &Account,
    seen: BalanceSeen,
) -> Result<Option<UsdcAmount>, StoreError> {
    const KNOWN: &str =
        "SELECT balance_usdc, read_at FROM webhook_balances WHERE webhook_id = $1 AND account_id = $2";
    const INSERT: &str = "INSERT INTO webhook_balances (webhook_id, account_id, balance_usdc, read_at)
         VALUES ($1, $2, $3, $4) ON CONFLICT (webhook_id, account_id) DO NOTHING";
    const UPDATE: &str = "UPDATE webhook_balances SET balance_usdc = $3, read_at = $4
         WHERE webhook_id = $1 AND account_id = $2 AND read_at = $5";
    let BalanceSeen { balance, read_at, paid } = seen;
    let place = |sql| query(sql).bind(webhook.to_string()).bind(account.id.to_string());
    let known: Option<KnownRow> = place(KNOWN).fetch_optional(&mut *tx).await?;
    let (write, before) = match &known {
        None => (place(INSERT).bind(balance.to_string()).bind(read_at.to_string()), None),
        Some(known) => {
            let mut before: UsdcAmount = TABLE.read("balance_usdc", &known.balance_usdc)?;
            if let Some(paid) = paid.filter(|paid| known.read_at < paid.sent_at.to_string()) {
                before = before.max(balance.saturating_add(paid.amount));
            }
            if known.read_at >= read_at.to_string() || before == balance {
                return Ok(None);
            }
            let update = place(UPDATE).bind(balance.to_string()).bind(read_at.to_string());
            (update.bind(known.read_at.as_str()), Some(before))
        }
    };
    if write.execute(tx).await? == 0 {
        return Err(StoreError::Contended);
    }
    Ok(before)
}
