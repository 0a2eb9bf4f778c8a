//! Finds a payment by its tag.

use super::history::tag_text;
use super::query::sql;
use super::row::row;
use super::{Result, Transfers};
use purser_model::{AccountId, PaymentMade, Timestamp};

row! { PaymentMade from row {
    transfer_id, account_id, signature: tx_signature, slot, made_at: created_at, amount: amount_usdc,
    recipient: counterparty, memo = row.get::<Option<String>>("memo")?.unwrap_or_default(),
}}

impl Transfers {
    /// The account's newest payment with `tag` whose bytes name a second after `asked_after`; by its date, if none is known.
    pub async fn find_payment(
        &self,
        account: AccountId,
        tag: u64,
        asked_after: i64,
    ) -> Result<Option<PaymentMade>> {
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
