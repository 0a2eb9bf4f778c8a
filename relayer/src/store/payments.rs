//! Known payments of an account by number: was one already made, is any missing?

use macro_rules_attribute::derive;

use super::columns::Table;
use super::history::tag_text;
use super::ledgers::{AccountKey, of};
use super::query::query;
use super::row::ByName;
use super::{Store, StoreError};
use crate::domain::{AccountId, Address, Network, OperatorId, PaymentMade, Timestamp};
use purser_core::PaymentsKnown;

const TABLE: Table = Table("history");

/// An account with missing payments.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PaymentsMissing {
    pub operator_id: OperatorId,
    pub account_id: AccountId,
    pub address: Address,
    pub token_account: Address,
}

/// A payment's columns are empty when none has the tag.
#[derive(Debug, ByName!)]
struct TaggedPaymentRow {
    up_to: i64,
    account_id: String,
    transfer_id: Option<String>,
    tx_signature: Option<String>,
    slot: Option<i64>,
    created_at: Option<String>,
    amount_usdc: Option<String>,
    counterparty: Option<String>,
    memo: Option<String>,
}

impl TryFrom<TaggedPaymentRow> for PaymentsKnown {
    type Error = StoreError;

    fn try_from(row: TaggedPaymentRow) -> Result<Self, StoreError> {
        let up_to = row.up_to.cast_unsigned();
        let Some(signature) = row.tx_signature else { return Ok(Self { up_to, made: None }) };
        let made = PaymentMade {
            transfer_id: TABLE
                .read("transfer_id", TABLE.required("transfer_id", row.transfer_id.as_deref())?)?,
            account_id: TABLE.read("account_id", &row.account_id)?,
            signature,
            slot: TABLE.required("slot", row.slot)?.cast_unsigned(),
            made_at: TABLE.read("created_at", TABLE.required("created_at", row.created_at.as_deref())?)?,
            amount: TABLE.read("amount_usdc", TABLE.required("amount_usdc", row.amount_usdc.as_deref())?)?,
            recipient: TABLE
                .read("counterparty", TABLE.required("counterparty", row.counterparty.as_deref())?)?,
            memo: row.memo.unwrap_or_default(),
        };
        Ok(Self { up_to, made: Some(made) })
    }
}

impl Store {
    /// The account's payment with `tag` made or read later than `since` (`None`: ever), and the number up to which our
    /// records are complete. One statement reads both: a count from one moment says nothing about rows of another if
    /// the database is restored in between.
    pub async fn find_payment(
        &self,
        account: AccountId,
        tag: u64,
        since: Option<Timestamp>,
    ) -> Result<PaymentsKnown, StoreError> {
        const SQL: &str =
            "SELECT COALESCE(ledgers.payments_up_to, 0) AS up_to, accounts.account_id, history.transfer_id,
                 history.tx_signature, history.slot,
                 history.created_at, history.amount_usdc, history.counterparty, history.memo
             FROM accounts
                 LEFT JOIN ledgers
                     ON ledgers.operator_id = accounts.operator_id AND ledgers.account_id = accounts.account_id
                 LEFT JOIN history ON history.operator_id = accounts.operator_id
                     AND history.account_id = accounts.account_id AND history.tag = $2
                     AND (history.created_at > $3 OR COALESCE(history.read_at, '') > $3)
             WHERE accounts.account_id = $1 ORDER BY history.created_at DESC LIMIT 1";
        let row: Option<TaggedPaymentRow> = query(SQL)
            .bind(account.to_string())
            .bind(tag_text(tag))
            .bind(since.map_or_else(String::new, |since| since.to_string()))
            .fetch_optional(self.reader())
            .await?;
        row.map_or(Ok(PaymentsKnown { up_to: 0, made: None }), PaymentsKnown::try_from)
    }

    /// A transfer waits for all payments up to `number`, so the indexer looks for them.
    pub async fn want_payments(&self, account: AccountKey, number: u64) -> Result<(), StoreError> {
        const SQL: &str = "INSERT INTO ledgers
                 (operator_id, account_id, booked_micros, unexplained_micros, seen_micros, seen_slot, payments_wanted)
             VALUES ($1, $2, 0, 0, 0, 0, $3)
             ON CONFLICT (operator_id, account_id) DO UPDATE SET payments_wanted = excluded.payments_wanted
                 WHERE ledgers.payments_wanted < excluded.payments_wanted";
        of(SQL, account).bind(number.cast_signed()).execute(self.writer()).await?;
        Ok(())
    }

    /// For the indexer: up to `rows_max` accounts on `network` with missing payments that a transfer waits for, in a fixed
    /// order, continuing behind `after`.
    pub async fn list_missing_payments(
        &self,
        network: Network,
        after: Option<AccountKey>,
        rows_max: u32,
    ) -> Result<Vec<PaymentsMissing>, StoreError> {
        const SQL: &str = "SELECT accounts.operator_id, accounts.account_id, accounts.address, accounts.token_account
             FROM ledgers
                 JOIN accounts
                     ON accounts.operator_id = ledgers.operator_id AND accounts.account_id = ledgers.account_id
                 JOIN operators ON operators.operator_id = accounts.operator_id
             WHERE operators.network = $1 AND ledgers.payments_wanted > ledgers.payments_up_to
                 AND (ledgers.operator_id, ledgers.account_id) > ($2, $3)
             ORDER BY ledgers.operator_id, ledgers.account_id LIMIT $4";
        let (operator, account) = after
            .map_or_else(Default::default, |(operator, account)| (operator.to_string(), account.to_string()));
        let rows: Vec<(String, String, String, String)> = query(SQL)
            .bind(network.as_str())
            .bind(operator)
            .bind(account)
            .bind(i64::from(rows_max))
            .fetch_all(self.reader())
            .await?;
        let read = |(operator, account, address, token_account): (String, String, String, String)| {
            Ok(PaymentsMissing {
                operator_id: TABLE.read("operator_id", &operator)?,
                account_id: TABLE.read("account_id", &account)?,
                address: TABLE.read("address", &address)?,
                token_account: TABLE.read("token_account", &token_account)?,
            })
        };
        rows.into_iter().map(read).collect()
    }

    /// For the indexer: the latest slot in the account's history; 0 without any.
    pub async fn find_newest_slot(&self, account: AccountKey) -> Result<u64, StoreError> {
        const SQL: &str = "SELECT newest_slot FROM ledgers WHERE operator_id = $1 AND account_id = $2";
        let slot: Option<(i64,)> = of(SQL, account).fetch_optional(self.reader()).await?;
        Ok(slot.map_or(0, |(slot,)| slot.cast_unsigned()))
    }
}
