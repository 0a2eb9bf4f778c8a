//! Passkeys: a person's device signs a challenge, and that opens a session of an operator key. The pages check the signature; here is
//! what a challenge is good for, and whose a passkey is.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::Arc;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;

use purser_model::{
    ApiKey, CEREMONY_MAX, Ceremony, Invalid, NAME_CHARS_MAX, PASSKEYS_PER_KEY_MAX, Passkey, PasskeyId,
    PasskeyUse, Principal, SealingKey, Timestamp, check_name,
};
use purser_service::audit_scope::AuditScope;
use purser_service::{Forbidden, Inside, Resource, ServiceError, Unauthorized, keys};
use purser_store::StoreError;

const PURPOSE: &[u8] = b"purser:passkey:v1";
const TAG_BYTES: usize = 16;
/// How many passkeys a list shows at most, the newest.
const LISTED_MAX: u32 = 200;

/// What was kept of a challenge, and when it was made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BegunCeremony {
    pub state: String,
    pub at: Timestamp,
}

/// A passkey that a device just made.
#[derive(Debug, Clone)]
pub struct NewPasskey {
    pub name: String,
    pub credential_id: String,
    pub credential: String,
}

/// A passkey in a list.
#[derive(Debug, Clone)]
pub struct PasskeyView {
    pub passkey: Passkey,
    pub key: ApiKey,
    /// Whether the caller may remove it.
    pub may_remove: bool,
}

/// What opens sessions in place of operator keys. A passkey may do what its key may do now, and nothing once that has ended.
#[derive(Clone)]
pub struct Passkeys {
    inside: Arc<Inside>,
    /// Marks what browsers keep of a challenge. `None`: there are no passkeys.
    key: Option<Arc<SealingKey>>,
}

impl Passkeys {
    pub const fn new(inside: Arc<Inside>, key: Option<Arc<SealingKey>>) -> Self {
        Self { inside, key }
    }

    /// Whether there can be any: browsers keep what belongs to a challenge, marked with a key that all relayers have.
    pub fn are_possible(&self) -> bool {
        self.key.is_some()
    }

    /// What the browser keeps of a challenge that was just made. Nobody else can make it.
    pub fn begin(&self, ceremony: Ceremony, state: &str) -> Result<String, ServiceError> {
        let key = self.key.as_ref().ok_or(ServiceError::NotConfigured)?;
        let marked = format!("{}|{state}", self.inside.clock.now());
        let tag = key.tag(PURPOSE, format!("{ceremony}|{marked}").as_bytes());
        Ok(URL_SAFE_NO_PAD.encode([tag.as_slice(), marked.as_bytes()].concat()))
    }

    /// Reads it back. `None`: it is for something else, was made too long ago, or not by us.
    pub fn begun(&self, ceremony: Ceremony, kept: Option<&str>) -> Option<BegunCeremony> {
        let now = self.inside.clock.now();
        let begun = self.read(ceremony, kept?)?;
        (begun.at <= now && now < begun.at.after(CEREMONY_MAX)).then_some(begun)
    }

    fn read(&self, ceremony: Ceremony, kept: &str) -> Option<BegunCeremony> {
        let bytes = URL_SAFE_NO_PAD.decode(kept).ok()?;
        let (tag, marked) = bytes.split_at_checked(TAG_BYTES)?;
        let marked = std::str::from_utf8(marked).ok()?;
        if !self.key.as_ref()?.is_tag(PURPOSE, format!("{ceremony}|{marked}").as_bytes(), tag) {
            return None;
        }
        let (at, state) = marked.split_once('|')?;
        Some(BegunCeremony { state: state.to_owned(), at: at.parse().ok()? })
    }

    /// Adds a passkey to the caller's key. Forbidden: an agent. Invalid: its name; it is a passkey already, or the key has as many as
    /// it may have.
    pub async fn add(
        &self,
        caller: &Principal,
        made: NewPasskey,
        begun_at: Timestamp,
        scope: &AuditScope,
    ) -> Result<(), ServiceError> {
        let Principal::Operator { operator, key_id, .. } = caller else {
            return Err(ServiceError::Forbidden(Forbidden::OperatorKeyNeeded));
        };
        check_name("name", &made.name, NAME_CHARS_MAX)?;
        let now = self.inside.clock.now();
        let passkey = Passkey {
            id: PasskeyId::new(now, self.inside.clock.id_bits()),
            key_id: *key_id,
            name: made.name,
            credential_id: made.credential_id,
            credential: made.credential,
            created_at: now,
            used_at: None,
        };
        scope.makes(passkey.id);
        match self.inside.store.sessions.insert_passkey(operator.id, &passkey, begun_at).await {
            Ok(()) => Ok(()),
            Err(StoreError::Full) => {
                let message =
                    format!("is one too many: a key has at most {PASSKEYS_PER_KEY_MAX} passkeys; remove one");
                Err(Invalid::new("credential", message).into())
            }
            Err(StoreError::AlreadyThere) => {
                Err(Invalid::new("credential", "is a passkey already, or another was added meanwhile").into())
            }
            Err(error) => Err(error.into()),
        }
    }

    /// The passkeys of the operator's keys, the newest first.
    pub async fn list(&self, caller: &Principal) -> Result<Vec<PasskeyView>, ServiceError> {
        let listed = self
            .inside
            .store
            .sessions
            .list_passkeys(caller.operator_id(), self.inside.clock.now(), LISTED_MAX)
            .await?;
        let mut known = HashMap::new();
        let mut views = Vec::new();
        for (passkey, key) in listed {
            let may_remove = match known.get(&key.id) {
                Some(may_remove) => *may_remove,
                None => keys::is_own_or_made(&self.inside, caller, key.id).await?,
            };
            known.insert(key.id, may_remove);
            views.push(PasskeyView { passkey, key, may_remove });
        }
        Ok(views)
    }

    /// Removes a passkey of the caller's key or of a key that it made, and ends the sessions that it opened. NotFound: no such
    /// passkey. Forbidden: another key's.
    pub async fn remove(
        &self,
        caller: &Principal,
        id: PasskeyId,
        scope: &AuditScope,
    ) -> Result<(), ServiceError> {
        let missing = ServiceError::NotFound(Resource::Passkey);
        let found = self.list(caller).await?.into_iter().find(|view| view.passkey.id == id);
        let Some(view) = found else { return Err(missing) };
        if !view.may_remove {
            return Err(ServiceError::Forbidden(Forbidden::OtherKey));
        }
        scope.changes(id);
        self.inside.store.sessions.delete_passkey(view.key.id, id).await?.then_some(()).ok_or(missing)
    }

    /// Who a passkey signs in, once `check` has found its signature good: that gives its credential afterwards. `from` is the caller's
    /// address where it is known. Errors as [`keys::authenticate`].
    pub async fn admit(
        &self,
        credential_id: &str,
        begun_at: Timestamp,
        from: impl FnOnce() -> Option<IpAddr> + Send,
        check: impl FnOnce(&Passkey) -> Option<String> + Send,
    ) -> Result<(Principal, PasskeyUse), ServiceError> {
        let unknown = || ServiceError::Unauthorized(Unauthorized::UnknownKey);
        let found = self.inside.store.sessions.find_passkey(credential_id).await?;
        let (passkey, key, operator) = found.ok_or_else(unknown)?;
        // Before anything of its key is told.
        let credential = check(&passkey).ok_or_else(unknown)?;
        let principal = keys::admit(&self.inside, key, operator, from)?;
        Ok((principal, PasskeyUse { passkey, credential, begun_at }))
    }
}
