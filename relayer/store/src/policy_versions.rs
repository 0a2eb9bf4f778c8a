//! The versions of a policy that transactions set, and who asked for each here.

use super::query::{columns, sql};
use super::row::row;
use super::{Policies, Result};
use purser_model::wire::schema::{PolicyVersionNumber, Signature};
use purser_model::wire::{PolicyFields, PolicyVersion};
use purser_model::{AccountId, ActionId, Asking, OperatorId, Timestamp};

row! { PolicyVersion {
    version(version) = PolicyVersionNumber(version), set_at, signer, key_id, reason, action_id,
    tx_signature(tx_signature) = Signature(tx_signature), policy(policy) = Option::map(policy, PolicyFields),
}}

impl Policies {
    /// For the indexer: the version that this transaction set at `at`, where its log does not say: the one after the latest
    /// known before it. `None`: another transaction set that one, or none is known.
    pub async fn find_missing_version(
        &self,
        (operator, account): (OperatorId, AccountId),
        tx_signature: &str,
        at: Timestamp,
    ) -> Result<Option<u64>> {
        let known: Option<u64> = sql! {
            "SELECT version FROM policy_versions
             WHERE operator_id = {operator} AND account_id = {account} AND tx_signature = {tx_signature}
             ORDER BY version LIMIT 1",
            operator, account, tx_signature
        }
        .fetch_optional(self.reader())
        .await?;
        if known.is_some() {
            return Ok(known);
        }
        let before: Option<u64> = sql! {
            "SELECT version FROM policy_versions
             WHERE operator_id = {operator} AND account_id = {account} AND set_at <= {at}
             ORDER BY version DESC LIMIT 1",
            operator, account, at
        }
        .fetch_optional(self.reader())
        .await?;
        let Some(before) = before else { return Ok(None) };
        let next = before.saturating_add(1);
        let taken: Option<u64> = sql! {
            "SELECT version FROM policy_versions
             WHERE operator_id = {operator} AND account_id = {account} AND version = {next}
                 AND tx_signature IS NOT NULL",
            operator, account, next
        }
        .fetch_optional(self.reader())
        .await?;
        Ok(taken.is_none().then_some(next))
    }

    /// Records who asked for a transaction's change, or for the pending draft with this hash.
    pub async fn insert_policy_asking(
        &self,
        operator: OperatorId,
        account: AccountId,
        done_by: &str,
        asking: &Asking,
        action: Option<ActionId>,
    ) -> Result<()> {
        sql! {
            "INSERT INTO policy_askings {row}
             ON CONFLICT (operator_id, account_id, done_by) DO UPDATE SET
                 version = NULL, key_id = excluded.key_id, reason = excluded.reason, action_id = excluded.action_id",
            row = columns! {
                operator_id = operator, account_id = account, done_by, asking.key_id, asking.reason,
                action_id = action
            }
        }
        .run(self.writer())
        .await
    }

    /// Records that the draft with this hash became this version.
    pub async fn mark_policy_asking(
        &self,
        operator: OperatorId,
        account: AccountId,
        hash: [u8; 32],
        version: u64,
    ) -> Result<()> {
        sql! {
            "UPDATE policy_askings SET version = {version}
             WHERE operator_id = {operator} AND account_id = {account} AND done_by = {hash}
                 AND NOT EXISTS (
                     SELECT 1 FROM policy_askings
                     WHERE operator_id = {operator} AND account_id = {account} AND version = {version})",
            version, operator, account, hash
        }
        .run(self.writer())
        .await
    }

    /// Up to `rows_max` versions of an account's policy before `before`, newest first.
    pub async fn list_policy_versions(
        &self,
        operator: OperatorId,
        account: AccountId,
        before: Option<u64>,
        rows_max: u32,
    ) -> Result<Vec<PolicyVersion>> {
        // Grouped, because SQLite would look for the first of all actions.
        sql! {
            "SELECT policy_versions.version, set_at, signer, policy_versions.tx_signature, policy,
                 COALESCE(at_once.key_id, later.key_id) AS key_id,
                 CASE WHEN at_once.key_id IS NULL THEN later.reason ELSE at_once.reason END AS reason,
                 COALESCE(
                     (SELECT action_id FROM actions
                      WHERE actions.operator_id = policy_versions.operator_id
                          AND actions.action_id = COALESCE(at_once.action_id, later.action_id)),
                     (SELECT MIN(action_id) FROM actions
                      WHERE actions.operator_id = policy_versions.operator_id
                          AND actions.tx_signature = policy_versions.tx_signature
                      GROUP BY actions.tx_signature)) AS action_id
             FROM policy_versions
             LEFT JOIN policy_askings at_once
                 ON at_once.operator_id = policy_versions.operator_id
                     AND at_once.account_id = policy_versions.account_id
                     AND at_once.done_by = policy_versions.tx_signature
             LEFT JOIN policy_askings later
                 ON later.operator_id = policy_versions.operator_id
                     AND later.account_id = policy_versions.account_id AND later.version = policy_versions.version
             WHERE policy_versions.operator_id = {operator} AND policy_versions.account_id = {account}
                 AND policy_versions.version < {before} AND policy_versions.tx_signature IS NOT NULL
             ORDER BY policy_versions.version DESC LIMIT {rows_max}",
            operator, account, before = before.map_or(i64::MAX, u64::cast_signed), rows_max
        }
        .fetch_all(self.lister())
        .await
    }
}
