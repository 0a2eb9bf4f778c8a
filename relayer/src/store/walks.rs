//! How far the chain has been read. A walk's position commits with the entries that it found.

use std::collections::{BTreeSet, HashMap, HashSet};

use futures::FutureExt;
use macro_rules_attribute::derive;
use sqlx::AssertSqlSafe;

use super::chain_wins::{Met, settle_paid};
use super::columns::Table;
use super::due::Due;
use super::events::announce;
use super::history::record_read;
use super::ledgers::of;
use super::limits::{LimitWatches, reached_by};
use super::marks::{Mark, bind_marks, row_matches};
use super::pending_fetches::{PendingFetch, delete_pending_fetch, replace_pending_fetch};
use super::pools::Pools;
use super::query::query;
use super::row::ByName;
use super::{Store, StoreError, Transaction};
use crate::domain::{
    Account, AccountId, AccountStatus, Address, Contradiction, HistoryEntry, Network, OperatorId, Timestamp,
    TransferId, Webhook,
};

const TABLE: Table = Table("walks");

/// Events inserted per statement.
const ANNOUNCED_AT_ONCE: usize = 500;

/// How far the signatures of one address have been read, newest first.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Walk {
    pub address: Address,
    /// Everything up to and including this transaction was read.
    pub until: Option<Mark>,
    pub under_way: Option<UnfinishedWalk>,
}

/// A walk that has not finished.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct UnfinishedWalk {
    /// Where the next walk ends: the newest transaction that was final when this walk began.
    pub top: Option<Mark>,
    /// The signature that the walk has reached, going backwards.
    pub before: Option<String>,
}

/// The result of one read.
#[derive(Debug, Clone, Default)]
pub struct Readings {
    /// In the order in which they become visible.
    pub entries: Vec<HistoryEntry>,
    /// Whether the entries' slots can no longer be forked away.
    pub are_final: bool,
    /// When it was read, by our clock.
    pub read_at: Option<Timestamp>,
    pub pending: Vec<PendingFetch>,
    /// Signatures whose fetch is no longer pending.
    pub resolved: Vec<String>,
}

/// Whose history to search.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Whose {
    Operator(OperatorId),
    Account(AccountId),
}

#[derive(Debug, ByName!)]
struct WalkRow {
    address: String,
    until_signature: Option<String>,
    until_slot: Option<i64>,
    under_way: bool,
    top_signature: Option<String>,
    top_slot: Option<i64>,
    before_signature: Option<String>,
}

impl TryFrom<WalkRow> for Walk {
    type Error = StoreError;

    fn try_from(row: WalkRow) -> Result<Self, StoreError> {
        let mark = |signature: Option<String>, slot: Option<i64>| {
            signature.zip(slot).map(|(signature, slot)| Mark { signature, slot: slot.cast_unsigned() })
        };
        Ok(Self {
            address: TABLE.read("address", &row.address)?,
            until: mark(row.until_signature, row.until_slot),
            under_way: row.under_way.then(|| UnfinishedWalk {
                top: mark(row.top_signature, row.top_slot),
                before: row.before_signature,
            }),
        })
    }
}

#[derive(Debug, ByName!)]
struct WalkedRow {
    tx_signature: String,
    slot: i64,
    created_at: String,
    transfer_id: Option<String>,
    /// 1: the payment's number is not known yet, or its spending is not known and an operator subscribes to it.
    uncounted: i64,
}

impl Store {
    /// For the indexer: how far an address has been read. `None`: it was never read.
    pub async fn find_walk(&self, network: Network, address: &Address) -> Result<Option<Walk>, StoreError> {
        const SQL: &str = "SELECT address, until_signature, until_slot, under_way, top_signature, top_slot,
                 before_signature
             FROM walks WHERE network = $1 AND address = $2";
        let row: Option<WalkRow> =
            query(SQL).bind(network.as_str()).bind(address.to_string()).fetch_optional(self.reader()).await?;
        row.map(Walk::try_from).transpose()
    }

