//! Amounts and times of what left accounts, for summing.

use super::query::sql;
use super::row::row;
use super::transfer_sums::{SUMS, sum_of};
use super::{History, Result};
use purser_model::{
    AccountId, Address, OperatorId, PaidBefore, Timestamp, TransferId, UsdcAmount, position_after,
};

row! { PaidBefore { count: payments, amount(whole, fraction) = sum_of(whole, fraction), last_at } }

impl History {
    /// Up to `rows_max` amounts of the operator's account: payments and withdrawals that became visible after `since`,
    /// newest first.
    pub async fn list_spending(
        &self,
        operator: OperatorId,
        account: AccountId,
        since: Timestamp,
        rows_max: u32,
    ) -> Result<Vec<(Timestamp, UsdcAmount)>> {
        // The index delivers each kind in order.
        sql! {
            "SELECT created_at, amount_usdc, position FROM (
                 SELECT created_at, amount_usdc, position FROM history
                 WHERE operator_id = {operator} AND account_id = {account} AND kind = 'transfer' AND status = 'settled'
                     AND position > {since}
                 ORDER BY position DESC LIMIT {rows_max}) AS payments
             UNION ALL SELECT created_at, amount_usdc, position FROM (
                 SELECT created_at, amount_usdc, position FROM history
                 WHERE operator_id = {operator} AND account_id = {account} AND kind = 'withdrawal' AND status = 'settled'
                     AND position > {since}
                 ORDER BY position DESC LIMIT {rows_max}) AS withdrawals
             ORDER BY position DESC LIMIT {rows_max}",
            operator, account, since = position_after(since), rows_max
        }
        .fetch_all(self.lister())
        .await
    }

    /// What the account of a transfer had paid to this token account when that was first asked for: from then on it is stored, so
    /// that who looks at a transfer often causes no sum.
    pub async fn find_paid_before(
        &self,
        (operator, account, transfer): (OperatorId, AccountId, TransferId),
        payee: &Address,
    ) -> Result<PaidBefore> {
        let kept = sql! {
            "SELECT paid_before_count, paid_before_usdc, paid_before_last_at FROM transfers
             WHERE operator_id = {operator} AND transfer_id = {transfer} AND paid_before_count IS NOT NULL",
            operator, transfer
        }
        .fetch_optional(self.reader())
        .await?;
        if let Some((count, amount, last_at)) = kept {
            return Ok(PaidBefore { count, amount, last_at });
        }
        let paid = self.sum_paid_to(operator, account, payee).await?;
        let PaidBefore { count, amount, last_at } = paid;
        sql! {
            "UPDATE transfers SET paid_before_count = {count}, paid_before_usdc = {amount}, paid_before_last_at = {last_at}
             WHERE operator_id = {operator} AND transfer_id = {transfer} AND paid_before_count IS NULL",
            count, amount, last_at, operator, transfer
        }
        .run(self.writer())
        .await?;
        Ok(paid)
    }

    /// What the operator's account has paid to this token account, over the newest [`PaidBefore::COUNT_MAX`] payments to it.
    pub(super) async fn sum_paid_to(
        &self,
        operator: OperatorId,
        account: AccountId,
        payee: &Address,
    ) -> Result<PaidBefore> {
        // Read from the index alone, which begins with the account.
        let summed: Option<PaidBefore> = sql! {
            "SELECT COUNT(*) AS payments, {sums}, MAX(created_at) AS last_at
             FROM (
                 SELECT created_at, amount_usdc FROM history
                 WHERE account_id = (
                         SELECT account_id FROM accounts WHERE operator_id = {operator} AND account_id = {account})
                     AND counterparty = {payee} AND kind = 'transfer' AND status = 'settled'
                 ORDER BY created_at DESC LIMIT {rows_max}) AS newest",
            sums = SUMS, operator, account, payee = *payee, rows_max = PaidBefore::COUNT_MAX
        }
        .fetch_optional(self.lister())
        .await?;
        Ok(summed.unwrap_or_default())
    }
}
