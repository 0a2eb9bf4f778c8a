use std::time::Duration;

use futures::FutureExt;

use super::history::tag_text;
use super::query::sql;
use super::row::{Record, Row};
use super::stored::Base64;
use super::transfer_row::{COLUMNS, TransferStateColumns};
use super::writer::Turn;
use super::{StoreError, Transaction, Transfers};
use crate::domain::{
    Approval, Claim, IdempotencyKey, Network, OperatorId, Reuse, Transfer, TransferId, TransferState, UsedKey,
};
use purser_core::{AskedTransfer, ClaimClock, DUPLICATE_WITHIN, GivesBack, KeyUse, NewTransfer};

/// The most payments of an account among which a claim looks for one like its own.
const LATELY_PAID_MAX: u32 = 1_000;
/// How long before its settlement such a payment was asked for at the most: longer than any outage that its caller sits out.
const SETTLES_WITHIN: Duration = Duration::from_secs(86_400);

impl Record for UsedKey {
    fn read(row: &Row<'_>) -> Result<Self, StoreError> {
        Ok(Self {
            fingerprint: row.get("fingerprint")?,
            uses: row.get("key_use")?,
            expires_unix: row.get("key_expires_unix")?,
            transfer: Transfer::read(row)?,
        })
    }
}

impl Transfers {
    /// Takes the idempotency key for a new try, or returns what it stands for. One transaction, so exactly one of any
    /// number of identical requests is `New` (or `Retry`), and of any number that look like duplicates if those are refused.
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
        used(operator, network, key).fetch_optional(self.reader()).await
    }
}

/// Gives an idempotency key back, whose transfer stands for nothing.
pub(super) async fn release(
    tx: &mut Transaction<'_>,
    transfer: &Transfer,
    gives_back: GivesBack,
) -> Result<(), StoreError> {
    let with_earlier = gives_back == GivesBack::TheKey;
    sql! {
        "UPDATE transfers SET key_use = NULL
         WHERE operator_id = {operator_id} AND network = {network} AND idempotency_key = {key}
             AND (transfer_id = {id} OR {with_earlier} AND key_use <= (
                 SELECT latest.key_use FROM transfers AS latest
                 WHERE latest.operator_id = {operator_id} AND latest.transfer_id = {id}))",
        transfer.operator_id, transfer.network, key = transfer.idempotency_key, transfer.id, with_earlier
    }
    .execute(tx)
    .await?;
    Ok(())
}

/// A payment settled a try after all. Later tries of the same use of its key that ended unpaid give theirs back: the key stands for the
/// payment.
pub(super) async fn release_unpaid_after(
    tx: &mut Transaction<'_>,
    paid: &Transfer,
) -> Result<(), StoreError> {
    sql! {
        "UPDATE transfers SET key_use = NULL
         WHERE operator_id = {operator_id} AND network = {network} AND idempotency_key = {key}
             AND state IN ('rejected', 'failed') AND EXISTS (
                 SELECT 1 FROM transfers AS paid
                 WHERE paid.operator_id = {operator_id} AND paid.transfer_id = {id}
                     AND paid.key_use < transfers.key_use AND paid.key_expires_unix = transfers.key_expires_unix)",
        paid.operator_id, paid.network, key = paid.idempotency_key, paid.id
    }
    .execute(tx)
    .await?;
    Ok(())
}

async fn try_claim(
    tx: &mut Transaction<'_>,
    new: &NewTransfer,
    fingerprint: &str,
    holder: &str,
    clock: ClaimClock,
) -> Result<Claim, StoreError> {
    let like = if new.asked.duplicates.are_refused { latest_like(tx, new, clock).await? } else { None };
    let duplicate = new.asked.duplicates.refused_for(like).map(Claim::Duplicate);
    // Usually the key is unused, and trying to insert first spares the search.
    let first = KeyUse::begins(0, clock);
    if duplicate.is_none()
        && let Some(transfer) = insert_transfer(tx, new, fingerprint, first, holder, clock).await?
    {
        return Ok(Claim::New(transfer));
    }
    // The latest use of a key stands for the key.
    let used = used(new.operator_id, new.network, &new.asked.idempotency_key).fetch_optional(&mut *tx);
    let used: Option<UsedKey> = used.await?;
    let Some(used) = used else { return duplicate.ok_or(StoreError::Contended) };
    let (key_use, is_retry) = match used.reused_by(fingerprint, clock.agreed, new.asked.approval) {
        Reuse::Expired => match duplicate {
            Some(duplicate) => return Ok(duplicate),
            None => (KeyUse::begins(used.uses, clock), false),
        },
        Reuse::Retry => (KeyUse::goes_on(&used), true),
        Reuse::Answer(claim) => return Ok(*claim),
    };
    // Another request took the key just now: search again.
    let inserted = insert_transfer(tx, new, fingerprint, key_use, holder, clock).await?;
    let transfer = inserted.ok_or(StoreError::Contended)?;
    Ok(if is_retry { Claim::Retry(transfer) } else { Claim::New(transfer) })
}

