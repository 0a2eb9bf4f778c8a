//! Every version of a policy, as the indexer reads it, and who asked for it here.

use macro_rules_attribute::derive;
use serde_json::value::RawValue;

use super::columns::Table;
use super::query::query;
use super::row::ByName;
use super::{Store, StoreError};
use crate::domain::{AccountId, Asking, OperatorId, PolicyReason, PolicyVersion, Timestamp};

const TABLE: Table = Table("policy_versions");

#[derive(Debug, ByName!)]
struct VersionRow {
    operator_id: String,
    account_id: String,
    version: i64,
    set_at: String,
    signer: Option<String>,
    tx_signature: String,
    policy: Option<String>,
    key_id: Option<String>,
    reason: Option<String>,
}

impl TryFrom<VersionRow> for PolicyVersion {
    type Error = StoreError;

    fn try_from(row: VersionRow) -> Result<Self, StoreError> {
        let policy = row.policy.map(RawValue::from_string).transpose();
        let key_id = TABLE.read_optional("key_id", row.key_id.as_deref())?;
        let reason = row.reason.map(PolicyReason::from_stored);
        Ok(Self {
            operator_id: TABLE.read("operator_id", &row.operator_id)?,
            account_id: TABLE.read("account_id", &row.account_id)?,
            version: row.version.cast_unsigned(),
            set_at: TABLE.read("set_at", &row.set_at)?,
            signer: TABLE.read_optional("signer", row.signer.as_deref())?,
            tx_signature: row.tx_signature,
            policy: policy.map_err(|_| TABLE.unreadable("policy"))?,
            asking: key_id.map(|key_id| Asking { key_id, reason }),
        })
    }
}

impl Store {
    /// For the indexer: stores a version that was read. A repeat changes nothing; after a fork the latest reading wins.
    pub async fn insert_policy_version(&self, version: &PolicyVersion) -> Result<(), StoreError> {
        const SQL: &str = "INSERT INTO policy_versions
                 (operator_id, account_id, version, set_at, signer, tx_signature, policy)
             VALUES ($1, $2, $3, $4, $5, $6, $7)
             ON CONFLICT (operator_id, account_id, version) DO UPDATE SET
                 set_at = excluded.set_at, signer = excluded.signer, tx_signature = excluded.tx_signature,
                 policy = CASE WHEN policy_versions.tx_signature = excluded.tx_signature
                     THEN COALESCE(excluded.policy, policy_versions.policy) ELSE excluded.policy END";
        query(SQL)
            .bind(version.operator_id.to_string())
            .bind(version.account_id.to_string())
            .bind(version.version.cast_signed())
            .bind(version.set_at.to_string())
            .bind(version.signer.map(|signer| signer.to_string()))
            .bind(version.tx_signature.as_str())
            .bind(version.policy.as_ref().map(|policy| policy.get()))
            .execute(self.writer())
            .await?;
        Ok(())
    }

    /// For the indexer: the version that this transaction set at `at`, where its log does not say: the one after the latest
    /// known before it. `None`: another transaction set that one, or none is known.
    pub async fn find_missing_version(
        &self,
        (operator, account): (OperatorId, AccountId),
        tx_signature: &str,
        at: Timestamp,
    ) -> Result<Option<u64>, StoreError> {
        const KNOWN: &str = "SELECT version FROM policy_versions
             WHERE operator_id = $1 AND account_id = $2 AND tx_signature = $3 ORDER BY version LIMIT 1";
        const BEFORE: &str = "SELECT version FROM policy_versions
             WHERE operator_id = $1 AND account_id = $2 AND set_at <= $3 ORDER BY version DESC LIMIT 1";
        const TAKEN: &str =
            "SELECT version FROM policy_versions WHERE operator_id = $1 AND account_id = $2 AND version = $3";
        let of = |sql| query(sql).bind(operator.to_string()).bind(account.to_string());
        let known: Option<(i64,)> = of(KNOWN).bind(tx_signature).fetch_optional(self.reader()).await?;
        if let Some((known,)) = known {
            return Ok(Some(known.cast_unsigned()));
        }
        let before: Option<(i64,)> = of(BEFORE).bind(at.to_string()).fetch_optional(self.reader()).await?;
        let Some((before,)) = before else { return Ok(None) };
        let next = before.saturating_add(1);
        let taken: Option<(i64,)> = of(TAKEN).bind(next).fetch_optional(self.reader()).await?;
        Ok(taken.is_none().then_some(next.cast_unsigned()))
    }

