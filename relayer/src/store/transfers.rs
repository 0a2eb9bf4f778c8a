use futures::FutureExt;
use sqlx::AssertSqlSafe;

use super::columns::Table;
use super::events::announce;
use super::history::record;
use super::query::query;
use super::transfer_row::{TransferRow, TransferStateColumns};
use super::{Store, StoreError, Transaction};
use crate::domain::{
    Account, Event, OperatorId, PaidResource, Timestamp, Transfer, TransferId, TransferState,
};
use purser_core::Marked;

const TABLE: Table = Table("transfers");

/// The columns of [`TransferRow`].
pub(super) const COLUMNS: &str =
    "transfers.transfer_id, transfers.operator_id, transfers.network, transfers.account_id,
    transfers.key_id, transfers.recipient, transfers.amount_usdc, transfers.memo,
    transfers.idempotency_key, transfers.fee_payer, transfers.refusal, transfers.state,
    transfers.signed_bytes, transfers.tx_signature,
    transfers.last_valid_block_height, transfers.sent_at, transfers.slot, transfers.ended_at,
    transfers.reason, transfers.message, transfers.checks, transfers.policy_version, transfers.reopened, transfers.retry_at,
    transfers.created_at, transfers.updated_at";

/// How many of an account's last transfers are searched for signed ones; the others were refused.
const LATEST_ROWS: i64 = 20;

impl Store {
    /// The operator's transfer with this id, in any state.
    pub async fn find_transfer(
        &self,
        operator: OperatorId,
        id: TransferId,
    ) -> Result<Option<Transfer>, StoreError> {
        let sql = format!("SELECT {COLUMNS} FROM transfers WHERE operator_id = $1 AND transfer_id = $2");
        let row: Option<TransferRow> = query(AssertSqlSafe(sql))
            .bind(operator.to_string())
            .bind(id.to_string())
            .fetch_optional(self.reader())
            .await?;
        row.map(Transfer::try_from).transpose()
    }

    /// The signed ones among the account's last few transfers, newest first.
    pub async fn list_latest_signed(&self, account: &Account) -> Result<Vec<Transfer>, StoreError> {
        let sql = format!(
            "SELECT * FROM (
                 SELECT {COLUMNS} FROM transfers WHERE operator_id = $1 AND account_id = $2
                 ORDER BY transfer_id DESC LIMIT $3) AS latest
             WHERE tx_signature IS NOT NULL ORDER BY transfer_id DESC"
        );
        // Only our own constants are interpolated.
        let rows: Vec<TransferRow> = query(AssertSqlSafe(sql))
            .bind(account.operator_id.to_string())
            .bind(account.id.to_string())
            .bind(LATEST_ROWS)
            .fetch_all(self.reader())
            .await?;
        rows.into_iter().map(Transfer::try_from).collect()
    }

    /// The bytes that were signed for a transfer, as long as its row has them.
    pub async fn find_signed_bytes(
        &self,
        operator: OperatorId,
        id: TransferId,
    ) -> Result<Option<Vec<u8>>, StoreError> {
        let sql = format!("SELECT {COLUMNS} FROM transfers WHERE operator_id = $1 AND transfer_id = $2");
        let row: Option<TransferRow> = query(AssertSqlSafe(sql))
            .bind(operator.to_string())
            .bind(id.to_string())
            .fetch_optional(self.reader())
            .await?;
        let signed = row.map(|row| row.read_bytes()).transpose()?.flatten();
        Ok(signed.map(|signed| signed.bytes))
    }

    /// Stores what was bought with a transfer, as JSON.
    pub async fn keep_resource(
        &self,
        operator: OperatorId,
        transfer: TransferId,
        resource: &PaidResource,
    ) -> Result<(), StoreError> {
        const SQL: &str = "UPDATE transfers SET resource = $3 WHERE operator_id = $1 AND transfer_id = $2";
        // Text and numbers always serialise to JSON.
        let json = serde_json::to_string(resource).unwrap_or_default();
        let keeping = query(SQL).bind(operator.to_string()).bind(transfer.to_string());
        keeping.bind(json).execute(self.writer()).await?;
        Ok(())
    }

    /// Stores why the seller did not take a transfer whose bytes it holds.
    pub async fn keep_refusal(
        &self,
        operator: OperatorId,
        transfer: TransferId,
        refusal: &str,
    ) -> Result<(), StoreError> {
        const SQL: &str = "UPDATE transfers SET refusal = $3 WHERE operator_id = $1 AND transfer_id = $2";
        let keeping = query(SQL).bind(operator.to_string()).bind(transfer.to_string());
        keeping.bind(refusal.to_owned()).execute(self.writer()).await?;
        Ok(())
    }

    /// What was bought with a transfer, if it has arrived.
    pub async fn find_resource(
        &self,
        operator: OperatorId,
        transfer: TransferId,
    ) -> Result<Option<PaidResource>, StoreError> {
        const SQL: &str = "SELECT resource FROM transfers
             WHERE operator_id = $1 AND transfer_id = $2 AND resource IS NOT NULL";
        let finding = query(SQL).bind(operator.to_string()).bind(transfer.to_string());
        let row: Option<(String,)> = finding.fetch_optional(self.reader()).await?;
        row.map(|(json,)| serde_json::from_str(&json).map_err(|_| TABLE.unreadable("resource"))).transpose()
    }

    /// Takes a step, adds its history entries, and announces it to the operator's webhooks.
    pub(super) async fn mark(
        &self,
        transfer: &Transfer,
        next: TransferState,
        now: Timestamp,
    ) -> Result<Marked, StoreError> {
        let mut events = Event::of_step(transfer, &next, now);
        // Read before the write, so that the writer is not held up; a webhook registered at this moment misses the event.
        let webhooks = async {
            if events.is_empty() {
                Ok(Vec::new())
            } else {
                self.list_all_webhooks(transfer.operator_id).await
            }
        };
        let (webhooks, mut entries) = tokio::try_join!(webhooks, self.entries_of(transfer, &next))?;
        let mut notified = webhooks.clone();
        if let Some(paid) = entries.iter().find(|entry| entry.operator_id != transfer.operator_id) {
            notified.extend(self.list_all_webhooks(paid.operator_id).await?);
        }
        // Every process locks ledgers in the same order.
        entries.sort_by_key(|entry| entry.account_id);
        let moved = moved(transfer, next, now);
        let (transfer, next) = (transfer.clone(), moved.clone());
        let write = self.write(move |tx| {
            async move {
                write_state(tx, &transfer, &next).await?;
                for entry in &entries {
                    events.extend(record(tx, entry, now).await?);
                }
                announce(tx, &events, &notified, now).await
            }
            .boxed()
        });
        self.outbox.hint(write.await?);
        let payer = moved.request.from;
        let is_watched = webhooks.iter().any(|webhook| webhook.subscription.watches(payer).is_some());
        Ok(Marked { transfer: moved, is_watched })
    }
}

