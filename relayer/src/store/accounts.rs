use macro_rules_attribute::derive;
use serde_json::value::RawValue;
use sqlx::AssertSqlSafe;

use super::columns::Table;
use super::query::{Query, places, query};
use super::row::ByName;
use super::{Store, StoreError};
use crate::domain::{
    Account, AccountId, AccountName, AccountPlace, AccountStatus, Address, Counterparties, Metadata, Network,
    OperatorId, Provisioning, Timestamp,
};

const TABLE: Table = Table("accounts");

/// The columns of [`AccountRow`].
pub(super) const COLUMNS: &str = "account_id, operator_id, name, metadata, address, token_account, status,
    counterparties, provisioning, created_at";

#[derive(Debug, ByName!)]
pub(super) struct AccountRow {
    account_id: String,
    operator_id: String,
    name: String,
    metadata: Option<String>,
    address: String,
    token_account: String,
    status: String,
    counterparties: Option<String>,
    provisioning: String,
    created_at: String,
}

impl TryFrom<AccountRow> for Account {
    type Error = StoreError;

    fn try_from(row: AccountRow) -> Result<Self, StoreError> {
        Ok(Self {
            id: TABLE.read("account_id", &row.account_id)?,
            operator_id: TABLE.read("operator_id", &row.operator_id)?,
            name: AccountName::from_stored(row.name),
            metadata: row.metadata.map(read_metadata).transpose()?,
            address: TABLE.read("address", &row.address)?,
            token_account: TABLE.read("token_account", &row.token_account)?,
            status: TABLE.read("status", &row.status)?,
            counterparties: read_counterparties(row.counterparties.as_deref())
                .ok_or_else(|| TABLE.unreadable("counterparties"))?,
            provisioning: match row.provisioning.as_str() {
                "requested" => Provisioning::Requested,
                "ready" => Provisioning::Ready,
                _ => return Err(TABLE.unreadable("provisioning")),
            },
            created_at: TABLE.read("created_at", &row.created_at)?,
        })
    }
}

pub(super) fn read_metadata(json: String) -> Result<Metadata, StoreError> {
    let json = RawValue::from_string(json).map_err(|_| TABLE.unreadable("metadata"))?;
    Metadata::parse(&json).map_err(|_| TABLE.unreadable("metadata"))
}

/// `None` when [`write_counterparties`] did not write this column.
pub(super) fn read_counterparties(json: Option<&str>) -> Option<Counterparties> {
    let Some(json) = json else { return Some(Counterparties::Anyone) };
    let texts: Vec<String> = serde_json::from_str(json).ok()?;
    Counterparties::from_texts(&texts)
}

pub(super) fn write_counterparties(counterparties: &Counterparties) -> Option<String> {
    counterparties.texts().map(|texts| serde_json::Value::from(texts).to_string())
}

/// How many entries the allowlist has.
pub(super) fn count_entries(counterparties: &Counterparties) -> i64 {
    entries(counterparties.entries().len()).cast_signed()
}

/// A column's number of allowlist entries.
pub(super) fn entries(count: usize) -> u64 {
    u64::try_from(count).unwrap_or(u64::MAX)
}

/// Inserts an account.
pub(super) fn insert(account: &Account) -> Query {
    const SQL: &str = "INSERT INTO accounts
             (account_id, operator_id, name, metadata, address, token_account, status, counterparties,
              provisioning, created_at, allowlist_entries)
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)";
    query(SQL)
        .bind(account.id.to_string())
        .bind(account.operator_id.to_string())
        .bind(account.name.as_str())
        .bind(account.metadata.as_ref().map(|metadata| metadata.json().get()))
        .bind(account.address.to_string())
        .bind(account.token_account.to_string())
        .bind(account.status.as_str())
        .bind(write_counterparties(&account.counterparties))
        .bind(match account.provisioning {
            Provisioning::Requested => "requested",
            Provisioning::Ready => "ready",
        })
        .bind(account.created_at.to_string())
        .bind(count_entries(&account.counterparties))
}

impl Store {
    /// Inserts an account without checking the operator's quotas.
    pub async fn insert_account(&self, account: &Account) -> Result<(), StoreError> {
        insert(account).execute(self.writer()).await?;
        Ok(())
    }

