//! Transfers in lists, newest first: an id begins with the millisecond in which its transfer was asked for.

use sqlx::AssertSqlSafe;

use super::query::query;
use super::transfer_row::TransferRow;
use super::transfers::COLUMNS;
use super::{Store, StoreError};
use crate::domain::{IdempotencyKey, OperatorId, Transfer, TransferFilter, TransferId, TransferStatus};

/// A transfer's status from its state, in the words of the migration that makes the indexes.
const STATUS: &str = "CASE WHEN state IN ('claimed', 'signed', 'sent') THEN 'submitted' ELSE state END";

impl Store {
    /// Up to `rows_max` of the operator's transfers, newest first, those after `after` in that order.
    pub async fn list_transfers(
        &self,
        operator: OperatorId,
        filter: &TransferFilter,
        after: Option<TransferId>,
        rows_max: u32,
    ) -> Result<Vec<Transfer>, StoreError> {
        let sql = format!(
            "SELECT {COLUMNS} FROM transfers
             WHERE operator_id = $1 AND {}
                 AND created_at > $7 AND created_at <= $8
             ORDER BY transfer_id DESC LIMIT $9",
            conditions(filter)
        );
        let TransferFilter { account, status, idempotency_key, since, until } = filter;
        // The ids lead to the span, up to a millisecond; the moments themselves say the rest.
        let lowest = since.map(|since| TransferId::with_tag(since, 0, 0).to_string());
        let above = until.map(|until| format!("{}~", TransferId::with_tag(until, u128::MAX, u64::MAX)));
        let below = after.map(|after| after.to_string()).into_iter().chain(above).min();
        // Only pieces of our own were put into the text.
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

/// What a filter asks for by the second to sixth placeholder, said outright, since no index leads through an "or".
fn conditions(filter: &TransferFilter) -> String {
    // There are few transfers under one key. By `|| ''` no other index leads to them.
    let without_index = if filter.idempotency_key.is_some() { " || ''" } else { "" };
    let of_account = match filter.account {
        Some(_) => format!("(account_id{without_index}) = $2"),
        None => "$2 = ''".into(),
    };
    let of_status = match filter.status {
        Some(_) => format!("(({STATUS}){without_index}) = $3"),
        None => "$3 = ''".into(),
    };
    let of_key = if filter.idempotency_key.is_some() { "idempotency_key = $4" } else { "$4 = ''" };
    // One end of the span leads through the index. With both, SQLite takes all indexes for equally good.
    let in_span = match filter.since {
        Some(_) => "transfer_id >= $5 AND (transfer_id || '') < $6",
        None => "$5 = '' AND transfer_id < $6",
    };
    format!("{of_account} AND {of_status} AND {of_key} AND {in_span}")
}
