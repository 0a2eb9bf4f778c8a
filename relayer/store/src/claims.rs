use std::time::Duration;

use futures::FutureExt;

use super::approvals::has_room_to_ask;
use super::history::{announce_step, tag_text};
use super::query::{columns, sql};
use super::refusals::{Counted, last_allowed};
use super::row::{Listed, row};
use super::transfer_row::{TransferStateColumns, stored};
use super::writer::Turn;
use super::{Result, StoreError, Transaction, Transfers};
use purser_core::{ClaimClock, DUPLICATE_WITHIN, GivesBack, KeyUse, NewTransfer};
use purser_model::{
    Approval, Claim, HistoryEntry, IdempotencyKey, Network, OperatorId, Reuse, Timestamp, Transfer,
    TransferId, TransferState, UsedKey,
};

/// The most payments of an account among which a claim looks for one like its own.
const LATELY_PAID_MAX: u32 = 1_000;
/// How long a refusal counts.
const DAY: Duration = Duration::from_secs(86_400);
/// How long before its settlement such a payment was asked for at the most: longer than any outage that its caller sits out.
const SETTLES_WITHIN: Duration = DAY;

row! { UsedKey from row {
    fingerprint, uses: key_use, expires_unix: key_expires_unix, transfer = row.record()?,
}}

impl Transfers {
    /// Takes the idempotency key for a new try, or returns what it stands for. One transaction, so exactly one of any
    /// number of identical requests is `New` (or `Retry`), and of any number that look like duplicates if those are refused.
    pub async fn claim_transfer(&self, new: &NewTransfer, clock: ClaimClock) -> Result<Claim> {
        // Signed bytes are announced when they are sent.
        let entries = match new.next.signed() {
            Some(_) => None,
            None => Some(self.entries_of(&new.transfer, &new.next).await?),
        };
        let announces = entries.is_some();
        let (new, holder) = (new.clone(), self.holder.clone());
        let fingerprint = new.fingerprint().to_hex();
        let claimed = self.write_in_turn(
            move |tx| {
                async move { claim_and_tell(tx, &new, &fingerprint, &holder, clock, entries).await }.boxed()
            },
            Turn::Begins,
        );
        let claim = claimed.await?;
        if announces {
            self.outbox.hint([]);
        }
        Ok(claim)
    }

    /// The latest use of an idempotency key.
    pub async fn find_used_key(
        &self,
        operator: OperatorId,
        network: Network,
        key: &IdempotencyKey,
    ) -> Result<Option<UsedKey>> {
        used(operator, network, key).fetch_optional(self.reader()).await
    }
}

/// Gives an idempotency key back, whose transfer stands for nothing.
pub(super) async fn release(
    tx: &mut Transaction<'_>,
    transfer: &Transfer,
    gives_back: GivesBack,
) -> Result<()> {
    let with_earlier = gives_back == GivesBack::TheKey;
    sql! {
        "UPDATE transfers SET key_use = NULL
         WHERE operator_id = {operator_id} AND network = {network} AND idempotency_key = {key}
             AND (transfer_id = {id} OR {with_earlier} AND key_use <= (
                 SELECT latest.key_use FROM transfers AS latest
                 WHERE latest.operator_id = {operator_id} AND latest.transfer_id = {id}))",
        transfer.operator_id, transfer.network, key = transfer.idempotency_key, transfer.id, with_earlier
    }
    .run(tx)
    .await
}

/// A payment settled a try after all. Later tries of the same use of its key that ended unpaid give theirs back: the key stands for the
/// payment.
pub(super) async fn release_unpaid_after(tx: &mut Transaction<'_>, paid: &Transfer) -> Result<()> {
    sql! {
        "UPDATE transfers SET key_use = NULL
         WHERE operator_id = {operator_id} AND network = {network} AND idempotency_key = {key}
             AND state IN ('rejected', 'failed') AND EXISTS (
                 SELECT 1 FROM transfers AS paid
                 WHERE paid.operator_id = {operator_id} AND paid.transfer_id = {id}
                     AND paid.key_use < transfers.key_use AND paid.key_expires_unix = transfers.key_expires_unix)",
        paid.operator_id, paid.network, key = paid.idempotency_key, paid.id
    }
    .run(tx)
    .await
}

/// The claim; what it announces is written with it.
async fn claim_and_tell(
    tx: &mut Transaction<'_>,
    new: &NewTransfer,
    fingerprint: &str,
    holder: &str,
    clock: ClaimClock,
    entries: Option<Vec<HistoryEntry>>,
) -> Result<Claim> {
    let claim = try_claim(&mut *tx, new, fingerprint, holder, clock).await?;
    if let (Claim::New(ours) | Claim::Retry(ours), Some(entries)) = (&claim, entries) {
        announce_step(tx, &new.transfer, &ours.state, &entries, clock.now).await?;
    }
    Ok(claim)
}

