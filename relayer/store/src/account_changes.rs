use futures::FutureExt;

use super::query::sql;
use super::{Accounts, Result, StoreError, Transaction};
use purser_model::{Account, AccountChange, Invalid, Metadata};

impl Accounts {
    /// Changes an account's name, metadata, tags and rules, based on the stored row rather than on what the caller has read.
    /// Invalid: the metadata would be too large, and nothing was changed.
    pub async fn update_account(
        &self,
        account: &Account,
        change: &AccountChange,
    ) -> Result<Result<Account, Invalid>> {
        let (account, change) = (account.clone(), change.clone());
        self.write(move |tx| {
            let (account, change) = (account.clone(), change.clone());
            async move { update(tx, account, &change).await }.boxed()
        })
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