    /// For the indexer: up to `rows_max` accounts whose token accounts have an unfinished walk, in no particular
    /// order.
    pub async fn list_walks_under_way(
        &self,
        network: Network,
        rows_max: u32,
    ) -> Result<Vec<(AccountId, Address)>, StoreError> {
        const SQL: &str = "SELECT accounts.account_id, accounts.token_account FROM walks
                 JOIN accounts ON accounts.token_account = walks.address
                 JOIN operators ON operators.operator_id = accounts.operator_id
             WHERE walks.network = $1 AND operators.network = $1 AND walks.under_way LIMIT $2";
        let rows: Vec<(String, String)> =
            query(SQL).bind(network.as_str()).bind(i64::from(rows_max)).fetch_all(self.reader()).await?;
        let read = |(account, address): (String, String)| {
            Ok((TABLE.read("account_id", &account)?, TABLE.read("token_account", &address)?))
        };
        rows.into_iter().map(read).collect()
    }

    /// For the indexer: which of these transactions (at most 1,000) are in the history of `whose`, with the times and
    /// transfers of their entries. Excludes those with a payment that is not fully known yet.
    pub async fn find_known(
        &self,
        network: Network,
        whose: Whose,
        transactions: &[Mark],
    ) -> Result<HashMap<Mark, Vec<(Timestamp, Option<TransferId>)>>, StoreError> {
        if transactions.is_empty() {
            return Ok(HashMap::new());
        }
        let (column, id) = match whose {
            Whose::Operator(id) => ("operator_id", id.to_string()),
            Whose::Account(id) => ("account_id", id.to_string()),
        };
        let sql = format!(
            "SELECT tx_signature, slot, created_at, transfer_id,
                 CASE WHEN kind = 'transfer' AND (number IS NULL OR (spent_micros IS NULL AND created_at >= COALESCE(
                     (SELECT since FROM limit_watches WHERE limit_watches.operator_id = history.operator_id), '~')))
                 THEN CAST(1 AS BIGINT) ELSE 0 END AS uncounted
             FROM history WHERE network = $1 AND {column} = $2 AND {}",
            row_matches(3, transactions.len())
        );
        // Only placeholders and one of two names are interpolated.
        let rows: Vec<WalkedRow> =
            bind_marks(query(AssertSqlSafe(sql)).bind(network.as_str()).bind(id), transactions)
                .fetch_all(self.reader())
                .await?;
        let mark =
            |row: &WalkedRow| Mark { signature: row.tx_signature.clone(), slot: row.slot.cast_unsigned() };
        let uncounted: HashSet<Mark> = rows.iter().filter(|row| row.uncounted == 1).map(mark).collect();
        let mut known = HashMap::<_, Vec<_>>::new();
        for row in rows.iter().filter(|row| !uncounted.contains(&mark(row))) {
            let created_at = TABLE.read("created_at", &row.created_at)?;
            let transfer_id = TABLE.read_optional("transfer_id", row.transfer_id.as_deref())?;
            known.entry(mark(row)).or_default().push((created_at, transfer_id));
        }
        Ok(known)
    }

