//! Each account's money according to its history, for comparison with the chain.

use super::query::{Each, Sql, sql};
use super::row::row;
use super::stored::OrEmpty;
use super::{Index, Result, Transaction};
use futures::FutureExt;
use purser_model::{
    AccountId, Address, EntryKind, EntryOutcome, HistoryEntry, Network, OperatorId, Timestamp, UsdcAmount,
};

/// More than all USDC in existence. Larger amounts of test mints are booked as this, so that sums do not overflow.
const BOOKED_MAX: u64 = 1 << 58;

/// A node lags by no more slots than this (over half an hour of them). What was seen further ahead was made up, and hides nothing.
const LAG_SLOTS_MAX: u64 = 10_000;

/// The owner and id of an account, which begin the keys of its rows.
pub(super) type AccountKey = (OperatorId, AccountId);

/// An account's holdings, by its history and by the last look at the chain. All in micro-USDC.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ledger {
    pub account_id: AccountId,
    pub operator_id: OperatorId,
    pub token_account: Address,
    pub booked: i64,
    pub unexplained: i64,
    pub seen: i64,
    pub seen_slot: u64,
}

impl Ledger {
    /// The chain's balance minus what is accounted for.
    pub fn difference(&self, balance: UsdcAmount) -> i64 {
        in_ledger(balance).saturating_sub(self.booked).saturating_sub(self.unexplained)
    }

    /// True if a reading at this slot is older than what was seen last.
    pub fn was_seen_after(&self, slot: u64) -> bool {
        (1..=LAG_SLOTS_MAX).contains(&self.seen_slot.saturating_sub(slot))
    }
}

/// An amount as ledgers store it.
pub fn in_ledger(amount: UsdcAmount) -> i64 {
    amount.micros().min(BOOKED_MAX).cast_signed()
}

/// An entry's effect on its account.
pub(super) fn change_of(kind: EntryKind, amount: UsdcAmount) -> i64 {
    match kind {
        EntryKind::Deposit => in_ledger(amount),
        EntryKind::Transfer | EntryKind::Withdrawal => -in_ledger(amount),
    }
}

/// An entry's position in its account's list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Placed {
    At(Timestamp),
    /// The account's past is being read, so the entry has no place yet.
    Waits,
}

impl Placed {
    fn of(micros: i64) -> Self {
        if micros < 0 { Self::Waits } else { Self::At(Timestamp::from_unix_micros(micros)) }
    }
}

