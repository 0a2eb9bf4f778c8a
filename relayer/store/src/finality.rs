//! Entries that may still be forked away: lists them, marks them final, and undoes those that are gone.

use futures::FutureExt;

use super::chain_wins::reopen_unpaid;
use super::events::announce;
use super::marks::{Mark, one_of};
use super::query::sql;
use super::{Index, Result, ledgers};
use purser_model::{AccountId, EntryKind, Network, OperatorId, Timestamp, TransferId, UsdcAmount};

/// An entry that a fork dropped.
type Undone = (OperatorId, AccountId, EntryKind, UsdcAmount, Option<TransferId>);

impl Index {
    /// For the indexer: up to `rows_max` transactions of every operator's history on `network` that are not final,
    /// oldest first.
    pub async fn list_open_transactions(&self, network: Network, rows_max: usize) -> Result<Vec<Mark>> {
        sql! {
            "SELECT DISTINCT tx_signature, slot FROM history
             WHERE network = {network} AND NOT is_final AND slot IS NOT NULL
             ORDER BY slot, tx_signature LIMIT {rows_max}",
            network, rows_max
        }
        .fetch_all(self.lister())
        .await
    }

    /// For the indexer: marks transactions that can no longer be forked away. At most 1,000.
    pub async fn mark_final(&self, network: Network, transactions: &[Mark]) -> Result<()> {
        if transactions.is_empty() {
            return Ok(());
        }
        sql! {
            "UPDATE history SET is_final = TRUE WHERE network = {network} AND NOT is_final AND {one_of}",
            network, one_of = one_of(transactions)
        }
        .run(self.writer())
        .await
    }

    /// For the indexer: undoes a transaction whose slot was forked away, opens the transfers again that it had settled, and announces
    /// that. Returns the number of its entries.
    pub async fn undo_transaction(
        &self,
        network: Network,
        transaction: &Mark,
        now: Timestamp,
    ) -> Result<usize> {
        let Mark { signature, slot } = transaction;
        let undo = sql! {
            "DELETE FROM history
             WHERE network = {network} AND slot = {slot} AND tx_signature = {signature} AND NOT is_final
             RETURNING operator_id, account_id, kind, amount_usdc, transfer_id",
            network, slot, signature
        };
        let signature = signature.clone();
        self.write_events(move |tx| {
            async move {
                let undone: Vec<Undone> = undo.fetch_all(&mut *tx).await?;
                let mut events = Vec::new();
                // Transfers before ledgers: every process locks them in this order.
                for &(operator, account, kind, _, transfer_id) in &undone {
                    if let (EntryKind::Transfer, Some(transfer_id)) = (kind, transfer_id) {
                        let account = (operator, account);
                        events.extend(reopen_unpaid(tx, account, transfer_id, &signature, now).await?);
                    }
                }
                for &(operator, account, kind, amount, _) in &undone {
                    ledgers::unbook(tx, (operator, account), ledgers::change_of(kind, amount)).await?;
                }
                announce(tx, &events).await?;
                Ok(undone.len())
            }
            .boxed()
        })
        .await
    }
}
