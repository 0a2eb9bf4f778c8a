//! Accounts' histories. An entry is written, and its money booked, with the step or transaction it records.

use macro_rules_attribute::derive;
use sqlx::AssertSqlSafe;

use super::columns::Table;
use super::ledgers::Placed;
use super::query::{merged, query};
use super::row::ByName;
use super::{Store, StoreError, Transaction, ledgers};
use crate::domain::{
    AccountId, Counterparty, EntryKind, EntryOutcome, Event, HistoryEntry, HistoryFilter, Memo, OperatorId,
    PaymentNumber, PlacedEntry, RejectionReason, Spent, Timestamp, Transfer, TransferState, UsdcAmount,
    own_settlement, position_after,
};

const TABLE: Table = Table("history");

/// The columns of [`EntryRow`]. The recipient of a payment from another operator's account sees that account's id.
const COLUMNS: &str =
    "entry_id, operator_id, account_id, network, kind, status, amount_usdc, memo, transfer_id,
    tx_signature, slot, reason, message, created_at, number, position, spent_micros, policy_version,
    COALESCE((SELECT MIN(accounts.account_id) FROM accounts
        WHERE accounts.token_account = history.counterparty AND (accounts.operator_id = history.operator_id
            OR (history.kind = 'deposit' AND history.transfer_id IS NOT NULL))),
        history.counterparty) AS counterparty";

/// The lowest position with a time. Entries that have no place yet sort below it.
const FIRST_PLACE: &str = "0";
const MOMENT_CHARS: usize = 27;

#[derive(Debug, ByName!)]
struct EntryRow {
    entry_id: String,
    operator_id: String,
    account_id: String,
    network: String,
    kind: String,
    status: String,
    amount_usdc: String,
    counterparty: Option<String>,
    memo: Option<String>,
    transfer_id: Option<String>,
    tx_signature: Option<String>,
    slot: Option<i64>,
    reason: Option<String>,
    message: Option<String>,
    created_at: String,
    number: Option<i64>,
    position: String,
    spent_micros: Option<i64>,
    policy_version: Option<i64>,
}

impl TryFrom<EntryRow> for PlacedEntry {
    type Error = StoreError;

    fn try_from(row: EntryRow) -> Result<Self, StoreError> {
        let position = row.position.clone();
        // Positions from before places existed carry more text after the time.
        let moment = position.get(..MOMENT_CHARS).ok_or_else(|| TABLE.unreadable("position"))?;
        let visible_at = TABLE.read("position", moment)?;
        Ok(Self { entry: row.try_into()?, visible_at, position })
    }
}

impl TryFrom<EntryRow> for HistoryEntry {
    type Error = StoreError;

    fn try_from(row: EntryRow) -> Result<Self, StoreError> {
        let outcome = match row.status.as_str() {
            "settled" => EntryOutcome::Settled {
                signature: TABLE.required("tx_signature", row.tx_signature)?,
                slot: TABLE.required("slot", row.slot)?.cast_unsigned(),
            },
            "rejected" => EntryOutcome::Rejected {
                reason: row
                    .reason
                    .as_deref()
                    .and_then(RejectionReason::from_stored)
                    .ok_or_else(|| TABLE.unreadable("reason"))?,
                message: TABLE.required("message", row.message)?,
            },
            _ => return Err(TABLE.unreadable("status")),
        };
        Ok(Self {
            id: TABLE.read("entry_id", &row.entry_id)?,
            operator_id: TABLE.read("operator_id", &row.operator_id)?,
            account_id: TABLE.read("account_id", &row.account_id)?,
            network: TABLE.read("network", &row.network)?,
            kind: EntryKind::from_stored(&row.kind).ok_or_else(|| TABLE.unreadable("kind"))?,
            amount: TABLE.read("amount_usdc", &row.amount_usdc)?,
            counterparty: TABLE.read_optional::<Counterparty>("counterparty", row.counterparty.as_deref())?,
            memo: row.memo.as_deref().map(Memo::written),
            transfer_id: TABLE.read_optional("transfer_id", row.transfer_id.as_deref())?,
            number: row.number.map(number_of),
            spent: row.spent_micros.zip(row.policy_version).map(|(micros, version)| Spent {
                in_window: UsdcAmount::from_micros(micros.cast_unsigned()),
                policy_version: version.cast_unsigned(),
            }),
            outcome,
            created_at: TABLE.read("created_at", &row.created_at)?,
        })
    }
}

