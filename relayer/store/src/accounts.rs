use futures::FutureExt;

use super::query::{Each, Piece, Place, Query, Sql, columns, sql, text};
use super::row::{Listed, row};
use super::stored::{Below, OrEmpty};
use super::{Accounts, Result, StoreError, Transaction};
use purser_model::{
    Account, AccountChange, AccountFilter, AccountId, AccountPlace, AccountStatus, Address, Invalid,
    Metadata, Network, OperatorId, Tag, Timestamp,
};

row! { Account {
    id: account_id, operator_id, name, metadata, tags, address, token_account, status, allowlist_entries,
    duplicates, approvals, create_token_accounts, created_at,
}}

/// Inserts an account that is `ready`, or only `requested`: written before its creation is sent to the chain. Nobody sees it
/// until it is ready.
pub(super) fn insert(account: &Account, provisioning: &'static str) -> Query {
    sql! {"INSERT INTO accounts {row}", row = columns! { ..account, provisioning }}
}

impl Accounts {
    /// Inserts an account without checking the operator's quotas.
    #[cfg(any(test, feature = "testing"))]
    pub async fn insert_account(&self, account: &Account) -> Result<()> {
        insert(account, "ready").run(self.writer()).await
    }

    /// The account is on the chain: from now on finders and lists show it.
    pub async fn mark_account_ready(&self, operator: OperatorId, id: AccountId) -> Result<()> {
        sql! {
            "UPDATE accounts SET provisioning = 'ready' WHERE operator_id = {operator} AND account_id = {id}",
            operator, id
        }
        .run(self.writer())
        .await
    }

    /// Deletes an account that never reached the chain. Keeps a ready account, and one that was requested again after `asked_by`.
    pub async fn delete_requested_account(
        &self,
        operator: OperatorId,
        id: AccountId,
        asked_by: Timestamp,
    ) -> Result<()> {
        sql! {
            "DELETE FROM accounts
             WHERE operator_id = {operator} AND account_id = {id} AND provisioning = 'requested'
                 AND created_at <= {asked_by}",
            operator, id, asked_by
        }
        .run(self.writer())
        .await
    }

    /// Renews the request for an account that is not ready; a ready one stays as it is. `false`: there is no such account.
    pub async fn mark_account_asked_again(
        &self,
        operator: OperatorId,
        id: AccountId,
        now: Timestamp,
    ) -> Result<bool> {
        sql! {
            "UPDATE accounts SET created_at = CASE provisioning WHEN 'requested' THEN {now} ELSE created_at END
             WHERE operator_id = {operator} AND account_id = {id}",
            operator, id, now
        }
        .touches(self.writer())
        .await
    }

    /// Records the account's status and how many entries its allowlist has, as last seen on the chain or just sent to it.
    pub async fn mark_account_policy(
        &self,
        operator: OperatorId,
        id: AccountId,
        status: AccountStatus,
        allowlist_entries: u64,
    ) -> Result<()> {
        set_policy(operator, id, status, allowlist_entries).run(self.writer()).await
    }

    /// Records only the status, as seen on the chain.
    pub async fn mark_account_status(
        &self,
        operator: OperatorId,
        id: AccountId,
        status: AccountStatus,
    ) -> Result<()> {
        sql! {
            "UPDATE accounts SET status = {status} WHERE operator_id = {operator} AND account_id = {id}",
            operator, id, status
        }
        .run(self.writer())
        .await
    }

    /// Changes an account's name, metadata, tags and rules, based on the stored row rather than on what the caller has read.
    /// Invalid: the metadata would be too large, and nothing was changed.
    pub async fn update_account(
        &self,
        account: &Account,
        change: &AccountChange,
    ) -> Result<Result<Account, Invalid>> {
        let (account, change) = (account.clone(), change.clone());
        self.write(move |tx| async move { update(tx, account, &change).await }.boxed()).await
    }

    /// The operator's account with this id, if it is ready.
    pub async fn find_account(&self, operator: OperatorId, id: AccountId) -> Result<Option<Account>> {
        sql! {
            "SELECT {columns} FROM accounts
             WHERE operator_id = {operator} AND account_id = {id} AND provisioning = 'ready'",
            columns = Account::COLUMNS, operator, id
        }
        .fetch_optional(self.reader())
        .await
    }

    /// The payment address of any operator's account on this network: all that we disclose about another operator's account.
    pub async fn find_payee(&self, network: Network, id: AccountId) -> Result<Option<Address>> {
        sql! {
            "SELECT accounts.token_account
             FROM accounts JOIN operators ON operators.operator_id = accounts.operator_id
             WHERE accounts.account_id = {id} AND accounts.provisioning = 'ready' AND operators.network = {network}",
            network, id
        }
        .fetch_optional(self.reader())
        .await
    }

    /// The operator's ready accounts among `ids`, in no particular order. At most 1,000 ids.
    pub async fn find_accounts(&self, operator: OperatorId, ids: &[AccountId]) -> Result<Vec<Account>> {
        if ids.is_empty() {
            return Ok(Vec::new());
        }
        sql! {
            "SELECT {columns} FROM accounts
             WHERE operator_id = {operator} AND provisioning = 'ready' AND account_id IN ({ids})",
            columns = Account::COLUMNS, operator, ids = Each(ids)
        }
        .fetch_all(self.reader())
        .await
    }

    /// The operator's accounts that are paid at these token accounts, in no particular order. At most 1,000 addresses.
    pub async fn find_accounts_paid_at(
        &self,
        operator: OperatorId,
        token_accounts: &[Address],
    ) -> Result<Vec<Account>> {
        if token_accounts.is_empty() {
            return Ok(Vec::new());
        }
        sql! {
            "SELECT {columns} FROM accounts
             WHERE token_account IN ({token_accounts}) AND operator_id = {operator} AND provisioning = 'ready'",
            columns = Account::COLUMNS, token_accounts = Each(token_accounts), operator
        }
        .fetch_all(self.reader())
        .await
    }

