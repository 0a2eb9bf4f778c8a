//! Finds payments that reach limits, only for operators that subscribe to it.

use std::collections::HashMap;

use super::events::announce;
use super::policies::find_version;
use super::query::{Each, sql};
use super::{Database, Events, Result, Transaction};
use futures::FutureExt;
use purser_model::{Event, EventType, HistoryEntry, Limit, OperatorId, Subscription, Timestamp};

/// How far the chain's clock, which dates payments, may lag behind the host's and still agree with it.
const CLOCKS_DIFFER_MICROS: i64 = 300 * 1_000_000;

/// The operators that subscribe to limits, and since when.
pub(super) type LimitWatches = HashMap<OperatorId, Timestamp>;

impl Database {
    /// Which of these operators (at most 1,000) subscribe to limits, and since when.
    pub(super) async fn find_limit_watches(&self, operators: &[OperatorId]) -> Result<LimitWatches> {
        if operators.is_empty() {
            return Ok(LimitWatches::new());
        }
        let rows: Vec<(OperatorId, Timestamp)> = sql! {
            "SELECT operator_id, limits_since FROM operators
             WHERE operator_id IN ({operators}) AND limits_since IS NOT NULL",
            operators = Each(operators)
        }
        .fetch_all(self.reader())
        .await?;
        Ok(rows.into_iter().collect())
    }
}

impl Events {
    /// Whether the operator subscribes to limits.
    pub async fn watches_limits(&self, operator: OperatorId) -> Result<bool> {
        Ok(!self.find_limit_watches(&[operator]).await?.is_empty())
    }

    /// Starts reading what the operator's payments spend, unless it has started.
    pub async fn watch_limits(&self, operator: OperatorId, now: Timestamp) -> Result<()> {
        if self.watches_limits(operator).await? {
            return Ok(());
        }
        self.write(move |tx| async move { watch(tx, operator, now).await }.boxed()).await
    }

    /// For the indexer: announces limits that payments reached; a repeat changes nothing.
    pub async fn announce_limits(&self, events: Vec<Event>) -> Result<()> {
        if events.is_empty() {
            return Ok(());
        }
        self.write_events(move |tx| async move { announce(tx, &events).await }.boxed()).await
    }
}

/// Starts reading what the operator's payments spend if the subscription names limits, unless it has started.
pub(super) async fn watch_if_named(
    tx: &mut Transaction<'_>,
    operator: OperatorId,
    subscription: &Subscription,
    now: Timestamp,
) -> Result<()> {
    if subscription.events().contains(&EventType::LimitThreshold) {
        watch(tx, operator, now).await?;
    }
    Ok(())
}

/// Starts reading what the operator's payments spend.
pub(super) async fn watch(tx: &mut Transaction<'_>, operator: OperatorId, now: Timestamp) -> Result<()> {
    let since = Timestamp::from_unix_micros(now.unix_micros().saturating_sub(CLOCKS_DIFFER_MICROS));
    sql! {
        "UPDATE operators SET limits_since = {since} WHERE operator_id = {operator} AND limits_since IS NULL",
        operator, since
    }
    .run(tx)
    .await
}

/// Records what was spent with a payment, and returns the limits that it reached. If its policy is not known yet, the
/// policy's arrival announces them. Ignores operators without a subscription, and payments from before it.
pub(super) async fn reached_by(
    tx: &mut Transaction<'_>,
    entry: &HistoryEntry,
    watches: &LimitWatches,
    now: Timestamp,
) -> Result<Vec<Event>> {
    let since = watches.get(&entry.operator_id);
    let (Some(spent), Some(_)) = (entry.spent, since.filter(|since| entry.created_at >= **since)) else {
        return Ok(Vec::new());
    };
    let kept = sql! {
        "UPDATE history SET spent_micros = {micros}, policy_version = {policy_version}
         WHERE operator_id = {operator_id} AND entry_id = {id} AND spent_micros IS NULL",
        micros = spent.in_window.micros(), spent.policy_version, entry.operator_id, entry.id
    }
    .execute(&mut *tx)
    .await?;
    if kept == 0 {
        return Ok(Vec::new());
    }
    let policy = find_version(tx, entry.account_key(), spent.policy_version).await?;
    match policy.map(|policy| policy.max_daily_spend) {
        Some(Limit::AtMost(cap)) => Ok(Event::limits_reached(entry, cap, now)),
        Some(Limit::Unlimited) | None => Ok(Vec::new()),
    }
}