async fn try_claim(
    tx: &mut Transaction<'_>,
    new: &NewTransfer,
    fingerprint: &str,
    holder: &str,
    clock: ClaimClock,
) -> Result<Claim> {
    let asked = &new.transfer;
    let like = if new.duplicates.are_refused { latest_like(tx, new, clock).await? } else { None };
    let duplicate = new.duplicates.refused_for(like).map(Claim::Duplicate);
    let whose = (asked.operator_id, asked.request.from);
    // If somebody else pays the fee, asking costs the account nothing, as with a refusal. Only the account's own refusals count then, so
    // that no account holds up the purchases of others.
    let of_whom = match (new.next.signed(), asked.fee_payer) {
        (Some(_), None) => None,
        (Some(_), Some(_)) => Some(Counted::Account),
        (None, _) => Some(Counted::AccountAndOperator),
    };
    let last = match of_whom {
        None => None,
        Some(counted) => last_allowed(&mut *tx, whose, counted, clock.now.before(DAY), new.refusals).await?,
    };
    let refused = last.map(Claim::TooManyRefused);
    // Usually the key is unused, and trying to insert first spares the search.
    let first = KeyUse::begins(0, clock);
    if duplicate.is_none()
        && refused.is_none()
        && let Some(transfer) = insert_transfer(tx, new, fingerprint, first, holder, clock).await?
    {
        return Ok(Claim::New(transfer));
    }
    // The latest use of a key stands for the key.
    let used = used(asked.operator_id, asked.network, &asked.idempotency_key).fetch_optional(&mut *tx);
    let used: Option<UsedKey> = used.await?;
    let Some(used) = used else { return duplicate.or(refused).ok_or(StoreError::Contended) };
    let (key_use, is_retry) = match used.reused_by(fingerprint, clock.agreed, asked.approval) {
        Reuse::Expired => match duplicate {
            Some(duplicate) => return Ok(duplicate),
            None => (KeyUse::begins(used.uses, clock), false),
        },
        Reuse::Retry => (KeyUse::goes_on(&used), true),
        Reuse::Answer(claim) => return Ok(*claim),
    };
    if let Some(refused) = refused {
        return Ok(refused);
    }
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
) -> Result<Option<TransferId>> {
    let Transfer { id, operator_id, network, idempotency_key, request, .. } = &new.transfer;
    sql! {
        "UPDATE accounts SET name = name WHERE operator_id = {operator_id} AND account_id = {from}",
        operator_id, request.from
    }
    .run(&mut *tx)
    .await?;
    // An account, a wallet and their token accounts are one payee each. `|| ''` keeps SQLite from reading all transfers of the account.
    let asked_after = new.transfer.asked_after();
    sql! {
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
                     AND (asked_at > {asked_after} OR (asked_at IS NULL AND created_at > {dated_after})))",
        operator_id, network, request.from, request.to, request.amount, idempotency_key,
        first = TransferId::with_tag(clock.now.before(SETTLES_WITHIN), 0, 0), paid_max = LATELY_PAID_MAX,
        since = clock.now.before(DUPLICATE_WITHIN),
        tag = tag_text(id.tag()), asked_after, dated_after = Timestamp::from_unix_seconds(asked_after),
        memo = request.memo.as_ref().map_or("", |memo| memo.as_str())
    }
    .fetch_value(tx)
    .await
}

fn used(operator: OperatorId, network: Network, key: &IdempotencyKey) -> super::query::Query {
    sql! {
        "SELECT {used}, {columns} FROM transfers
         WHERE operator_id = {operator} AND network = {network} AND idempotency_key = {key} AND key_use IS NOT NULL
         ORDER BY key_use DESC LIMIT 1",
        used = UsedKey::COLUMNS, columns = Transfer::COLUMNS, operator, network, key
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

/// Stores it in its first step. `None` when another transfer has this use of the key.
async fn insert_transfer(
    tx: &mut Transaction<'_>,
    new: &NewTransfer,
    fingerprint: &str,
    key_use: KeyUse,
    holder: &str,
    clock: ClaimClock,
) -> Result<Option<Transfer>> {
    let claimed = new.claimed(key_use, clock.now);
    let Transfer { operator_id, request, idempotency_key, .. } = &claimed;
    if matches!(claimed.state, TransferState::PendingApproval(_)) {
        has_room_to_ask(tx, &claimed).await?;
    }
    let to = TransferStateColumns::from(&claimed.state);
    let inserted = sql! {
        "INSERT INTO transfers {row} ON CONFLICT (operator_id, idempotency_key, network, key_use) DO NOTHING",
        row = columns! {
            transfer_id = claimed.id, operator_id, claimed.network, account_id = request.from,
            claimed.key_id, recipient = request.to, to_wallet = request.to.wallet(), amount_usdc = request.amount, request.memo,
            idempotency_key, key_use = key_use.number, key_expires_unix = key_use.expires_unix,
            fingerprint, claimed.fee_payer, asks_approval = asks_approval(claimed.approval),
            claimed.asked_at, lease_holder = holder, clock.lease_expires_at, claimed.created_at,
            claimed.updated_at, claimed.policy_version, state = stored(&claimed.state), to.signed_bytes,
            to.tx_signature, to.last_valid_block_height, to.ended_at, to.reason, to.message, to.checks,
            to.retry_at, to.approval_reason, to.approval_expires_at
        }
    }
    .execute(tx)
    .await?;
    Ok((inserted == 1).then_some(claimed))
}
