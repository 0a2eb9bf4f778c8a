//! Denials: derived from refused transfers, one each, in one chain per operator. See `domain::denial`.

use futures::FutureExt;
use macro_rules_attribute::derive;
use sqlx::AssertSqlSafe;

use super::columns::Table;
use super::due::Due;
use super::operators::OperatorRow;
use super::query::{places, query};
use super::row::ByName;
use super::transfer_row::TransferRow;
use super::transfers::COLUMNS;
use super::{Store, StoreError};
use crate::domain::{
    Address, Denial, DenialHead, Network, Operator, OperatorId, Refused, Timestamp, Transfer,
};

const TABLE: Table = Table("denials");

#[derive(Debug, ByName!)]
struct RefusedRow {
    transfer: TransferRow,
    account_address: String,
    operator_address: String,
}

impl TryFrom<RefusedRow> for Refused {
    type Error = StoreError;

    fn try_from(row: RefusedRow) -> Result<Self, StoreError> {
        let read = |text: &str| TABLE.read::<Address>("address", text);
        let (account, operator) = (read(&row.account_address)?, read(&row.operator_address)?);
        Ok(Self { transfer: Transfer::try_from(row.transfer)?, account, operator })
    }
}

#[derive(Debug, ByName!)]
struct DenialRow {
    number: i64,
    transfer_id: String,
    document: String,
    signature: String,
}

impl TryFrom<DenialRow> for Denial {
    type Error = StoreError;

    fn try_from(row: DenialRow) -> Result<Self, StoreError> {
        Ok(Self {
            number: row.number.cast_unsigned(),
            transfer_id: TABLE.read("transfer_id", &row.transfer_id)?,
            document: row.document,
            signature: row.signature,
        })
    }
}

impl Store {
    /// For a worker: up to `rows_max` refused transfers of every operator without a signed denial, earliest refusal first.
    pub async fn list_undenied(&self, rows_max: u32) -> Result<Vec<Refused>, StoreError> {
        // With cross joins, SQLite starts from the few transfers.
        let sql = format!(
            "SELECT {COLUMNS}, accounts.address AS account_address, operators.address AS operator_address
             FROM transfers CROSS JOIN accounts CROSS JOIN operators
             WHERE transfers.state = 'rejected' AND transfers.denial IS NULL
                 AND accounts.operator_id = transfers.operator_id AND accounts.account_id = transfers.account_id
                 AND operators.operator_id = transfers.operator_id
             ORDER BY transfers.ended_at, transfers.transfer_id LIMIT $1"
        );
        // Only our own constants are interpolated.
        let rows: Vec<RefusedRow> =
            query(AssertSqlSafe(sql)).bind(i64::from(rows_max)).fetch_all(self.lister()).await?;
        rows.into_iter().map(Refused::try_from).collect()
    }

    /// The end of the operator's chain.
    pub async fn find_denial_head(&self, operator: OperatorId) -> Result<DenialHead, StoreError> {
        let last = self.list_denials(operator, 0, None, 1).await?.pop();
        Ok(last.map_or_else(DenialHead::default, |last| {
            DenialHead::of(last.number, last.transfer_id, &last.document)
        }))
    }

