//! Transactions that the service has signed as their payer, and an approver still has to sign.

use std::time::Duration;

use futures::FutureExt;

use super::operators::lock_operator;
use super::query::{Query, Sql, columns, sql};
use super::row::{Listed, row};
use super::stored::Base64;
use super::{CoSignatures, Due, Result, StoreError};
use purser_model::{CoSignature, CoSigned, OperatorId, Timestamp, TransferId};

row! { CoSignature from row {
    operator_id, transfer_id, number, approver,
    co_signed[grant_address, signed_bytes, tx_signature, last_valid_block_height] =
        CoSigned { grant: row.get("grant_address")?, signed: row.record()? },
    created_at,
}}

impl CoSignatures {
    /// Those of one transfer, by their numbers.
    pub async fn list_co_signatures(
        &self,
        operator: OperatorId,
        transfer: TransferId,
    ) -> Result<Vec<CoSignature>> {
        sql! {
            "SELECT {columns} FROM co_signatures
             WHERE operator_id = {operator} AND transfer_id = {transfer} ORDER BY number",
            columns = CoSignature::COLUMNS, operator, transfer
        }
        .fetch_all(self.reader())
        .await
    }

    /// How many of the operator were made later than `since`, without those that cannot land any more and have not.
    pub async fn count_co_signatures(&self, operator: OperatorId, since: Timestamp) -> Result<u64> {
        counted(operator, since).count(self.reader()).await
    }

    /// Records one before it is given out, to be looked at `look_at`. `Superseded`: its transfer does not wait for a person any more.
    /// `AlreadyThere`: another of the transfer was recorded first. `Full`: the operator has `most` since `since`.
    pub async fn insert_co_signature(
        &self,
        new: &CoSignature,
        look_at: Timestamp,
        (since, most): (Timestamp, u32),
    ) -> Result<()> {
        let CoSignature { operator_id: operator, transfer_id: transfer, created_at: now, .. } = *new;
        let CoSigned { grant, signed } = &new.co_signed;
        let waits = sql! {
            "SELECT COUNT(*) FROM transfers
             WHERE operator_id = {operator} AND transfer_id = {transfer} AND state = 'claimed' AND message IS NOT NULL
                 AND approval_expires_at > {now}",
            operator, transfer, now
        };
        let before = sql! {
            "SELECT COUNT(*) FROM co_signatures WHERE operator_id = {operator} AND transfer_id = {transfer}",
            operator, transfer
        };
        let of_day = counted(operator, since);
        let insert = sql! {
            "INSERT INTO co_signatures {row}",
            row = columns! {
                ..new, grant_address = *grant, signed_bytes = Base64(signed.bytes.clone()),
                tx_signature = signed.signature, signed.last_valid_block_height, look_at
            }
        };
        let number = u64::from(new.number);
        self.write(move |tx| {
            async move {
                lock_operator(tx, operator).await?;
                if waits.count(&mut *tx).await? == 0 {
                    return Err(StoreError::Superseded);
                }
                if before.count(&mut *tx).await? + 1 != number {
                    return Err(StoreError::AlreadyThere);
                }
                if of_day.count(&mut *tx).await? >= u64::from(most) {
                    return Err(StoreError::Full);
                }
                insert.run(tx).await
            }
            .boxed()
        })
        .await
    }

    /// For a worker: up to `rows_max` of every operator that are to be looked at. No other worker gets them before `again_after` has
    /// passed; none is put off for longer than `longest`.
    pub async fn take_co_signatures(
        &self,
        now: Timestamp,
        again_after: Duration,
        longest: Duration,
        rows_max: u32,
    ) -> Result<Vec<CoSignature>> {
        sql! {
            "WITH due AS MATERIALIZED (
                 SELECT operator_id, transfer_id, number FROM co_signatures
                 WHERE look_at IS NOT NULL AND {is_due} ORDER BY look_at LIMIT {rows_max} {skip_locked})
             UPDATE co_signatures SET look_at = {again_at}
             WHERE (operator_id, transfer_id, number) IN (SELECT operator_id, transfer_id, number FROM due)
             RETURNING {columns}",
            is_due = Due::within(now, longest).has_come("look_at"), rows_max,
            skip_locked = Sql(self.pools.skip_locked()), again_at = now.after(again_after), columns = CoSignature::COLUMNS
        }
        .fetch_all(self.writer())
        .await
    }

    /// Looks at one again at `look_at`.
    pub async fn put_off_co_signature(&self, row: &CoSignature, look_at: Timestamp) -> Result<()> {
        sql! {
            "UPDATE co_signatures SET look_at = {look_at}
             WHERE operator_id = {operator_id} AND transfer_id = {transfer_id} AND number = {number}
                 AND look_at IS NOT NULL",
            look_at, row.operator_id, row.transfer_id, row.number
        }
        .run(self.writer())
        .await
    }

    /// It cannot land any more, and its grant is closed. `is_unspent`: it has not landed, so that nothing was paid.
    pub async fn mark_co_signature_ended(&self, row: &CoSignature, is_unspent: bool) -> Result<()> {
        sql! {
            "UPDATE co_signatures SET look_at = NULL, is_unspent = {is_unspent}
             WHERE operator_id = {operator_id} AND transfer_id = {transfer_id} AND number = {number}",
            is_unspent, row.operator_id, row.transfer_id, row.number
        }
        .run(self.writer())
        .await
    }
}

fn counted(operator: OperatorId, since: Timestamp) -> Query {
    sql! {
        "SELECT COUNT(*) FROM co_signatures
         WHERE operator_id = {operator} AND created_at > {since} AND NOT is_unspent",
        operator, since
    }
}
