//! How far the chain has been read. A walk's position commits with the entries that it found.

use std::collections::{BTreeSet, HashMap, HashSet};

use super::chain_wins::settle_paid;
use super::due::Due;
use super::events::announce;
use super::history::record_read;
use super::limits::reached_by;
use super::marks::{Mark, one_of};
use super::pending_fetches::{PendingFetch, delete_pending_fetch, replace_pending_fetch};
use super::pools::Pools;
use super::query::{Sql, columns, sql};
use super::row::{Listed, row};
use super::stored::OrEmpty;
use super::{Index, Result, StoreError, Transaction};
use futures::FutureExt;
use purser_model::{
    Account, AccountId, AccountStatus, Address, Contradiction, HistoryEntry, Network, OperatorId, Timestamp,
    TransferId,
};

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
pub enum WalkOwner {
    Operator(OperatorId),
    Account(AccountId),
}

row! { Walk {
    address, until(until_signature, until_slot) = mark_of(until_signature, until_slot),
    under_way(under_way, top_signature, top_slot, before_signature) = bool::then_some(
        under_way,
        UnfinishedWalk { top: mark_of(top_signature, top_slot), before: before_signature },
    ),
}}

fn mark_of(signature: Option<String>, slot: Option<u64>) -> Option<Mark> {
    signature.zip(slot).map(|(signature, slot)| Mark { signature, slot })
}

impl Index {
    /// For the indexer: how far an address has been read. `None`: it was never read.
    pub async fn find_walk(&self, network: Network, address: &Address) -> Result<Option<Walk>> {
        sql! {
            "SELECT {columns} FROM walks WHERE network = {network} AND address = {address}",
            columns = Walk::COLUMNS, network, address
        }
        .fetch_optional(self.reader())
        .await
    }

    /// For the indexer: up to `rows_max` accounts whose token accounts have an unfinished walk, in no particular
    /// order.
    pub async fn list_walks_under_way(
        &self,
        network: Network,
        rows_max: u32,
    ) -> Result<Vec<(AccountId, Address)>> {
        sql! {
            "SELECT accounts.account_id, accounts.token_account FROM walks
                 JOIN accounts ON accounts.token_account = walks.address
                 JOIN operators ON operators.operator_id = accounts.operator_id
             WHERE walks.network = {network} AND operators.network = {network} AND walks.under_way LIMIT {rows_max}",
            network, rows_max
        }
        .fetch_all(self.reader())
        .await
    }

