use futures::FutureExt;

use super::operators::lock_operator;
use super::query::{Each, Query, columns, sql};
use super::row::{Listed, row};
use super::stored::Below;
use super::{Keys, Result, StoreError};
use purser_model::{ApiKey, HashedKey, KeyHolder, KeyId, Operator, OperatorId, Timestamp};

row! { ApiKey of api_keys {
    id: key_id, operator_id, holder: account_id,
    scopes(scopes) = Option::unwrap_or(scopes, KeyHolder::all_scopes(&holder)),
    made_by, name, hint, created_at, expires_at, revoked_at, last_used_at(last_used_at) = last_used_at,
    allowed_cidrs,
}}

fn insert(key: &ApiKey, hash: &HashedKey) -> Query {
    sql! {"INSERT INTO api_keys {row}", row = columns! { ..key, key_hash = hash, key.scopes }}
}

impl Keys {
    /// Stores a key by its hash. The database ensures that an agent key's account is the operator's.
    pub async fn insert_key(&self, key: &ApiKey, hash: &HashedKey) -> Result<()> {
        insert(key, hash).run(self.writer()).await
    }

    /// Likewise, unless the operator already has `keys_max` unrevoked keys: then `Full`.
    pub async fn insert_key_within(&self, key: &ApiKey, hash: &HashedKey, keys_max: u32) -> Result<()> {
        let (insert, operator) = (insert(key, hash), key.operator_id);
        // Counts no further than the limit.
        let count = sql! {
            "SELECT COUNT(*) FROM (
                 SELECT 1 FROM api_keys WHERE operator_id = {operator} AND revoked_at IS NULL LIMIT {keys_max}
             ) AS unrevoked",
            operator, keys_max
        };
        self.write(move |tx| {
            async move {
                lock_operator(tx, operator).await?;
                if count.count(&mut *tx).await? >= u64::from(keys_max) {
                    return Err(StoreError::Full);
                }
                insert.run(tx).await
            }
            .boxed()
        })
        .await
    }

    /// The key with this hash, including revoked and expired ones, and its operator. Takes no owner, because it finds
    /// the owner.
    pub async fn find_key_by_hash(&self, hash: &HashedKey) -> Result<Option<(ApiKey, Operator)>> {
        sql! {
            "SELECT {columns}, {operator_columns}
             FROM api_keys JOIN operators ON operators.operator_id = api_keys.operator_id
             WHERE api_keys.key_hash = {hash}",
            columns = ApiKey::COLUMNS, operator_columns = Operator::COLUMNS, hash
        }
        .fetch_optional(self.reader())
        .await
    }

    /// The key with this id, for any owner. For the command line.
    pub async fn find_key(&self, id: KeyId) -> Result<Option<ApiKey>> {
        sql! {"SELECT {columns} FROM api_keys WHERE key_id = {id}", columns = ApiKey::COLUMNS, id}
            .fetch_optional(self.reader())
            .await
    }

    /// The operator's key with this id.
    pub async fn find_key_of(&self, operator: OperatorId, id: KeyId) -> Result<Option<ApiKey>> {
        let key = self.find_key(id).await?;
        Ok(key.filter(|key| key.operator_id == operator))
    }

    /// The operator's keys among `ids`, in no particular order. At most 1,000 ids.
    pub async fn find_keys_of(&self, operator: OperatorId, ids: &[KeyId]) -> Result<Vec<ApiKey>> {
        if ids.is_empty() {
            return Ok(Vec::new());
        }
        sql! {
            "SELECT {columns} FROM api_keys WHERE key_id IN ({ids}) AND operator_id = {operator}",
            columns = ApiKey::COLUMNS, ids = Each(ids), operator
        }
        .fetch_all(self.reader())
        .await
    }

    /// Every key of the operator, newest first.
    pub async fn list_keys(&self, operator: OperatorId) -> Result<Vec<ApiKey>> {
        sql! {
            "SELECT {columns} FROM api_keys WHERE operator_id = {operator} ORDER BY key_id DESC",
            columns = ApiKey::COLUMNS, operator
        }
        .fetch_all(self.reader())
        .await
    }

    /// Up to `rows_max` keys of one holder made before `after`, newest first: the operator's own, or those of an account.
    pub async fn list_keys_of(
        &self,
        operator: OperatorId,
        holder: KeyHolder,
        after: Option<KeyId>,
        rows_max: u32,
    ) -> Result<Vec<ApiKey>> {
        let below = Below(after);
        let listed = match holder {
            KeyHolder::Operator => sql! {
                "SELECT {columns} FROM api_keys
                 WHERE operator_id = {operator} AND account_id IS NULL AND key_id < {below}
                 ORDER BY key_id DESC LIMIT {rows_max}",
                columns = ApiKey::COLUMNS, operator, below, rows_max
            },
            KeyHolder::Agent(account) => sql! {
                "SELECT {columns} FROM api_keys
                 WHERE operator_id = {operator} AND account_id = {account} AND key_id < {below}
                 ORDER BY key_id DESC LIMIT {rows_max}",
                columns = ApiKey::COLUMNS, operator, account, below, rows_max
            },
        };
        listed.fetch_all(self.lister()).await
    }

    /// Whether `maker` made this key of the operator, or a key that made it, and so on.
    pub async fn is_made_by(&self, operator: OperatorId, key: KeyId, maker: KeyId) -> Result<bool> {
        let found: Option<KeyId> = sql! {
            "WITH RECURSIVE makers (key_id) AS (
                 SELECT made_by FROM api_keys WHERE operator_id = {operator} AND key_id = {key}
                 UNION
                 SELECT api_keys.made_by FROM api_keys JOIN makers ON makers.key_id = api_keys.key_id
                 WHERE api_keys.operator_id = {operator}
             )
             SELECT key_id FROM makers WHERE key_id = {maker}",
            operator, key, maker
        }
        .fetch_optional(self.reader())
        .await?;
        Ok(found.is_some())
    }

    /// Revokes one of the operator's keys from `now` on. `None` when the operator has no such key; a key that is
    /// already revoked keeps its time.
    pub async fn mark_key_revoked(
        &self,
        operator: OperatorId,
        key: KeyId,
        now: Timestamp,
    ) -> Result<Option<ApiKey>> {
        sql! {
            "UPDATE api_keys SET revoked_at = COALESCE(revoked_at, {now})
             WHERE operator_id = {operator} AND key_id = {key} RETURNING {columns}",
            now, operator, key, columns = ApiKey::COLUMNS
        }
        .fetch_optional(self.writer())
        .await
    }

    /// For a worker: records when keys of any operator were last used; later stored times stay. Writes in id order, as
    /// every process does.
    pub async fn mark_keys_used(&self, uses: &[(KeyId, Timestamp)]) -> Result<()> {
        let uses = uses.to_vec();
        self.write(move |tx| {
            async move {
                for (key, at) in uses {
                    sql! {
                        "UPDATE api_keys SET last_used_at = {at}
                         WHERE key_id = {key} AND COALESCE(last_used_at, '') < {at}",
                        key, at
                    }
                    .execute(&mut *tx)
                    .await?;
                }
                Ok(())
            }
            .boxed()
        })
        .await
    }
}
