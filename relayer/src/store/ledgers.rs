//! Each account's money according to its history, for comparison with the chain.

use futures::FutureExt;
use macro_rules_attribute::derive;
use sqlx::{AssertSqlSafe, SqlSafeStr};

use super::columns::Table;
use super::query::{Query, places, query};
use super::row::ByName;
use super::{Store, StoreError, Transaction};
use crate::domain::{
    AccountId, Address, EntryKind, EntryOutcome, HistoryEntry, KnownPayments, Network, OperatorId,
    PaymentNumber, Timestamp, UsdcAmount,
};

const TABLE: Table = Table("ledgers");

/// More than all USDC in existence. Larger amounts of test mints are booked as this, so that sums do not overflow.
const BOOKED_MAX: u64 = 1 << 58;

/// The owner and id of an account, which begin the keys of its rows.
pub(super) type AccountKey = (OperatorId, AccountId);

/// Binds an account's owner and id to a statement's first two placeholders.
pub(super) fn of(sql: impl SqlSafeStr, (operator, account): AccountKey) -> Query {
    query(sql).bind(operator.to_string()).bind(account.to_string())
}

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

const NEXT_PLACE: &str = "placed_micros = CASE
                 WHEN ledgers.placed_micros < 0 THEN ledgers.placed_micros
                 WHEN ledgers.placed_micros < excluded.placed_micros THEN excluded.placed_micros
                 ELSE ledgers.placed_micros + 1 END,
             newest_slot = CASE
                 WHEN ledgers.newest_slot < excluded.newest_slot THEN excluded.newest_slot
                 ELSE ledgers.newest_slot END";

/// The next place in an entry's account: never before the entry's time or `now`, and after every place given so far.
///
/// Locks the account's ledger until the commit, so the next writer gets a later place and becomes visible later.
pub(super) async fn place(
    tx: &mut Transaction<'_>,
    entry: &HistoryEntry,
    now: Timestamp,
) -> Result<Placed, StoreError> {
    let sql = format!(
        "INSERT INTO ledgers
             (operator_id, account_id, placed_micros, newest_slot, booked_micros, unexplained_micros, seen_micros,
              seen_slot)
         VALUES ($1, $2, $3, $4, 0, 0, 0, 0)
         ON CONFLICT (operator_id, account_id) DO UPDATE SET {NEXT_PLACE}
         RETURNING placed_micros"
    );
    let placed: Option<(i64,)> = at_place(query(AssertSqlSafe(sql)), entry, now).fetch_optional(tx).await?;
    Ok(placed.map_or(Placed::Waits, |(micros,)| Placed::of(micros)))
}

/// Binds the first four placeholders: the account's owner and id, the earliest place and the slot.
fn at_place(query: Query, entry: &HistoryEntry, now: Timestamp) -> Query {
    let slot = match entry.outcome {
        EntryOutcome::Settled { slot, .. } => slot,
        EntryOutcome::Rejected { .. } => 0,
    };
    query
        .bind(entry.operator_id.to_string())
        .bind(entry.account_id.to_string())
        .bind(entry.created_at.max(now).unix_micros().max(0))
        .bind(slot.cast_signed())
}

/// Locks an account's ledger until the commit, so writers of the account's entries take turns.
pub(super) async fn lock(tx: &mut Transaction<'_>, account: AccountKey) -> Result<(), StoreError> {
    const SQL: &str =
        "UPDATE ledgers SET booked_micros = booked_micros WHERE operator_id = $1 AND account_id = $2";
    of(SQL, account).execute(tx).await?;
    Ok(())
}

/// Gives a new entry its place, books its money and counts its payment, all at once: see [`place`]. `None` when the
/// entry exists already, and nothing was done.
pub(super) async fn place_and_book(
    tx: &mut Transaction<'_>,
    entry: &HistoryEntry,
    now: Timestamp,
) -> Result<Option<Placed>, StoreError> {
    // The same statement counts a payment that directly follows the known ones.
    let sql = format!(
        "INSERT INTO ledgers
             (operator_id, account_id, placed_micros, newest_slot, booked_micros, payments_up_to, unexplained_micros,
              seen_micros, seen_slot)
         SELECT $1, $2, $3, $4, $5, CASE WHEN $6 = 1 THEN 1 ELSE 0 END, 0, 0, 0
         WHERE NOT EXISTS (SELECT 1 FROM history WHERE operator_id = $1 AND entry_id = $7)
         ON CONFLICT (operator_id, account_id) DO UPDATE SET
             {NEXT_PLACE},
             booked_micros = ledgers.booked_micros + excluded.booked_micros,
             payments_up_to = ledgers.payments_up_to
                 + CASE WHEN ledgers.payments_up_to = $6 - 1 AND ledgers.payments_beyond = '' THEN 1 ELSE 0 END
         RETURNING placed_micros, payments_up_to"
    );
    let number = match entry.number {
        Some(PaymentNumber::Is(number)) => number.cast_signed(),
        Some(PaymentNumber::CutOff) | None => 0,
    };
    let booked: Option<(i64, i64)> = at_place(query(AssertSqlSafe(sql)), entry, now)
        .bind(change_of(entry.kind, entry.amount))
        .bind(number)
        .bind(entry.id.to_string())
        .fetch_optional(&mut *tx)
        .await?;
    let Some((placed, up_to)) = booked else { return Ok(None) };
    if let Some(number_read) = entry.number.filter(|_| number == 0 || up_to < number) {
        count(tx, entry.account_key(), number_read).await?;
    }
    Ok(Some(Placed::of(placed)))
}

