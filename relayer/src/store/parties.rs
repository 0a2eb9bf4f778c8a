//! Accounts as counterparties of entries.

use macro_rules_attribute::derive;
use sqlx::AssertSqlSafe;

use super::columns::Table;
use super::query::{places, query};
use super::row::ByName;
use super::{Store, StoreError};
use crate::domain::{AccountId, Address, Network, OperatorId, Party, TransferRequest};

#[derive(Debug, ByName!)]
struct PartyRow {
    account_id: String,
    operator_id: String,
    address: String,
    token_account: String,
}

impl PartyRow {
    /// The party, and its PDA.
    fn read(self) -> Result<(Address, Party), StoreError> {
        const ACCOUNTS: Table = Table("accounts");
        let party = Party {
            account_id: ACCOUNTS.read("account_id", &self.account_id)?,
            operator_id: ACCOUNTS.read("operator_id", &self.operator_id)?,
            token_account: ACCOUNTS.read("token_account", &self.token_account)?,
        };
        Ok((ACCOUNTS.read("address", &self.address)?, party))
    }
}

impl Store {
    /// For the indexer: the accounts of every operator on `network` that have one of these PDAs or token accounts,
    /// keyed by PDA. At most 1,000 addresses.
    pub async fn find_parties(
        &self,
        network: Network,
        addresses: &[Address],
    ) -> Result<Vec<(Address, Party)>, StoreError> {
        if addresses.is_empty() {
            return Ok(Vec::new());
        }
        let places = places(2, addresses.len());
        let sql = format!(
            "SELECT accounts.account_id, accounts.operator_id, accounts.address, accounts.token_account
             FROM accounts JOIN operators ON operators.operator_id = accounts.operator_id
             WHERE operators.network = $1 AND (accounts.address IN ({places}) OR accounts.token_account IN ({places}))"
        );
        // Only placeholders are interpolated.
        let rows: Vec<PartyRow> = query(AssertSqlSafe(sql))
            .bind(network.as_str())
            .bind_all(addresses.iter().map(Address::to_string))
            .fetch_all(self.reader())
            .await?;
        rows.into_iter().map(PartyRow::read).collect()
    }

    /// The payer and the recipient of a request, as far as they are accounts.
    pub(super) async fn find_parties_of(
        &self,
        network: Network,
        request: &TransferRequest,
    ) -> Result<Vec<Party>, StoreError> {
        const SQL: &str =
            "SELECT accounts.account_id, accounts.operator_id, accounts.address, accounts.token_account
             FROM accounts JOIN operators ON operators.operator_id = accounts.operator_id
             WHERE operators.network = $1
                 AND (accounts.account_id = $2 OR accounts.account_id = $3 OR accounts.token_account = $3)";
        let rows: Vec<PartyRow> = query(SQL)
            .bind(network.as_str())
            .bind(request.from.to_string())
            .bind(request.to.text())
            .fetch_all(self.reader())
            .await?;
        rows.into_iter().map(|row| Ok(row.read()?.1)).collect()
    }

    /// For the indexer: up to `rows_max` of the operator's accounts that can be halted, by account id, starting after `after`.
    pub async fn list_haltable(
        &self,
        operator: OperatorId,
        after: Option<AccountId>,
        rows_max: u32,
    ) -> Result<Vec<AccountId>, StoreError> {
        const ACCOUNTS: Table = Table("accounts");
        const SQL: &str = "SELECT account_id FROM accounts
             WHERE operator_id = $1 AND account_id > $2 AND provisioning = 'ready' AND NOT is_closed
             ORDER BY account_id LIMIT $3";
        let rows: Vec<(String,)> = query(SQL)
            .bind(operator.to_string())
            .bind(after.map_or_else(String::new, |after| after.to_string()))
            .bind(i64::from(rows_max))
            .fetch_all(self.lister())
            .await?;
        rows.iter().map(|(account,)| ACCOUNTS.read("account_id", account)).collect()
    }
}