    /// Records who asked for a transaction's change, or for the pending draft with this hash.
    pub async fn insert_policy_asking(
        &self,
        operator: OperatorId,
        account: AccountId,
        done_by: &str,
        asking: &Asking,
    ) -> Result<(), StoreError> {
        const SQL: &str = "INSERT INTO policy_askings (operator_id, account_id, done_by, key_id, reason)
             VALUES ($1, $2, $3, $4, $5)
             ON CONFLICT (operator_id, account_id, done_by) DO UPDATE SET
                 version = NULL, key_id = excluded.key_id, reason = excluded.reason";
        query(SQL)
            .bind(operator.to_string())
            .bind(account.to_string())
            .bind(done_by)
            .bind(asking.key_id.to_string())
            .bind(asking.reason.as_ref().map(PolicyReason::as_str))
            .execute(self.writer())
            .await?;
        Ok(())
    }

    /// Records that the draft with this hash became this version.
    pub async fn mark_policy_asking(
        &self,
        operator: OperatorId,
        account: AccountId,
        hash: [u8; 32],
        version: u64,
    ) -> Result<(), StoreError> {
        const SQL: &str = "UPDATE policy_askings SET version = $4
             WHERE operator_id = $1 AND account_id = $2 AND done_by = $3
                 AND NOT EXISTS (
                     SELECT 1 FROM policy_askings WHERE operator_id = $1 AND account_id = $2 AND version = $4)";
        query(SQL)
            .bind(operator.to_string())
            .bind(account.to_string())
            .bind(hex::encode(hash))
            .bind(version.cast_signed())
            .execute(self.writer())
            .await?;
        Ok(())
    }

    /// Up to `rows_max` versions of an account's policy before `before`, newest first.
    pub async fn list_policy_versions(
        &self,
        operator: OperatorId,
        account: AccountId,
        before: Option<u64>,
        rows_max: u32,
    ) -> Result<Vec<PolicyVersion>, StoreError> {
        const SQL: &str =
            "SELECT policy_versions.operator_id, policy_versions.account_id, policy_versions.version, set_at, signer,
                 tx_signature, policy, COALESCE(at_once.key_id, later.key_id) AS key_id,
                 CASE WHEN at_once.key_id IS NULL THEN later.reason ELSE at_once.reason END AS reason
             FROM policy_versions
             LEFT JOIN policy_askings at_once
                 ON at_once.operator_id = policy_versions.operator_id
                     AND at_once.account_id = policy_versions.account_id
                     AND at_once.done_by = policy_versions.tx_signature
             LEFT JOIN policy_askings later
                 ON later.operator_id = policy_versions.operator_id
                     AND later.account_id = policy_versions.account_id AND later.version = policy_versions.version
             WHERE policy_versions.operator_id = $1 AND policy_versions.account_id = $2
                 AND policy_versions.version < $3
             ORDER BY policy_versions.version DESC LIMIT $4";
        let rows: Vec<VersionRow> = query(SQL)
            .bind(operator.to_string())
            .bind(account.to_string())
            .bind(before.map_or(i64::MAX, u64::cast_signed))
            .bind(i64::from(rows_max))
            .fetch_all(self.lister())
            .await?;
        rows.into_iter().map(PolicyVersion::try_from).collect()
    }
}