/// Counts a payment whose money is already booked.
pub(super) async fn count(
    tx: &mut Transaction<'_>,
    account: AccountKey,
    number: PaymentNumber,
) -> Result<(), StoreError> {
    change_known(tx, account, |known| known.insert(number)).await
}

/// Undoes the count of a payment whose number was wrong.
pub(super) async fn discount(
    tx: &mut Transaction<'_>,
    account: AccountKey,
    number: PaymentNumber,
) -> Result<(), StoreError> {
    change_known(tx, account, |known| known.remove(number)).await
}

/// Undoes an entry's booking and the count of its payment.
pub(super) async fn unbook(
    tx: &mut Transaction<'_>,
    account: AccountKey,
    micros: i64,
    number: Option<PaymentNumber>,
) -> Result<(), StoreError> {
    const SQL: &str = "UPDATE ledgers SET booked_micros = booked_micros - $3
         WHERE operator_id = $1 AND account_id = $2";
    of(SQL, account).bind(micros).execute(&mut *tx).await?;
    match number {
        Some(number) => discount(tx, account, number).await,
        None => Ok(()),
    }
}

#[derive(Debug, ByName!)]
struct CountedPaymentsRow {
    payments_up_to: i64,
    payments_beyond: String,
    payments_unnumbered: i64,
}

impl CountedPaymentsRow {
    const COLUMNS: &str = "payments_up_to, payments_beyond, payments_unnumbered";

    fn read(&self) -> Result<KnownPayments, StoreError> {
        let (up_to, unnumbered) =
            (self.payments_up_to.cast_unsigned(), self.payments_unnumbered.cast_unsigned());
        let known = KnownPayments::stored(up_to, &self.payments_beyond, unnumbered);
        known.map_err(|_| TABLE.unreadable("payments_beyond"))
    }
}

async fn change_known(
    tx: &mut Transaction<'_>,
    account: AccountKey,
    change: impl FnOnce(&mut KnownPayments),
) -> Result<(), StoreError> {
    // An update instead of a select: on Postgres it locks the row until the commit.
    let own = format!(
        "UPDATE ledgers SET booked_micros = booked_micros WHERE operator_id = $1 AND account_id = $2 RETURNING {}",
        CountedPaymentsRow::COLUMNS
    );
    const WRITE: &str =
        "UPDATE ledgers SET payments_up_to = $3, payments_beyond = $4, payments_unnumbered = $5
         WHERE operator_id = $1 AND account_id = $2";
    let row: Option<CountedPaymentsRow> = of(AssertSqlSafe(own), account).fetch_optional(&mut *tx).await?;
    let Some(row) = row else { return Ok(()) };
    let mut known = row.read()?;
    change(&mut known);
    of(WRITE, account)
        .bind(known.up_to().cast_signed())
        .bind(known.beyond())
        .bind(known.unnumbered.cast_signed())
        .execute(tx)
        .await?;
    Ok(())
}

#[derive(Debug, ByName!)]
struct LedgerRow {
    account_id: String,
    operator_id: String,
    token_account: String,
    booked_micros: i64,
    unexplained_micros: i64,
    seen_micros: i64,
    seen_slot: i64,
}

impl TryFrom<LedgerRow> for Ledger {
    type Error = StoreError;

    fn try_from(row: LedgerRow) -> Result<Self, StoreError> {
        Ok(Self {
            account_id: TABLE.read("account_id", &row.account_id)?,
            operator_id: TABLE.read("operator_id", &row.operator_id)?,
            token_account: TABLE.read("token_account", &row.token_account)?,
            booked: row.booked_micros,
            unexplained: row.unexplained_micros,
            seen: row.seen_micros,
            seen_slot: row.seen_slot.cast_unsigned(),
        })
    }
}

