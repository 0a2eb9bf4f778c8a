//! Finds payments that reach limits, only for operators that subscribe to it.

use std::collections::HashMap;

use futures::FutureExt;
use sqlx::AssertSqlSafe;

use super::columns::Table;
use super::policies::find_daily_limit;
use super::query::{places, query};
use super::{Store, StoreError, Transaction};
use crate::domain::{Event, EventType, HistoryEntry, Limit, OperatorId, Subscription, Timestamp};

const TABLE: Table = Table("limit_watches");

/// How far the chain's clock, which dates payments, may lag behind the host's and still agree with it.
const CLOCKS_DIFFER_MICROS: i64 = 300 * 1_000_000;

/// The operators that subscribe to limits, and since when.
pub(super) type LimitWatches = HashMap<OperatorId, Timestamp>;

impl Store {
    /// Which of these operators (at most 1,000) subscribe to limits, and since when.
    pub(super) async fn find_limit_watches(
        &self,
        operators: &[OperatorId],
    ) -> Result<LimitWatches, StoreError> {
        if operators.is_empty() {
            return Ok(LimitWatches::new());
        }
        let sql = format!(
            "SELECT operator_id, since FROM limit_watches WHERE operator_id IN ({})",
            places(1, operators.len())
        );
        // Only placeholders are interpolated.
        let listing = query(AssertSqlSafe(sql)).bind_all(operators.iter().map(OperatorId::to_string));
        let rows: Vec<(String, String)> = listing.fetch_all(self.reader()).await?;
        let read = |(operator, since): (String, String)| {
            Ok((TABLE.read("operator_id", &operator)?, TABLE.read("since", &since)?))
        };
        rows.into_iter().map(read).collect()
    }

    /// Whether the operator subscribes to limits.
    pub async fn watches_limits(&self, operator: OperatorId) -> Result<bool, StoreError> {
        Ok(!self.find_limit_watches(&[operator]).await?.is_empty())
    }

    /// Starts reading what the operator's payments spend, unless it has started.
    pub async fn watch_limits(&self, operator: OperatorId, now: Timestamp) -> Result<(), StoreError> {
        if self.watches_limits(operator).await? {
            return Ok(());
        }
        self.write(move |tx| async move { watch(tx, operator, now).await }.boxed()).await
    }
}

/// Starts reading what the operator's payments spend if the subscription names limits, unless it has started.
pub(super) async fn watch_if_named(
    tx: &mut Transaction<'_>,
    operator: OperatorId,
    subscription: &Subscription,
    now: Timestamp,
) -> Result<(), StoreError> {
    if subscription.events().contains(&EventType::LimitThreshold) {
        watch(tx, operator, now).await?;
    }
    Ok(())
}

/// Starts reading what the operator's payments spend.
pub(super) async fn watch(
    tx: &mut Transaction<'_>,
    operator: OperatorId,
    now: Timestamp,
) -> Result<(), StoreError> {
    const SQL: &str = "INSERT INTO limit_watches (operator_id, since) VALUES ($1, $2)
         ON CONFLICT (operator_id) DO NOTHING";
    let since = Timestamp::from_unix_micros(now.unix_micros().saturating_sub(CLOCKS_DIFFER_MICROS));
    query(SQL).bind(operator.to_string()).bind(since.to_string()).execute(tx).await?;
    Ok(())
}

/// Records what was spent with a payment, and returns the limits that it reached. If its policy is not known yet, the
/// policy's arrival announces them. Ignores operators without a subscription, and payments from before it.
pub(super) async fn reached_by(
    tx: &mut Transaction<'_>,
    entry: &HistoryEntry,
    watches: &LimitWatches,
    now: Timestamp,
) -> Result<Vec<Event>, StoreError> {
    const SQL: &str = "UPDATE history SET spent_micros = $2, policy_version = $3
         WHERE operator_id = $4 AND entry_id = $1 AND spent_micros IS NULL";
    let since = watches.get(&entry.operator_id);
    let (Some(spent), Some(_)) = (entry.spent, since.filter(|since| entry.created_at >= **since)) else {
        return Ok(Vec::new());
    };
    let kept = query(SQL)
        .bind(entry.id.to_string())
        .bind(spent.in_window.micros().cast_signed())
        .bind(spent.policy_version.cast_signed())
        .bind(entry.operator_id.to_string())
        .execute(&mut *tx)
        .await?;
    if kept == 0 {
        return Ok(Vec::new());
    }
    match find_daily_limit(tx, entry.account_key(), spent.policy_version).await? {
        Some(Limit::AtMost(cap)) => Ok(Event::limits_reached(entry, cap, now)),
        Some(Limit::Unlimited) | None => Ok(Vec::new()),
    }
}
