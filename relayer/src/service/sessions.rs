//! Dashboard sessions: the operator shows a key once, and a token stands for it until the session ends.

use std::net::IpAddr;

use super::error::{Forbidden, ServiceError, Unauthorized};
use super::{Ambient, Keys, Parts};
use crate::domain::{Principal, SessionToken};
use crate::store;

/// Who is signed in. A session may do what its key may do now, and nothing once the key is revoked, expired, or used
/// from an address outside its range.
#[derive(Clone)]
pub struct Sessions {
    sessions: store::Sessions,
    ambient: Ambient,
    keys: Keys,
}

impl Sessions {
    pub(super) fn new(parts: &Parts, keys: Keys) -> Self {
        Self { sessions: parts.store.sessions.clone(), ambient: parts.ambient.clone(), keys }
    }

    /// Signs in an authenticated operator. Forbidden: an agent.
    pub async fn open(&self, principal: &Principal) -> Result<SessionToken, ServiceError> {
        let Principal::Operator { key_id, .. } = principal else {
            return Err(ServiceError::Forbidden(Forbidden::OperatorKeyNeeded));
        };
        let token = SessionToken::new(self.ambient.random());
        self.sessions.insert_session(&token.hash(), *key_id, self.ambient.now()).await?;
        Ok(token)
    }

    /// Authenticates a token and prolongs its session; `from` is the caller's address where it is known. Errors as
    /// [`Keys::authenticate`], also for an expired session.
    pub async fn resume(
        &self,
        token: &SessionToken,
        from: impl FnOnce() -> Option<IpAddr> + Send,
    ) -> Result<Principal, ServiceError> {
        let now = self.ambient.now();
        let unknown = ServiceError::Unauthorized(Unauthorized::UnknownKey);
        let Some((session, key, operator)) = self.sessions.find_session(&token.hash()).await? else {
            return Err(unknown);
        };
        if session.is_over(now) {
            return Err(unknown);
        }
        let principal = self.keys.admit(key, operator, from)?;
        if session.is_to_be_noted(now) {
            self.sessions.mark_session_used(&token.hash(), now).await?;
        }
        Ok(principal)
    }

    /// Signs out: the token is no longer valid.
    pub async fn end(&self, token: &SessionToken) -> Result<(), ServiceError> {
        Ok(self.sessions.delete_session(&token.hash()).await?)
    }
}
