//! Lets the history move transfers: a payment that is read settles its transfer, and one that a fork drops opens it again, in the
//! transaction that writes or deletes its entry. What a payment means is decided in [`crate::domain`].

use std::collections::{BTreeMap, HashMap, HashSet};

use sqlx::AssertSqlSafe;

use super::columns::Table;
use super::ledgers::AccountKey;
use super::query::{places, query};
use super::transfer_row::TransferRow;
use super::transfers::{COLUMNS, moved, write_state};
use super::{Store, StoreError, Transaction};
use crate::domain::{
    Address, Contradiction, Event, HistoryEntry, Network, OperatorId, PaymentMade, PaymentMeans, Recipient,
    Timestamp, Transfer, TransferId, TransferState,
};

const ACCOUNTS: Table = Table("accounts");
const TRANSFERS: Table = Table("transfers");

/// What the payments among some entries did to transfers.
#[derive(Debug, Default)]
pub(super) struct Met {
    pub events: Vec<Event>,
    pub contradictions: Vec<Contradiction>,
}

impl Store {
    /// For the indexer: which of these transfers of an operator we have, and have not settled.
    pub async fn find_unsettled(
        &self,
        operator: OperatorId,
        ids: &[TransferId],
    ) -> Result<HashSet<TransferId>, StoreError> {
        let sql = format!(
            "SELECT transfer_id FROM transfers WHERE operator_id = $1 AND state <> 'settled' AND transfer_id IN ({})",
            places(2, ids.len())
        );
        // Only placeholders are interpolated.
        let finding = query(AssertSqlSafe(sql)).bind(operator.to_string());
        let rows: Vec<(String,)> =
            finding.bind_all(ids.iter().map(TransferId::to_string)).fetch_all(self.reader()).await?;
        rows.iter().map(|(id,)| TRANSFERS.read("transfer_id", id)).collect()
    }
}

/// Settles the transfers that these entries, read from the chain, pay. Before any ledger is locked: every process locks transfers
/// first.
pub(super) async fn settle_paid(
    tx: &mut Transaction<'_>,
    entries: &[HistoryEntry],
    now: Timestamp,
) -> Result<Met, StoreError> {
    let mut met = Met::default();
    let mut payments = BTreeMap::<OperatorId, Vec<PaymentMade>>::new();
    for entry in entries {
        if let Some(payment) = entry.payment() {
            payments.entry(entry.operator_id).or_default().push(payment);
        }
    }
    for (operator, payments) in payments {
        let ids: Vec<TransferId> = payments.iter().map(|payment| payment.transfer_id).collect();
        let known: HashMap<TransferId, Transfer> =
            find(tx, operator, &ids).await?.into_iter().map(|transfer| (transfer.id, transfer)).collect();
        for payment in payments {
            match known.get(&payment.transfer_id) {
                None => continue,
                // Nearly always: our own record came first.
                Some(Transfer { state: TransferState::Settled(by), .. })
                    if by.signature == payment.signature =>
                {
                    continue;
                }
                Some(_) => {}
            }
            // Whoever carries it may be ending it at this moment.
            let Some(transfer) = lock(tx, operator, payment.transfer_id).await? else { continue };
            let destination = destination_of(tx, transfer.network, &transfer.request.to).await?;
            match transfer.met_by(&payment, destination) {
                PaymentMeans::Known => {}
                PaymentMeans::Settles(settlement) => {
                    let next = TransferState::Settled(settlement);
                    met.events.extend(Event::of_step(&transfer, &next, now));
                    write_state(tx, &transfer, &moved(&transfer, next, now)).await?;
                }
                PaymentMeans::Contradicts => met
                    .contradictions
                    .push(Contradiction { transfer_id: transfer.id, signature: payment.signature }),
            }
        }
    }
    Ok(met)
}

/// A payment that a fork dropped.
pub(super) struct Dropped {
    pub account: AccountKey,
    /// The transfer that its signer named.
    pub transfer_id: String,
    /// Base58.
    pub signature: String,
}