    /// For the indexer: which of these transactions (at most 1,000) are in the history of `whose`, with the times and
    /// transfers of their entries. Excludes those with a payment that is not fully known yet.
    pub async fn find_known(
        &self,
        network: Network,
        whose: WalkOwner,
        transactions: &[Mark],
    ) -> Result<HashMap<Mark, Vec<(Timestamp, Option<TransferId>)>>> {
        if transactions.is_empty() {
            return Ok(HashMap::new());
        }
        let (column, id) = match whose {
            WalkOwner::Operator(id) => ("operator_id", id.to_string()),
            WalkOwner::Account(id) => ("account_id", id.to_string()),
        };
        // Uncounted: the payment's number is not known yet, or its spending is not known and an operator subscribes to it.
        let rows: Vec<(Timestamp, Option<TransferId>, i64, Mark)> = sql! {
            "SELECT created_at, transfer_id,
                 CASE WHEN kind = 'transfer' AND (number IS NULL OR (spent_micros IS NULL AND created_at >= COALESCE(
                     (SELECT limits_since FROM operators WHERE operators.operator_id = history.operator_id), '~')))
                 THEN CAST(1 AS BIGINT) ELSE 0 END AS uncounted, {columns}
             FROM history WHERE network = {network} AND {column} = {id} AND {one_of}",
            columns = Mark::COLUMNS, network, column = Sql(column), id, one_of = one_of(transactions)
        }
        .fetch_all(self.reader())
        .await?;
        let uncounted = rows.iter().filter(|(_, _, uncounted, _)| *uncounted == 1);
        let uncounted: HashSet<Mark> = uncounted.map(|(.., mark)| mark.clone()).collect();
        let mut known = HashMap::<_, Vec<_>>::new();
        for (created_at, transfer_id, _, mark) in rows {
            if !uncounted.contains(&mark) {
                known.entry(mark).or_default().push((created_at, transfer_id));
            }
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
    ) -> Result<Vec<Contradiction>> {
        let Readings { mut entries, are_final, read_at, pending, resolved } = readings.clone();
        // Every process locks ledgers in the same order.
        entries.sort_by_key(|entry| entry.account_id);
        let progress = progress.map(|(before, after)| (before.clone(), after.clone()));
        let operators: BTreeSet<OperatorId> = entries.iter().map(|entry| entry.operator_id).collect();
        let watches = self.find_limit_watches(&operators.into_iter().collect::<Vec<_>>()).await?;
        self.write_events(move |tx| {
            async move {
                let newest = entries.iter().map(|entry| entry.created_at).max();
                let (mut events, contradictions) = match read_at.or(newest) {
                    Some(now) => settle_paid(tx, &entries, now).await?,
                    None => Default::default(),
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
                for events in events.chunks(ANNOUNCED_AT_ONCE) {
                    announce(tx, events).await?;
                }
                Ok(contradictions)
            }
            .boxed()
        })
        .await
    }

    /// For the indexer: records an account that was found on the chain, and that its past is still to be read. `false`
    /// when its id is taken. An account that was being created becomes ready.
    pub async fn adopt_account(&self, network: Network, account: &Account) -> Result<bool> {
        let Account { id, operator_id, name, address, token_account, status, created_at, .. } = account;
        let insert = sql! {
            "INSERT INTO accounts
                 (account_id, operator_id, name, address, token_account, status, provisioning, created_at)
             VALUES ({id}, {operator_id}, {name}, {address}, {token_account}, {status}, 'ready', {created_at})
             ON CONFLICT (account_id) DO NOTHING",
            id, operator_id, name, address, token_account, status, created_at
        };
        // Entries have no places until the account's past is read.
        let unplaced = sql! {
            "INSERT INTO ledgers
                 (operator_id, account_id, booked_micros, unexplained_micros, seen_micros, seen_slot, placed_micros)
             VALUES ({operator_id}, {id}, 0, 0, 0, 0, -1) ON CONFLICT (operator_id, account_id) DO NOTHING",
            operator_id, id
        };
        let walk = sql! {
            "INSERT INTO walks (network, address, under_way) VALUES ({network}, {token_account}, TRUE)
             ON CONFLICT (network, address) DO NOTHING",
            network, token_account
        };
        let ready = sql! {
            "UPDATE accounts SET provisioning = 'ready'
             WHERE account_id = {id} AND operator_id = {operator_id} AND address = {address}
                 AND provisioning = 'requested'",
            id, operator_id, address
        };
        self.write(move |tx| {
            async move {
                let is_new = insert.touches(&mut *tx).await?;
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
    pub async fn lease_index(&self, network: Network, now: Timestamp, expires_at: Timestamp) -> Result<bool> {
        sql! {
            "INSERT INTO marks {row}
             ON CONFLICT (name) DO UPDATE SET holder = excluded.holder, at = excluded.at
                 WHERE marks.holder = excluded.holder OR {is_free} OR {alone}",
            row = columns! { name = index_of(network), at = expires_at, holder = *self.holder },
            is_free = Due::of_lease(now, expires_at).has_come("marks.at"),
            // A SQLite file serves one relayer, so every earlier holder is gone.
            alone = matches!(self.pools, Pools::Sqlite { .. })
        }
        .touches(self.writer())
        .await
    }

    /// For the indexer: gives the lease on `network` back, so that another process may resume at once.
    pub async fn release_index(&self, network: Network) -> Result<()> {
        sql! {
            "DELETE FROM marks WHERE name = {name} AND holder = {holder}",
            name = index_of(network), holder = *self.holder
        }
        .run(self.writer())
        .await
    }
}

/// The name of the lease on a network's index.
fn index_of(network: Network) -> String {
    format!("index {network}")
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
) -> Result<()> {
    let top_of = |walk: &Walk| walk.under_way.as_ref().and_then(|under_way| under_way.top.clone());
    let before_of = |walk: &Walk| walk.under_way.as_ref().and_then(|under_way| under_way.before.clone());
    let (until_signature, until_slot) = after.until.clone().map(|mark| (mark.signature, mark.slot)).unzip();
    let (top_signature, top_slot) = top_of(after).map(|mark| (mark.signature, mark.slot)).unzip();
    let (under_way, before_signature) = (after.under_way.is_some(), before_of(after));
    let write = match before {
        None => sql! {
            "INSERT INTO walks {row} ON CONFLICT (network, address) DO NOTHING",
            row = columns! {
                network, after.address, until_signature, until_slot, under_way, top_signature, top_slot,
                before_signature
            }
        },
        Some(before) => sql! {
            "UPDATE walks SET until_signature = {until_signature}, until_slot = {until_slot}, under_way = {under_way},
                 top_signature = {top_signature}, top_slot = {top_slot}, before_signature = {before_signature}
             WHERE network = {network} AND address = {address}
                 AND COALESCE(until_signature, '') = {seen_until} AND under_way = {was_under_way}
                 AND COALESCE(top_signature, '') = {seen_top} AND COALESCE(before_signature, '') = {seen_before}",
            network, after.address, until_signature, until_slot, under_way, top_signature, top_slot, before_signature,
            seen_until = OrEmpty(before.until.as_ref().map(|mark| &mark.signature)),
            was_under_way = before.under_way.is_some(),
            seen_top = OrEmpty(top_of(before).map(|mark| mark.signature)), seen_before = OrEmpty(before_of(before))
        },
    };
    if write.touches(tx).await? { Ok(()) } else { Err(StoreError::Superseded) }
}
