use futures::FutureExt;
use macro_rules_attribute::derive;

use super::columns::Table;
use super::operators::{OperatorRow, count_in, lock_operator};
use super::query::{Query, query};
use super::row::ByName;
use super::{Store, StoreError};
use crate::domain::{
    AccountId, AllowedCidrs, ApiKey, HashedKey, KeyHint, KeyId, KeyScope, Operator, OperatorId, Timestamp,
};

const TABLE: Table = Table("api_keys");

#[derive(Debug, ByName!)]
struct KeyRow {
    key_id: String,
    operator_id: String,
    account_id: Option<String>,
    name: Option<String>,
    hint: String,
    created_at: String,
    expires_at: Option<String>,
    revoked_at: Option<String>,
    last_used_at: Option<String>,
    allowed_cidrs: Option<String>,
}

#[derive(Debug, ByName!)]
pub(super) struct OwnedKeyRow {
    key: KeyRow,
    network: String,
    operator_name: String,
    address: String,
    operator_created_at: String,
}

impl OwnedKeyRow {
    pub(super) fn into_key_and_operator(self) -> Result<(ApiKey, Operator), StoreError> {
        let Self { key, network, operator_name, address, operator_created_at } = self;
        let operator = OperatorRow {
            operator_id: key.operator_id.clone(),
            network,
            name: operator_name,
            address,
            created_at: operator_created_at,
        };
        Ok((key.try_into()?, operator.try_into()?))
    }
}

impl TryFrom<KeyRow> for ApiKey {
    type Error = StoreError;

    fn try_from(row: KeyRow) -> Result<Self, StoreError> {
        let account_id = TABLE.read_optional("account_id", row.account_id.as_deref())?;
        Ok(Self {
            id: TABLE.read("key_id", &row.key_id)?,
            operator_id: TABLE.read("operator_id", &row.operator_id)?,
            scope: account_id.map_or(KeyScope::Operator, KeyScope::Agent),
            name: row.name,
            hint: KeyHint::from_stored(row.hint),
            created_at: TABLE.read("created_at", &row.created_at)?,
            expires_at: TABLE.read_optional("expires_at", row.expires_at.as_deref())?,
            revoked_at: TABLE.read_optional("revoked_at", row.revoked_at.as_deref())?,
            last_used_at: TABLE.read_optional("last_used_at", row.last_used_at.as_deref())?,
            allowed_cidrs: row.allowed_cidrs.as_deref().map(read_cidrs).transpose()?,
        })
    }
}

fn read_cidrs(json: &str) -> Result<AllowedCidrs, StoreError> {
    let texts: Option<Vec<String>> = serde_json::from_str(json).ok();
    texts.and_then(|texts| AllowedCidrs::from_stored(&texts)).ok_or_else(|| TABLE.unreadable("allowed_cidrs"))
}

fn insert(key: &ApiKey, hash: &HashedKey) -> Query {
    const SQL: &str = "INSERT INTO api_keys
             (key_id, key_hash, operator_id, account_id, name, hint, created_at, expires_at, revoked_at, allowed_cidrs)
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)";
    let cidrs = key.allowed_cidrs.as_ref().map(|cidrs| serde_json::Value::from(cidrs.texts()).to_string());
    let account_id = match key.scope {
        KeyScope::Operator => None,
        KeyScope::Agent(account_id) => Some(account_id.to_string()),
    };
    query(SQL)
        .bind(key.id.to_string())
        .bind(hash.to_hex())
        .bind(key.operator_id.to_string())
        .bind(account_id)
        .bind(key.name.as_deref())
        .bind(key.hint.as_str())
        .bind(key.created_at.to_string())
        .bind(key.expires_at.map(|at| at.to_string()))
        .bind(key.revoked_at.map(|at| at.to_string()))
        .bind(cidrs)
}

impl Store {
    /// Stores a key by its hash. The database ensures that an agent key's account is the operator's.
    pub async fn insert_key(&self, key: &ApiKey, hash: &HashedKey) -> Result<(), StoreError> {
        insert(key, hash).execute(self.writer()).await?;
        Ok(())
    }

    /// Likewise, unless the operator already has `keys_max` unrevoked keys: then `Full`.
    pub async fn insert_key_within(
        &self,
        key: &ApiKey,
        hash: &HashedKey,
        keys_max: u32,
    ) -> Result<(), StoreError> {
        // Counts no further than the limit.
        const SQL: &str = "SELECT COUNT(*) FROM
             (SELECT 1 FROM api_keys WHERE operator_id = $1 AND revoked_at IS NULL LIMIT $2) AS unrevoked";
        let (insert, operator) = (insert(key, hash), key.operator_id);
        let count = query(SQL).bind(operator.to_string()).bind(i64::from(keys_max));
        self.write(move |tx| {
            async move {
                lock_operator(tx, operator).await?;
                if count_in(tx, count).await? >= i64::from(keys_max) {
                    return Err(StoreError::Full);
                }
                insert.execute(tx).await?;
                Ok(())
            }
            .boxed()
        })
        .await
    }