/// Opens the transfers again that a payment had settled. Returns what announces it.
pub(super) async fn reopen_unpaid(
    tx: &mut Transaction<'_>,
    dropped: &Dropped,
    now: Timestamp,
) -> Result<Vec<Event>, StoreError> {
    const NAMED: &str = "transfer_id = $3";
    // After a database was lost, another try of its key may have been settled by it, with no bytes of its own.
    const ELSEWHERE: &str = "account_id = $3 AND signed_bytes IS NULL";
    let (operator, account) = dropped.account;
    let mut events = Vec::new();
    for (which, key) in [(NAMED, dropped.transfer_id.clone()), (ELSEWHERE, account.to_string())] {
        // Nobody carries it: the next sweep of any relayer goes on with it.
        let sql = format!(
            "UPDATE transfers SET lease_expires_at = $4
             WHERE operator_id = $1 AND tx_signature = $2 AND state = 'settled' AND {which} RETURNING {COLUMNS}"
        );
        // Only our own constants are interpolated.
        let rows: Vec<TransferRow> = query(AssertSqlSafe(sql))
            .bind(operator.to_string())
            .bind(dropped.signature.as_str())
            .bind(key)
            .bind(now.to_string())
            .fetch_all(&mut *tx)
            .await?;
        for row in rows {
            let bytes = row.read_bytes()?;
            let transfer = Transfer::try_from(row)?;
            let Some(open) = transfer.reopened_by_loss(&dropped.signature, bytes, now) else { continue };
            write_state(tx, &transfer, &open).await?;
            events.push(Event::transfer_reopened(&open, &dropped.signature, now));
        }
    }
    Ok(events)
}

async fn find(
    tx: &mut Transaction<'_>,
    operator: OperatorId,
    ids: &[TransferId],
) -> Result<Vec<Transfer>, StoreError> {
    let sql = format!(
        "SELECT {COLUMNS} FROM transfers WHERE operator_id = $1 AND transfer_id IN ({})
         ORDER BY transfer_id",
        places(2, ids.len())
    );
    // Only placeholders and our own constants are interpolated.
    let finding = query(AssertSqlSafe(sql)).bind(operator.to_string());
    let rows: Vec<TransferRow> =
        finding.bind_all(ids.iter().map(TransferId::to_string)).fetch_all(tx).await?;
    rows.into_iter().map(Transfer::try_from).collect()
}

/// An update instead of a select: on Postgres it locks the row until the commit.
async fn lock(
    tx: &mut Transaction<'_>,
    operator: OperatorId,
    id: TransferId,
) -> Result<Option<Transfer>, StoreError> {
    let sql = format!(
        "UPDATE transfers SET updated_at = updated_at WHERE operator_id = $1 AND transfer_id = $2
         RETURNING {COLUMNS}"
    );
    // Only our own constants are interpolated.
    let row: Option<TransferRow> =
        query(AssertSqlSafe(sql)).bind(operator.to_string()).bind(id.to_string()).fetch_optional(tx).await?;
    row.map(Transfer::try_from).transpose()
}

/// The token account that a recipient stands for.
async fn destination_of(
    tx: &mut Transaction<'_>,
    network: Network,
    to: &Recipient,
) -> Result<Option<Address>, StoreError> {
    const SQL: &str = "SELECT accounts.token_account
         FROM accounts JOIN operators ON operators.operator_id = accounts.operator_id
         WHERE accounts.account_id = $1 AND operators.network = $2";
    let id = match to {
        Recipient::TokenAccount(address) => return Ok(Some(*address)),
        Recipient::Unreadable(_) => return Ok(None),
        Recipient::Agent(id) => id,
    };
    let row: Option<(String,)> =
        query(SQL).bind(id.to_string()).bind(network.as_str()).fetch_optional(tx).await?;
    row.map(|(address,)| ACCOUNTS.read("token_account", &address)).transpose()
}
