//! Policies of accounts as read from the chain, each version of them, and the events that follow.

use std::time::Duration;

use super::events::announce;
use super::history::list_payments_under;
use super::ledgers::AccountKey;
use super::query::{Target, columns, sql};
use super::stored::OrEmpty;
use super::{Policies, Result, Transaction, ledgers};
use futures::FutureExt;
use purser_model::{
    AccountId, Address, Event, HaltSet, Limit, Network, PolicySet, SetBy, SpendingPolicy, Timestamp,
};

/// A new account's policy version.
const FIRST_VERSION: u64 = 1;
/// A change read later than this, and after a newer one, is not announced.
const CHANGE_IS_NEWS: Duration = Duration::from_secs(24 * 60 * 60);
/// Payments examined when their policy becomes known after them.
const PAYMENTS_MAX: u32 = 500;

impl Policies {
    /// For the indexer: this version of an account's policy, if it was read.
    pub async fn find_policy(&self, account: AccountKey, version: u64) -> Result<Option<SpendingPolicy>> {
        find_version(self.reader(), account, version).await
    }

    /// For the indexer: up to `rows_max` ready accounts of every operator on `network` with no policy read so far, by
    /// account id, starting after `after`, with their PDAs.
    pub async fn list_without_policy(
        &self,
        network: Network,
        after: Option<AccountId>,
        rows_max: usize,
    ) -> Result<Vec<(AccountId, Address)>> {
        sql! {
            "SELECT accounts.account_id, accounts.address FROM accounts CROSS JOIN operators
             WHERE operators.operator_id = accounts.operator_id AND operators.network = {network}
                 AND accounts.provisioning = 'ready' AND NOT accounts.is_closed AND accounts.account_id > {after}
                 AND NOT EXISTS (
                     SELECT 1 FROM policy_versions
                     WHERE policy_versions.operator_id = accounts.operator_id
                         AND policy_versions.account_id = accounts.account_id AND policy IS NOT NULL)
             ORDER BY accounts.account_id LIMIT {rows_max}",
            network, after = OrEmpty(after), rows_max
        }
        .fetch_all(self.lister())
        .await
    }

    /// For the indexer: stores a version that was read, even if a later one replaced it before we could read its policy, and
    /// announces what follows: the change, if a transaction made it, and the limits reached by payments that were read before
    /// their policy. A repeat changes nothing; after a fork the latest reading wins.
    pub async fn insert_policy(&self, set: &PolicySet, now: Timestamp) -> Result<()> {
        let set = set.clone();
        self.write_events(move |tx| {
            async move {
                // Locked as for a payment: of the two writers, the second sees what the first wrote.
                let of = (set.operator_id, set.account_id);
                ledgers::lock(tx, of).await?;
                let mut events = Vec::new();
                let is_new = keep(tx, &set).await?;
                if let Some(by) = set.by.as_ref().filter(|_| is_new)
                    && is_news(tx, &set, by, now).await?
                {
                    let before = find_before(tx, of, set.version).await?;
                    events.push(Event::policy_changed(&set, by, before.as_ref(), now));
                }
                if let Some(Limit::AtMost(cap)) = set.policy.as_ref().map(|policy| policy.max_daily_spend) {
                    for payment in list_payments_under(tx, of, set.version, PAYMENTS_MAX).await? {
                        events.extend(Event::limits_reached(&payment, cap, now));
                    }
                }
                announce(tx, &events).await
            }
            .boxed()
        })
        .await
    }

    /// For the indexer: announces a halt of these accounts of one operator; a repeat changes nothing.
    pub async fn announce_halt(&self, halt: &HaltSet, accounts: &[AccountId], now: Timestamp) -> Result<()> {
        let events: Vec<Event> =
            accounts.iter().map(|account| Event::account_halted(halt, *account, now)).collect();
        self.write_events(move |tx| async move { announce(tx, &events).await }.boxed()).await
    }
}

/// The policy with this version. `None`: it is not read yet.
pub(super) async fn find_version(
    on: impl Into<Target<'_>>,
    (operator, account): AccountKey,
    version: u64,
) -> Result<Option<SpendingPolicy>> {
    sql! {
        "SELECT policy FROM policy_versions
         WHERE operator_id = {operator} AND account_id = {account} AND version = {version}",
        operator, account, version
    }
    .fetch_value(on)
    .await
}

/// Stores a version. False if it was read before: again, by the same transaction. After a fork, another one may set it.
async fn keep(tx: &mut Transaction<'_>, set: &PolicySet) -> Result<bool> {
    let by = set.by.as_ref();
    sql! {
        "INSERT INTO policy_versions {row}
         ON CONFLICT (operator_id, account_id, version) DO UPDATE SET
             tx_signature = COALESCE(excluded.tx_signature, policy_versions.tx_signature),
             set_at = COALESCE(excluded.set_at, policy_versions.set_at),
             signer = CASE WHEN excluded.tx_signature IS NULL THEN policy_versions.signer ELSE excluded.signer END,
             policy = CASE WHEN excluded.tx_signature <> policy_versions.tx_signature THEN excluded.policy
                 ELSE COALESCE(excluded.policy, policy_versions.policy) END
         WHERE (excluded.tx_signature IS NOT NULL
                 AND (policy_versions.tx_signature IS NULL OR policy_versions.tx_signature <> excluded.tx_signature))
             OR (policy_versions.policy IS NULL AND excluded.policy IS NOT NULL)",
        row = columns! {
            set.operator_id, set.account_id, set.version, tx_signature = by.map(|by| &by.signature),
            set_at = by.map(|by| by.at), signer = by.and_then(|by| by.signer), set.policy
        }
    }
    .touches(tx)
    .await
}

/// Whether a change is to be announced: neither an account's first policy, nor an old change that is read after newer ones.
async fn is_news(tx: &mut Transaction<'_>, set: &PolicySet, by: &SetBy, now: Timestamp) -> Result<bool> {
    if set.version <= FIRST_VERSION {
        return Ok(false);
    }
    let newer: Option<u64> = sql! {
        "SELECT version FROM policy_versions
         WHERE operator_id = {operator_id} AND account_id = {account_id} AND version > {version}
         ORDER BY version DESC LIMIT 1",
        set.operator_id, set.account_id, set.version
    }
    .fetch_optional(tx)
    .await?;
    Ok(newer.is_none() || by.at.after(CHANGE_IS_NEWS) >= now)
}

/// The latest version before `version` whose policy is known.
async fn find_before(
    tx: &mut Transaction<'_>,
    (operator, account): AccountKey,
    version: u64,
) -> Result<Option<(u64, SpendingPolicy)>> {
    sql! {
        "SELECT version, policy FROM policy_versions
         WHERE operator_id = {operator} AND account_id = {account} AND version < {version} AND policy IS NOT NULL
         ORDER BY version DESC LIMIT 1",
        operator, account, version
    }
    .fetch_optional(tx)
    .await
}