    /// The account is on the chain: from now on finders and lists show it.
    pub async fn mark_account_ready(&self, operator: OperatorId, id: AccountId) -> Result<(), StoreError> {
        const SQL: &str =
            "UPDATE accounts SET provisioning = 'ready' WHERE operator_id = $1 AND account_id = $2";
        query(SQL).bind(operator.to_string()).bind(id.to_string()).execute(self.writer()).await?;
        Ok(())
    }

    /// Deletes an account that never reached the chain. Keeps a ready account, and one that was requested again after `asked_by`.
    pub async fn delete_requested_account(
        &self,
        operator: OperatorId,
        id: AccountId,
        asked_by: Timestamp,
    ) -> Result<(), StoreError> {
        const SQL: &str = "DELETE FROM accounts
             WHERE operator_id = $1 AND account_id = $2 AND provisioning = 'requested' AND created_at <= $3";
        query(SQL)
            .bind(operator.to_string())
            .bind(id.to_string())
            .bind(asked_by.to_string())
            .execute(self.writer())
            .await?;
        Ok(())
    }

    /// Renews the request for an account that is not ready; a ready one stays as it is. `false`: there is no such account.
    pub async fn mark_account_asked_again(
        &self,
        operator: OperatorId,
        id: AccountId,
        now: Timestamp,
    ) -> Result<bool, StoreError> {
        const SQL: &str =
            "UPDATE accounts SET created_at = CASE provisioning WHEN 'requested' THEN $3 ELSE created_at END
             WHERE operator_id = $1 AND account_id = $2";
        let touched = query(SQL)
            .bind(operator.to_string())
            .bind(id.to_string())
            .bind(now.to_string())
            .execute(self.writer())
            .await?;
        Ok(touched == 1)
    }

    /// Records the account's status and its allowlist as submitted, as last seen on the chain or just sent to it.
    pub async fn mark_account_policy(
        &self,
        operator: OperatorId,
        id: AccountId,
        status: AccountStatus,
        counterparties: &Counterparties,
    ) -> Result<(), StoreError> {
        const SQL: &str = "UPDATE accounts SET status = $3, counterparties = $4, allowlist_entries = $5
             WHERE operator_id = $1 AND account_id = $2";
        query(SQL)
            .bind(operator.to_string())
            .bind(id.to_string())
            .bind(status.as_str())
            .bind(write_counterparties(counterparties))
            .bind(count_entries(counterparties))
            .execute(self.writer())
            .await?;
        Ok(())
    }

    /// Records only the status, as seen on the chain.
    pub async fn mark_account_status(
        &self,
        operator: OperatorId,
        id: AccountId,
        status: AccountStatus,
    ) -> Result<(), StoreError> {
        const SQL: &str = "UPDATE accounts SET status = $3 WHERE operator_id = $1 AND account_id = $2";
        query(SQL)
            .bind(operator.to_string())
            .bind(id.to_string())
            .bind(status.as_str())
            .execute(self.writer())
            .await?;
        Ok(())
    }

    /// The operator's account with this id, if it is ready.
    pub async fn find_account(
        &self,
        operator: OperatorId,
        id: AccountId,
    ) -> Result<Option<Account>, StoreError> {
        const SQL: &str = "SELECT account_id, operator_id, name, metadata, address, token_account, status,
                 counterparties, provisioning, created_at
             FROM accounts WHERE operator_id = $1 AND account_id = $2 AND provisioning = 'ready'";
        let row: Option<AccountRow> =
            query(SQL).bind(operator.to_string()).bind(id.to_string()).fetch_optional(self.reader()).await?;
        row.map(Account::try_from).transpose()
    }

    /// The payment address of any operator's account on this network: all that we disclose about another operator's account.
    pub async fn find_payee(&self, network: Network, id: AccountId) -> Result<Option<Address>, StoreError> {
        const SQL: &str = "SELECT accounts.token_account
             FROM accounts JOIN operators ON operators.operator_id = accounts.operator_id
             WHERE accounts.account_id = $1 AND accounts.provisioning = 'ready' AND operators.network = $2";
        let row: Option<(String,)> =
            query(SQL).bind(id.to_string()).bind(network.as_str()).fetch_optional(self.reader()).await?;
        row.map(|(address,)| TABLE.read("token_account", &address)).transpose()
    }