impl Store {
    /// Up to `rows_max` entries of the operator's account that `filter` allows, most recently visible first, beyond the
    /// position `after`. A counterparty that is an account shows as its id, which may become known later than the entry.
    pub async fn list_history(
        &self,
        operator: OperatorId,
        account: AccountId,
        filter: &HistoryFilter,
        after: Option<&str>,
        rows_max: u32,
    ) -> Result<Vec<PlacedEntry>, StoreError> {
        let Some(sql) = list_sql(filter) else { return Ok(Vec::new()) };
        let until = filter.until.map(position_after);
        let below = [after, until.as_deref()].into_iter().flatten().min();
        // Only our own constants are interpolated.
        let rows: Vec<EntryRow> = query(AssertSqlSafe(sql))
            .bind(operator.to_string())
            .bind(account.to_string())
            .bind(filter.since.map_or_else(|| FIRST_PLACE.to_owned(), position_after))
            .bind_below(below)
            .bind(i64::from(rows_max))
            .fetch_all(self.lister())
            .await?;
        rows.into_iter().map(PlacedEntry::try_from).collect()
    }

    /// The history entries of a transfer's step. Read before the write, so that the writer is not held up. If a
    /// recipient becomes an account of ours at this moment, the indexer finds its deposit.
    pub(super) async fn entries_of(
        &self,
        transfer: &Transfer,
        next: &TransferState,
    ) -> Result<Vec<HistoryEntry>, StoreError> {
        let parties = match own_settlement(transfer, next) {
            Some(_) => self.find_parties_of(transfer.network, &transfer.request).await?,
            None => Vec::new(),
        };
        Ok(HistoryEntry::of_step(transfer, next, &parties))
    }
}

/// A list merges entries of several kinds and statuses in one order. Each pair has its own index scan, so rare kinds
/// are found quickly too. `None`: the filter matches no kind.
fn list_sql(filter: &HistoryFilter) -> Option<String> {
    let pages_of = |line: &str| {
        format!(
            "SELECT {COLUMNS} FROM history
             WHERE operator_id = $1 AND account_id = $2 {line}AND position > $3 AND position < $4
             ORDER BY position DESC LIMIT $5"
        )
    };
    let pages = filter.lines().map(|(kind, status)| {
        pages_of(&format!("AND kind = '{}' AND status = '{}' ", kind.as_str(), status.as_str()))
    });
    merged(pages, "ORDER BY position DESC LIMIT $5")
}

