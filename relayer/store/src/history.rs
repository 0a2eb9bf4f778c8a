//! Accounts' histories. An entry is written, and its money booked, with the step or transaction it records.

use super::events::announce;
use super::ledgers::{AccountKey, Placed};
use super::query::{Piece, Place, Sql, columns, merged, sql};
use super::row::{Listed, row, unreadable};
use super::stored::Below;
use super::{Database, Events, History, Result, StoreError, Transaction, ledgers};
use purser_model::{
    AccountId, EntryKind, EntryOutcome, Event, HistoryEntry, HistoryFilter, HistoryStatus, OperatorId,
    PaymentNumber, PlacedEntry, Spent, Timestamp, Transfer, TransferState, UsdcAmount, own_settlement,
    position_after,
};

/// Selected beside the columns of a [`HistoryEntry`]. The recipient of a payment from another operator's account sees that account's
/// id.
const BESIDE: Sql<&str> = Sql("position,
    COALESCE((SELECT MIN(accounts.account_id) FROM accounts
        WHERE accounts.token_account = history.counterparty AND (accounts.operator_id = history.operator_id
            OR (history.kind = 'deposit' AND history.transfer_id IS NOT NULL))),
        history.counterparty) AS counterparty");

/// The lowest position with a time. Entries that have no place yet sort below it.
const FIRST_PLACE: &str = "0";
const MOMENT_CHARS: usize = 27;

row! { PlacedEntry from row {
    entry = row.record()?, position,
    // Positions from before places existed carry more text after the time.
    visible_at = String::as_str(&position)
        .get(..MOMENT_CHARS)
        .and_then(|moment| moment.parse().ok())
        .ok_or_else(|| unreadable("position"))?,
}}

row! { HistoryEntry from row {
    id: entry_id, operator_id, account_id, network, kind, amount: amount_usdc, memo, transfer_id, number,
    created_at, counterparty = row.get("counterparty")?, asked_at(asked_at) = asked_at,
    spent(spent_micros, policy_version) = Option::zip(spent_micros, policy_version)
        .map(|(micros, policy_version)| Spent { in_window: UsdcAmount::from_micros(micros), policy_version }),
    outcome(status, tx_signature, slot, reason, message) =
        match (String::as_str(&status), tx_signature, slot, reason, message) {
            ("settled", Some(signature), Some(slot), _, _) => EntryOutcome::Settled { signature, slot },
            ("rejected", _, _, Some(reason), Some(message)) => EntryOutcome::Rejected { reason, message },
            _ => return Err(unreadable("status")),
        },
}}

impl History {
    /// Up to `rows_max` entries of the operator's account that `filter` allows, most recently visible first, beyond the
    /// position `after`. A counterparty that is an account shows as its id, which may become known later than the entry.
    pub async fn list_history(
        &self,
        operator: OperatorId,
        account: AccountId,
        filter: &HistoryFilter,
        after: Option<&str>,
        rows_max: u32,
    ) -> Result<Vec<PlacedEntry>> {
        let since = filter.since.map_or_else(|| FIRST_PLACE.to_owned(), position_after);
        let until = filter.until.map(position_after);
        let below = Below([after, until.as_deref()].into_iter().flatten().min());
        let lines: Vec<_> = filter.lines().collect();
        if lines.is_empty() {
            return Ok(Vec::new());
        }
        // A list merges entries of several kinds and statuses in one order. Each pair has its own index scan, so rare
        // kinds are found quickly too.
        let pages = Piece(|values: &mut Vec<_>| {
            let (Sql(columns), Sql(beside)) = (HistoryEntry::COLUMNS, BESIDE);
            let (operator, account) = (operator.place(values), account.place(values));
            let (since, below, rows_max) = (since.place(values), below.place(values), rows_max.place(values));
            let ending = format!("ORDER BY position DESC LIMIT {rows_max}");
            let pages = lines.iter().map(|(kind, status)| {
                format!(
                    "SELECT {columns}, {beside} FROM history
                     WHERE operator_id = {operator} AND account_id = {account} AND kind = '{}' AND status = '{}'
                         AND position > {since} AND position < {below} {ending}",
                    kind.as_str(),
                    status.as_str()
                )
            });
            merged(pages, &ending)
        });
        sql! {"{pages}", pages}.fetch_all(self.lister()).await
    }
}

impl Events {
    /// The operator's payments that became visible after `since` and whose spending was read, newest first.
    pub async fn list_latest_payments(
        &self,
        operator: OperatorId,
        since: Timestamp,
        rows_max: u32,
    ) -> Result<Vec<HistoryEntry>> {
        sql! {
            "SELECT {columns}, {beside} FROM history
             WHERE operator_id = {operator} AND entry_id IN (
                 SELECT latest.entry_id FROM accounts JOIN history AS latest ON latest.account_id = accounts.account_id
                 WHERE accounts.operator_id = {operator_of_accounts} AND latest.kind = 'transfer' AND latest.status = 'settled'
                     AND latest.position > {since} AND latest.spent_micros IS NOT NULL
                 ORDER BY latest.position DESC LIMIT {rows_max})
             ORDER BY position DESC",
            columns = HistoryEntry::COLUMNS, beside = BESIDE, operator, operator_of_accounts = operator,
            since = position_after(since), rows_max
        }
        .fetch_all(self.lister())
        .await
    }
}

impl Database {
    /// The history entries of a transfer's step. Read before the write, so that the writer is not held up. If a
    /// recipient becomes an account of ours at this moment, the indexer finds its deposit.
    pub(super) async fn entries_of(
        &self,
        transfer: &Transfer,
        next: &TransferState,
    ) -> Result<Vec<HistoryEntry>> {
        let parties = match own_settlement(transfer, next) {
            Some(_) => self.find_parties_of(transfer.network, &transfer.request).await?,
            None => Vec::new(),
        };
        let mut entries = HistoryEntry::of_step(transfer, next, &parties);
        // Every process locks ledgers in the same order.
        entries.sort_by_key(|entry| entry.account_id);
        Ok(entries)
    }
}

/// Adds the step's entries to histories and announces it, in the transaction of the step.
pub(super) async fn announce_step(
    tx: &mut Transaction<'_>,
    transfer: &Transfer,
    next: &TransferState,
    entries: &[HistoryEntry],
    now: Timestamp,
) -> Result<()> {
    let mut events = Event::of_step(transfer, next, now);
    for entry in entries {
        events.extend(record(tx, entry, now).await?);
    }
    announce(tx, &events).await
}

/// Inserts an entry of a transfer's step, and returns the events that announce it.
pub(super) async fn record(
    tx: &mut Transaction<'_>,
    entry: &HistoryEntry,
    now: Timestamp,
) -> Result<Option<Event>> {
    match entry.outcome {
        EntryOutcome::Settled { .. } => {
            let Some(placed) = ledgers::place_and_book(tx, entry, now).await? else { return Ok(None) };
            insert_placed(tx, entry, placed, false).await?;
            Ok(Event::of_entry(entry, now))
        }
        EntryOutcome::Rejected { .. } => {
            // A rejection happens when it is written.
            let placed = ledgers::place(tx, entry, entry.created_at).await?;
            // It is never on the chain, so no fork removes it.
            insert_entry(tx, entry, &position_of(entry, placed), true).await?;
            Ok(None)
        }
    }
}

/// Entries that have no place yet sort in the order of the chain.
fn position_of(entry: &HistoryEntry, placed: Placed) -> String {
    match placed {
        Placed::At(place) => place.to_string(),
        Placed::Waits => format!("!{}", entry.chain_position()),
    }
}

/// Inserts an entry whose money is booked. `Contended` when another transaction inserted it meanwhile: roll everything back.
async fn insert_placed(
    tx: &mut Transaction<'_>,
    entry: &HistoryEntry,
    placed: Placed,
    is_final: bool,
) -> Result<()> {
    let position = position_of(entry, placed);
    let is_new = insert_entry(tx, entry, &position, is_final).await?;
    if is_new { Ok(()) } else { Err(StoreError::Contended) }
}

/// Inserts an entry read from the chain and books its money. An entry that exists takes the chain's slot and time, and
/// its payment's number. `read_at`: when it was read, by our clock. Returns the events that announce it; `None`
/// announces nothing, because the past of an adopted account is no news.
pub(super) async fn record_read(
    tx: &mut Transaction<'_>,
    entry: &HistoryEntry,
    is_final: bool,
    read_at: Option<Timestamp>,
) -> Result<Option<Vec<Event>>> {
    let now = read_at.unwrap_or(entry.created_at);
    let mut events = Vec::new();
    let placed = match ledgers::place_and_book(tx, entry, now).await? {
        Some(placed) => {
            insert_placed(tx, entry, placed, is_final).await?;
            events.extend(Event::of_entry(entry, now));
            placed
        }
        None => {
            let placed = ledgers::place(tx, entry, now).await?;
            mark_moved(tx, entry, &position_of(entry, placed)).await?;
            mark_numbered(tx, entry).await?;
            placed
        }
    };
    Ok((placed != Placed::Waits).then_some(events))
}

/// Up to `rows_max` payments of an account that passed under this version of its policy, as far as read, most recently
/// visible first.
pub(super) async fn list_payments_under(
    tx: &mut Transaction<'_>,
    (operator, account): AccountKey,
    version: u64,
    rows_max: u32,
) -> Result<Vec<HistoryEntry>> {
    // Searches only the latest entries: a policy becomes known with its payments, or little later.
    sql! {
        "SELECT {columns}, {beside} FROM history
         WHERE operator_id = {operator} AND entry_id IN (
             SELECT entry_id FROM (
                 SELECT entry_id, policy_version FROM history
                 WHERE account_id = {account} AND kind = 'transfer' AND status = 'settled'
                     AND operator_id = {operator}
                 ORDER BY position DESC LIMIT {rows_max}) AS latest
             WHERE policy_version = {version})",
        columns = HistoryEntry::COLUMNS, beside = BESIDE, operator, account, version, rows_max
    }
    .fetch_all(tx)
    .await
}

/// `false` when it exists already.
async fn insert_entry(
    tx: &mut Transaction<'_>,
    entry: &HistoryEntry,
    position: &str,
    is_final: bool,
) -> Result<bool> {
    let is_payment = entry.kind == EntryKind::Transfer && entry.outcome.status() == HistoryStatus::Settled;
    let tag = entry.transfer_id.filter(|_| is_payment).map(|id| id.tag());
    let (signature, slot, reason, message) = match &entry.outcome {
        EntryOutcome::Settled { signature, slot } => (Some(signature), Some(slot), None, None),
        EntryOutcome::Rejected { reason, message } => (None, None, Some(reason.as_str()), Some(message)),
    };
    sql! {
        "INSERT INTO history {row} ON CONFLICT (operator_id, entry_id) DO NOTHING",
        row = columns! {
            ..entry, entry.counterparty, status = entry.outcome.status().as_str(), tx_signature = signature, slot,
            reason, message, is_final, position, tag = tag.map(tag_text),
            asked_at = entry.asked_at.filter(|_| is_payment)
        }
    }
    .touches(tx)
    .await
}

/// Moves an existing entry to the chain's slot and time if it was recorded with others, and gives it a new place, so
/// that pollers see it.
async fn mark_moved(tx: &mut Transaction<'_>, entry: &HistoryEntry, position: &str) -> Result<()> {
    let EntryOutcome::Settled { slot, .. } = &entry.outcome else { return Ok(()) };
    sql! {
        "UPDATE history SET slot = {slot}, created_at = {created_at}, position = {position}
         WHERE operator_id = {operator_id} AND entry_id = {id} AND status = 'settled'
             AND (slot <> {slot} OR created_at <> {created_at})",
        slot, entry.created_at, position, entry.operator_id, entry.id
    }
    .run(tx)
    .await
}

/// Gives an existing payment the number that was read. A log that one node cut off says nothing against a number that another one showed.
async fn mark_numbered(tx: &mut Transaction<'_>, entry: &HistoryEntry) -> Result<()> {
    let Some(number) = entry.number else { return Ok(()) };
    let is_cut_off = number == PaymentNumber::CutOff;
    sql! {
        "UPDATE history SET number = {number}
         WHERE operator_id = {operator_id} AND entry_id = {id} AND status = 'settled' AND kind = 'transfer'
             AND (number IS NULL OR (NOT {is_cut_off} AND number <> {number}))",
        number, entry.operator_id, entry.id, is_cut_off
    }
    .run(tx)
    .await
}

/// 64 bits in hex, the stored form of tags.
pub(super) fn tag_text(tag: u64) -> String {
    format!("{tag:016x}")
}
