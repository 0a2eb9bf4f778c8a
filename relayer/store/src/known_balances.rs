//! The last balances seen by a sweep, for when accounts cannot be read.

use super::accounts::of_tag;
use super::due::Due;
use super::query::{Sql, columns, sql};
use super::row::{Listed, row};
use super::stored::{Below, OrEmpty};
use super::{Accounts, Index, Result};
use purser_model::{
    Account, AccountFilter, AccountId, AccountPlace, Network, Operator, Timestamp, UsdcAmount,
};

/// An account with the balance that a sweep last saw.
#[derive(Debug, Clone)]
pub struct KnownAccount {
    pub account: Account,
    pub balance: UsdcAmount,
    /// When the last complete sweep began; an account newer than that held nothing at its creation.
    pub as_of: Timestamp,
}

row! { KnownAccount from row {
    account = row.record::<Account>()?,
    balance(seen_micros) = UsdcAmount::from_micros(i64::try_into(seen_micros).unwrap_or(0)),
    as_of(began_at) = Option::map_or(began_at, account.created_at, |at| account.created_at.max(at)),
}}

/// The name of the last sweep of a network.
fn sweep_of(network: Network) -> String {
    format!("sweep {network}")
}

impl Index {
    /// For the indexer: records that a sweep which began then has seen every account of the network.
    pub async fn mark_swept(&self, network: Network, began_at: Timestamp) -> Result<()> {
        sql! {
            "INSERT INTO marks {row} ON CONFLICT (name) DO UPDATE SET at = excluded.at WHERE {is_older}",
            row = columns! { name = sweep_of(network), at = began_at },
            is_older = Due::since(began_at).has_come("marks.at")
        }
        .run(self.writer())
        .await
    }
}

impl Accounts {
    /// As [`Accounts::list_accounts`], without closed accounts.
    pub async fn list_known_accounts(
        &self,
        operator: &Operator,
        filter: impl Into<AccountFilter>,
        after: Option<AccountPlace>,
        rows_max: u32,
    ) -> Result<Vec<KnownAccount>> {
        self.list_known(operator, (filter.into(), None), after, rows_max).await
    }

    /// One of them. `None`: it is not there, another operator's, or closed.
    pub async fn find_known_account(
        &self,
        operator: &Operator,
        id: AccountId,
    ) -> Result<Option<KnownAccount>> {
        let found = self.list_known(operator, (AccountFilter::default(), Some(id)), None, 1).await?;
        Ok(found.into_iter().next())
    }

    async fn list_known(
        &self,
        operator: &Operator,
        (AccountFilter { status, tag }, named): (AccountFilter, Option<AccountId>),
        after: Option<AccountPlace>,
        rows_max: u32,
    ) -> Result<Vec<KnownAccount>> {
        // Two separate conditions, because an "or" would use no index.
        let of_status = if status.is_some() { "status" } else { "''" };
        let of_id = if named.is_some() { "account_id" } else { "''" };
        let (created_at, id) = after.map(|place| (place.created_at, place.id)).unzip();
        sql! {
            "SELECT {columns},
                 COALESCE((
                     SELECT seen_micros FROM ledgers
                     WHERE ledgers.operator_id = accounts.operator_id AND ledgers.account_id = accounts.account_id
                 ), 0) AS seen_micros,
                 (SELECT at FROM marks WHERE name = {sweep}) AS began_at
             FROM accounts
             WHERE operator_id = {operator_id} AND provisioning = 'ready' AND {of_status} = {status}
                 AND {of_id} = {named} {of_tag} AND (created_at, account_id) < ({created_at}, {id}) AND NOT is_closed
             ORDER BY created_at DESC, account_id DESC LIMIT {rows_max}",
            columns = Account::COLUMNS, sweep = sweep_of(operator.network), operator_id = operator.id,
            of_status = Sql(of_status), status = OrEmpty(status), of_id = Sql(of_id), named = OrEmpty(named),
            of_tag = of_tag(tag.as_ref()), created_at = Below(created_at), id = Below(id), rows_max
        }
        .fetch_all(self.lister())
        .await
    }
}
