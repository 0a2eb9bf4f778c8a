use futures::FutureExt;

use super::approvals::has_room_to_ask;
use super::claims::release;
use super::history::{announce_step, tag_text};
use super::query::sql;
use super::row::{Listed, row};
use super::stored::Base64;
use super::transfer_row::{TransferStateColumns, stored};
use super::{Result, StoreError, Transaction, Transfers};
use purser_core::GivesBack;
use purser_model::{
    Account, AccountId, OperatorId, PaymentMade, Timestamp, Transfer, TransferId, TransferState,
};

/// How many of an account's last transfers are searched for signed ones; the others were refused.
const LATEST_ROWS: i64 = 20;

row! { PaymentMade of history {
    transfer_id, account_id, signature: tx_signature, slot, made_at: created_at, amount: amount_usdc,
    recipient: counterparty, memo(memo) = Option::unwrap_or_default(memo),
}}

impl Transfers {
    /// The operator's transfer with this id, in any state.
    pub async fn find_transfer(&self, operator: OperatorId, id: TransferId) -> Result<Option<Transfer>> {
        sql! {
            "SELECT {columns} FROM transfers WHERE operator_id = {operator} AND transfer_id = {id}",
            columns = Transfer::COLUMNS, operator, id
        }
        .fetch_optional(self.reader())
        .await
    }

    /// The signed ones among the account's last few transfers, newest first.
    pub async fn list_latest_signed(&self, account: &Account) -> Result<Vec<Transfer>> {
        sql! {
            "SELECT * FROM (
                 SELECT {columns} FROM transfers WHERE operator_id = {operator_id} AND account_id = {id}
                 ORDER BY transfer_id DESC LIMIT {rows}) AS latest
             WHERE tx_signature IS NOT NULL ORDER BY transfer_id DESC",
            columns = Transfer::COLUMNS, account.operator_id, account.id, rows = LATEST_ROWS
        }
        .fetch_all(self.reader())
        .await
    }

    /// The bytes that were signed for a transfer, as long as its row has them.
    pub async fn find_signed_bytes(&self, operator: OperatorId, id: TransferId) -> Result<Option<Vec<u8>>> {
        let found: Option<Base64> = sql! {
            "SELECT signed_bytes FROM transfers WHERE operator_id = {operator} AND transfer_id = {id}",
            operator, id
        }
        .fetch_value(self.reader())
        .await?;
        Ok(found.map(|bytes| bytes.0))
    }

    /// Stores what was given for a transfer by whom its bytes were handed to.
    pub async fn keep_given(&self, operator: OperatorId, transfer: TransferId, given: &str) -> Result<()> {
        sql! {
            "UPDATE transfers SET resource = {given} WHERE operator_id = {operator} AND transfer_id = {transfer}",
            given, operator, transfer
        }
        .run(self.writer())
        .await
    }

    /// Stores why whoever holds the bytes of a transfer does not take them.
    pub async fn keep_refusal(
        &self,
        operator: OperatorId,
        transfer: TransferId,
        refusal: &str,
    ) -> Result<()> {
        sql! {
            "UPDATE transfers SET refusal = {refusal} WHERE operator_id = {operator} AND transfer_id = {transfer}",
            refusal, operator, transfer
        }
        .run(self.writer())
        .await
    }

    /// What was given for a transfer, if it has arrived.
    pub async fn find_given(&self, operator: OperatorId, transfer: TransferId) -> Result<Option<String>> {
        sql! {
            "SELECT resource FROM transfers
             WHERE operator_id = {operator} AND transfer_id = {transfer} AND resource IS NOT NULL",
            operator, transfer
        }
        .fetch_optional(self.reader())
        .await
    }

    /// The account's newest payment with `tag` whose bytes name a second after `asked_after`; by its date, if none is known.
    pub async fn find_payment(
        &self,
        account: AccountId,
        tag: u64,
        asked_after: i64,
    ) -> Result<Option<PaymentMade>> {
        sql! {
            "SELECT {columns}
             FROM accounts JOIN history ON history.operator_id = accounts.operator_id
                 AND history.account_id = accounts.account_id
             WHERE accounts.account_id = {account} AND history.tag = {tag}
                 AND (history.asked_at > {asked_after}
                     OR (history.asked_at IS NULL AND history.created_at > {dated_after}))
             ORDER BY history.slot DESC LIMIT 1",
            columns = PaymentMade::COLUMNS, account, tag = tag_text(tag), asked_after,
            dated_after = Timestamp::from_unix_seconds(asked_after)
        }
        .fetch_optional(self.reader())
        .await
    }

    /// Takes a step, adds its history entries, and announces it to the operator's webhooks.
    pub(super) async fn mark(
        &self,
        transfer: &Transfer,
        next: TransferState,
        now: Timestamp,
    ) -> Result<Transfer> {
        self.step(transfer, next, None, now).await
    }

    /// Like `mark`; may give the transfer's key back in the same transaction.
    pub(super) async fn step(
        &self,
        transfer: &Transfer,
        next: TransferState,
        gives_back: Option<GivesBack>,
        now: Timestamp,
    ) -> Result<Transfer> {
        let entries = self.entries_of(transfer, &next).await?;
        let moved = transfer.moved(next, now);
        let (transfer, next) = (transfer.clone(), moved.clone());
        self.write_events(move |tx| {
            async move {
                if matches!(next.state, TransferState::PendingApproval(_)) {
                    has_room_to_ask(tx, &transfer).await?;
                }
                write_state(tx, &transfer, &next).await?;
                if let Some(gives_back) = gives_back {
                    release(tx, &transfer, gives_back).await?;
                }
                announce_step(tx, &transfer, &next.state, &entries, now).await
            }
            .boxed()
        })
        .await?;
        Ok(moved)
    }
}