/// The transfer in its next state. A rejection names the policy that decided, if that was read.
pub(super) fn moved(transfer: &Transfer, next: TransferState, now: Timestamp) -> Transfer {
    let policy_version = match &next {
        TransferState::Rejected(rejection) => rejection.policy_version,
        TransferState::Claimed
        | TransferState::Signed(_)
        | TransferState::Sent { .. }
        | TransferState::Settled(_)
        | TransferState::Failed(_) => transfer.policy_version,
    };
    Transfer { state: next, policy_version, updated_at: now, ..transfer.clone() }
}

/// Moves a transfer from the state (and signature) that the caller knows to `next`; `Superseded` if it has moved on.
pub(super) async fn write_state(
    tx: &mut Transaction<'_>,
    transfer: &Transfer,
    next: &Transfer,
) -> Result<(), StoreError> {
    // Bytes belong to the signature beside them: a payment that was found on the chain has none here. What others send lands
    // under their signature.
    const SQL: &str = "UPDATE transfers SET
             state = $4, updated_at = $5, tx_signature = COALESCE($7, tx_signature),
             signed_bytes = CASE WHEN COALESCE($7, tx_signature) = tx_signature OR fee_payer IS NOT NULL
                 THEN COALESCE($6, signed_bytes) ELSE $6 END,
             last_valid_block_height = COALESCE($8, last_valid_block_height), sent_at = COALESCE($9, sent_at),
             slot = $10, ended_at = $11, reason = $12, message = $13, checks = $14, retry_at = $15,
             policy_version = $17, reopened = $18
         WHERE operator_id = $16 AND transfer_id = $1 AND state = $2 AND ($3 = '' OR tx_signature = $3)";
    let columns = TransferStateColumns::from(&next.state);
    let signature_before = transfer.state.signed().map_or("", |signed| signed.signature.as_str());
    let done = query(SQL)
        .bind(transfer.id.to_string())
        .bind(transfer.state.as_str())
        .bind(signature_before)
        .bind(next.state.as_str())
        .bind(next.updated_at.to_string())
        .bind(columns.signed_bytes)
        .bind(columns.tx_signature)
        .bind(columns.last_valid_block_height)
        .bind(columns.sent_at)
        .bind(columns.slot)
        .bind(columns.ended_at)
        .bind(columns.reason)
        .bind(columns.message)
        .bind(columns.checks)
        .bind(columns.retry_at)
        .bind(transfer.operator_id.to_string())
        .bind(next.policy_version.map(u64::cast_signed))
        .bind(i64::from(next.reopened))
        .execute(tx)
        .await?;
    if done == 1 { Ok(()) } else { Err(StoreError::Superseded) }
}