    /// Up to `rows_max` ready accounts of the operator, newest first, starting after `after`.
    pub async fn list_accounts(
        &self,
        operator: OperatorId,
        filter: impl Into<AccountFilter>,
        after: Option<AccountPlace>,
        rows_max: u32,
    ) -> Result<Vec<Account>> {
        let AccountFilter { status, tag } = filter.into();
        // Two separate conditions, because an "or" would use no index.
        let of_status = if status.is_some() { "status" } else { "''" };
        let (created_at, id) = after.map(|place| (place.created_at, place.id)).unzip();
        sql! {
            "SELECT {columns} FROM accounts
             WHERE operator_id = {operator} AND provisioning = 'ready' AND {of_status} = {status}
                 {of_tag} AND (created_at, account_id) < ({created_at}, {id})
             ORDER BY created_at DESC, account_id DESC LIMIT {rows_max}",
            columns = Account::COLUMNS, operator, of_status = Sql(of_status), status = OrEmpty(status),
            of_tag = of_tag(tag.as_ref()), created_at = Below(created_at), id = Below(id), rows_max
        }
        .fetch_all(self.lister())
        .await
    }

    /// How many accounts the operator has, including those being created, excluding closed ones.
    pub async fn count_accounts(&self, operator: OperatorId) -> Result<u64> {
        sql! {"SELECT COUNT(*) FROM accounts WHERE operator_id = {operator} AND NOT is_closed", operator}
            .count(self.lister())
            .await
    }

    /// For a worker: up to `rows_max` of the operator's ready accounts that count for its quota and were created before
    /// `before`, oldest first, starting after `after`.
    pub async fn list_counted_accounts(
        &self,
        operator: OperatorId,
        before: Timestamp,
        after: Option<AccountId>,
        rows_max: u32,
    ) -> Result<Vec<Account>> {
        sql! {
            "SELECT {columns} FROM accounts
             WHERE operator_id = {operator} AND provisioning = 'ready' AND NOT is_closed AND created_at < {before}
                 AND account_id > {after}
             ORDER BY account_id LIMIT {rows_max}",
            columns = Account::COLUMNS, operator, before, after = OrEmpty(after), rows_max
        }
        .fetch_all(self.reader())
        .await
    }

    /// For a worker: accounts of every operator that were requested before `before` and are not ready yet.
    pub async fn list_requested_accounts(&self, before: Timestamp, rows_max: u32) -> Result<Vec<Account>> {
        sql! {
            "SELECT {columns} FROM accounts WHERE provisioning = 'requested' AND created_at < {before}
             ORDER BY created_at LIMIT {rows_max}",
            columns = Account::COLUMNS, before, rows_max
        }
        .fetch_all(self.lister())
        .await
    }
}

/// `Contended` when somebody else changed the metadata between this read and write.
async fn update(
    tx: &mut Transaction<'_>,
    account: Account,
    change: &AccountChange,
) -> Result<Result<Account, Invalid>> {
    let Account { id, operator_id, .. } = &account;
    let read: Option<Option<Metadata>> = sql! {
        "SELECT metadata FROM accounts WHERE operator_id = {operator_id} AND account_id = {id}",
        operator_id, id
    }
    .fetch_optional(&mut *tx)
    .await?;
    let Some(before) = read else { return Err(StoreError::Superseded) };
    let metadata = match &change.metadata {
        None => before.clone(),
        Some(asked) => match Metadata::changed(before.as_ref(), asked) {
            Ok(changed) => changed,
            Err(invalid) => return Ok(Err(invalid)),
        },
    };
    let written = sql! {
        "UPDATE accounts
         SET name = COALESCE({name}, name), metadata = {metadata}, tags = COALESCE({tags}, tags),
             duplicates = COALESCE({duplicates}, duplicates), approvals = COALESCE({approvals}, approvals),
             create_token_accounts = COALESCE({create_token_accounts}, create_token_accounts)
         WHERE operator_id = {operator_id} AND account_id = {id} AND COALESCE(metadata, '') = {before}
         RETURNING name, tags, duplicates, approvals, create_token_accounts",
        operator_id, id, change.name, metadata, change.tags, change.duplicates, change.approvals,
        change.create_token_accounts,
        before = before.as_ref().map_or("", |metadata| metadata.json().get())
    }
    .fetch_optional(tx)
    .await?;
    let Some((name, tags, duplicates, approvals, create_token_accounts)) = written else {
        return Err(StoreError::Contended);
    };
    Ok(Ok(Account { name, metadata, tags, duplicates, approvals, create_token_accounts, ..account }))
}

/// A condition after others: the account has this tag, if one is asked for.
pub(super) fn of_tag(tag: Option<&Tag>) -> impl Place {
    let word = tag.map(|tag| format!(" {tag} "));
    Piece(move |values: &mut Vec<_>| match &word {
        // Unlike LIKE, it takes every character as it is, and upper case for another letter, in both databases.
        Some(word) => {
            text!(values, "AND REPLACE(' ' || tags || ' ', {word}, '') <> ' ' || tags || ' '", word = *word)
        }
        None => String::new(),
    })
}

/// Sets an account's status and how many entries its allowlist has.
pub(super) fn set_policy(
    operator: OperatorId,
    id: AccountId,
    status: AccountStatus,
    allowlist_entries: u64,
) -> Query {
    sql! {
        "UPDATE accounts SET status = {status}, allowlist_entries = {allowlist_entries}
         WHERE operator_id = {operator} AND account_id = {id}",
        operator, id, status, allowlist_entries
    }
}
