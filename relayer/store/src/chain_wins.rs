//! Lets the history move transfers: a payment that is read settles its transfer, and one that a fork drops opens it again, in the
//! transaction that writes or deletes its entry. What a payment means is decided in [`purser_model`].

use std::collections::{BTreeMap, HashMap, HashSet};

use super::claims::release_unpaid_after;
use super::ledgers::AccountKey;
use super::query::{Each, Sql, sql};
use super::row::Listed;
use super::transfer_row::WithBytes;
use super::transfers::write_state;
use super::{Index, Result, Transaction};
use purser_model::{
    Address, Contradiction, Event, HistoryEntry, Network, OperatorId, PaymentMade, PaymentMeans, Recipient,
    Timestamp, Transfer, TransferId, TransferState,
};

impl Index {
    /// For the indexer: which of these transfers of an operator we have, and have not settled.
    pub async fn find_unsettled(
        &self,
        operator: OperatorId,
        ids: &[TransferId],
    ) -> Result<HashSet<TransferId>> {
        let rows: Vec<TransferId> = sql! {
            "SELECT transfer_id FROM transfers
             WHERE operator_id = {operator} AND state <> 'settled' AND transfer_id IN ({ids})",
            operator, ids = Each(ids)
        }
        .fetch_all(self.reader())
        .await?;
        Ok(rows.into_iter().collect())
    }
}

/// Settles the transfers that these entries, read from the chain, pay. Returns what announces it, and payments that contradict
/// theirs. Before any ledger is locked: every process locks transfers first.
pub(super) async fn settle_paid(
    tx: &mut Transaction<'_>,
    entries: &[HistoryEntry],
    now: Timestamp,
) -> Result<(Vec<Event>, Vec<Contradiction>)> {
    let (mut events, mut contradictions) = (Vec::new(), Vec::new());
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
                    events.extend(Event::of_step(&transfer, &next, now));
                    write_state(tx, &transfer, &transfer.moved(next, now)).await?;
                    release_unpaid_after(tx, &transfer).await?;
                }
                PaymentMeans::Contradicts => {
                    contradictions
                        .push(Contradiction { transfer_id: transfer.id, signature: payment.signature });
                }
            }
        }
    }
    Ok((events, contradictions))
}

/// Opens the transfers again that a payment had settled which a fork dropped: its signer had named `transfer_id`. Returns what
/// announces it.
pub(super) async fn reopen_unpaid(
    tx: &mut Transaction<'_>,
    (operator, account): AccountKey,
    transfer_id: TransferId,
    signature: &str,
    now: Timestamp,
) -> Result<Vec<Event>> {
    // After a database was lost, another try of its key may have been settled by it, with no bytes of its own.
    let mut events = Vec::new();
    let named = ("transfer_id", transfer_id.to_string(), "");
    let elsewhere = ("account_id", account.to_string(), "AND signed_bytes IS NULL");
    for (which, key, and) in [named, elsewhere] {
        // Nobody carries it: the next sweep of any relayer goes on with it.
        let rows: Vec<WithBytes> = sql! {
            "UPDATE transfers SET lease_expires_at = {now}
             WHERE operator_id = {operator} AND tx_signature = {signature} AND state = 'settled' AND {which} = {key}
                 {and}
             RETURNING {columns}",
            now, operator, signature, which = Sql(which), key, and = Sql(and), columns = Transfer::COLUMNS
        }
        .fetch_all(&mut *tx)
        .await?;
        for WithBytes { transfer, bytes } in rows {
            let Some(open) = transfer.reopened_by_loss(signature, bytes, now) else { continue };
            write_state(tx, &transfer, &open).await?;
            events.push(Event::transfer_reopened(&open, signature, now));
        }
    }
    Ok(events)
}

async fn find(tx: &mut Transaction<'_>, operator: OperatorId, ids: &[TransferId]) -> Result<Vec<Transfer>> {
    sql! {
        "SELECT {columns} FROM transfers WHERE operator_id = {operator} AND transfer_id IN ({ids})
         ORDER BY transfer_id",
        columns = Transfer::COLUMNS, operator, ids = Each(ids)
    }
    .fetch_all(tx)
    .await
}

/// An update instead of a select: on Postgres it locks the row until the commit.
async fn lock(tx: &mut Transaction<'_>, operator: OperatorId, id: TransferId) -> Result<Option<Transfer>> {
    sql! {
        "UPDATE transfers SET updated_at = updated_at WHERE operator_id = {operator} AND transfer_id = {id}
         RETURNING {columns}",
        operator, id, columns = Transfer::COLUMNS
    }
    .fetch_optional(tx)
    .await
}

/// The token account that a recipient stands for.
async fn destination_of(
    tx: &mut Transaction<'_>,
    network: Network,
    to: &Recipient,
) -> Result<Option<Address>> {
    let id = match to {
        Recipient::TokenAccount(token_account) | Recipient::Wallet { token_account, .. } => {
            return Ok(Some(*token_account));
        }
        Recipient::Unreadable(_) => return Ok(None),
        Recipient::Agent(id) => id,
    };
    sql! {
        "SELECT accounts.token_account
         FROM accounts JOIN operators ON operators.operator_id = accounts.operator_id
         WHERE accounts.account_id = {id} AND operators.network = {network}",
        id, network
    }
    .fetch_optional(tx)
    .await
}
