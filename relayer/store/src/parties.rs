//! Accounts as counterparties of entries.

use super::query::{Each, sql};
use super::row::{Listed, row};
use super::stored::OrEmpty;
use super::{Database, Index, Result};
use purser_model::{AccountId, Address, Network, OperatorId, Party, TransferRequest};

row! { Party of accounts { account_id, operator_id, token_account } }

impl Index {
    /// For the indexer: the accounts of every operator on `network` that have one of these PDAs or token accounts,
    /// keyed by PDA. At most 1,000 addresses.
    pub async fn find_parties(
        &self,
        network: Network,
        addresses: &[Address],
    ) -> Result<Vec<(Address, Party)>> {
        if addresses.is_empty() {
            return Ok(Vec::new());
        }
        sql! {
            "SELECT accounts.address, {columns}
             FROM accounts JOIN operators ON operators.operator_id = accounts.operator_id
             WHERE operators.network = {network}
                 AND (accounts.address IN ({addresses}) OR accounts.token_account IN ({addresses}))",
            columns = Party::COLUMNS, network, addresses = Each(addresses)
        }
        .fetch_all(self.reader())
        .await
    }
}

impl Database {
    /// The payer and the recipient of a request, as far as they are accounts.
    pub(super) async fn find_parties_of(
        &self,
        network: Network,
        request: &TransferRequest,
    ) -> Result<Vec<Party>> {
        sql! {
            "SELECT {columns}
             FROM accounts JOIN operators ON operators.operator_id = accounts.operator_id
             WHERE operators.network = {network}
                 AND (accounts.account_id = {from} OR accounts.account_id = {to} OR accounts.token_account = {to})",
            columns = Party::COLUMNS, network, request.from, request.to
        }
        .fetch_all(self.reader())
        .await
    }
}

impl Index {
    /// For the indexer: up to `rows_max` of the operator's accounts that can be halted, by account id, starting after `after`.
    pub async fn list_haltable(
        &self,
        operator: OperatorId,
        after: Option<AccountId>,
        rows_max: u32,
    ) -> Result<Vec<AccountId>> {
        sql! {
            "SELECT account_id FROM accounts
             WHERE operator_id = {operator} AND account_id > {after} AND provisioning = 'ready' AND NOT is_closed
             ORDER BY account_id LIMIT {rows_max}",
            operator, after = OrEmpty(after), rows_max
        }
        .fetch_all(self.lister())
        .await
    }
}
