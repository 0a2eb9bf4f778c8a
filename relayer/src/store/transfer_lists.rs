//! Lists of transfers, newest first: an id begins with the millisecond of its transfer's request.

use sqlx::AssertSqlSafe;

use super::query::query;
use super::transfer_row::TransferRow;
use super::transfers::COLUMNS;
use super::{Store, StoreError};
use crate::domain::{IdempotencyKey, OperatorId, Transfer, TransferFilter, TransferId, TransferStatus};

impl Store {
    /// Up to `rows_max` of the operator's transfers, newest first, starting after `after`.
    pub async fn list_transfers(
        &self,
        operator: OperatorId,
        filter: &TransferFilter,
        after: Option<TransferId>,
        rows_max: u32,
    ) -> Result<Vec<Transfer>, StoreError> {
        let (conditions, newest_first) = conditions(filter);
        let sql = format!(
            "SELECT {COLUMNS} FROM transfers
             WHERE {conditions} AND created_at > $7 AND created_at <= $8
             ORDER BY {newest_first} LIMIT $9"
        );
        let TransferFilter { account, status, idempotency_key, since, until } = filter;
        // The ids select the span to within a millisecond; the exact times do the rest.
        let lowest = since.map(|since| TransferId::with_tag(since, 0, 0).to_string());
        let above = until.map(|until| format!("{}~", TransferId::with_tag(until, u128::MAX, u64::MAX)));
        let below = after.map(|after| after.to_string()).into_iter().chain(above).min();
        // Only our own constants are interpolated.
        let rows: Vec<TransferRow> = query(AssertSqlSafe(sql))
            .bind(operator.to_string())
            .bind(account.map_or_else(String::new, |id| id.to_string()))
            .bind(status.map_or("", TransferStatus::as_str))
            .bind(idempotency_key.as_ref().map_or("", IdempotencyKey::as_str))
            .bind(lowest.unwrap_or_default())
            .bind_below(below)
            .bind(since.map_or_else(String::new, |since| since.to_string()))
            .bind_below(*until)
            .bind(i64::from(rows_max))
            .fetch_all(self.lister())
            .await?;
        rows.into_iter().map(Transfer::try_from).collect()
    }
}

/// A filter's condition with the first six placeholders, and the sort order of its transfers. Each part is a plain
/// condition, because an "or" would use no index.
fn conditions(filter: &TransferFilter) -> (String, &'static str) {
    let is_submitted = filter.status == Some(TransferStatus::Submitted);
    // Few transfers share a key, and few are in flight. `|| ''` keeps SQLite from using other indexes.
    let few = if filter.idempotency_key.is_some() || is_submitted { " || ''" } else { "" };
    let of_operator = if is_submitted { "(operator_id || '') = $1" } else { "operator_id = $1" };
    let of_account = match filter.account {
        Some(_) => format!("(account_id{few}) = $2"),
        None => "$2 = ''".into(),
    };
    let of_status = match filter.status {
        Some(TransferStatus::Submitted) => "state IN ('claimed', 'signed', 'sent') AND $3 <> ''".into(),
        // Matches the condition of the status indexes.
        Some(TransferStatus::Settled | TransferStatus::Rejected | TransferStatus::Failed) => {
            format!("ended_at IS NOT NULL AND (state{few}) = $3")
        }
        None => "$3 = ''".into(),
    };
    let of_key = if filter.idempotency_key.is_some() { "idempotency_key = $4" } else { "$4 = ''" };
    let (in_span, newest_first) = match filter.since {
        _ if !few.is_empty() => {
            ("(transfer_id || '') >= $5 AND (transfer_id || '') < $6", "(transfer_id || '') DESC")
        }
        // One end of the span uses the index. With both, SQLite rates all indexes as equal.
        Some(_) => ("transfer_id >= $5 AND (transfer_id || '') < $6", "transfer_id DESC"),
        None => ("$5 = '' AND transfer_id < $6", "transfer_id DESC"),
    };
    (format!("{of_operator} AND {of_account} AND {of_status} AND {of_key} AND {in_span}"), newest_first)
}