/// Inserts an entry of a transfer's step, and returns the events that announce it.
pub(super) async fn record(
    tx: &mut Transaction<'_>,
    entry: &HistoryEntry,
    now: Timestamp,
) -> Result<Option<Event>, StoreError> {
    match entry.outcome {
        EntryOutcome::Settled { .. } => {
            let Some(placed) = ledgers::place_and_book(tx, entry, now).await? else { return Ok(None) };
            insert_placed(tx, entry, placed, false, None, None).await?;
            Ok(Event::of_entry(entry, now))
        }
        EntryOutcome::Rejected { .. } => {
            // A rejection happens when it is written.
            let placed = ledgers::place(tx, entry, entry.created_at).await?;
            // It is never on the chain, so no fork removes it.
            insert_entry(tx, entry, &position_of(entry, placed), true, None, None).await?;
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
    tag: Option<u64>,
    read_at: Option<Timestamp>,
) -> Result<(), StoreError> {
    let position = position_of(entry, placed);
    let is_new = insert_entry(tx, entry, &position, is_final, tag, read_at).await?;
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
) -> Result<Option<Vec<Event>>, StoreError> {
    let now = read_at.unwrap_or(entry.created_at);
    let tag = entry.number.and(entry.transfer_id).map(|id| id.tag());
    let mut events = Vec::new();
    let placed = match ledgers::place_and_book(tx, entry, now).await? {
        Some(placed) => {
            insert_placed(tx, entry, placed, is_final, tag, read_at.filter(|_| tag.is_some())).await?;
            events.extend(Event::of_entry(entry, now));
            placed
        }
        None => {
            let placed = ledgers::place(tx, entry, now).await?;
            mark_moved(tx, entry, &position_of(entry, placed)).await?;
            renumber(tx, entry).await?;
            placed
        }
    };
    Ok((placed != Placed::Waits).then_some(events))
}

/// Up to `rows_max` payments of an account that passed under this version of its policy, as far as read, most recently
/// visible first.
pub(super) async fn list_payments_under(
    tx: &mut Transaction<'_>,
    (operator, account): (OperatorId, AccountId),
    version: u64,
    rows_max: u32,
) -> Result<Vec<HistoryEntry>, StoreError> {
    // Searches only the latest entries: a policy becomes known with its payments, or little later.
    let sql = format!(
        "SELECT {COLUMNS} FROM history
         WHERE operator_id = $2 AND entry_id IN (
             SELECT entry_id FROM (
                 SELECT entry_id, policy_version FROM history
                 WHERE account_id = $1 AND kind = 'transfer' AND status = 'settled' AND operator_id = $2
                 ORDER BY position DESC LIMIT $4) AS latest
             WHERE policy_version = $3)"
    );
    // Only our own constants are interpolated.
    let rows: Vec<EntryRow> = query(AssertSqlSafe(sql))
        .bind(account.to_string())
        .bind(operator.to_string())
        .bind(version.cast_signed())
        .bind(i64::from(rows_max))
        .fetch_all(tx)
        .await?;
    rows.into_iter().map(HistoryEntry::try_from).collect()
}

/// `false` when it exists already. `tag`: given when nothing else here identifies the payment.
async fn insert_entry(
    tx: &mut Transaction<'_>,
    entry: &HistoryEntry,
    position: &str,
    is_final: bool,
    tag: Option<u64>,
    read_at: Option<Timestamp>,
) -> Result<bool, StoreError> {
    const SQL: &str = "INSERT INTO history
             (entry_id, operator_id, account_id, network, kind, status, amount_usdc, counterparty, memo, transfer_id,
              tx_signature, slot, reason, message, is_final, created_at, position, number, tag,
              read_at)
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19, $20)
         ON CONFLICT (operator_id, entry_id) DO NOTHING";
    let (signature, slot, reason, message) = match &entry.outcome {
        EntryOutcome::Settled { signature, slot } => {
            (Some(signature.as_str()), Some(slot.cast_signed()), None, None)
        }
        EntryOutcome::Rejected { reason, message } => {
            (None, None, Some(reason.as_str()), Some(message.as_str()))
        }
    };
    let inserted = query(SQL)
        .bind(entry.id.to_string())
        .bind(entry.operator_id.to_string())
        .bind(entry.account_id.to_string())
        .bind(entry.network.as_str())
        .bind(entry.kind.as_str())
        .bind(entry.outcome.status().as_str())
        .bind(entry.amount.to_string())
        .bind(entry.counterparty.map(|party| party.to_string()))
        .bind(entry.memo.as_ref().map(Memo::as_str))
        .bind(entry.transfer_id.map(|id| id.to_string()))
        .bind(signature)
        .bind(slot)
        .bind(reason)
        .bind(message)
        .bind(is_final)
        .bind(entry.created_at.to_string())
        .bind(position)
        .bind(entry.number.map(stored_number))
        .bind(tag.map(tag_text))
        .bind(read_at.map(|at| at.to_string()))
        .execute(tx)
        .await?;
    Ok(inserted == 1)
}

/// Moves an existing entry to the chain's slot and time if it was recorded with others, and gives it a new place, so
/// that pollers see it.
async fn mark_moved(
    tx: &mut Transaction<'_>,
    entry: &HistoryEntry,
    position: &str,
) -> Result<(), StoreError> {
    const SQL: &str = "UPDATE history SET slot = $2, created_at = $3, position = $4
         WHERE operator_id = $5 AND entry_id = $1 AND status = 'settled' AND (slot <> $2 OR created_at <> $3)";
    let EntryOutcome::Settled { slot, .. } = &entry.outcome else { return Ok(()) };
    query(SQL)
        .bind(entry.id.to_string())
        .bind(slot.cast_signed())
        .bind(entry.created_at.to_string())
        .bind(position)
        .bind(entry.operator_id.to_string())
        .execute(tx)
        .await?;
    Ok(())
}

/// Gives an existing payment the number that was read, in the place of none or of another one.
async fn renumber(tx: &mut Transaction<'_>, entry: &HistoryEntry) -> Result<(), StoreError> {
    const KNOWN: &str = "SELECT number FROM history
         WHERE operator_id = $1 AND entry_id = $2 AND status = 'settled' AND kind = 'transfer'";
    const TAKE: &str = "UPDATE history SET number = $3 WHERE operator_id = $1 AND entry_id = $2";
    let Some(number) = entry.number else { return Ok(()) };
    let (operator, id) = (entry.operator_id.to_string(), entry.id.to_string());
    let known: Option<(Option<i64>,)> =
        query(KNOWN).bind(operator.clone()).bind(id.clone()).fetch_optional(&mut *tx).await?;
    let Some((known,)) = known else { return Ok(()) };
    let known = known.map(number_of);
    match (known, number) {
        // A log that one node cut off says nothing against a number that another one showed.
        (Some(_), PaymentNumber::CutOff) => return Ok(()),
        (Some(known), PaymentNumber::Is(_)) if known == number => {}
        (known, _) => {
            query(TAKE).bind(operator).bind(id).bind(stored_number(number)).execute(&mut *tx).await?;
            // Another payment may have that number and be right: it counts again when it is read.
            if let Some(known) = known {
                ledgers::discount(tx, entry.account_key(), known).await?;
            }
        }
    }
    ledgers::count(tx, entry.account_key(), number).await
}

fn stored_number(number: PaymentNumber) -> i64 {
    match number {
        PaymentNumber::Is(number) => number.cast_signed(),
        PaymentNumber::CutOff => 0,
    }
}

/// Inverts how a number is stored.
pub(super) const fn number_of(stored: i64) -> PaymentNumber {
    match stored {
        0 => PaymentNumber::CutOff,
        number => PaymentNumber::Is(number.cast_unsigned()),
    }
}

/// 64 bits in hex, the stored form of tags.
pub(super) fn tag_text(tag: u64) -> String {
    format!("{tag:016x}")
}
