//! Dashboard sessions.

use macro_rules_attribute::derive;

use super::columns::Table;
use super::keys::OwnedKeyRow;
use super::query::query;
use super::row::ByName;
use super::{Store, StoreError};
use crate::domain::{
    ApiKey, HashedKey, KeyId, Operator, SESSION_LIFE_MAX, SESSIONS_PER_KEY_MAX, Session, Timestamp,
};

const TABLE: Table = Table("sessions");

#[derive(Debug, ByName!)]
struct SessionRow {
    owned: OwnedKeyRow,
    session_started_at: String,
    session_used_at: String,
}

impl Store {
    /// Stores a session by the hash of its token, and ends the key's oldest beyond [`SESSIONS_PER_KEY_MAX`].
    pub async fn insert_session(
        &self,
        token: &HashedKey,
        key: KeyId,
        now: Timestamp,
    ) -> Result<(), StoreError> {
        const SQL: &str =
            "INSERT INTO sessions (token_hash, key_id, started_at, used_at) VALUES ($1, $2, $3, $3)";
        // SQLite has no OFFSET without a LIMIT.
        const BOUND: &str = "DELETE FROM sessions WHERE token_hash IN (
                 SELECT token_hash FROM sessions WHERE key_id = $1 AND token_hash <> $2
                 ORDER BY started_at DESC, token_hash LIMIT 1000 OFFSET $3)";
        let insert = query(SQL).bind(token.to_hex()).bind(key.to_string()).bind(now.to_string());
        insert.execute(self.writer()).await?;
        let bound = query(BOUND).bind(key.to_string()).bind(token.to_hex()).bind(SESSIONS_PER_KEY_MAX - 1);
        bound.execute(self.writer()).await?;
        Ok(())
    }

    /// The session of this token, the present state of its key, and the key's operator. Takes no owner, because it
    /// finds the owner.
    pub async fn find_session(
        &self,
        token: &HashedKey,
    ) -> Result<Option<(Session, ApiKey, Operator)>, StoreError> {
        const SQL: &str =
            "SELECT k.key_id, k.operator_id, k.account_id, k.name, k.hint, k.created_at, k.expires_at, k.revoked_at,
                 k.last_used_at, k.allowed_cidrs, o.network, o.name AS operator_name, o.address,
                 o.created_at AS operator_created_at, s.started_at AS session_started_at, s.used_at AS session_used_at
             FROM sessions s JOIN api_keys k ON k.key_id = s.key_id JOIN operators o ON o.operator_id = k.operator_id
             WHERE s.token_hash = $1";
        let row: Option<SessionRow> = query(SQL).bind(token.to_hex()).fetch_optional(self.reader()).await?;
        let Some(SessionRow { owned, session_started_at, session_used_at }) = row else { return Ok(None) };
        let session = Session {
            started_at: TABLE.read("started_at", &session_started_at)?,
            used_at: TABLE.read("used_at", &session_used_at)?,
        };
        let (key, operator) = owned.into_key_and_operator()?;
        Ok(Some((session, key, operator)))
    }

    /// Records that a session is in use. A session that ended meanwhile stays ended.
    pub async fn mark_session_used(&self, token: &HashedKey, now: Timestamp) -> Result<(), StoreError> {
        const SQL: &str = "UPDATE sessions SET used_at = $2 WHERE token_hash = $1 AND used_at < $2";
        query(SQL).bind(token.to_hex()).bind(now.to_string()).execute(self.writer()).await?;
        Ok(())
    }

    /// Ends a session; ending it again changes nothing.
    pub async fn delete_session(&self, token: &HashedKey) -> Result<(), StoreError> {
        const SQL: &str = "DELETE FROM sessions WHERE token_hash = $1";
        query(SQL).bind(token.to_hex()).execute(self.writer()).await?;
        Ok(())
    }

    /// For a worker: deletes up to `rows` expired sessions of any operator.
    pub(super) async fn delete_old_sessions(&self, now: Timestamp, rows: i64) -> Result<u64, StoreError> {
        const SQL: &str = "DELETE FROM sessions WHERE token_hash IN (
                 SELECT token_hash FROM sessions WHERE started_at <= $1 ORDER BY started_at LIMIT $2)";
        let before = now.before(SESSION_LIFE_MAX);
        query(SQL).bind(before.to_string()).bind(rows).execute(self.writer()).await
    }
}
