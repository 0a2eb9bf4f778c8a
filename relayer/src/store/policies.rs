//! Recent policies of accounts as read from the chain, and the events that follow from them.

use std::time::Duration;

use futures::FutureExt;
use macro_rules_attribute::derive;

use super::columns::Table;
use super::events::announce;
use super::history::list_payments_under;
use super::ledgers::{AccountKey, of};
use super::query::query;
use super::row::ByName;
use super::{Store, StoreError, Transaction, ledgers};
use crate::domain::{
    AccountId, Address, AllowlistEntry, Counterparties, Event, HaltSet, Limit, Network, PolicySet, SetBy,
    SpendingPolicy, Timestamp,
};

const TABLE: Table = Table("policies");

/// Versions kept of an account's policy.
const VERSIONS_KEPT: i64 = 20;
/// A new account's policy version.
const FIRST_VERSION: u64 = 1;
/// A change read later than this, and after a newer one, is not announced.
const CHANGE_IS_NEWS: Duration = Duration::from_secs(24 * 60 * 60);
/// Payments examined when their policy becomes known after them.
const PAYMENTS_MAX: u32 = 500;

#[derive(Debug, ByName!)]
struct PolicyRow {
    version: i64,
    max_single_transfer: Option<String>,
    max_daily_spend: Option<String>,
    require_memo: bool,
    paused: bool,
    wallets: Option<String>,
    token_accounts: Option<String>,
}

impl PolicyRow {
    fn read(self) -> Result<(u64, SpendingPolicy), StoreError> {
        let limit = |column, text: Option<&str>| {
            let amount = TABLE.read_optional(column, text)?;
            Ok::<_, StoreError>(amount.map_or(Limit::Unlimited, Limit::AtMost))
        };
        let allowlist = match (&self.wallets, &self.token_accounts) {
            (Some(wallets), Some(token_accounts)) => {
                let wallets = read_addresses("wallets", wallets)?.into_iter().map(AllowlistEntry::Wallet);
                let token_accounts = read_addresses("token_accounts", token_accounts)?;
                let token_accounts = token_accounts.into_iter().map(AllowlistEntry::TokenAccount);
                Counterparties::Only(wallets.chain(token_accounts).collect())
            }
            (None, _) | (_, None) => Counterparties::Anyone,
        };
        let policy = SpendingPolicy {
            max_single_transfer: limit("max_single_transfer", self.max_single_transfer.as_deref())?,
            max_daily_spend: limit("max_daily_spend", self.max_daily_spend.as_deref())?,
            allowlist,
            require_memo: self.require_memo,
            paused: self.paused,
        };
        Ok((self.version.cast_unsigned(), policy))
    }
}

fn read_addresses(column: &'static str, json: &str) -> Result<Vec<Address>, StoreError> {
    let texts: Vec<String> = serde_json::from_str(json).map_err(|_| TABLE.unreadable(column))?;
    texts.iter().map(|text| TABLE.read(column, text)).collect()
}

/// The wallets and the token accounts of an on-chain allowlist, as JSON.
fn write_addresses(allowed: &Counterparties) -> (Option<String>, Option<String>) {
    let Counterparties::Only(entries) = allowed else { return (None, None) };
    let texts = |of: fn(&AllowlistEntry) -> Option<&Address>| {
        serde_json::Value::from_iter(entries.iter().filter_map(of).map(Address::to_string)).to_string()
    };
    let wallets = texts(|entry| match entry {
        AllowlistEntry::Wallet(address) => Some(address),
        AllowlistEntry::Account(_) | AllowlistEntry::TokenAccount(_) | AllowlistEntry::Address(_) => None,
    });
    let token_accounts = texts(|entry| match entry {
        AllowlistEntry::TokenAccount(address) => Some(address),
        AllowlistEntry::Account(_) | AllowlistEntry::Wallet(_) | AllowlistEntry::Address(_) => None,
    });
    (Some(wallets), Some(token_accounts))
}

impl Store {
    /// For the indexer: this version of an account's policy, if it was read.
    pub async fn find_policy(
        &self,
        account: AccountKey,
        version: u64,
    ) -> Result<Option<SpendingPolicy>, StoreError> {
        const SQL: &str =
            "SELECT version, max_single_transfer, max_daily_spend, require_memo, paused, wallets,
                 token_accounts
             FROM policies WHERE operator_id = $1 AND account_id = $2 AND version = $3";
        let row: Option<PolicyRow> =
            of(SQL, account).bind(version.cast_signed()).fetch_optional(self.reader()).await?;
        Ok(row.map(PolicyRow::read).transpose()?.map(|(_, policy)| policy))
    }