#[derive(Debug, ByName!)]
struct MovedRow {
    kind: String,
    amount_usdc: String,
}

impl Store {
    /// For the indexer: the ledgers of up to `rows_max` ready accounts of every operator on `network`, by account id,
    /// starting after `after`. An account without history has an empty ledger.
    pub async fn list_ledgers(
        &self,
        network: Network,
        after: Option<AccountId>,
        rows_max: usize,
    ) -> Result<Vec<Ledger>, StoreError> {
        // With a cross join, SQLite reads the accounts in order instead of sorting all of an operator's.
        const SQL: &str = "SELECT accounts.account_id, accounts.operator_id, accounts.token_account,
                 COALESCE(ledgers.booked_micros, 0) AS booked_micros,
                 COALESCE(ledgers.unexplained_micros, 0) AS unexplained_micros,
                 COALESCE(ledgers.seen_micros, 0) AS seen_micros, COALESCE(ledgers.seen_slot, 0) AS seen_slot
             FROM accounts
                 CROSS JOIN operators
                 LEFT JOIN ledgers
                     ON ledgers.operator_id = accounts.operator_id AND ledgers.account_id = accounts.account_id
             WHERE operators.operator_id = accounts.operator_id AND operators.network = $1 AND accounts.provisioning = 'ready' AND accounts.account_id > $2
             ORDER BY accounts.account_id LIMIT $3";
        let rows: Vec<LedgerRow> = query(SQL)
            .bind(network.as_str())
            .bind(after.map_or_else(String::new, |after| after.to_string()))
            .bind(i64::try_from(rows_max).unwrap_or(i64::MAX))
            .fetch_all(self.lister())
            .await?;
        rows.into_iter().map(Ledger::try_from).collect()
    }

    /// For the indexer: the ledgers of the ready accounts of every operator on `network` that have one of these token
    /// accounts. At most 1,000.
    pub async fn find_ledgers(
        &self,
        network: Network,
        token_accounts: &[Address],
    ) -> Result<Vec<Ledger>, StoreError> {
        let places = places(2, token_accounts.len());
        let sql = format!(
            "SELECT accounts.account_id, accounts.operator_id, accounts.token_account,
                 COALESCE(ledgers.booked_micros, 0) AS booked_micros,
                 COALESCE(ledgers.unexplained_micros, 0) AS unexplained_micros,
                 COALESCE(ledgers.seen_micros, 0) AS seen_micros, COALESCE(ledgers.seen_slot, 0) AS seen_slot
             FROM accounts
                 JOIN operators ON operators.operator_id = accounts.operator_id
                 LEFT JOIN ledgers
                     ON ledgers.operator_id = accounts.operator_id AND ledgers.account_id = accounts.account_id
             WHERE operators.network = $1 AND accounts.provisioning = 'ready' AND accounts.token_account IN ({places})"
        );
        // Only placeholders are interpolated.
        let rows: Vec<LedgerRow> = query(AssertSqlSafe(sql))
            .bind(network.as_str())
            .bind_all(token_accounts.iter().map(Address::to_string))
            .fetch_all(self.lister())
            .await?;
        rows.into_iter().map(Ledger::try_from).collect()
    }

    /// For the indexer: the ledgers of up to `rows_max` accounts of every operator on `network` with an unexplained difference.
    pub async fn list_unexplained(&self, network: Network, rows_max: u32) -> Result<Vec<Ledger>, StoreError> {
        const SQL: &str = "SELECT accounts.account_id, accounts.operator_id, accounts.token_account,
                 ledgers.booked_micros, ledgers.unexplained_micros, ledgers.seen_micros, ledgers.seen_slot
             FROM ledgers
                 JOIN accounts
                     ON accounts.operator_id = ledgers.operator_id AND accounts.account_id = ledgers.account_id
                 JOIN operators ON operators.operator_id = accounts.operator_id
             WHERE operators.network = $1 AND ledgers.unexplained_micros <> 0
             ORDER BY accounts.account_id DESC LIMIT $2";
        let rows: Vec<LedgerRow> =
            query(SQL).bind(network.as_str()).bind(i64::from(rows_max)).fetch_all(self.lister()).await?;
        rows.into_iter().map(Ledger::try_from).collect()
    }

