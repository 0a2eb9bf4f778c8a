//! Recent policies of accounts as read from the chain, and the events that follow from them.

use std::time::Duration;

use super::events::announce;
use super::history::list_payments_under;
use super::ledgers::AccountKey;
use super::query::{Sql, sql};
use super::row::{Record, Row};
use super::stored::OrEmpty;
use super::{Policies, StoreError, Transaction, ledgers};
use crate::domain::{
    AccountId, Address, AllowlistEntry, Counterparties, Event, HaltSet, Limit, Network, PolicySet, SetBy,
    SpendingPolicy, Timestamp,
};
use futures::FutureExt;

/// Versions kept of an account's policy.
const VERSIONS_KEPT: i64 = 20;
/// A new account's policy version.
const FIRST_VERSION: u64 = 1;
/// A change read later than this, and after a newer one, is not announced.
const CHANGE_IS_NEWS: Duration = Duration::from_secs(24 * 60 * 60);
/// Payments examined when their policy becomes known after them.
const PAYMENTS_MAX: u32 = 500;

/// The columns of a [`Versioned`] policy.
const COLUMNS: Sql<&str> =
    Sql("version, max_single_transfer, max_daily_spend, require_memo, paused, wallets, token_accounts");

/// A policy, and which version it is.
struct Versioned(u64, SpendingPolicy);

impl Record for Versioned {
    fn read(row: &Row<'_>) -> Result<Self, StoreError> {
        let wallets: Option<Vec<Address>> = row.get("wallets")?;
        let token_accounts: Option<Vec<Address>> = row.get("token_accounts")?;
        let allowlist = wallets.zip(token_accounts).map(|(wallets, token_accounts)| {
            let token_accounts = token_accounts.into_iter().map(AllowlistEntry::TokenAccount);
            wallets.into_iter().map(AllowlistEntry::Wallet).chain(token_accounts).collect()
        });
        let policy = SpendingPolicy {
            max_single_transfer: row.get("max_single_transfer")?,
            max_daily_spend: row.get("max_daily_spend")?,
            allowlist: allowlist.map_or(Counterparties::Anyone, Counterparties::Only),
            require_memo: row.get("require_memo")?,
            paused: row.get("paused")?,
        };
        Ok(Self(row.get("version")?, policy))
    }
}

/// The wallets and the token accounts of an on-chain allowlist.
fn addresses_of(allowed: &Counterparties) -> Option<(Vec<Address>, Vec<Address>)> {
    let Counterparties::Only(entries) = allowed else { return None };
    let (mut wallets, mut token_accounts) = (Vec::new(), Vec::new());
    for entry in entries {
        match entry {
            AllowlistEntry::Wallet(address) => wallets.push(*address),
            AllowlistEntry::TokenAccount(address) => token_accounts.push(*address),
            AllowlistEntry::Account(_) | AllowlistEntry::Address(_) => {}
        }
    }
    Some((wallets, token_accounts))
}

impl Policies {
    /// For the indexer: this version of an account's policy, if it was read.
    pub async fn find_policy(
        &self,
        (operator, account): AccountKey,
        version: u64,
    ) -> Result<Option<SpendingPolicy>, StoreError> {
        let found: Option<Versioned> = sql! {
            "SELECT {columns} FROM policies
             WHERE operator_id = {operator} AND account_id = {account} AND version = {version}",
            columns = COLUMNS, operator, account, version
        }
        .fetch_optional(self.reader())
        .await?;
        Ok(found.map(|Versioned(_, policy)| policy))
    }

    /// For the indexer: up to `rows_max` ready accounts of every operator on `network` with no policy read so far, by
    /// account id, starting after `after`, with their PDAs.
    pub async fn list_without_policy(
        &self,
        network: Network,
        after: Option<AccountId>,
        rows_max: usize,
    ) -> Result<Vec<(AccountId, Address)>, StoreError> {
        sql! {
            "SELECT accounts.account_id, accounts.address FROM accounts CROSS JOIN operators
             WHERE operators.operator_id = accounts.operator_id AND operators.network = {network}
                 AND accounts.provisioning = 'ready' AND NOT accounts.is_closed AND accounts.account_id > {after}
                 AND NOT EXISTS (
                     SELECT 1 FROM policies
                     WHERE policies.operator_id = accounts.operator_id AND policies.account_id = accounts.account_id)
             ORDER BY accounts.account_id LIMIT {rows_max}",
            network, after = OrEmpty(after), rows_max
        }
        .fetch_all(self.lister())
        .await
    }