const NEXT_PLACE: Sql<&str> = Sql("placed_micros = CASE
                 WHEN ledgers.placed_micros < 0 THEN ledgers.placed_micros
                 WHEN ledgers.placed_micros < excluded.placed_micros THEN excluded.placed_micros
                 ELSE ledgers.placed_micros + 1 END,
             newest_slot = CASE
                 WHEN ledgers.newest_slot < excluded.newest_slot THEN excluded.newest_slot
                 ELSE ledgers.newest_slot END");

/// The next place in an entry's account: never before the entry's time or `now`, and after every place given so far.
///
/// Locks the account's ledger until the commit, so the next writer gets a later place and becomes visible later.
pub(super) async fn place(tx: &mut Transaction<'_>, entry: &HistoryEntry, now: Timestamp) -> Result<Placed> {
    let placed: Option<i64> = sql! {
        "INSERT INTO ledgers
             (operator_id, account_id, placed_micros, newest_slot, booked_micros, unexplained_micros, seen_micros,
              seen_slot)
         VALUES ({operator_id}, {account_id}, {earliest}, {slot}, 0, 0, 0, 0)
         ON CONFLICT (operator_id, account_id) DO UPDATE SET {next_place}
         RETURNING placed_micros",
        entry.operator_id, entry.account_id, earliest = earliest_place(entry, now), slot = slot_of(entry),
        next_place = NEXT_PLACE
    }
    .fetch_optional(tx)
    .await?;
    Ok(placed.map_or(Placed::Waits, Placed::of))
}

fn earliest_place(entry: &HistoryEntry, now: Timestamp) -> i64 {
    entry.created_at.max(now).unix_micros().max(0)
}

fn slot_of(entry: &HistoryEntry) -> u64 {
    match entry.outcome {
        EntryOutcome::Settled { slot, .. } => slot,
        EntryOutcome::Rejected { .. } => 0,
    }
}

/// Locks an account's ledger until the commit, so writers of the account's entries take turns.
pub(super) async fn lock(tx: &mut Transaction<'_>, (operator, account): AccountKey) -> Result<()> {
    sql! {
        "UPDATE ledgers SET booked_micros = booked_micros
         WHERE operator_id = {operator} AND account_id = {account}",
        operator, account
    }
    .run(tx)
    .await
}

/// Gives a new entry its place and books its money, at once: see [`place`]. `None` when the entry exists already, and nothing was
/// done.
pub(super) async fn place_and_book(
    tx: &mut Transaction<'_>,
    entry: &HistoryEntry,
    now: Timestamp,
) -> Result<Option<Placed>> {
    let booked: Option<i64> = sql! {
        "INSERT INTO ledgers
             (operator_id, account_id, placed_micros, newest_slot, booked_micros, unexplained_micros, seen_micros, seen_slot)
         SELECT {operator_id}, {account_id}, {earliest}, {slot}, {change}, 0, 0, 0
         WHERE NOT EXISTS (SELECT 1 FROM history WHERE operator_id = {operator_id} AND entry_id = {id})
         ON CONFLICT (operator_id, account_id) DO UPDATE SET
             {next_place},
             booked_micros = ledgers.booked_micros + excluded.booked_micros
         RETURNING placed_micros",
        entry.operator_id, entry.account_id, earliest = earliest_place(entry, now), slot = slot_of(entry),
        change = change_of(entry.kind, entry.amount), entry.id, next_place = NEXT_PLACE
    }
    .fetch_optional(tx)
    .await?;
    Ok(booked.map(Placed::of))
}

/// Undoes an entry's booking.
pub(super) async fn unbook(
    tx: &mut Transaction<'_>,
    (operator, account): AccountKey,
    micros: i64,
) -> Result<()> {
    sql! {
        "UPDATE ledgers SET booked_micros = booked_micros - {micros}
         WHERE operator_id = {operator} AND account_id = {account}",
        micros, operator, account
    }
    .run(tx)
    .await
}

/// The columns of a [`Ledger`]: of an account without history, an empty one.
const COLUMNS: Sql<&str> = Sql("accounts.account_id, accounts.operator_id, accounts.token_account,
                 COALESCE(ledgers.booked_micros, 0) AS booked_micros,
                 COALESCE(ledgers.unexplained_micros, 0) AS unexplained_micros,
                 COALESCE(ledgers.seen_micros, 0) AS seen_micros, COALESCE(ledgers.seen_slot, 0) AS seen_slot");

row! { Ledger {
    account_id, operator_id, token_account, booked: booked_micros, unexplained: unexplained_micros,
    seen: seen_micros, seen_slot,
}}

impl Index {
    /// For the indexer: the ledgers of up to `rows_max` ready accounts of every operator on `network`, by account id,
    /// starting after `after`. An account without history has an empty ledger.
    pub async fn list_ledgers(
        &self,
        network: Network,
        after: Option<AccountId>,
        rows_max: usize,
    ) -> Result<Vec<Ledger>> {
        // With a cross join, SQLite reads the accounts in order instead of sorting all of an operator's.
        sql! {
            "SELECT {columns}
             FROM accounts
                 CROSS JOIN operators
                 LEFT JOIN ledgers
                     ON ledgers.operator_id = accounts.operator_id AND ledgers.account_id = accounts.account_id
             WHERE operators.operator_id = accounts.operator_id AND operators.network = {network}
                 AND accounts.provisioning = 'ready' AND accounts.account_id > {after}
             ORDER BY accounts.account_id LIMIT {rows_max}",
            columns = COLUMNS, network, after = OrEmpty(after), rows_max
        }
        .fetch_all(self.lister())
        .await
    }

    /// For the indexer: the ledgers of the ready accounts of every operator on `network` that have one of these token
    /// accounts. At most 1,000.
    pub async fn find_ledgers(&self, network: Network, token_accounts: &[Address]) -> Result<Vec<Ledger>> {
        sql! {
            "SELECT {columns}
             FROM accounts
                 JOIN operators ON operators.operator_id = accounts.operator_id
                 LEFT JOIN ledgers
                     ON ledgers.operator_id = accounts.operator_id AND ledgers.account_id = accounts.account_id
             WHERE operators.network = {network} AND accounts.provisioning = 'ready'
                 AND accounts.token_account IN ({token_accounts})",
            columns = COLUMNS, network, token_accounts = Each(token_accounts)
        }
        .fetch_all(self.lister())
        .await
    }

    /// For the indexer: the ledgers of up to `rows_max` accounts of every operator on `network` with an unexplained difference;
    /// `are_paying`: only of those with a transfer under way.
    pub async fn list_unexplained(
        &self,
        network: Network,
        are_paying: bool,
        rows_max: u32,
    ) -> Result<Vec<Ledger>> {
        let and_paying = if are_paying {
            "AND EXISTS (SELECT 1 FROM transfers WHERE transfers.operator_id = accounts.operator_id
                     AND transfers.account_id = accounts.account_id AND transfers.state IN ('claimed', 'signed', 'sent'))"
        } else {
            ""
        };
        sql! {
            "SELECT {columns}
             FROM ledgers
                 JOIN accounts
                     ON accounts.operator_id = ledgers.operator_id AND accounts.account_id = ledgers.account_id
                 JOIN operators ON operators.operator_id = accounts.operator_id
             WHERE operators.network = {network} AND ledgers.unexplained_micros <> 0 {and_paying}
             ORDER BY accounts.account_id DESC LIMIT {rows_max}",
            columns = COLUMNS, network, and_paying = Sql(and_paying), rows_max
        }
        .fetch_all(self.lister())
        .await
    }

    /// For the indexer: an account's ledger as it was after `slot`, without bookings of later slots.
    pub async fn find_ledger_at(
        &self,
        network: Network,
        account: AccountId,
        slot: u64,
    ) -> Result<Option<Ledger>> {
        let ledger: Option<Ledger> = sql! {
            "SELECT {columns} FROM accounts LEFT JOIN ledgers
                 ON ledgers.operator_id = accounts.operator_id AND ledgers.account_id = accounts.account_id
             WHERE accounts.account_id = {account}",
            columns = COLUMNS, account
        }
        .fetch_optional(self.reader())
        .await?;
        let Some(ledger) = ledger else { return Ok(None) };
        // A booking between the two reads counts as later; the next look corrects it.
        let later: Vec<(EntryKind, UsdcAmount)> = sql! {
            "SELECT kind, amount_usdc FROM history
             WHERE account_id = {account} AND network = {network} AND slot IS NOT NULL AND slot > {slot}",
            account, network, slot
        }
        .fetch_all(self.lister())
        .await?;
        let booked = later
            .into_iter()
            .fold(ledger.booked, |booked, (kind, amount)| booked.saturating_sub(change_of(kind, amount)));
        Ok(Some(Ledger { booked, ..ledger }))
    }

    /// For the indexer: records what a sweep saw at `slot`. A sight older than the last one changes nothing; see
    /// [`Ledger::was_seen_after`].
    pub async fn mark_seen(&self, slot: u64, seen: &[(AccountKey, UsdcAmount)]) -> Result<()> {
        if seen.is_empty() {
            return Ok(());
        }
        let seen = seen.to_vec();
        self.write(move |tx| {
            async move {
                for ((operator, account), balance) in seen {
                    sql! {
                        "INSERT INTO ledgers
                             (operator_id, account_id, booked_micros, unexplained_micros, seen_micros, seen_slot)
                         VALUES ({operator}, {account}, 0, 0, {balance}, {slot})
                         ON CONFLICT (operator_id, account_id) DO UPDATE
                             SET seen_micros = excluded.seen_micros, seen_slot = excluded.seen_slot
                             WHERE ledgers.seen_slot <= excluded.seen_slot OR ledgers.seen_slot > {made_up}",
                        operator, account, balance = in_ledger(balance), slot,
                        made_up = slot.saturating_add(LAG_SLOTS_MAX)
                    }
                    .execute(&mut *tx)
                    .await?;
                }
                Ok(())
            }
            .boxed()
        })
        .await
    }

    /// For the indexer: records `micros` that the chain holds beyond (or short of) what transactions account for.
    pub async fn mark_unexplained(&self, (operator, account): AccountKey, micros: i64) -> Result<()> {
        sql! {
            "INSERT INTO ledgers
                 (operator_id, account_id, booked_micros, unexplained_micros, seen_micros, seen_slot)
             VALUES ({operator}, {account}, 0, {micros}, 0, 0)
             ON CONFLICT (operator_id, account_id) DO UPDATE
                 SET unexplained_micros = ledgers.unexplained_micros + excluded.unexplained_micros",
            operator, account, micros
        }
        .run(self.writer())
        .await
    }
}