    /// The key with this hash, including revoked and expired ones, and its operator. Takes no owner, because it finds
    /// the owner.
    pub async fn find_key_by_hash(&self, hash: &HashedKey) -> Result<Option<(ApiKey, Operator)>, StoreError> {
        const SQL: &str =
            "SELECT k.key_id, k.operator_id, k.account_id, k.name, k.hint, k.created_at, k.expires_at, k.revoked_at,
                 k.last_used_at, k.allowed_cidrs, o.network, o.name AS operator_name, o.address, o.created_at AS operator_created_at
             FROM api_keys k JOIN operators o ON o.operator_id = k.operator_id WHERE k.key_hash = $1";
        let row: Option<OwnedKeyRow> = query(SQL).bind(hash.to_hex()).fetch_optional(self.reader()).await?;
        row.map(OwnedKeyRow::into_key_and_operator).transpose()
    }

    /// The key with this id, for any owner. For the command line.
    pub async fn find_key(&self, id: KeyId) -> Result<Option<ApiKey>, StoreError> {
        const SQL: &str =
            "SELECT key_id, operator_id, account_id, name, hint, created_at, expires_at, revoked_at, last_used_at, allowed_cidrs
             FROM api_keys WHERE key_id = $1";
        let row: Option<KeyRow> = query(SQL).bind(id.to_string()).fetch_optional(self.reader()).await?;
        row.map(ApiKey::try_from).transpose()
    }

    /// The operator's key with this id.
    pub async fn find_key_of(&self, operator: OperatorId, id: KeyId) -> Result<Option<ApiKey>, StoreError> {
        let key = self.find_key(id).await?;
        Ok(key.filter(|key| key.operator_id == operator))
    }

    /// Every key of the operator, newest first.
    pub async fn list_keys(&self, operator: OperatorId) -> Result<Vec<ApiKey>, StoreError> {
        const SQL: &str =
            "SELECT key_id, operator_id, account_id, name, hint, created_at, expires_at, revoked_at, last_used_at, allowed_cidrs
             FROM api_keys WHERE operator_id = $1 ORDER BY key_id DESC";
        let rows: Vec<KeyRow> = query(SQL).bind(operator.to_string()).fetch_all(self.reader()).await?;
        rows.into_iter().map(ApiKey::try_from).collect()
    }

    /// Up to `rows_max` keys of one account made before `after`, newest first.
    pub async fn list_account_keys(
        &self,
        operator: OperatorId,
        account: AccountId,
        after: Option<KeyId>,
        rows_max: u32,
    ) -> Result<Vec<ApiKey>, StoreError> {
        const SQL: &str =
            "SELECT key_id, operator_id, account_id, name, hint, created_at, expires_at, revoked_at, last_used_at, allowed_cidrs
             FROM api_keys
             WHERE operator_id = $1 AND account_id = $2 AND key_id < $3
             ORDER BY key_id DESC LIMIT $4";
        let rows: Vec<KeyRow> = query(SQL)
            .bind(operator.to_string())
            .bind(account.to_string())
            .bind_below(after)
            .bind(i64::from(rows_max))
            .fetch_all(self.lister())
            .await?;
        rows.into_iter().map(ApiKey::try_from).collect()
    }

    /// Revokes one of the operator's keys from `now` on. `None` when the operator has no such key; a key that is
    /// already revoked keeps its time.
    pub async fn mark_key_revoked(
        &self,
        operator: OperatorId,
        key: KeyId,
        now: Timestamp,
    ) -> Result<Option<ApiKey>, StoreError> {
        const SQL: &str = "UPDATE api_keys SET revoked_at = COALESCE(revoked_at, $3)
             WHERE operator_id = $1 AND key_id = $2
             RETURNING key_id, operator_id, account_id, name, hint, created_at, expires_at, revoked_at, last_used_at,
                 allowed_cidrs";
        let row: Option<KeyRow> = query(SQL)
            .bind(operator.to_string())
            .bind(key.to_string())
            .bind(now.to_string())
            .fetch_optional(self.writer())
            .await?;
        row.map(ApiKey::try_from).transpose()
    }

    /// For a worker: records when keys of any operator were last used; later stored times stay. Writes in id order, as
    /// every process does.
    pub async fn mark_keys_used(&self, uses: &[(KeyId, Timestamp)]) -> Result<(), StoreError> {
        const SQL: &str = "UPDATE api_keys SET last_used_at = $2
             WHERE key_id = $1 AND COALESCE(last_used_at, '') < $2";
        let each: Vec<Query> =
            uses.iter().map(|(key, at)| query(SQL).bind(key.to_string()).bind(at.to_string())).collect();
        self.write(move |tx| {
            async move {
                for one in each {
                    one.execute(&mut *tx).await?;
                }
                Ok(())
            }
            .boxed()
        })
        .await
    }
}
