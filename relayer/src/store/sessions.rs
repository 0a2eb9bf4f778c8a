//! Dashboard sessions.

use super::keys::COLUMNS as KEY_COLUMNS;
use super::operators::COLUMNS as OPERATOR_COLUMNS;
use super::query::sql;
use super::row::{Record, Row};
use super::{Database, Sessions, StoreError};
use crate::domain::{
    ApiKey, HashedKey, KeyId, Operator, SESSION_LIFE_MAX, SESSIONS_PER_KEY_MAX, Session, Timestamp,
};

/// A session, its key, and the key's operator.
struct OwnedSession(Session, ApiKey, Operator);

impl Record for OwnedSession {
    fn read(row: &Row<'_>) -> Result<Self, StoreError> {
        let session =
            Session { started_at: row.get("session_started_at")?, used_at: row.get("session_used_at")? };
        Ok(Self(session, ApiKey::read(row)?, Operator::read(row)?))
    }
}

impl Sessions {
    /// Stores a session by the hash of its token, and ends the key's oldest beyond [`SESSIONS_PER_KEY_MAX`].
    pub async fn insert_session(
        &self,
        token: &HashedKey,
        key: KeyId,
        now: Timestamp,
    ) -> Result<(), StoreError> {
        sql! {
            "INSERT INTO sessions (token_hash, key_id, started_at, used_at) VALUES ({token}, {key}, {now}, {now})",
            token, key, now
        }
        .execute(self.writer())
        .await?;
        // SQLite has no OFFSET without a LIMIT.
        sql! {
            "DELETE FROM sessions WHERE token_hash IN (
                 SELECT token_hash FROM sessions WHERE key_id = {key} AND token_hash <> {token}
                 ORDER BY started_at DESC, token_hash LIMIT 1000 OFFSET {others})",
            key, token, others = SESSIONS_PER_KEY_MAX - 1
        }
        .run(self.writer())
        .await
    }

    /// The session of this token, the present state of its key, and the key's operator. Takes no owner, because it
    /// finds the owner.
    pub async fn find_session(
        &self,
        token: &HashedKey,
    ) -> Result<Option<(Session, ApiKey, Operator)>, StoreError> {
        let found: Option<OwnedSession> = sql! {
            "SELECT {columns}, {operator_columns}, sessions.started_at AS session_started_at,
                 sessions.used_at AS session_used_at
             FROM sessions JOIN api_keys ON api_keys.key_id = sessions.key_id
                 JOIN operators ON operators.operator_id = api_keys.operator_id
             WHERE sessions.token_hash = {token}",
            columns = KEY_COLUMNS, operator_columns = OPERATOR_COLUMNS, token
        }
        .fetch_optional(self.reader())
        .await?;
        Ok(found.map(|OwnedSession(session, key, operator)| (session, key, operator)))
    }

    /// Records that a session is in use. A session that ended meanwhile stays ended.
    pub async fn mark_session_used(&self, token: &HashedKey, now: Timestamp) -> Result<(), StoreError> {
        sql! {"UPDATE sessions SET used_at = {now} WHERE token_hash = {token} AND used_at < {now}", token, now}
            .run(self.writer())
            .await
    }

    /// Ends a session; ending it again changes nothing.
    pub async fn delete_session(&self, token: &HashedKey) -> Result<(), StoreError> {
        sql! {"DELETE FROM sessions WHERE token_hash = {token}", token}.run(self.writer()).await
    }
}

impl Database {
    /// For a worker: deletes up to `rows` expired sessions of any operator.
    pub(super) async fn delete_old_sessions(&self, now: Timestamp, rows: i64) -> Result<u64, StoreError> {
        sql! {
            "DELETE FROM sessions WHERE token_hash IN (
                 SELECT token_hash FROM sessions WHERE started_at <= {before} ORDER BY started_at LIMIT {rows})",
            before = now.before(SESSION_LIFE_MAX), rows
        }
        .execute(self.writer())
        .await
    }
}