    /// For a worker: extends the operator's chain, all or nothing. `AlreadyThere`, `Superseded`: another relayer
    /// extended it first.
    pub async fn append_denials(&self, operator: OperatorId, denials: &[Denial]) -> Result<(), StoreError> {
        const VALUES: usize = 5;
        if denials.is_empty() {
            return Ok(());
        }
        let rows: Vec<String> =
            (0..denials.len()).map(|row| format!("({})", places(row * VALUES + 1, VALUES))).collect();
        let insert = format!(
            "INSERT INTO denials (operator_id, number, transfer_id, document, signature) VALUES {}",
            rows.join(", ")
        );
        let note = format!(
            "UPDATE transfers SET denial = (
                 SELECT denials.number FROM denials
                 WHERE denials.operator_id = $1 AND denials.transfer_id = transfers.transfer_id)
             WHERE operator_id = $1 AND transfer_id IN ({}) AND state = 'rejected' AND denial IS NULL",
            places(2, denials.len())
        );
        // Only placeholders are interpolated.
        let insert = denials.iter().fold(query(AssertSqlSafe(insert)), |insert, denial| {
            insert
                .bind(operator.to_string())
                .bind(denial.number.cast_signed())
                .bind(denial.transfer_id.to_string())
                .bind(denial.document.as_str())
                .bind(denial.signature.as_str())
        });
        let ids = denials.iter().map(|denial| denial.transfer_id.to_string());
        let note = query(AssertSqlSafe(note)).bind(operator.to_string()).bind_all(ids);
        let count = denials.len() as u64;
        self.write(move |tx| {
            async move {
                insert.execute(&mut *tx).await?;
                let noted = note.execute(tx).await?;
                if noted == count { Ok(()) } else { Err(StoreError::Superseded) }
            }
            .boxed()
        })
        .await
    }

    /// Up to `rows_max` denials of the operator with numbers above `above` and below `below`, newest first.
    pub async fn list_denials(
        &self,
        operator: OperatorId,
        above: u64,
        below: Option<u64>,
        rows_max: u32,
    ) -> Result<Vec<Denial>, StoreError> {
        const SQL: &str = "SELECT number, transfer_id, document, signature FROM denials
             WHERE operator_id = $1 AND number > $2 AND number < $3 ORDER BY number DESC LIMIT $4";
        let below = below.map_or(i64::MAX, stored);
        let rows: Vec<DenialRow> = query(SQL)
            .bind(operator.to_string())
            .bind(stored(above))
            .bind(below)
            .bind(i64::from(rows_max))
            .fetch_all(self.lister())
            .await?;
        rows.into_iter().map(Denial::try_from).collect()
    }

    /// Up to `rows_max` denials of the operator with numbers above `above`, in order.
    pub async fn list_denials_up(
        &self,
        operator: OperatorId,
        above: u64,
        rows_max: u32,
    ) -> Result<Vec<Denial>, StoreError> {
        const SQL: &str = "SELECT number, transfer_id, document, signature FROM denials
             WHERE operator_id = $1 AND number > $2 ORDER BY number LIMIT $3";
        let rows: Vec<DenialRow> = query(SQL)
            .bind(operator.to_string())
            .bind(stored(above))
            .bind(i64::from(rows_max))
            .fetch_all(self.lister())
            .await?;
        rows.into_iter().map(Denial::try_from).collect()
    }

    /// For a worker: the operators on `network` whose chains grew since their last head and whose next head is due.
    pub async fn list_due_heads(&self, network: Network, due: Due) -> Result<Vec<Operator>, StoreError> {
        let sql = format!(
            "SELECT operators.operator_id, operators.network, operators.name, operators.address,
                 operators.created_at
             FROM operators LEFT JOIN denial_heads ON denial_heads.operator_id = operators.operator_id
             WHERE operators.network = $1 AND (denial_heads.next_at IS NULL OR {})
                 AND EXISTS (SELECT 1 FROM denials WHERE denials.operator_id = operators.operator_id
                     AND denials.number > COALESCE(denial_heads.number, 0))",
            Due::sql("denial_heads.next_at", 2, 3)
        );
        // Only our own constants are interpolated.
        let rows: Vec<OperatorRow> = query(AssertSqlSafe(sql))
            .bind(network.as_str())
            .bind(due.now.to_string())
            .bind(due.latest.to_string())
            .fetch_all(self.lister())
            .await?;
        rows.into_iter().map(Operator::try_from).collect()
    }

    /// For a worker: claims the writing of the operator's head until `next_at`, unless another relayer has it.
    pub async fn claim_head(
        &self,
        operator: OperatorId,
        due: Due,
        next_at: Timestamp,
    ) -> Result<bool, StoreError> {
        let sql = format!(
            "INSERT INTO denial_heads (operator_id, number, next_at) VALUES ($1, 0, $4)
             ON CONFLICT (operator_id) DO UPDATE SET next_at = excluded.next_at WHERE {}",
            Due::sql("denial_heads.next_at", 2, 3)
        );
        // Only our own constants are interpolated.
        let claimed = query(AssertSqlSafe(sql))
            .bind(operator.to_string())
            .bind(due.now.to_string())
            .bind(due.latest.to_string())
            .bind(next_at.to_string())
            .execute(self.writer())
            .await?;
        Ok(claimed == 1)
    }

    /// For a worker: records that the head with this number is on the chain; the next one is due at `next_at`.
    pub async fn mark_head(
        &self,
        operator: OperatorId,
        number: u64,
        tx_signature: &str,
        next_at: Timestamp,
    ) -> Result<(), StoreError> {
        const SQL: &str = "UPDATE denial_heads SET number = $2, tx_signature = $3, next_at = $4
             WHERE operator_id = $1 AND number < $2";
        query(SQL)
            .bind(operator.to_string())
            .bind(stored(number))
            .bind(tx_signature)
            .bind(next_at.to_string())
            .execute(self.writer())
            .await?;
        Ok(())
    }
}

/// Caps a number from a client, which may exceed every stored one.
fn stored(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}
