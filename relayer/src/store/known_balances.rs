//! The last balances seen by a sweep, for when accounts cannot be read.

use macro_rules_attribute::derive;
use sqlx::AssertSqlSafe;

use super::accounts::{AccountRow, COLUMNS};
use super::columns::Table;
use super::query::query;
use super::row::ByName;
use super::{Store, StoreError};
use crate::domain::{Account, AccountPlace, AccountStatus, Network, Operator, Timestamp, UsdcAmount};

const TABLE: Table = Table("ledgers");

/// An account with the balance that a sweep last saw.
#[derive(Debug, Clone)]
pub struct KnownAccount {
    pub account: Account,
    pub balance: UsdcAmount,
    /// When the last complete sweep began; an account newer than that held nothing at its creation.
    pub as_of: Timestamp,
}

#[derive(Debug, ByName!)]
struct SeenBalanceRow {
    account: AccountRow,
    seen_micros: i64,
    began_at: Option<String>,
}

impl TryFrom<SeenBalanceRow> for KnownAccount {
    type Error = StoreError;

    fn try_from(row: SeenBalanceRow) -> Result<Self, StoreError> {
        let account = Account::try_from(row.account)?;
        let began_at: Option<Timestamp> = TABLE.read_optional("began_at", row.began_at.as_deref())?;
        let balance = UsdcAmount::from_micros(u64::try_from(row.seen_micros).unwrap_or(0));
        let as_of = began_at.map_or(account.created_at, |began_at| began_at.max(account.created_at));
        Ok(Self { account, balance, as_of })
    }
}

impl Store {
    /// For the indexer: records that a sweep which began then has seen every account of the network.
    pub async fn mark_swept(&self, network: Network, began_at: Timestamp) -> Result<(), StoreError> {
        const SQL: &str = "INSERT INTO sweeps (network, began_at) VALUES ($1, $2)
             ON CONFLICT (network) DO UPDATE SET began_at = excluded.began_at
                 WHERE sweeps.began_at < excluded.began_at";
        query(SQL).bind(network.as_str()).bind(began_at.to_string()).execute(self.writer()).await?;
        Ok(())
    }

    /// As [`Store::list_accounts`], without closed accounts.
    pub async fn list_known_accounts(
        &self,
        operator: &Operator,
        status: Option<AccountStatus>,
        after: Option<AccountPlace>,
        rows_max: u32,
    ) -> Result<Vec<KnownAccount>, StoreError> {
        // Two separate conditions, because an "or" would use no index.
        let of_status = if status.is_some() { "status = $2" } else { "$2 = ''" };
        let sql = format!(
            "SELECT {COLUMNS},
                 COALESCE((
                     SELECT seen_micros FROM ledgers
                     WHERE ledgers.operator_id = accounts.operator_id AND ledgers.account_id = accounts.account_id
                 ), 0) AS seen_micros,
                 (SELECT began_at FROM sweeps WHERE network = $6) AS began_at
             FROM accounts
             WHERE operator_id = $1 AND provisioning = 'ready' AND {of_status} AND (created_at, account_id) < ($3, $4) AND NOT is_closed
             ORDER BY created_at DESC, account_id DESC LIMIT $5"
        );
        let rows: Vec<SeenBalanceRow> = query(AssertSqlSafe(sql))
            .bind(operator.id.to_string())
            .bind(status.map_or("", AccountStatus::as_str))
            .bind_below(after.map(|place| place.created_at))
            .bind_below(after.map(|place| place.id))
            .bind(i64::from(rows_max))
            .bind(operator.network.as_str())
            .fetch_all(self.lister())
            .await?;
        rows.into_iter().map(KnownAccount::try_from).collect()
    }
}
