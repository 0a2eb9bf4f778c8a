use futures::FutureExt;
use sqlx::{AssertSqlSafe, FromRow};

use super::history::tag_text;
use super::query::query;
use super::transfer_row::{StateColumns, TransferRow};
use super::transfers::COLUMNS;
use super::writer::Turn;
use super::{Store, StoreError, Transaction};
use crate::domain::{
    Claim, Fingerprint, IDEMPOTENCY_SECONDS, KeyId, Network, OperatorId, Reuse, SignedTransfer, Timestamp,
    Transfer, TransferId, TransferRequest, TransferState, UsedKey,
};

/// A transfer that asks for its idempotency key.
#[derive(Debug, Clone)]
pub struct NewTransfer {
    /// Used when the claim is `New` or `Retry`. Ends in the tag of its key.
    pub id: TransferId,
    pub operator_id: OperatorId,
    pub network: Network,
    pub key_id: KeyId,
    pub request: TransferRequest,
    /// See [`SignedAhead`].
    pub signed: Option<SignedAhead>,
}

/// Bytes that were signed before the claim. A claim that is `New` or `Retry` stores them with it, if our records then miss no
/// payment up to `known_up_to` and hold none with the tag. A transfer that has no bytes afterwards: do not send them.
#[derive(Debug, Clone)]
pub struct SignedAhead {
    pub signed: SignedTransfer,
    pub known_up_to: u64,
}

/// The two clocks of a claim: leases go by the host's; idempotency keys by the chain's, where the host's agrees with it.
#[derive(Debug, Clone, Copy)]
pub struct ClaimClock {
    pub now: Timestamp,
    /// Until then the claim is the caller's; after that another may take it up.
    pub lease_expires_at: Timestamp,
    /// Unix seconds that the chain and the host agree on. `None`: nothing expires.
    pub agreed: Option<i64>,
}

impl ClaimClock {
    /// When the key was used first. While the clocks disagree, the host's will do: nothing expires before they agree.
    fn born(self) -> i64 {
        self.agreed.unwrap_or_else(|| self.now.unix_seconds())
    }

    /// What was made before it is forgotten.
    fn since(self) -> Option<Timestamp> {
        self.agreed.map(|now| Timestamp::from_unix_seconds(now.saturating_sub(IDEMPOTENCY_SECONDS)))
    }
}

#[derive(Debug, FromRow)]
struct UsedKeyRow {
    fingerprint: String,
    key_attempt: i64,
    expires_unix: i64,
    #[sqlx(flatten)]
    transfer: TransferRow,
}

impl TryFrom<UsedKeyRow> for UsedKey {
    type Error = StoreError;

    fn try_from(row: UsedKeyRow) -> Result<Self, StoreError> {
        Ok(Self {
            fingerprint: row.fingerprint,
            attempt: row.key_attempt,
            expires_unix: row.expires_unix,
            transfer: row.transfer.try_into()?,
        })
    }
}

impl Store {
    /// Takes the idempotency key for a new try, or tells what it stands for; in one transaction, so that of any number
    /// of identical requests exactly one is `New` (or `Retry`).
    pub async fn claim_transfer(&self, new: &NewTransfer, clock: ClaimClock) -> Result<Claim, StoreError> {
        let (new, holder) = (new.clone(), self.holder.clone());
        let fingerprint = Fingerprint::of(&new.request).to_hex();
        let claim = self.write_in_turn(
            move |tx| {
                async move {
                    match try_claim(tx, &new, &fingerprint, &holder, clock).await {
                        // What was seen is gone: look again.
                        Err(StoreError::Superseded) => Err(StoreError::Contended),
                        tried => tried,
                    }
                }
                .boxed()
            },
            Turn::Begins,
        );
        claim.await
    }

    /// Gives an idempotency key back: the chain knows it as another transfer's, so the one that was claimed under it here
    /// stands for nothing, and whoever asks for that other one is to be answered.
    pub async fn release_key(&self, transfer: &Transfer) -> Result<(), StoreError> {
        const SQL: &str = "DELETE FROM idempotency_keys
             WHERE operator_id = $1 AND network = $2 AND idempotency_key = $3 AND transfer_id = $4";
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
    if let Some(transfer) = insert_transfer(tx, new, 1, holder, clock, IF_FREE).await? {
        take_key(tx, new, fingerprint, None, clock).await?;
        return Ok(Claim::New(transfer));
    }
    let used = find_used(tx, new).await?;
    let seen = used.as_ref().map(|used| used.transfer.id);
    let retried = match used.as_ref().map(|used| (used, used.reused_by(fingerprint, clock.agreed))) {
        None | Some((_, Reuse::Expired)) => None,
        Some((used, Reuse::Retry)) => Some((used.transfer.id, used.attempt + 1)),
        Some((_, Reuse::Answer(claim))) => return Ok(*claim),
    };
    let attempt = retried.map_or(1, |(_, attempt)| attempt);
    let inserted = insert_transfer(tx, new, attempt, holder, clock, "").await?;
    let transfer = inserted.ok_or(StoreError::Superseded)?;
    match retried {
        Some((before, attempt)) => {
            move_key(tx, new, before, attempt).await?;
            Ok(Claim::Retry(transfer))
        }
        None => {
            take_key(tx, new, fingerprint, seen, clock).await?;
            Ok(Claim::New(transfer))
        }
    }
}

async fn find_used(tx: &mut Transaction<'_>, new: &NewTransfer) -> Result<Option<UsedKey>, StoreError> {
    let sql = format!(
        "SELECT k.fingerprint, k.attempt AS key_attempt, k.expires_unix, {COLUMNS}
         FROM idempotency_keys k JOIN transfers ON transfers.transfer_id = k.transfer_id
         WHERE k.operator_id = $1 AND k.network = $2 AND k.idempotency_key = $3"
    );
    let row: Option<UsedKeyRow> = query(AssertSqlSafe(sql))
        .bind(new.operator_id.to_string())
        .bind(new.network.as_str())
        .bind(new.request.idempotency_key.as_str())
        .fetch_optional(tx)
        .await?;
    row.map(UsedKey::try_from).transpose()
}

/// Mostly nothing stands under a key, and this spares looking.
const IF_FREE: &str = "WHERE NOT EXISTS (
    SELECT 1 FROM idempotency_keys WHERE operator_id = $2 AND network = $3 AND idempotency_key = $9)";

