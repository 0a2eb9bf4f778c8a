//! Known payments of an account by number: was one already made, is any missing?

use super::history::tag_text;
use super::ledgers::AccountKey;
use super::query::sql;
use super::row::{Record, Row};
use super::stored::OrEmpty;
use super::{Index, StoreError, Transfers};
use crate::domain::{AccountId, Address, Network, OperatorId, PaymentMade, Timestamp};
use purser_core::{Joint, PaymentsKnown};

/// An account with missing payments.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PaymentsMissing {
    pub operator_id: OperatorId,
    pub account_id: AccountId,
    pub address: Address,
    pub token_account: Address,
}

impl Record for PaymentsMissing {
    fn read(row: &Row<'_>) -> Result<Self, StoreError> {
        Ok(Self {
            operator_id: row.get("operator_id")?,
            account_id: row.get("account_id")?,
            address: row.get("address")?,
            token_account: row.get("token_account")?,
        })
    }
}

/// A payment's columns are empty when none has the tag.
impl Record for PaymentsKnown {
    fn read(row: &Row<'_>) -> Result<Self, StoreError> {
        let read = |signature| {
            Ok::<_, StoreError>(PaymentMade {
                transfer_id: row.get("transfer_id")?,
                account_id: row.get("account_id")?,
                signature,
                slot: row.get("slot")?,
                made_at: row.get("created_at")?,
                amount: row.get("amount_usdc")?,
                recipient: row.get("counterparty")?,
                memo: row.get::<Option<String>>("memo")?.unwrap_or_default(),
            })
        };
        let made = row.get::<Option<String>>("tx_signature")?.map(read).transpose()?;
        Ok(Self { up_to: row.get("up_to")?, are_joined: row.get("are_joined")?, made })
    }
}

impl Transfers {
    /// The account's payment with `tag` made or read later than `since` (`None`: ever), the number up to which our records are
    /// complete, and whether they have this joint. One statement reads both: a count from one moment says nothing about rows of another if
    /// the database is restored in between.
    pub async fn find_payment(
        &self,
        account: AccountId,
        tag: u64,
        since: Option<Timestamp>,
        joint: Option<Joint>,
    ) -> Result<PaymentsKnown, StoreError> {
        let (number, joint_tag) = joint.map_or((0, 0), |joint| (joint.number, joint.tag));
        let found: Option<PaymentsKnown> = sql! {
            "SELECT COALESCE(ledgers.payments_up_to, 0) AS up_to,
                 ({number} = 0 OR COALESCE(ledgers.payments_up_to, 0) >= {number} AND EXISTS (
                     SELECT 1 FROM history AS joint
                     WHERE joint.operator_id = accounts.operator_id AND joint.account_id = accounts.account_id
                         AND joint.tag = {joint_tag} AND COALESCE(joint.number, 0) IN (0, {number}))) AS are_joined,
                 accounts.account_id, history.transfer_id,
                 history.tx_signature, history.slot,
                 history.created_at, history.amount_usdc, history.counterparty, history.memo
             FROM accounts
                 LEFT JOIN ledgers
                     ON ledgers.operator_id = accounts.operator_id AND ledgers.account_id = accounts.account_id
                 LEFT JOIN history ON history.operator_id = accounts.operator_id
                     AND history.account_id = accounts.account_id AND history.tag = {tag}
                     AND (history.created_at > {since} OR COALESCE(history.read_at, '') > {since})
             WHERE accounts.account_id = {account} ORDER BY history.created_at DESC LIMIT 1",
            account, tag = tag_text(tag), since = OrEmpty(since), number, joint_tag = tag_text(joint_tag)
        }
        .fetch_optional(self.reader())
        .await?;
        Ok(found.unwrap_or(PaymentsKnown { up_to: 0, are_joined: joint.is_none(), made: None }))
    }

    /// A transfer waits for all payments up to `number`, so the indexer looks for them.
    pub async fn want_payments(
        &self,
        (operator, account): AccountKey,
        number: u64,
    ) -> Result<(), StoreError> {
        sql! {
            "INSERT INTO ledgers
                 (operator_id, account_id, booked_micros, unexplained_micros, seen_micros, seen_slot, payments_wanted)
             VALUES ({operator}, {account}, 0, 0, 0, 0, {number})
             ON CONFLICT (operator_id, account_id) DO UPDATE SET payments_wanted = excluded.payments_wanted
                 WHERE ledgers.payments_wanted < excluded.payments_wanted",
            operator, account, number
        }
        .run(self.writer())
        .await
    }
}

impl Index {
    /// For the indexer: up to `rows_max` accounts on `network` with missing payments that a transfer waits for, in a fixed
    /// order, continuing behind `after`.
    pub async fn list_missing_payments(
        &self,
        network: Network,
        after: Option<AccountKey>,
        rows_max: u32,
    ) -> Result<Vec<PaymentsMissing>, StoreError> {
        let (operator, account) = after.unzip();
        sql! {
            "SELECT accounts.operator_id, accounts.account_id, accounts.address, accounts.token_account
             FROM ledgers
                 JOIN accounts
                     ON accounts.operator_id = ledgers.operator_id AND accounts.account_id = ledgers.account_id
                 JOIN operators ON operators.operator_id = accounts.operator_id
             WHERE operators.network = {network} AND ledgers.payments_wanted > ledgers.payments_up_to
                 AND (ledgers.operator_id, ledgers.account_id) > ({operator}, {account})
             ORDER BY ledgers.operator_id, ledgers.account_id LIMIT {rows_max}",
            network, operator = OrEmpty(operator), account = OrEmpty(account), rows_max
        }
        .fetch_all(self.reader())
        .await
    }

    /// For the indexer: the latest slot in the account's history; 0 without any.
    pub async fn find_newest_slot(&self, (operator, account): AccountKey) -> Result<u64, StoreError> {
        let slot = sql! {
            "SELECT newest_slot FROM ledgers WHERE operator_id = {operator} AND account_id = {account}",
            operator, account
        };
        Ok(slot.fetch_optional(self.reader()).await?.unwrap_or(0))
    }
}
