//! Sums over an operator's transfers.

use std::time::Duration;

use super::query::{Piece, Place, Sql, sql};
use super::row::row;
use super::{Result, Transfers};
use purser_model::{AccountId, OperatorId, PaidInDay, RejectionReason, Timestamp, TransferId, UsdcAmount};

const MICROS: u128 = 1_000_000;
const DAY: Duration = Duration::from_secs(24 * 60 * 60);

/// The sum of `amount_usdc` over some rows, in two columns. Amounts have six decimals; what is before and behind the point is summed
/// apart, so that no sum overflows.
pub(super) const SUMS: Sql<&str> = Sql(
    "COALESCE(CAST(SUM(CAST(substr(amount_usdc, 1, length(amount_usdc) - 7) AS BIGINT)) AS BIGINT), 0) AS whole,
     COALESCE(CAST(SUM(CAST(substr(amount_usdc, length(amount_usdc) - 5) AS BIGINT)) AS BIGINT), 0) AS fraction",
);

/// Of these columns.
pub(super) fn sum_of(whole: u64, fraction: u64) -> UsdcAmount {
    let micros = u128::from(whole) * MICROS + u128::from(fraction);
    // Test mints know no bound.
    UsdcAmount::from_micros(u64::try_from(micros).unwrap_or(u64::MAX))
}

row! { PaidInDay { account_id, day, amount(whole, fraction) = sum_of(whole, fraction), payments } }

impl Transfers {
    /// What each of the operator's accounts paid in each of the days that begin at `days`, over the newest `rows_max` transfers
    /// that settled in each.
    pub async fn list_paid_by_day(
        &self,
        operator: OperatorId,
        days: &[Timestamp],
        rows_max: u32,
    ) -> Result<Vec<PaidInDay>> {
        if days.is_empty() {
            return Ok(Vec::new());
        }
        // One part for each day: to group by the day as well would sort all rows.
        let days = Piece(|values: &mut Vec<_>| {
            let Sql(sums) = SUMS;
            let part = |day: &Timestamp| {
                format!(
                    "SELECT CAST({} AS TEXT) AS day, account_id, {sums}, COUNT(*) AS payments
                     FROM (
                         SELECT account_id, amount_usdc FROM transfers
                         WHERE operator_id = {} AND state = 'settled' AND ended_at >= {} AND ended_at < {}
                         ORDER BY ended_at DESC LIMIT {}) AS newest
                     GROUP BY account_id",
                    day.place(values),
                    operator.place(values),
                    day.place(values),
                    day.after(DAY).place(values),
                    rows_max.place(values)
                )
            };
            days.iter().map(part).collect::<Vec<_>>().join(" UNION ALL ")
        });
        sql! {"{days}", days}.fetch_all(self.lister()).await
    }

    /// How many of each account's transfers were refused for which reason, over the newest `rows_max` that were asked for at
    /// `since` or later.
    pub async fn list_refusals(
        &self,
        operator: OperatorId,
        since: Timestamp,
        rows_max: u32,
    ) -> Result<Vec<(AccountId, RejectionReason, u64)>> {
        // Ids begin with the time of their requests.
        sql! {
            "SELECT account_id, reason, COUNT(*)
             FROM (
                 SELECT account_id, reason FROM transfers
                 WHERE operator_id = {operator} AND ended_at IS NOT NULL AND state = 'rejected'
                     AND transfer_id >= {lowest}
                 ORDER BY transfer_id DESC LIMIT {rows_max}) AS newest
             GROUP BY account_id, reason",
            operator, lowest = TransferId::with_tag(since, 0, 0), rows_max
        }
        .fetch_all(self.lister())
        .await
    }
}
