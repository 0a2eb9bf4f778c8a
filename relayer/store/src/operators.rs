use super::query::{Query, columns, sql};
use super::row::{Listed, row};
use super::{Operators, Result, Transaction};
use purser_model::{Address, Network, Operator, OperatorId};

row! { Operator of operators {
    id: operator_id, network, name as operator_name, address as operator_address, requires_reason,
    created_at as operator_created_at,
}}

/// Inserts an operator.
pub(super) fn insert(operator: &Operator) -> Query {
    sql! {"INSERT INTO operators {row}", row = columns! { ..operator }}
}

/// Serialises transactions that count what an operator has in order to add to it, until the end of the transaction.
/// Payments do not wait for it: references to the operator's row need only its key.
pub(super) async fn lock_operator(tx: &mut Transaction<'_>, operator: OperatorId) -> Result<()> {
    sql! {"UPDATE operators SET name = name WHERE operator_id = {operator}", operator}.run(tx).await
}

impl Operators {
    /// `AlreadyThere` when the network has an operator with this address.
    pub async fn insert_operator(&self, operator: &Operator) -> Result<()> {
        insert(operator).run(self.writer()).await
    }

    /// Sets whether changes of the operator's policies need a reason. False: there is no such operator.
    pub async fn set_requires_reason(&self, id: OperatorId, requires_reason: bool) -> Result<bool> {
        sql! {"UPDATE operators SET requires_reason = {requires_reason} WHERE operator_id = {id}", requires_reason, id}
            .touches(self.writer())
            .await
    }

    /// The operator with this id.
    pub async fn find_operator(&self, id: OperatorId) -> Result<Option<Operator>> {
        sql! {"SELECT {columns} FROM operators WHERE operator_id = {id}", columns = Operator::COLUMNS, id}
            .fetch_optional(self.reader())
            .await
    }

    /// The operator whose on-chain account this is.
    pub async fn find_operator_by_address(
        &self,
        network: Network,
        address: &Address,
    ) -> Result<Option<Operator>> {
        sql! {
            "SELECT {columns} FROM operators WHERE network = {network} AND address = {address}",
            columns = Operator::COLUMNS, network, address
        }
        .fetch_optional(self.reader())
        .await
    }

    /// Every operator, oldest first. For the command line.
    pub async fn list_operators(&self) -> Result<Vec<Operator>> {
        sql! {"SELECT {columns} FROM operators ORDER BY operator_id", columns = Operator::COLUMNS}
            .fetch_all(self.reader())
            .await
    }
}
