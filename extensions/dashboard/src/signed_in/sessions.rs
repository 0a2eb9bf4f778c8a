//! Dashboard sessions: the operator shows a key or a passkey once, and a token stands for it until the session ends. Signing in is on record.

use std::sync::Arc;

use std::collections::HashMap;
use std::net::IpAddr;

use tracing::field::display;

use purser_model::{
    ActionOutcome, ActionWord, ApiKey, Operator, PasskeyUse, Principal, Session, SessionId, SessionToken,
};
use purser_service::audit_scope::AuditScope;
use purser_service::{Forbidden, Inside, Resource, ServiceError, Unauthorized, actions, keys};

/// How many sessions a list shows at most, the latest.
const LISTED_MAX: u32 = 200;

/// Somebody who is signed in.
#[derive(Debug, Clone)]
pub struct SessionView {
    pub session: Session,
    pub key: ApiKey,
    /// Whether the caller may end it.
    pub may_end: bool,
}

/// Who is signed in. A session may do what its key may do now, and nothing once the key is revoked, expired, or used
/// from an address outside its range.
#[derive(Clone)]
pub struct Sessions {
    inside: Arc<Inside>,
}

impl Sessions {
    pub const fn new(inside: Arc<Inside>) -> Self {
        Self { inside }
    }

    /// Signs in an authenticated operator from this address, on record, with its key or `by` a passkey. Forbidden: an agent.
    /// Unauthorized: the passkey was removed or used meanwhile.
    pub async fn open(
        &self,
        principal: &Principal,
        by: Option<&PasskeyUse>,
        address: Option<IpAddr>,
        request_id: Option<ActionWord>,
    ) -> Result<SessionToken, ServiceError> {
        let Principal::Operator { operator, key_id, .. } = principal else {
            return Err(ServiceError::Forbidden(Forbidden::OperatorKeyNeeded));
        };
        let token = SessionToken::new(self.inside.clock.random());
        let id = SessionId::of(&token.hash());
        let mut action = actions::draw(&self.inside, operator, "sign_in")?;
        action.outcome = ActionOutcome::Done;
        action.key_id = Some(*key_id);
        action.session_id = Some(id);
        action.made_id = id.to_string().parse().ok();
        let passkey_id = by.map(|by| by.passkey.id);
        action.object_id = passkey_id.and_then(|id| id.to_string().parse().ok());
        (action.address, action.request_id) = (address, request_id);
        actions::check_room(&self.inside, &action).await?;
        if !self.inside.store.sessions.insert_session(&token.hash(), &action, by).await? {
            return Err(ServiceError::Unauthorized(Unauthorized::UnknownKey));
        }
        let passkey_id = passkey_id.map(display);
        tracing::info!(%key_id, session_id = %id, passkey_id, address = address.map(display), "signed in");
        Ok(token)
    }

    /// Who is signed in with a key of the operator, the latest first.
    pub async fn list(&self, caller: &Principal) -> Result<Vec<SessionView>, ServiceError> {
        let operator: &Operator = caller.operator();
        let listed = self
            .inside
            .store
            .sessions
            .list_sessions(operator.id, self.inside.clock.now(), LISTED_MAX)
            .await?;
        let mut known = HashMap::new();
        let mut views = Vec::new();
        for (session, key) in listed {
            let may_end = match known.get(&key.id) {
                Some(may_end) => *may_end,
                None => keys::is_own_or_made(&self.inside, caller, key.id).await?,
            };
            known.insert(key.id, may_end);
            views.push(SessionView { session, key, may_end });
        }
        Ok(views)
    }

    /// Ends a session of the caller's key or of a key that it made, directly or through others, as it may revoke that key. NotFound:
    /// no such session. Forbidden: another key's, because whoever steals one key could keep the others out.
    pub async fn end_of(
        &self,
        caller: &Principal,
        id: SessionId,
        scope: &AuditScope,
    ) -> Result<(), ServiceError> {
        let missing = ServiceError::NotFound(Resource::Session);
        let listed = self
            .inside
            .store
            .sessions
            .list_sessions(caller.operator_id(), self.inside.clock.now(), LISTED_MAX)
            .await?;
        let Some((_, key)) = listed.into_iter().find(|(session, _)| session.id == id) else {
            return Err(missing);
        };
        if !keys::is_own_or_made(&self.inside, caller, key.id).await? {
            return Err(ServiceError::Forbidden(Forbidden::OtherKey));
        }
        scope.changes(id);
        self.inside.store.sessions.delete_session_of(key.id, id).await?.then_some(()).ok_or(missing)
    }

    /// Ends all sessions of the caller's key but this one.
    pub async fn end_others(
        &self,
        caller: &Principal,
        own: &SessionToken,
        scope: &AuditScope,
    ) -> Result<(), ServiceError> {
        let key_id = caller.key_id();
        scope.changes(key_id);
        Ok(self.inside.store.sessions.delete_other_sessions(key_id, SessionId::of(&own.hash())).await?)
    }

    /// Authenticates a token and prolongs its session; `from` is the caller's address where it is known. Errors as
    /// [`keys::authenticate`], also for an expired session.
    pub async fn resume(
        &self,
        token: &SessionToken,
        from: impl FnOnce() -> Option<IpAddr> + Send,
    ) -> Result<Principal, ServiceError> {
        let now = self.inside.clock.now();
        let unknown = ServiceError::Unauthorized(Unauthorized::UnknownKey);
        let Some((session, key, operator)) = self.inside.store.sessions.find_session(&token.hash()).await?
        else {
            return Err(unknown);
        };
        if session.is_over(now) {
            return Err(unknown);
        }
        let principal = keys::admit(&self.inside, key, operator, from)?;
        if session.is_to_be_noted(now) {
            self.inside.store.sessions.mark_session_used(&token.hash(), now).await?;
        }
        Ok(principal)
    }

    /// Signs out: the token is no longer valid.
    pub async fn end(&self, token: &SessionToken) -> Result<(), ServiceError> {
        Ok(self.inside.store.sessions.delete_session(&token.hash()).await?)
    }
}

#[cfg(test)]
mod tests {
    use purser_api::http::testing::{ACTIONS_MAX, Relayer};
    use purser_model::PlainKey;

    use super::*;

    #[tokio::test]
    async fn key_signs_in_as_often_as_it_may_act_in_a_day() {
        let relayer = Relayer::start().await;
        let plain = PlainKey::parse(&relayer.key).expect("a key");
        let holder =
            keys::authenticate(&relayer.services.inside, &plain, || None).await.expect("an operator's key");
        let sessions = Sessions::new(relayer.services.inside.clone());
        for _ in 0..ACTIONS_MAX {
            sessions.open(&holder, None, None, None).await.expect("signed in");
        }
        let refused = sessions.open(&holder, None, None, None).await;
        assert!(matches!(refused, Err(ServiceError::TooManyActions { most: ACTIONS_MAX, .. })));
    }
}
