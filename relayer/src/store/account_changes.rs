use futures::FutureExt;

use super::accounts::read_metadata;
use super::query::query;
use super::{Store, StoreError, Transaction};
use crate::domain::{Account, AccountChange, AccountName, Invalid, Metadata};

impl Store {
    /// Changes an account's name and metadata, based on the stored row rather than on what the caller has read.
    /// Invalid: the metadata would be too large, and nothing was changed.
    pub async fn update_account(
        &self,
        account: &Account,
        change: &AccountChange,
    ) -> Result<Result<Account, Invalid>, StoreError> {
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
) -> Result<Result<Account, Invalid>, StoreError> {
    const METADATA: &str = "SELECT metadata FROM accounts WHERE operator_id = $1 AND account_id = $2";
    const UPDATE: &str = "UPDATE accounts SET name = COALESCE($3, name), metadata = $4
         WHERE operator_id = $1 AND account_id = $2 AND COALESCE(metadata, '') = $5 RETURNING name";
    let place = |sql| query(sql).bind(account.operator_id.to_string()).bind(account.id.to_string());
    let read: Option<(Option<String>,)> = place(METADATA).fetch_optional(&mut *tx).await?;
    let Some((before,)) = read else { return Err(StoreError::Superseded) };
    let metadata = before.clone().map(read_metadata).transpose()?;
    let metadata = match &change.metadata {
        None => metadata,
        Some(asked) => match Metadata::changed(metadata.as_ref(), asked) {
            Ok(changed) => changed,
            Err(invalid) => return Ok(Err(invalid)),
        },
    };
    let written: Option<(String,)> = place(UPDATE)
        .bind(change.name.as_ref().map(|name| name.as_str()))
        .bind(metadata.as_ref().map(|metadata| metadata.json().get()))
        .bind(before.unwrap_or_default())
        .fetch_optional(tx)
        .await?;
    let Some((name,)) = written else { return Err(StoreError::Contended) };
    Ok(Ok(Account { name: AccountName::from_stored(name), metadata, ..account }))
}