    /// For the indexer: stores what was read and the new position, and settles the transfers that were paid. Returns payments that
    /// bear a transfer's id and are not that transfer. If another process has advanced the same walk meanwhile, writes nothing:
    /// `Superseded`.
    pub async fn insert_readings(
        &self,
        network: Network,
        readings: &Readings,
        progress: Option<(&Option<Walk>, &Walk)>,
    ) -> Result<Vec<Contradiction>, StoreError> {
        let Readings { mut entries, are_final, read_at, pending, resolved } = readings.clone();
        // Every process locks ledgers in the same order.
        entries.sort_by_key(|entry| entry.account_id);
        let progress = progress.map(|(before, after)| (before.clone(), after.clone()));
        let (webhooks, watches) = self.listeners_of(&entries).await?;
        let write = self.write(move |tx| {
            async move {
                let newest = entries.iter().map(|entry| entry.created_at).max();
                let Met { mut events, contradictions } = match read_at.or(newest) {
                    Some(now) => settle_paid(tx, &entries, now).await?,
                    None => Met::default(),
                };
                for entry in &entries {
                    let Some(news) = record_read(tx, entry, are_final, read_at).await? else { continue };
                    events.extend(news);
                    let now = read_at.unwrap_or(entry.created_at);
                    events.extend(reached_by(tx, entry, &watches, now).await?);
                }
                for pending in &pending {
                    replace_pending_fetch(tx, network, pending).await?;
                }
                for signature in &resolved {
                    delete_pending_fetch(tx, network, signature).await?;
                }
                if let Some((before, after)) = &progress {
                    move_walk(tx, network, before.as_ref(), after).await?;
                }
                let mut notified = Vec::new();
                for events in events.chunks(ANNOUNCED_AT_ONCE) {
                    let now = events.iter().map(|event| event.created_at).max();
                    if let Some(now) = now {
                        notified.extend(announce(tx, events, &webhooks, now).await?);
                    }
                }
                Ok((notified, contradictions))
            }
            .boxed()
        });
        let (notified, contradictions) = write.await?;
        self.outbox.hint(notified);
        Ok(contradictions)
    }

    /// The webhooks of the operators that these entries concern, and which operators subscribe to limits. Read before
    /// the write, so that the writer is not held up.
    async fn listeners_of(
        &self,
        entries: &[HistoryEntry],
    ) -> Result<(Vec<Webhook>, LimitWatches), StoreError> {
        let operators: BTreeSet<OperatorId> = entries.iter().map(|entry| entry.operator_id).collect();
        let operators: Vec<OperatorId> = operators.into_iter().collect();
        let mut webhooks = Vec::new();
        for operator in &operators {
            webhooks.extend(self.list_all_webhooks(*operator).await?);
        }
        Ok((webhooks, self.find_limit_watches(&operators).await?))
    }

    /// For the indexer: records an account that was found on the chain, and that its past is still to be read. `false`
    /// when its id is taken. An account that was being created becomes ready.
    pub async fn adopt_account(&self, network: Network, account: &Account) -> Result<bool, StoreError> {
        const READY: &str = "UPDATE accounts SET provisioning = 'ready'
             WHERE account_id = $1 AND operator_id = $2 AND address = $3 AND provisioning = 'requested'";
        const SQL: &str = "INSERT INTO accounts
                 (account_id, operator_id, name, address, token_account, status, provisioning, created_at)
             VALUES ($1, $2, $3, $4, $5, $6, 'ready', $7) ON CONFLICT (account_id) DO NOTHING";
        // Entries have no places until the account's past is read.
        const UNPLACED: &str = "INSERT INTO ledgers
                 (operator_id, account_id, booked_micros, unexplained_micros, seen_micros, seen_slot, placed_micros)
             VALUES ($1, $2, 0, 0, 0, 0, -1) ON CONFLICT (operator_id, account_id) DO NOTHING";
        const WALK: &str = "INSERT INTO walks (network, address, under_way) VALUES ($1, $2, $3)
             ON CONFLICT (network, address) DO NOTHING";
        let insert = query(SQL)
            .bind(account.id.to_string())
            .bind(account.operator_id.to_string())
            .bind(account.name.as_str())
            .bind(account.address.to_string())
            .bind(account.token_account.to_string())
            .bind(account.status.as_str())
            .bind(account.created_at.to_string());
        let walk = query(WALK).bind(network.as_str()).bind(account.token_account.to_string()).bind(true);
        let unplaced = of(UNPLACED, (account.operator_id, account.id));
        let ready = query(READY)
            .bind(account.id.to_string())
            .bind(account.operator_id.to_string())
            .bind(account.address.to_string());
        self.write(move |tx| {
            async move {
                let is_new = insert.execute(&mut *tx).await? == 1;
                if is_new {
                    unplaced.execute(&mut *tx).await?;
                    walk.execute(tx).await?;
                } else {
                    ready.execute(tx).await?;
                }
                Ok(is_new)
            }
            .boxed()
        })
        .await
    }

