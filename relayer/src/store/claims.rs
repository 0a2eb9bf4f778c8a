use futures::FutureExt;
use macro_rules_attribute::derive;
use sqlx::AssertSqlSafe;

use super::history::tag_text;
use super::query::{Query, query};
use super::row::ByName;
use super::transfer_row::{TransferRow, TransferStateColumns};
use super::transfers::COLUMNS;
use super::writer::Turn;
use super::{Store, StoreError, Transaction};
use crate::domain::{Claim, IdempotencyKey, Network, OperatorId, Reuse, Transfer, TransferState, UsedKey};
use purser_core::{ClaimClock, KeyUse, NewTransfer};

#[derive(Debug, ByName!)]
struct UsedKeyRow {
    fingerprint: String,
    key_use: i64,
    key_expires_unix: i64,
    transfer: TransferRow,
}

impl TryFrom<UsedKeyRow> for UsedKey {
    type Error = StoreError;

    fn try_from(row: UsedKeyRow) -> Result<Self, StoreError> {
        Ok(Self {
            fingerprint: row.fingerprint,
            uses: row.key_use,
            expires_unix: row.key_expires_unix,
            transfer: row.transfer.try_into()?,
        })
    }
}

impl Store {
    /// Takes the idempotency key for a new try, or returns what it stands for. One transaction, so exactly one of any
    /// number of identical requests is `New` (or `Retry`).
    pub async fn claim_transfer(&self, new: &NewTransfer, clock: ClaimClock) -> Result<Claim, StoreError> {
        let (new, holder) = (new.clone(), self.holder.clone());
        let fingerprint = new.fingerprint().to_hex();
        self.write_in_turn(
            move |tx| async move { try_claim(tx, &new, &fingerprint, &holder, clock).await }.boxed(),
            Turn::Begins,
        )
        .await
    }

    /// The latest use of an idempotency key.
    pub async fn find_used_key(
        &self,
        operator: OperatorId,
        network: Network,
        key: &IdempotencyKey,
    ) -> Result<Option<UsedKey>, StoreError> {
        let row: Option<UsedKeyRow> = used(operator, network, key).fetch_optional(self.reader()).await?;
        row.map(UsedKey::try_from).transpose()
    }

    /// Gives this use of its idempotency key back: an earlier one stands for the key again.
    pub async fn release_use(&self, transfer: &Transfer) -> Result<(), StoreError> {
        const SQL: &str = "UPDATE transfers SET key_use = NULL WHERE operator_id = $1 AND transfer_id = $2";
        let releasing = query(SQL).bind(transfer.operator_id.to_string()).bind(transfer.id.to_string());
        releasing.execute(self.writer()).await?;
        Ok(())
    }

    /// Gives an idempotency key back. The chain knows the key for another transfer, so the one claimed here stands for
    /// nothing, and requests for that other transfer must get its answer.
    pub async fn release_key(&self, transfer: &Transfer) -> Result<(), StoreError> {
        // Earlier uses too: they ended, and they did not ask for the transfer that the chain has.
        const SQL: &str = "UPDATE transfers SET key_use = NULL
             WHERE operator_id = $1 AND network = $2 AND idempotency_key = $3
                 AND key_use <= (
                     SELECT latest.key_use FROM transfers AS latest
                     WHERE latest.operator_id = $1 AND latest.transfer_id = $4)";
        query(SQL)
            .bind(transfer.operator_id.to_string())
            .bind(transfer.network.as_str())
            .bind(transfer.request.idempotency_key.as_str())
            .bind(transfer.id.to_string())
            .execute(self.writer())
            .await?;
        Ok(())
    }
}

async fn try_claim(
    tx: &mut Transaction<'_>,
    new: &NewTransfer,
    fingerprint: &str,
    holder: &str,
    clock: ClaimClock,
) -> Result<Claim, StoreError> {
    // Usually the key is unused, and trying to insert first spares the search.
    let first = KeyUse::begins(0, clock);
    if let Some(transfer) = insert_transfer(tx, new, fingerprint, first, holder, clock).await? {
        return Ok(Claim::New(transfer));
    }
    let used = find_used(tx, new).await?.ok_or(StoreError::Contended)?;
    let (key_use, is_retry) = match used.reused_by(fingerprint, clock.agreed) {
        Reuse::Expired => (KeyUse::begins(used.uses, clock), false),
        Reuse::Retry => (KeyUse::goes_on(&used), true),
        Reuse::Answer(claim) => return Ok(*claim),
    };
    // Another request took the key just now: search again.
    let inserted = insert_transfer(tx, new, fingerprint, key_use, holder, clock).await?;
    let transfer = inserted.ok_or(StoreError::Contended)?;
    Ok(if is_retry { Claim::Retry(transfer) } else { Claim::New(transfer) })
}

