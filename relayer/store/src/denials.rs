//! Denials: derived from refused transfers, one each, in one chain per operator. See `purser_model::denial`.

use super::due::Due;
use super::query::{Each, columns, sql};
use super::row::{Listed, row};
use super::{Denials, Result, StoreError};
use futures::FutureExt;
use purser_model::{
    Denial, DenialHead, Network, Operator, OperatorId, Refused, Timestamp, Transfer, TransferId,
};

row! { Refused from row {
    transfer = row.record()?, account: account_address, operator: operator_address,
}}

row! { Denial { number, transfer_id, document, signature } }

impl Denials {
    /// For a worker: up to `rows_max` refused transfers of every operator without a signed denial, earliest refusal first.
    pub async fn list_undenied(&self, rows_max: u32) -> Result<Vec<Refused>> {
        // With cross joins, SQLite starts from the few transfers.
        sql! {
            "SELECT {columns}, accounts.address AS account_address, operators.address AS operator_address
             FROM transfers CROSS JOIN accounts CROSS JOIN operators
             WHERE transfers.state = 'rejected' AND transfers.denial IS NULL
                 AND accounts.operator_id = transfers.operator_id AND accounts.account_id = transfers.account_id
                 AND operators.operator_id = transfers.operator_id
             ORDER BY transfers.ended_at, transfers.transfer_id LIMIT {rows_max}",
            columns = Transfer::COLUMNS, rows_max
        }
        .fetch_all(self.lister())
        .await
    }

    /// The end of the operator's chain.
    pub async fn find_denial_head(&self, operator: OperatorId) -> Result<DenialHead> {
        let last = self.list_denials(operator, 0, None, 1).await?.pop();
        Ok(last.map_or_else(DenialHead::default, |last| last.head()))
    }

    /// For a worker: extends the operator's chain, all or nothing. `AlreadyThere`, `Superseded`: another relayer
    /// extended it first.
    pub async fn append_denials(&self, operator: OperatorId, denials: &[Denial]) -> Result<()> {
        if denials.is_empty() {
            return Ok(());
        }
        let rows = denials.iter().map(|denial| columns! { ..denial, operator_id = operator });
        let insert = sql! {"INSERT INTO denials {rows}", rows = *rows.collect::<Vec<_>>()};
        let ids: Vec<TransferId> = denials.iter().map(|denial| denial.transfer_id).collect();
        let note = sql! {
            "UPDATE transfers SET denial = (
                 SELECT denials.number FROM denials
                 WHERE denials.operator_id = {operator} AND denials.transfer_id = transfers.transfer_id)
             WHERE operator_id = {operator} AND transfer_id IN ({ids}) AND state = 'rejected' AND denial IS NULL",
            operator, ids = Each(&ids)
        };
        let count = denials.len() as u64;
        self.write(move |tx| {
            async move {
                insert.execute(&mut *tx).await?;
                let noted = note.execute(tx).await?;
                if noted == count { Ok(()) } else { Err(StoreError::Superseded) }
            }
            .boxed()
        })
        .await
    }

    /// Up to `rows_max` denials of the operator with numbers above `above` and below `below`, newest first.
    pub async fn list_denials(
        &self,
        operator: OperatorId,
        above: u64,
        below: Option<u64>,
        rows_max: u32,
    ) -> Result<Vec<Denial>> {
        sql! {
            "SELECT {columns} FROM denials
             WHERE operator_id = {operator} AND number > {above} AND number < {below}
             ORDER BY number DESC LIMIT {rows_max}",
            columns = Denial::COLUMNS, operator, above = stored(above), below = below.map_or(i64::MAX, stored), rows_max
        }
        .fetch_all(self.lister())
        .await
    }

    /// Up to `rows_max` denials of the operator with numbers above `above`, in order.
    pub async fn list_denials_up(
        &self,
        operator: OperatorId,
        above: u64,
        rows_max: u32,
    ) -> Result<Vec<Denial>> {
        sql! {
            "SELECT {columns} FROM denials
             WHERE operator_id = {operator} AND number > {above} ORDER BY number LIMIT {rows_max}",
            columns = Denial::COLUMNS, operator, above = stored(above), rows_max
        }
        .fetch_all(self.lister())
        .await
    }

    /// For a worker: the operators on `network` whose chains grew since their last head and whose next head is due.
    pub async fn list_due_heads(&self, network: Network, due: Due) -> Result<Vec<Operator>> {
        sql! {
            "SELECT {columns}
             FROM operators
             WHERE network = {network} AND (head_next_at IS NULL OR {is_due})
                 AND EXISTS (SELECT 1 FROM denials WHERE denials.operator_id = operators.operator_id
                     AND denials.number > operators.head_number)",
            columns = Operator::COLUMNS, network, is_due = due.has_come("head_next_at")
        }
        .fetch_all(self.lister())
        .await
    }

    /// For a worker: claims the writing of the operator's head until `next_at`, unless another relayer has it.
    pub async fn claim_head(&self, operator: OperatorId, due: Due, next_at: Timestamp) -> Result<bool> {
        sql! {
            "UPDATE operators SET head_next_at = {next_at}
             WHERE operator_id = {operator} AND (head_next_at IS NULL OR {is_due})",
            operator, next_at, is_due = due.has_come("head_next_at")
        }
        .touches(self.writer())
        .await
    }

    /// For a worker: records that the head with this number is on the chain; the next one is due at `next_at`.
    pub async fn mark_head(
        &self,
        operator: OperatorId,
        number: u64,
        tx_signature: &str,
        next_at: Timestamp,
    ) -> Result<()> {
        sql! {
            "UPDATE operators SET head_number = {number}, head_signature = {tx_signature}, head_next_at = {next_at}
             WHERE operator_id = {operator} AND head_number < {number}",
            operator, number = stored(number), tx_signature, next_at
        }
        .run(self.writer())
        .await
    }
}

/// Caps a number from a client, which may exceed every stored one.
fn stored(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}
