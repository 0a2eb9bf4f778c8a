//! Finds a payment by its tag.

use super::history::tag_text;
use super::query::sql;
use super::row::{Record, Row};
use super::{StoreError, Transfers};
use purser_model::{AccountId, PaymentMade, Timestamp};

impl Record for PaymentMade {
    fn read(row: &Row<'_>) -> Result<Self, StoreError> {
        Ok(Self {
            transfer_id: row.get("transfer_id")?,
            account_id: row.get("account_id")?,
            signature: row.get("tx_signature")?,
            slot: row.get("slot")?,
            made_at: row.get("created_at")?,
            amount: row.get("amount_usdc")?,
            recipient: row.get("counterparty")?,
            memo: row.get::<Option<String>>("memo")?.unwrap_or_default(),
        })
    }
}

impl Transfers {
    /// The account's newest payment with `tag` whose bytes name a second after `asked_after`; by its date, if none is known.
    pub async fn find_payment(
        &self,
        account: AccountId,
        tag: u64,
        asked_after: i64,
    ) -> Result<Option<PaymentMade>, StoreError> {
        sql! {
            "SELECT history.transfer_id, history.account_id, history.tx_signature, history.slot, history.created_at,
                 history.amount_usdc, history.counterparty, history.memo
             FROM accounts JOIN history ON history.operator_id = accounts.operator_id
                 AND history.account_id = accounts.account_id
             WHERE accounts.account_id = {account} AND history.tag = {tag}
                 AND (history.asked_at > {asked_after}
                     OR (history.asked_at IS NULL AND history.created_at > {dated_after}))
             ORDER BY history.slot DESC LIMIT 1",
            account, tag = tag_text(tag), asked_after, dated_after = Timestamp::from_unix_seconds(asked_after)
        }
        .fetch_optional(self.reader())
        .await
    }
}
