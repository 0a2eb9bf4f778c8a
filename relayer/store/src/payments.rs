//! Finds a payment by its tag.

use super::history::tag_text;
use super::query::sql;
use super::row::{Listed, row};
use super::{Result, Transfers};
use purser_model::{AccountId, PaymentMade, Timestamp};

row! { PaymentMade of history {
    transfer_id, account_id, signature: tx_signature, slot, made_at: created_at, amount: amount_usdc,
    recipient: counterparty, memo(memo) = Option::unwrap_or_default(memo),
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
}
