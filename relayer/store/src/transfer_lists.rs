//! Lists of transfers, newest first: an id begins with the millisecond of its transfer's request.

use super::query::{Sql, sql};
use super::row::Listed;
use super::stored::{Below, OrEmpty};
use super::{Result, Transfers};
use purser_model::{
    IdempotencyKey, OperatorId, RejectionReason, Transfer, TransferFilter, TransferId, TransferStatus,
};

impl Transfers {
    /// Up to `rows_max` of the operator's transfers, newest first, starting after `after`.
    pub async fn list_transfers(
        &self,
        operator: OperatorId,
        filter: &TransferFilter,
        after: Option<TransferId>,
        rows_max: u32,
    ) -> Result<Vec<Transfer>> {
        let TransferFilter { account, status, idempotency_key, reason, since, until } = filter;
        let is_submitted =
            matches!(status, Some(TransferStatus::Submitted | TransferStatus::PendingApproval));
        // Few transfers share a key, and few are in flight. `|| ''` keeps SQLite from using other indexes.
        let few = if idempotency_key.is_some() || is_submitted { " || ''" } else { "" };
        let of_operator = if is_submitted { "(operator_id || '')" } else { "operator_id" };
        // Each part is a plain condition, because an "or" would use no index.
        let of_account = match account {
            Some(_) => format!("(account_id{few})"),
            None => "''".into(),
        };
        let of_status = match status {
            Some(TransferStatus::Submitted) => {
                "state IN ('claimed', 'signed', 'sent') AND (state <> 'claimed' OR message IS NULL)
                     AND 'submitted'"
                    .into()
            }
            Some(TransferStatus::PendingApproval) => {
                "state = 'claimed' AND message IS NOT NULL AND 'pending_approval'".into()
            }
            // Matches the condition of the status indexes.
            Some(TransferStatus::Settled | TransferStatus::Rejected | TransferStatus::Failed) => {
                format!("ended_at IS NOT NULL AND (state{few})")
            }
            None => "''".into(),
        };
        // Refusals are few; of one reason no index tells.
        let of_reason = if reason.is_some() { "state = 'rejected' AND reason" } else { "''" };
        let of_key = if idempotency_key.is_some() { "idempotency_key" } else { "''" };
        // The ids select the span to within a millisecond; the exact times do the rest. One end of the span uses the
        // index: with both, SQLite rates all indexes as equal.
        let (from_id, to_id, newest_first) = match since {
            _ if !few.is_empty() => {
                ("(transfer_id || '')", "(transfer_id || '')", "(transfer_id || '') DESC")
            }
            Some(_) => ("transfer_id", "(transfer_id || '')", "transfer_id DESC"),
            None => ("''", "transfer_id", "transfer_id DESC"),
        };
        let lowest = since.map(|since| TransferId::with_tag(since, 0, 0));
        let above = until.map(|until| format!("{}~", TransferId::with_tag(until, u128::MAX, u64::MAX)));
        let below = after.map(|after| after.to_string()).into_iter().chain(above).min();
        sql! {
            "SELECT {columns} FROM transfers
             WHERE {of_operator} = {operator} AND {of_account} = {account} AND {of_status} = {status}
                 AND {of_reason} = {reason} AND {of_key} = {key} AND {from_id} >= {lowest} AND {to_id} < {below}
                 AND created_at > {since} AND created_at <= {until}
             ORDER BY {newest_first} LIMIT {rows_max}",
            columns = Transfer::COLUMNS, of_operator = Sql(of_operator), operator, of_account = Sql(of_account),
            account = OrEmpty(*account), of_status = Sql(of_status),
            status = OrEmpty(status.map(TransferStatus::as_str)), of_reason = Sql(of_reason),
            reason = OrEmpty(reason.map(RejectionReason::as_str)), of_key = Sql(of_key),
            key = OrEmpty(idempotency_key.as_ref().map(IdempotencyKey::as_str)), from_id = Sql(from_id),
            lowest = OrEmpty(lowest), to_id = Sql(to_id), below = Below(below), since = OrEmpty(*since),
            until = Below(*until), newest_first = Sql(newest_first), rows_max
        }
        .fetch_all(self.lister())
        .await
    }
}