    /// For the indexer: stores a policy that was read, and announces what follows: the change, if a transaction made
    /// it, and the limits reached by payments that were read before their policy. A repeat changes nothing.
    pub async fn insert_policy(&self, set: &PolicySet, now: Timestamp) -> Result<(), StoreError> {
        let webhooks = self.list_all_webhooks(set.operator_id).await?;
        let set = set.clone();
        let write = self.write(move |tx| {
            async move {
                // Locked as for a payment: of the two writers, the second sees what the first wrote.
                let of = (set.operator_id, set.account_id);
                ledgers::lock(tx, of).await?;
                let mut events = Vec::new();
                let is_new = match &set.policy {
                    Some(policy) => keep(tx, &set, policy).await?,
                    // Nothing can be kept of it; it is announced once as every fact is.
                    None => true,
                };
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
                announce(tx, &events, &webhooks, now).await
            }
            .boxed()
        });
        self.outbox.hint(write.await?);
        Ok(())
    }

    /// For the indexer: announces a halt of these accounts of one operator; a repeat changes nothing.
    pub async fn announce_halt(
        &self,
        halt: &HaltSet,
        accounts: &[AccountId],
        now: Timestamp,
    ) -> Result<(), StoreError> {
        let webhooks = self.list_all_webhooks(halt.operator_id).await?;
        let events: Vec<Event> =
            accounts.iter().map(|account| Event::account_halted(halt, *account, now)).collect();
        let write = self.write(move |tx| async move { announce(tx, &events, &webhooks, now).await }.boxed());
        self.outbox.hint(write.await?);
        Ok(())
    }
}

/// The daily limit of payments under this policy. `None`: the policy is not read yet.
pub(super) async fn find_daily_limit(
    tx: &mut Transaction<'_>,
    (operator, account): AccountKey,
    version: u64,
) -> Result<Option<Limit>, StoreError> {
    sql! {
        "SELECT max_daily_spend FROM policies
         WHERE operator_id = {operator} AND account_id = {account} AND version = {version}",
        operator, account, version
    }
    .fetch_optional(tx)
    .await
}

/// Stores a version. False if it was read before: again, by the same transaction. After a fork, another one may set it.
async fn keep(
    tx: &mut Transaction<'_>,
    set: &PolicySet,
    policy: &SpendingPolicy,
) -> Result<bool, StoreError> {
    let (wallets, token_accounts) = addresses_of(&policy.allowlist).unzip();
    let kept = sql! {
        "INSERT INTO policies
             (operator_id, account_id, version, max_single_transfer, max_daily_spend, require_memo, paused, wallets,
              token_accounts, tx_signature)
         VALUES ({operator_id}, {account_id}, {version}, {max_single_transfer}, {max_daily_spend}, {require_memo},
              {paused}, {wallets}, {token_accounts}, {signature})
         ON CONFLICT (operator_id, account_id, version) DO UPDATE SET
             max_single_transfer = excluded.max_single_transfer, max_daily_spend = excluded.max_daily_spend,
             require_memo = excluded.require_memo, paused = excluded.paused, wallets = excluded.wallets,
             token_accounts = excluded.token_accounts, tx_signature = excluded.tx_signature
         WHERE excluded.tx_signature IS NOT NULL
             AND (policies.tx_signature IS NULL OR policies.tx_signature <> excluded.tx_signature)",
        set.operator_id, set.account_id, set.version, policy.max_single_transfer, policy.max_daily_spend,
        policy.require_memo, policy.paused, wallets, token_accounts,
        signature = set.by.as_ref().map(|by| &by.signature)
    }
    .execute(&mut *tx)
    .await?;
    sql! {
        "DELETE FROM policies
         WHERE operator_id = {operator_id} AND account_id = {account_id} AND version <= {oldest}",
        set.operator_id, set.account_id, oldest = set.version.cast_signed().saturating_sub(VERSIONS_KEPT)
    }
    .execute(&mut *tx)
    .await?;
    Ok(kept == 1)
}

/// Whether a change is to be announced: neither an account's first policy, nor an old change that is read after newer ones.
async fn is_news(
    tx: &mut Transaction<'_>,
    set: &PolicySet,
    by: &SetBy,
    now: Timestamp,
) -> Result<bool, StoreError> {
    if set.version <= FIRST_VERSION {
        return Ok(false);
    }
    let newer: Option<u64> = sql! {
        "SELECT version FROM policies
         WHERE operator_id = {operator_id} AND account_id = {account_id} AND version > {version} LIMIT 1",
        set.operator_id, set.account_id, set.version
    }
    .fetch_optional(tx)
    .await?;
    Ok(newer.is_none() || by.at.after(CHANGE_IS_NEWS) >= now)
}

/// The latest known version before `version`.
async fn find_before(
    tx: &mut Transaction<'_>,
    (operator, account): AccountKey,
    version: u64,
) -> Result<Option<(u64, SpendingPolicy)>, StoreError> {
    let found: Option<Versioned> = sql! {
        "SELECT {columns} FROM policies
         WHERE operator_id = {operator} AND account_id = {account} AND version < {version}
         ORDER BY version DESC LIMIT 1",
        columns = COLUMNS, operator, account, version
    }
    .fetch_optional(tx)
    .await?;
    Ok(found.map(|Versioned(version, policy)| (version, policy)))
}