/// `None` when the condition does not hold.
async fn insert_transfer(
    tx: &mut Transaction<'_>,
    new: &NewTransfer,
    attempt: i64,
    holder: &str,
    clock: ClaimClock,
    condition: &'static str,
) -> Result<Option<Transfer>, StoreError> {
    // Whether the bytes may be stored is decided where the claim is written: from here on they may be sent.
    let sql = format!(
        "WITH ahead AS MATERIALIZED (
             SELECT $16 <> ''
                 AND ($19 = 0 OR EXISTS (
                     SELECT 1 FROM ledgers WHERE account_id = $4 AND payments_up_to >= $19))
                 AND NOT EXISTS (
                     SELECT 1 FROM history WHERE account_id = $4 AND tag = $10
                         AND (created_at > $20 OR COALESCE(read_at, '') > $20)) AS is_stored)
         INSERT INTO transfers
             (transfer_id, operator_id, network, account_id, key_id, recipient, amount_usdc, memo, idempotency_key,
              attempt, lease_holder, lease_expires_at, created_at, updated_at, state,
              signed_bytes, tx_signature, last_valid_block_height)
         SELECT $1, $2, $3, $4, $5, $6, $7, $8, $9, $11, $13, $14, $15, $15,
             CASE WHEN is_stored THEN 'signed' ELSE $12 END,
             CASE WHEN is_stored THEN $16 END,
             CASE WHEN is_stored THEN $17 END,
             CASE WHEN is_stored THEN $18 END
         FROM ahead {condition}
         RETURNING state"
    );
    let request = &new.request;
    let ahead = new.signed.as_ref();
    let columns = ahead.map_or_else(StateColumns::default, |ahead| StateColumns::from(&ahead.signed));
    let inserted: Option<(String,)> = query(AssertSqlSafe(sql))
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
        .bind(attempt)
        .bind(TransferState::Claimed.as_str())
        .bind(holder)
        .bind(clock.lease_expires_at.to_string())
        .bind(clock.now.to_string())
        .bind(columns.signed_bytes.unwrap_or_default())
        .bind(columns.tx_signature)
        .bind(columns.last_valid_block_height)
        .bind(ahead.map_or(0, |ahead| ahead.known_up_to.cast_signed()))
        .bind(clock.since().map_or_else(String::new, |since| since.to_string()))
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
        attempt: u32::try_from(attempt).unwrap_or(u32::MAX),
        state,
        created_at: clock.now,
        updated_at: clock.now,
    }))
}

/// A new key, or an expired one that begins anew; `Superseded` when it stands for another transfer than was seen.
async fn take_key(
    tx: &mut Transaction<'_>,
    new: &NewTransfer,
    fingerprint: &str,
    seen: Option<TransferId>,
    clock: ClaimClock,
) -> Result<(), StoreError> {
    const SQL: &str = "INSERT INTO idempotency_keys
             (operator_id, network, idempotency_key, fingerprint, transfer_id, attempt, created_unix, expires_unix)
         VALUES ($1, $2, $3, $4, $5, 1, $6, $7)
         ON CONFLICT (operator_id, network, idempotency_key) DO UPDATE SET
             fingerprint = excluded.fingerprint, transfer_id = excluded.transfer_id, attempt = 1,
             created_unix = excluded.created_unix, expires_unix = excluded.expires_unix
         WHERE idempotency_keys.transfer_id = $8";
    let taken = query(SQL)
        .bind(new.operator_id.to_string())
        .bind(new.network.as_str())
        .bind(new.request.idempotency_key.as_str())
        .bind(fingerprint)
        .bind(new.id.to_string())
        .bind(clock.born())
        .bind(clock.born().saturating_add(IDEMPOTENCY_SECONDS))
        .bind(seen.map_or_else(String::new, |seen| seen.to_string()))
        .execute(tx)
        .await?;
    if taken == 1 { Ok(()) } else { Err(StoreError::Superseded) }
}

/// The same key with its next try; it lives no longer for it. `Superseded` as for [`take_key`].
async fn move_key(
    tx: &mut Transaction<'_>,
    new: &NewTransfer,
    seen: TransferId,
    attempt: i64,
) -> Result<(), StoreError> {
    const SQL: &str = "UPDATE idempotency_keys SET transfer_id = $4, attempt = $5
         WHERE operator_id = $1 AND network = $2 AND idempotency_key = $3 AND transfer_id = $6";
    let moved = query(SQL)
        .bind(new.operator_id.to_string())
        .bind(new.network.as_str())
        .bind(new.request.idempotency_key.as_str())
        .bind(new.id.to_string())
        .bind(attempt)
        .bind(seen.to_string())
        .execute(tx)
        .await?;
    if moved == 1 { Ok(()) } else { Err(StoreError::Superseded) }
}
