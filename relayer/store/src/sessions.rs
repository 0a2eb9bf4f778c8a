//! Dashboard sessions.

use futures::FutureExt;

use super::actions::{announce_end, insert};
use super::passkeys::mark_used;
use super::query::{columns, sql};
use super::row::{Listed, row, unreadable};
use super::{Database, Result, Sessions};
use purser_model::{
    Action, ApiKey, HashedKey, KeyId, Operator, OperatorId, PasskeyUse, SESSION_IDLE_MAX, SESSION_LIFE_MAX,
    SESSIONS_PER_KEY_MAX, Session, SessionId, Timestamp,
};

row! { Session of sessions {
    id(token_hash) =
        SessionId::from_stored(String::as_str(&token_hash)).ok_or_else(|| unreadable("token_hash"))?,
    started_at as session_started_at, used_at as session_used_at, address as session_address,
}}

impl Sessions {
    /// Stores a session by the hash of its token, with the record of signing in, which it announces, and ends the key's oldest beyond
    /// [`SESSIONS_PER_KEY_MAX`]. `false`: the passkey that it is opened `by` was removed or used meanwhile.
    pub async fn insert_session(
        &self,
        token: &HashedKey,
        signing_in: &Action,
        by: Option<&PasskeyUse>,
    ) -> Result<bool> {
        let Action { id, operator_id, key_id: key, address, created_at: now, .. } = signing_in;
        let used = by.map(|by| mark_used(by, *now));
        let session = sql! {
            "INSERT INTO sessions {row}",
            row = columns! {
                token_hash = token, key_id = key, started_at = now, used_at = now, address,
                passkey_id = by.map(|by| by.passkey.id)
            }
        };
        // SQLite has no OFFSET without a LIMIT.
        let oldest = sql! {
            "DELETE FROM sessions WHERE token_hash IN (
                 SELECT token_hash FROM sessions WHERE key_id = {key} AND token_hash <> {token}
                 ORDER BY started_at DESC, token_hash LIMIT 1000 OFFSET {others})",
            key, token, others = SESSIONS_PER_KEY_MAX - 1
        };
        let (action, of, now) = (insert(signing_in), (*operator_id, *id), *now);
        self.write_events(move |tx| {
            async move {
                if let Some(used) = used
                    && !used.touches(&mut *tx).await?
                {
                    return Ok(false);
                }
                session.run(&mut *tx).await?;
                action.run(&mut *tx).await?;
                oldest.run(&mut *tx).await?;
                announce_end(tx, of, now).await?;
                Ok(true)
            }
            .boxed()
        })
        .await
    }

    /// The session of this token, the present state of its key, and the key's operator. Takes no owner, because it
    /// finds the owner.
    pub async fn find_session(&self, token: &HashedKey) -> Result<Option<(Session, ApiKey, Operator)>> {
        sql! {
            "SELECT {columns}, {operator_columns}, {session_columns}
             FROM sessions JOIN api_keys ON api_keys.key_id = sessions.key_id
                 JOIN operators ON operators.operator_id = api_keys.operator_id
             WHERE sessions.token_hash = {token}",
            columns = ApiKey::COLUMNS, operator_columns = Operator::COLUMNS, session_columns = Session::COLUMNS, token
        }
        .fetch_optional(self.reader())
        .await
    }

    /// The operator's sessions that are not over, the latest first, each with its key. Reads those of all operators, which are few:
    /// each key has some dozens for half a day. An operator may have many thousands of keys.
    pub async fn list_sessions(
        &self,
        operator: OperatorId,
        now: Timestamp,
        rows_max: u32,
    ) -> Result<Vec<(Session, ApiKey)>> {
        let found: Vec<(Session, ApiKey, Operator)> = sql! {
            "SELECT {columns}, {operator_columns}, {session_columns}
             FROM sessions CROSS JOIN api_keys CROSS JOIN operators
             WHERE api_keys.key_id = sessions.key_id AND operators.operator_id = api_keys.operator_id
                 AND api_keys.operator_id = {operator} AND revoked_at IS NULL
                 AND COALESCE(expires_at, '~') > {now}
                 AND sessions.started_at > {started_after} AND sessions.used_at > {used_after}
             ORDER BY sessions.started_at DESC, sessions.token_hash LIMIT {rows_max}",
            columns = ApiKey::COLUMNS, operator_columns = Operator::COLUMNS, session_columns = Session::COLUMNS,
            operator, now, started_after = now.before(SESSION_LIFE_MAX), used_after = now.before(SESSION_IDLE_MAX), rows_max
        }
        .fetch_all(self.lister())
        .await?;
        Ok(found.into_iter().map(|(session, key, _)| (session, key)).collect())
    }

    /// Records that a session is in use. A session that ended meanwhile stays ended.
    pub async fn mark_session_used(&self, token: &HashedKey, now: Timestamp) -> Result<()> {
        sql! {"UPDATE sessions SET used_at = {now} WHERE token_hash = {token} AND used_at < {now}", token, now}
            .run(self.writer())
            .await
    }

    /// Ends a session; ending it again changes nothing.
    pub async fn delete_session(&self, token: &HashedKey) -> Result<()> {
        sql! {"DELETE FROM sessions WHERE token_hash = {token}", token}.run(self.writer()).await
    }

    /// Ends this key's session of that name. `false`: there is none.
    pub async fn delete_session_of(&self, key: KeyId, id: SessionId) -> Result<bool> {
        sql! {
            "DELETE FROM sessions WHERE key_id = {key} AND substr(token_hash, 1, 16) = {beginning}",
            key, beginning = id.stored()
        }
        .touches(self.writer())
        .await
    }

    /// Ends all sessions of this key but one.
    pub async fn delete_other_sessions(&self, key: KeyId, but: SessionId) -> Result<()> {
        sql! {
            "DELETE FROM sessions WHERE key_id = {key} AND substr(token_hash, 1, 16) <> {beginning}",
            key, beginning = but.stored()
        }
        .run(self.writer())
        .await
    }
}

impl Database {
    /// For a worker: deletes up to `rows` expired sessions of any operator.
    pub(super) async fn delete_old_sessions(&self, now: Timestamp, rows: i64) -> Result<u64> {
        sql! {
            "DELETE FROM sessions WHERE token_hash IN (
                 SELECT token_hash FROM sessions WHERE started_at <= {before} ORDER BY started_at LIMIT {rows})",
            before = now.before(SESSION_LIFE_MAX), rows
        }
        .execute(self.writer())
        .await
    }
}
