//! Passkeys, and the sessions that they open.

use futures::FutureExt;

use super::operators::lock_operator;
use super::query::{Query, columns, sql};
use super::row::{Listed, row};
use super::{Result, Sessions, StoreError};
use purser_model::{
    ApiKey, KeyId, Operator, OperatorId, PASSKEYS_PER_KEY_MAX, Passkey, PasskeyId, PasskeyUse, Timestamp,
};

row! { Passkey of passkeys {
    id: passkey_id, key_id as passkey_key_id, name as passkey_name, credential_id, credential,
    created_at as passkey_created_at, used_at(used_at as passkey_used_at) = used_at,
}}

/// Records that the passkey signed in. Touches no row if it was removed, or used since the challenge was made or since it was read.
pub(super) fn mark_used(by: &PasskeyUse, now: Timestamp) -> Query {
    sql! {
        "UPDATE passkeys SET used_at = {now}, credential = {credential}
         WHERE passkey_id = {id} AND credential = {seen} AND COALESCE(used_at, '') < {begun_at}",
        now, by.credential, id = by.passkey.id, seen = by.passkey.credential, by.begun_at
    }
}

impl Sessions {
    /// Stores a passkey of an operator's key, made for a challenge of `begun_at`. `Full`: the key has as many as it may have.
    /// `AlreadyThere`: it is a passkey already, or one was made since the challenge.
    pub async fn insert_passkey(
        &self,
        operator: OperatorId,
        passkey: &Passkey,
        begun_at: Timestamp,
    ) -> Result<()> {
        let key = passkey.key_id;
        let count = sql! {"SELECT COUNT(*) FROM passkeys WHERE key_id = {key}", key};
        let since = sql! {
            "SELECT COUNT(*) FROM passkeys WHERE key_id = {key} AND created_at >= {begun_at}",
            key, begun_at
        };
        let insert = sql! {
            "INSERT INTO passkeys {row}",
            row = columns! { ..passkey }
        };
        self.write(move |tx| {
            async move {
                lock_operator(tx, operator).await?;
                if since.count(&mut *tx).await? > 0 {
                    return Err(StoreError::AlreadyThere);
                }
                if count.count(&mut *tx).await? >= u64::from(PASSKEYS_PER_KEY_MAX) {
                    return Err(StoreError::Full);
                }
                insert.run(tx).await
            }
            .boxed()
        })
        .await
    }

    /// The passkey that a device calls this, the present state of its key, and the key's operator. Takes no owner, because it
    /// finds the owner.
    pub async fn find_passkey(&self, credential_id: &str) -> Result<Option<(Passkey, ApiKey, Operator)>> {
        sql! {
            "SELECT {columns}, {operator_columns}, {passkey_columns}
             FROM passkeys JOIN api_keys ON api_keys.key_id = passkeys.key_id
                 JOIN operators ON operators.operator_id = api_keys.operator_id
             WHERE passkeys.credential_id = {credential_id}",
            columns = ApiKey::COLUMNS, operator_columns = Operator::COLUMNS, passkey_columns = Passkey::COLUMNS,
            credential_id
        }
        .fetch_optional(self.reader())
        .await
    }

    /// The operator's passkeys whose keys have not ended, the newest first, each with its key.
    pub async fn list_passkeys(
        &self,
        operator: OperatorId,
        now: Timestamp,
        rows_max: u32,
    ) -> Result<Vec<(Passkey, ApiKey)>> {
        let found: Vec<(Passkey, ApiKey, Operator)> = sql! {
            "SELECT {columns}, {operator_columns}, {passkey_columns}
             FROM api_keys CROSS JOIN passkeys CROSS JOIN operators
             WHERE api_keys.operator_id = {operator} AND api_keys.account_id IS NULL AND revoked_at IS NULL
                 AND COALESCE(expires_at, '~') > {now} AND passkeys.key_id = api_keys.key_id
                 AND operators.operator_id = api_keys.operator_id
             ORDER BY passkeys.created_at DESC, passkeys.passkey_id LIMIT {rows_max}",
            columns = ApiKey::COLUMNS, operator_columns = Operator::COLUMNS, passkey_columns = Passkey::COLUMNS,
            operator, now, rows_max
        }
        .fetch_all(self.lister())
        .await?;
        Ok(found.into_iter().map(|(passkey, key, _)| (passkey, key)).collect())
    }

    /// Removes this key's passkey, and ends the sessions that it opened. `false`: there is none.
    pub async fn delete_passkey(&self, key: KeyId, id: PasskeyId) -> Result<bool> {
        let passkey = sql! {"DELETE FROM passkeys WHERE key_id = {key} AND passkey_id = {id}", key, id};
        // In this order: a session that is being opened was recorded at its passkey first, or finds it gone.
        let sessions = sql! {"DELETE FROM sessions WHERE key_id = {key} AND passkey_id = {id}", key, id};
        self.write(move |tx| {
            async move {
                let is_there = passkey.touches(&mut *tx).await?;
                sessions.run(tx).await?;
                Ok(is_there)
            }
            .boxed()
        })
        .await
    }
}