    /// The operator's ready accounts among `ids`, in no particular order. At most 1,000 ids.
    pub async fn find_accounts(
        &self,
        operator: OperatorId,
        ids: &[AccountId],
    ) -> Result<Vec<Account>, StoreError> {
        if ids.is_empty() {
            return Ok(Vec::new());
        }
        let sql = format!(
            "SELECT account_id, operator_id, name, metadata, address, token_account, status,
                 counterparties, provisioning, created_at
             FROM accounts WHERE operator_id = $1 AND provisioning = 'ready' AND account_id IN ({})",
            places(2, ids.len())
        );
        // Only placeholders are interpolated.
        let rows: Vec<AccountRow> = query(AssertSqlSafe(sql))
            .bind(operator.to_string())
            .bind_all(ids.iter().map(AccountId::to_string))
            .fetch_all(self.reader())
            .await?;
        rows.into_iter().map(Account::try_from).collect()
    }

    /// Up to `rows_max` ready accounts of the operator, newest first, starting after `after`.
    pub async fn list_accounts(
        &self,
        operator: OperatorId,
        status: Option<AccountStatus>,
        after: Option<AccountPlace>,
        rows_max: u32,
    ) -> Result<Vec<Account>, StoreError> {
        // Two separate conditions, because an "or" would use no index.
        let of_status = if status.is_some() { "status = $2" } else { "$2 = ''" };
        let sql = format!(
            "SELECT account_id, operator_id, name, metadata, address, token_account, status,
                 counterparties, provisioning, created_at
             FROM accounts
             WHERE operator_id = $1 AND provisioning = 'ready' AND {of_status} AND (created_at, account_id) < ($3, $4)
             ORDER BY created_at DESC, account_id DESC LIMIT $5"
        );
        let rows: Vec<AccountRow> = query(AssertSqlSafe(sql))
            .bind(operator.to_string())
            .bind(status.map_or("", AccountStatus::as_str))
            .bind_below(after.map(|place| place.created_at))
            .bind_below(after.map(|place| place.id))
            .bind(i64::from(rows_max))
            .fetch_all(self.lister())
            .await?;
        rows.into_iter().map(Account::try_from).collect()
    }

    /// How many accounts the operator has, including those being created, excluding closed ones.
    pub async fn count_accounts(&self, operator: OperatorId) -> Result<u64, StoreError> {
        const SQL: &str = "SELECT COUNT(*) FROM accounts WHERE operator_id = $1 AND NOT is_closed";
        let row: Option<(i64,)> = query(SQL).bind(operator.to_string()).fetch_optional(self.lister()).await?;
        Ok(row.map_or(0, |(count,)| count.cast_unsigned()))
    }

    /// For a worker: up to `rows_max` of the operator's ready accounts that count for its quota and were created before
    /// `before`, oldest first, starting after `after`.
    pub async fn list_counted_accounts(
        &self,
        operator: OperatorId,
        before: Timestamp,
        after: Option<AccountId>,
        rows_max: u32,
    ) -> Result<Vec<Account>, StoreError> {
        const SQL: &str = "SELECT account_id, operator_id, name, metadata, address, token_account, status,
                 counterparties, provisioning, created_at
             FROM accounts
             WHERE operator_id = $1 AND provisioning = 'ready' AND NOT is_closed AND created_at < $2
                 AND account_id > $3
             ORDER BY account_id LIMIT $4";
        let rows: Vec<AccountRow> = query(SQL)
            .bind(operator.to_string())
            .bind(before.to_string())
            .bind(after.map_or_else(String::new, |id| id.to_string()))
            .bind(i64::from(rows_max))
            .fetch_all(self.reader())
            .await?;
        rows.into_iter().map(Account::try_from).collect()
    }

    /// For a worker: accounts of every operator that were requested before `before` and are not ready yet.
    pub async fn list_requested_accounts(
        &self,
        before: Timestamp,
        rows_max: u32,
    ) -> Result<Vec<Account>, StoreError> {
        const SQL: &str = "SELECT account_id, operator_id, name, metadata, address, token_account, status,
                 counterparties, provisioning, created_at
             FROM accounts WHERE provisioning = 'requested' AND created_at < $1
             ORDER BY created_at LIMIT $2";
        let rows: Vec<AccountRow> =
            query(SQL).bind(before.to_string()).bind(i64::from(rows_max)).fetch_all(self.lister()).await?;
        rows.into_iter().map(Account::try_from).collect()
    }
}