    /// For the indexer: an account's ledger as it was after `slot`, without bookings of later slots.
    pub async fn find_ledger_at(
        &self,
        network: Network,
        account: AccountId,
        slot: u64,
    ) -> Result<Option<Ledger>, StoreError> {
        const LATER: &str = "SELECT kind, amount_usdc FROM history
             WHERE account_id = $1 AND network = $2 AND slot IS NOT NULL AND slot > $3";
        const LEDGER: &str = "SELECT accounts.account_id, accounts.operator_id, accounts.token_account,
                 COALESCE(ledgers.booked_micros, 0) AS booked_micros,
                 COALESCE(ledgers.unexplained_micros, 0) AS unexplained_micros,
                 COALESCE(ledgers.seen_micros, 0) AS seen_micros, COALESCE(ledgers.seen_slot, 0) AS seen_slot
             FROM accounts LEFT JOIN ledgers
                 ON ledgers.operator_id = accounts.operator_id AND ledgers.account_id = accounts.account_id
             WHERE accounts.account_id = $1";
        // A booking between the two reads counts as later; the next look corrects it.
        let row: Option<LedgerRow> =
            query(LEDGER).bind(account.to_string()).fetch_optional(self.reader()).await?;
        let Some(ledger) = row.map(Ledger::try_from).transpose()? else { return Ok(None) };
        let later: Vec<MovedRow> = query(LATER)
            .bind(account.to_string())
            .bind(network.as_str())
            .bind(slot.cast_signed())
            .fetch_all(self.lister())
            .await?;
        let mut booked = ledger.booked;
        for row in later {
            let kind = EntryKind::from_stored(&row.kind).ok_or_else(|| TABLE.unreadable("kind"))?;
            let amount = TABLE.read::<UsdcAmount>("amount_usdc", &row.amount_usdc)?;
            booked = booked.saturating_sub(change_of(kind, amount));
        }
        Ok(Some(Ledger { booked, ..ledger }))
    }

    /// For the indexer: records what a sweep saw at `slot`. A sight older than the last one changes nothing.
    pub async fn mark_seen(&self, slot: u64, seen: &[(AccountKey, UsdcAmount)]) -> Result<(), StoreError> {
        const SQL: &str = "INSERT INTO ledgers
                 (operator_id, account_id, booked_micros, unexplained_micros, seen_micros, seen_slot)
             VALUES ($1, $2, 0, 0, $3, $4)
             ON CONFLICT (operator_id, account_id) DO UPDATE
                 SET seen_micros = excluded.seen_micros, seen_slot = excluded.seen_slot
                 WHERE ledgers.seen_slot <= excluded.seen_slot";
        if seen.is_empty() {
            return Ok(());
        }
        let seen = seen.to_vec();
        self.write(move |tx| {
            async move {
                for (account, balance) in seen {
                    of(SQL, account)
                        .bind(in_ledger(balance))
                        .bind(slot.cast_signed())
                        .execute(&mut *tx)
                        .await?;
                }
                Ok(())
            }
            .boxed()
        })
        .await
    }

    /// For the indexer: the account has made `recorded` payments in total. If we hold as many, none is missing.
    /// Returns the number up to which the history misses none.
    pub async fn count_unnumbered(&self, account: AccountKey, recorded: u64) -> Result<u64, StoreError> {
        const UP_TO: &str = "SELECT payments_up_to FROM ledgers WHERE operator_id = $1 AND account_id = $2";
        const WANTED: &str = "UPDATE ledgers SET payments_wanted = $3
             WHERE operator_id = $1 AND account_id = $2 AND payments_wanted > $3";
        self.write(move |tx| {
            async move {
                change_known(tx, account, |known| known.count_unnumbered(recorded)).await?;
                of(WANTED, account).bind(recorded.cast_signed()).execute(&mut *tx).await?;
                let up_to: Option<(i64,)> = of(UP_TO, account).fetch_optional(tx).await?;
                Ok(up_to.map_or(0, |(up_to,)| up_to.cast_unsigned()))
            }
            .boxed()
        })
        .await
    }

    /// For the indexer: records `micros` that the chain holds beyond (or short of) what transactions account for.
    pub async fn mark_unexplained(&self, account: AccountKey, micros: i64) -> Result<(), StoreError> {
        const SQL: &str = "INSERT INTO ledgers
                 (operator_id, account_id, booked_micros, unexplained_micros, seen_micros, seen_slot)
             VALUES ($1, $2, 0, $3, 0, 0)
             ON CONFLICT (operator_id, account_id) DO UPDATE
                 SET unexplained_micros = ledgers.unexplained_micros + excluded.unexplained_micros";
        of(SQL, account).bind(micros).execute(self.writer()).await?;
        Ok(())
    }
}