    /// For the indexer: takes or renews the lease on `network` until `expires_at`. `false` while another process holds it.
    pub async fn lease_index(
        &self,
        network: Network,
        now: Timestamp,
        expires_at: Timestamp,
    ) -> Result<bool, StoreError> {
        let due = Due::of_lease(now, expires_at);
        let sql = format!(
            "INSERT INTO indexers (network, holder, expires_at) VALUES ($1, $2, $3)
             ON CONFLICT (network) DO UPDATE SET holder = excluded.holder, expires_at = excluded.expires_at
                 WHERE indexers.holder = excluded.holder OR {} OR $5",
            Due::sql("indexers.expires_at", 4, 6)
        );
        // A SQLite file serves one relayer, so every earlier holder is gone.
        let alone = matches!(self.pools, Pools::Sqlite { .. });
        // Only our own constants are interpolated.
        let taken = query(AssertSqlSafe(sql))
            .bind(network.as_str())
            .bind(&*self.holder)
            .bind(expires_at.to_string())
            .bind(due.now.to_string())
            .bind(alone)
            .bind(due.latest.to_string())
            .execute(self.writer())
            .await?;
        Ok(taken == 1)
    }

    /// For the indexer: gives the lease on `network` back, so that another process may resume at once.
    pub async fn release_index(&self, network: Network) -> Result<(), StoreError> {
        const SQL: &str = "DELETE FROM indexers WHERE network = $1 AND holder = $2";
        query(SQL).bind(network.as_str()).bind(&*self.holder).execute(self.writer()).await?;
        Ok(())
    }
}

impl Walk {
    /// An address that was never read.
    pub const fn new(address: Address) -> Self {
        Self { address, until: None, under_way: None }
    }
}

/// The first status of an adopted account; the chain has the present one.
pub const ADOPTED_STATUS: AccountStatus = AccountStatus::Active;

async fn move_walk(
    tx: &mut Transaction<'_>,
    network: Network,
    before: Option<&Walk>,
    after: &Walk,
) -> Result<(), StoreError> {
    const INSERT: &str = "INSERT INTO walks
             (network, address, until_signature, until_slot, under_way, top_signature, top_slot, before_signature)
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8) ON CONFLICT (network, address) DO NOTHING";
    const UPDATE: &str =
        "UPDATE walks SET until_signature = $3, until_slot = $4, under_way = $5, top_signature = $6,
             top_slot = $7, before_signature = $8
         WHERE network = $1 AND address = $2 AND COALESCE(until_signature, '') = $9 AND under_way = $10
             AND COALESCE(top_signature, '') = $11 AND COALESCE(before_signature, '') = $12";
    let signature = |mark: Option<&Mark>| mark.map(|mark| mark.signature.clone());
    let slot = |mark: Option<&Mark>| mark.map(|mark| mark.slot.cast_signed());
    let top_of = |walk: &Walk| walk.under_way.as_ref().and_then(|under_way| under_way.top.clone());
    let before_of = |walk: &Walk| walk.under_way.as_ref().and_then(|under_way| under_way.before.clone());
    let (until, top) = (after.until.as_ref(), top_of(after));
    let write = query(if before.is_some() { UPDATE } else { INSERT })
        .bind(network.as_str())
        .bind(after.address.to_string())
        .bind(signature(until))
        .bind(slot(until))
        .bind(after.under_way.is_some())
        .bind(signature(top.as_ref()))
        .bind(slot(top.as_ref()))
        .bind(before_of(after));
    let write = match before {
        None => write,
        Some(before) => write
            .bind(signature(before.until.as_ref()).unwrap_or_default())
            .bind(before.under_way.is_some())
            .bind(signature(top_of(before).as_ref()).unwrap_or_default())
            .bind(before_of(before).unwrap_or_default()),
    };
    if write.execute(tx).await? == 1 { Ok(()) } else { Err(StoreError::Superseded) }
}