/// The latest use of a key stands for the key.
async fn find_used(tx: &mut Transaction<'_>, new: &NewTransfer) -> Result<Option<UsedKey>, StoreError> {
    let key = &new.request.idempotency_key;
    let row: Option<UsedKeyRow> = used(new.operator_id, new.network, key).fetch_optional(tx).await?;
    row.map(UsedKey::try_from).transpose()
}

fn used(operator: OperatorId, network: Network, key: &IdempotencyKey) -> Query {
    let sql = format!(
        "SELECT fingerprint, key_use, key_expires_unix, {COLUMNS} FROM transfers
         WHERE operator_id = $1 AND network = $2 AND idempotency_key = $3 AND key_use IS NOT NULL
         ORDER BY key_use DESC LIMIT 1"
    );
    query(AssertSqlSafe(sql)).bind(operator.to_string()).bind(network.as_str()).bind(key.as_str())
}

/// `None` when another transfer has this use of the key.
async fn insert_transfer(
    tx: &mut Transaction<'_>,
    new: &NewTransfer,
    fingerprint: &str,
    key_use: KeyUse,
    holder: &str,
    clock: ClaimClock,
) -> Result<Option<Transfer>, StoreError> {
    // The same statement decides whether to store the bytes and writes the claim: stored bytes may be sent.
    const SQL: &str = "WITH ahead AS MATERIALIZED (
             SELECT $16 <> ''
                 AND ($19 = 0 OR EXISTS (
                     SELECT 1 FROM ledgers WHERE operator_id = $2 AND account_id = $4 AND payments_up_to >= $19))
                 AND NOT EXISTS (
                     SELECT 1 FROM history WHERE operator_id = $2 AND account_id = $4 AND tag = $10
                         AND (created_at > $20 OR COALESCE(read_at, '') > $20)) AS is_stored)
         INSERT INTO transfers
             (transfer_id, operator_id, network, account_id, key_id, recipient, amount_usdc, memo, idempotency_key,
              key_use, key_expires_unix, fingerprint, fee_payer,
              lease_holder, lease_expires_at, created_at, updated_at, state,
              signed_bytes, tx_signature, last_valid_block_height, policy_version)
         SELECT $1, $2, $3, $4, $5, $6, $7, $8, $9, $11, $21, $22, $23, $13, $14, $15, $15,
             CASE WHEN is_stored THEN 'signed' ELSE $12 END,
             CASE WHEN is_stored THEN $16 END,
             CASE WHEN is_stored THEN $17 END,
             CASE WHEN is_stored THEN $18 END,
             CASE WHEN is_stored THEN $24 END
         FROM ahead WHERE TRUE
         ON CONFLICT (operator_id, idempotency_key, network, key_use) DO NOTHING
         RETURNING state";
    let request = &new.request;
    let ahead = new.signed.as_ref();
    let columns =
        ahead.map_or_else(TransferStateColumns::default, |ahead| TransferStateColumns::from(&ahead.signed));
    let inserted: Option<(String,)> = query(SQL)
        .bind(new.id.to_string())
        .bind(new.operator_id.to_string())
        .bind(new.network.as_str())
        .bind(request.from.to_string())
        .bind(new.key_id.to_string())
        .bind(request.to.text())
        .bind(request.amount.to_string())
        .bind(request.memo.as_ref().map(|memo| memo.as_str()))
        .bind(request.idempotency_key.as_str())
        .bind(tag_text(new.id.tag()))
        .bind(key_use.number)
        .bind(TransferState::Claimed.as_str())
        .bind(holder)
        .bind(clock.lease_expires_at.to_string())
        .bind(clock.now.to_string())
        .bind(columns.signed_bytes.unwrap_or_default())
        .bind(columns.tx_signature)
        .bind(columns.last_valid_block_height)
        .bind(ahead.map_or(0, |ahead| ahead.known_up_to.cast_signed()))
        .bind(clock.since().map_or_else(String::new, |since| since.to_string()))
        .bind(key_use.expires_unix)
        .bind(fingerprint)
        .bind(new.sender.map(|sender| sender.fee_payer.to_string()))
        .bind(ahead.map(|ahead| ahead.policy_version.cast_signed()))
        .fetch_optional(tx)
        .await?;
    let Some((stored,)) = inserted else { return Ok(None) };
    let signed = ahead.filter(|_| stored != TransferState::Claimed.as_str());
    let state = signed.map_or(TransferState::Claimed, |ahead| TransferState::Signed(ahead.signed.clone()));
    Ok(Some(Transfer {
        id: new.id,
        operator_id: new.operator_id,
        network: new.network,
        key_id: new.key_id,
        request: request.clone(),
        fee_payer: new.sender.map(|sender| sender.fee_payer),
        refusal: None,
        policy_version: signed.map(|ahead| ahead.policy_version),
        reopened: 0,
        state,
        created_at: clock.now,
        updated_at: clock.now,
    }))
}
