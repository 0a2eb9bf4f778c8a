use macro_rules_attribute::derive;

use super::columns::Table;
use super::query::{Query, query};
use super::row::ByName;
use super::{Store, StoreError, Transaction};
use crate::domain::{Address, Network, Operator, OperatorId, OperatorName};

const TABLE: Table = Table("operators");

/// A row of `operators`.
#[derive(Debug, ByName!)]
pub(super) struct OperatorRow {
    pub operator_id: String,
    pub network: String,
    pub name: String,
    pub address: String,
    pub created_at: String,
}

impl TryFrom<OperatorRow> for Operator {
    type Error = StoreError;

    fn try_from(row: OperatorRow) -> Result<Self, StoreError> {
        Ok(Self {
            id: TABLE.read("operator_id", &row.operator_id)?,
            network: TABLE.read("network", &row.network)?,
            name: OperatorName::from_stored(row.name),
            address: TABLE.read("address", &row.address)?,
            created_at: TABLE.read("created_at", &row.created_at)?,
        })
    }
}

/// Inserts an operator.
pub(super) fn insert(operator: &Operator) -> Query {
    const SQL: &str = "INSERT INTO operators (operator_id, network, name, address, created_at)
         VALUES ($1, $2, $3, $4, $5)";
    query(SQL)
        .bind(operator.id.to_string())
        .bind(operator.network.as_str())
        .bind(operator.name.as_str())
        .bind(operator.address.to_string())
        .bind(operator.created_at.to_string())
}

/// Serialises transactions that count what an operator has in order to add to it, until the end of the transaction.
/// Payments do not wait for it: references to the operator's row need only its key.
pub(super) async fn lock_operator(tx: &mut Transaction<'_>, operator: OperatorId) -> Result<(), StoreError> {
    const SQL: &str = "UPDATE operators SET name = name WHERE operator_id = $1";
    query(SQL).bind(operator.to_string()).execute(tx).await?;
    Ok(())
}

/// The number that a `SELECT COUNT` gives.
pub(super) async fn count_in(tx: &mut Transaction<'_>, count: Query) -> Result<i64, StoreError> {
    let row: Option<(i64,)> = count.fetch_optional(tx).await?;
    Ok(row.map_or(0, |(count,)| count))
}

impl Store {
    /// `AlreadyThere` when the network has an operator with this address.
    pub async fn insert_operator(&self, operator: &Operator) -> Result<(), StoreError> {
        insert(operator).execute(self.writer()).await?;
        Ok(())
    }

    /// The operator with this id.
    pub async fn find_operator(&self, id: OperatorId) -> Result<Option<Operator>, StoreError> {
        const SQL: &str =
            "SELECT operator_id, network, name, address, created_at FROM operators WHERE operator_id = $1";
        let row: Option<OperatorRow> = query(SQL).bind(id.to_string()).fetch_optional(self.reader()).await?;
        row.map(Operator::try_from).transpose()
    }

    /// The operator whose on-chain account this is.
    pub async fn find_operator_by_address(
        &self,
        network: Network,
        address: &Address,
    ) -> Result<Option<Operator>, StoreError> {
        const SQL: &str = "SELECT operator_id, network, name, address, created_at
             FROM operators WHERE network = $1 AND address = $2";
        let row: Option<OperatorRow> =
            query(SQL).bind(network.as_str()).bind(address.to_string()).fetch_optional(self.reader()).await?;
        row.map(Operator::try_from).transpose()
    }

    /// Every operator, oldest first. For the command line.
    pub async fn list_operators(&self) -> Result<Vec<Operator>, StoreError> {
        const SQL: &str =
            "SELECT operator_id, network, name, address, created_at FROM operators ORDER BY operator_id";
        let rows: Vec<OperatorRow> = query(SQL).fetch_all(self.reader()).await?;
        rows.into_iter().map(Operator::try_from).collect()
    }
}