/// Moves a transfer from the state (and signature) that the caller knows to `next`; `Superseded` if it has moved on.
pub(super) async fn write_state(
    tx: &mut Transaction<'_>,
    transfer: &Transfer,
    next: &Transfer,
) -> Result<()> {
    let to = TransferStateColumns::from(&next.state);
    let signature_before = transfer.state.signed().map_or("", |signed| signed.signature.as_str());
    // Bytes belong to the signature beside them: a payment that was found on the chain has none here. What others send lands
    // under their signature.
    let done = sql! {
        "UPDATE transfers SET
             state = {state}, updated_at = {updated_at}, tx_signature = COALESCE({tx_signature}, tx_signature),
             signed_bytes = CASE WHEN COALESCE({tx_signature}, tx_signature) = tx_signature OR fee_payer IS NOT NULL
                 THEN COALESCE({signed_bytes}, signed_bytes) ELSE {signed_bytes} END,
             last_valid_block_height = COALESCE({last_valid_block_height}, last_valid_block_height),
             sent_at = COALESCE({sent_at}, sent_at), slot = {slot}, ended_at = {ended_at}, reason = {reason},
             message = {message}, checks = {checks}, retry_at = {retry_at}, policy_version = {policy_version},
             reopened = {reopened}, asked_at = {asked_at}, earlier_valid_until = {earlier_valid_until},
             approval_reason = COALESCE({approval_reason}, approval_reason),
             approval_expires_at = COALESCE({approval_expires_at}, approval_expires_at)
         WHERE operator_id = {operator_id} AND transfer_id = {id} AND state = {state_before}
             AND ({signature_before} = '' OR tx_signature = {signature_before})",
        transfer.operator_id, transfer.id, state_before = stored(&transfer.state), signature_before,
        state = stored(&next.state), next.updated_at, next.policy_version, next.reopened, next.asked_at, next.earlier_valid_until,
        to.signed_bytes, to.tx_signature, to.last_valid_block_height, to.sent_at, to.slot, to.ended_at, to.reason,
        to.message, to.checks, to.retry_at, to.approval_reason, to.approval_expires_at
    }
    .execute(tx)
    .await?;
    if done == 1 { Ok(()) } else { Err(StoreError::Superseded) }
}