    /// For the indexer: up to `rows_max` ready accounts of every operator on `network` with no policy read so far, by
    /// account id, starting after `after`, with their PDAs.
    pub async fn list_without_policy(
        &self,
        network: Network,
        after: Option<AccountId>,
        rows_max: usize,
    ) -> Result<Vec<(AccountId, Address)>, StoreError> {
        const SQL: &str = "SELECT accounts.account_id, accounts.address FROM accounts CROSS JOIN operators
             WHERE operators.operator_id = accounts.operator_id AND operators.network = $1
                 AND accounts.provisioning = 'ready' AND NOT accounts.is_closed AND accounts.account_id > $2
                 AND NOT EXISTS (
                     SELECT 1 FROM policies
                     WHERE policies.operator_id = accounts.operator_id AND policies.account_id = accounts.account_id)
             ORDER BY accounts.account_id LIMIT $3";
        let rows: Vec<(String, String)> = query(SQL)
            .bind(network.as_str())
            .bind(after.map_or_else(String::new, |after| after.to_string()))
            .bind(i64::try_from(rows_max).unwrap_or(i64::MAX))
            .fetch_all(self.lister())
            .await?;
        let read = |(account, address): (String, String)| {
            Ok((TABLE.read("account_id", &account)?, TABLE.read("address", &address)?))
        };
        rows.into_iter().map(read).collect()
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
    account: AccountKey,
    version: u64,
) -> Result<Option<Limit>, StoreError> {
    const SQL: &str = "SELECT max_daily_spend FROM policies
         WHERE operator_id = $1 AND account_id = $2 AND version = $3";
    let row: Option<(Option<String>,)> =
        of(SQL, account).bind(version.cast_signed()).fetch_optional(tx).await?;
    let Some((cap,)) = row else { return Ok(None) };
    let cap = TABLE.read_optional("max_daily_spend", cap.as_deref())?;
    Ok(Some(cap.map_or(Limit::Unlimited, Limit::AtMost)))
}

/// Stores a version. False if it was read before: again, by the same transaction. After a fork, another one may set it.
async fn keep(
    tx: &mut Transaction<'_>,
    set: &PolicySet,
    policy: &SpendingPolicy,
) -> Result<bool, StoreError> {
    const SQL: &str = "INSERT INTO policies
             (operator_id, account_id, version, max_single_transfer, max_daily_spend, require_memo, paused, wallets,
              token_accounts, tx_signature)
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)
         ON CONFLICT (operator_id, account_id, version) DO UPDATE SET
             max_single_transfer = excluded.max_single_transfer, max_daily_spend = excluded.max_daily_spend,
             require_memo = excluded.require_memo, paused = excluded.paused, wallets = excluded.wallets,
             token_accounts = excluded.token_accounts, tx_signature = excluded.tx_signature
         WHERE excluded.tx_signature IS NOT NULL
             AND (policies.tx_signature IS NULL OR policies.tx_signature <> excluded.tx_signature)";
    const OLD: &str = "DELETE FROM policies WHERE operator_id = $1 AND account_id = $2 AND version <= $3";
    let amount = |limit| match limit {
        Limit::Unlimited => None,
        Limit::AtMost(amount) => Some(amount.to_string()),
    };
    let (wallets, token_accounts) = write_addresses(&policy.allowlist);
    let account = (set.operator_id, set.account_id);
    let kept = of(SQL, account)
        .bind(set.version.cast_signed())
        .bind(amount(policy.max_single_transfer))
        .bind(amount(policy.max_daily_spend))
        .bind(policy.require_memo)
        .bind(policy.paused)
        .bind(wallets)
        .bind(token_accounts)
        .bind(set.by.as_ref().map(|by| by.signature.as_str()))
        .execute(&mut *tx)
        .await?;
    of(OLD, account).bind(set.version.cast_signed().saturating_sub(VERSIONS_KEPT)).execute(&mut *tx).await?;
    Ok(kept == 1)
}

/// Whether a change is to be announced: neither an account's first policy, nor an old change that is read after newer ones.
async fn is_news(
    tx: &mut Transaction<'_>,
    set: &PolicySet,
    by: &SetBy,
    now: Timestamp,
) -> Result<bool, StoreError> {
    const NEWER: &str = "SELECT version FROM policies
         WHERE operator_id = $1 AND account_id = $2 AND version > $3 LIMIT 1";
    if set.version <= FIRST_VERSION {
        return Ok(false);
    }
    let newer = of(NEWER, (set.operator_id, set.account_id)).bind(set.version.cast_signed());
    let newer: Option<(i64,)> = newer.fetch_optional(tx).await?;
    Ok(newer.is_none() || by.at.after(CHANGE_IS_NEWS) >= now)
}

/// The latest known version before `version`.
async fn find_before(
    tx: &mut Transaction<'_>,
    account: AccountKey,
    version: u64,
) -> Result<Option<(u64, SpendingPolicy)>, StoreError> {
    const SQL: &str = "SELECT version, max_single_transfer, max_daily_spend, require_memo, paused, wallets,
             token_accounts
         FROM policies WHERE operator_id = $1 AND account_id = $2 AND version < $3 ORDER BY version DESC LIMIT 1";
    let row: Option<PolicyRow> = of(SQL, account).bind(version.cast_signed()).fetch_optional(tx).await?;
    row.map(PolicyRow::read).transpose()
}