/// The latest payment like this one under another key: under way, or settled just now. Other claims of the account that
/// look for one wait until the commit. `None` also where the chain holds a payment under this key, which our records lost: to ask for
/// that again is a retry.
async fn latest_like(
    tx: &mut Transaction<'_>,
    new: &NewTransfer,
    clock: ClaimClock,
) -> Result<Option<TransferId>, StoreError> {
    let AskedTransfer { idempotency_key, request, .. } = &new.asked;
    sql! {
        "UPDATE accounts SET name = name WHERE operator_id = {operator_id} AND account_id = {from}",
        new.operator_id, request.from
    }
    .run(&mut *tx)
    .await?;
    // An account and its token account are one payee. `|| ''` keeps SQLite from reading all transfers of the account.
    let latest: Option<Option<TransferId>> = sql! {
        "SELECT MAX(transfer_id) FROM (
             SELECT transfer_id, recipient, amount_usdc, memo, idempotency_key FROM (
                 SELECT transfer_id, recipient, amount_usdc, memo, idempotency_key, updated_at FROM transfers
                 WHERE operator_id = {operator_id} AND account_id = {from} AND state = 'settled'
                     AND ended_at IS NOT NULL AND transfer_id >= {first}
                 ORDER BY transfer_id DESC LIMIT {paid_max}) AS paid
             WHERE updated_at >= {since}
             UNION ALL
             SELECT transfer_id, recipient, amount_usdc, memo, idempotency_key FROM transfers
             WHERE network = {network} AND state IN ('claimed', 'signed', 'sent')
                 AND (operator_id || '') = {operator_id} AND (account_id || '') = {from}) AS lately
         WHERE idempotency_key <> {idempotency_key} AND amount_usdc = {amount} AND COALESCE(memo, '') = {memo}
             AND (recipient = {to}
                 OR recipient IN (SELECT account_id FROM accounts WHERE token_account = {to})
                 OR recipient IN (SELECT token_account FROM accounts WHERE account_id = {to}))
             AND NOT EXISTS (
                 SELECT 1 FROM history WHERE operator_id = {operator_id} AND account_id = {from} AND tag = {tag}
                     AND created_at > {key_since})",
        new.operator_id, new.network, request.from, request.to, request.amount, idempotency_key,
        first = TransferId::with_tag(clock.now.before(SETTLES_WITHIN), 0, 0), paid_max = LATELY_PAID_MAX,
        since = clock.now.before(DUPLICATE_WITHIN),
        tag = tag_text(new.id.tag()), key_since = new.paid_since(),
        memo = request.memo.as_ref().map_or("", |memo| memo.as_str())
    }
    .fetch_optional(tx)
    .await?;
    Ok(latest.flatten())
}

fn used(operator: OperatorId, network: Network, key: &IdempotencyKey) -> super::query::Query {
    sql! {
        "SELECT fingerprint, key_use, key_expires_unix, {columns} FROM transfers
         WHERE operator_id = {operator} AND network = {network} AND idempotency_key = {key} AND key_use IS NOT NULL
         ORDER BY key_use DESC LIMIT 1",
        columns = COLUMNS, operator, network, key
    }
}

/// As [`Approval`] is stored before anybody is asked.
const fn asks_approval(approval: Approval) -> u64 {
    match approval {
        Approval::Never => 0,
        Approval::Request | Approval::Requested(_) => 1,
        Approval::Off => 2,
    }
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
    let AskedTransfer { idempotency_key, request, .. } = &new.asked;
    let ahead = new.signed.as_ref();
    let signed =
        ahead.map_or_else(TransferStateColumns::default, |ahead| TransferStateColumns::from(&ahead.signed));
    // The same statement decides whether to store the bytes and writes the claim: stored bytes may be sent.
    let inserted: Option<String> = sql! {
        "WITH ahead AS MATERIALIZED (
             SELECT {signed_bytes} <> '' AND NOT EXISTS (
                 SELECT 1 FROM history WHERE operator_id = {operator_id} AND account_id = {from} AND tag = {tag}
                     AND created_at > {since}) AS is_stored)
         INSERT INTO transfers
             (transfer_id, operator_id, network, account_id, key_id, recipient, amount_usdc, memo,
              idempotency_key, key_use, key_expires_unix, fingerprint, fee_payer, asks_approval,
              asked_at, lease_holder, lease_expires_at, created_at, updated_at,
              state,
              signed_bytes,
              tx_signature,
              last_valid_block_height,
              policy_version)
         SELECT {id}, {operator_id}, {network}, {from}, {key_id}, {to}, {amount}, {memo},
             {idempotency_key}, {key_use}, {expires_unix}, {fingerprint}, {fee_payer}, {asks_approval},
             {asked_at}, {holder}, {lease_expires_at}, {now}, {now},
             CASE WHEN is_stored THEN 'signed' ELSE {claimed} END,
             CASE WHEN is_stored THEN {signed_bytes} END,
             CASE WHEN is_stored THEN {tx_signature} END,
             CASE WHEN is_stored THEN {last_valid_block_height} END,
             CASE WHEN is_stored THEN {policy_version} END
         FROM ahead WHERE TRUE
         ON CONFLICT (operator_id, idempotency_key, network, key_use) DO NOTHING
         RETURNING state",
        new.id, new.operator_id, new.network, new.key_id, request.from, request.to, request.amount, request.memo,
        idempotency_key, key_use = key_use.number, key_use.expires_unix, fingerprint,
        fee_payer = new.sender.map(|sender| sender.fee_payer),
        asks_approval = asks_approval(new.asked.approval), tag = tag_text(new.id.tag()),
        new.asked_at, holder, clock.lease_expires_at, clock.now, since = new.paid_since(),
        claimed = TransferState::Claimed.as_str(),
        signed_bytes = signed.signed_bytes.unwrap_or(Base64(Vec::new())), signed.tx_signature,
        signed.last_valid_block_height,
        policy_version = ahead.map(|ahead| ahead.policy_version)
    }
    .fetch_optional(tx)
    .await?;
    let Some(stored) = inserted else { return Ok(None) };
    let are_stored = stored != TransferState::Claimed.as_str();
    Ok(Some(new.claimed(are_stored, clock.now)))
}
