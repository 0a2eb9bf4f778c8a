use std::net::IpAddr;

use super::error::{Forbidden, Resource, ServiceError, Unauthorized};
use super::key_uses::KeyUses;
use super::{Ambient, Parts};
use crate::domain::{
    AccountId, AllowedCidrs, ApiKey, CellName, Cursor, Drawn, Invalid, KeyId, KeyScope, NAME_CHARS_MAX,
    Operator, OperatorId, Page, PageRequest, PlainKey, Principal, Timestamp, check_name,
};
use crate::store::{self, StoreError};

/// A request for a new key.
#[derive(Debug, Clone)]
pub struct CreateKey {
    pub name: Option<String>,
    pub expires_at: Option<Timestamp>,
    pub allowed_cidrs: Option<AllowedCidrs>,
}

impl CreateKey {
    /// Invalid: a name that is blank, longer than 200 characters or overrides text direction; an invalid expiry
    /// time; a malformed range, or an empty list of ranges.
    pub fn parse(
        name: Option<String>,
        expires_at: Option<String>,
        allowed_cidrs: Option<Vec<String>>,
    ) -> Result<Self, Invalid> {
        if let Some(name) = &name {
            check_name("name", name, NAME_CHARS_MAX)?;
        }
        let expires_at = expires_at.map(|text| text.parse::<Timestamp>()).transpose();
        Ok(Self {
            name,
            expires_at: expires_at.map_err(|error| Invalid::new(EXPIRES_AT, error.to_string()))?,
            allowed_cidrs: allowed_cidrs.as_deref().map(AllowedCidrs::parse).transpose()?,
        })
    }

    /// Makes the key in this cell, and its record. Invalid: it would expire before it begins.
    pub fn make(
        self,
        operator: &Operator,
        scope: KeyScope,
        cell: Option<&CellName>,
        drawn: &Drawn,
        now: Timestamp,
    ) -> Result<NewKey, Invalid> {
        if self.expires_at.is_some_and(|expires_at| expires_at <= now) {
            return Err(Invalid::new(EXPIRES_AT, "must be in the future"));
        }
        let plain = PlainKey::new(scope.role(), operator.network, cell, *drawn.secret);
        let record = ApiKey {
            id: KeyId::new(drawn.at, drawn.id_bits),
            operator_id: operator.id,
            scope,
            name: self.name,
            hint: plain.hint(),
            created_at: now,
            expires_at: self.expires_at,
            revoked_at: None,
            last_used_at: None,
            allowed_cidrs: self.allowed_cidrs,
        };
        Ok(NewKey { record, plain })
    }
}

/// A new key with its text, which is never shown again.
#[derive(Debug, Clone)]
pub struct NewKey {
    pub record: ApiKey,
    pub plain: PlainKey,
}

const EXPIRES_AT: &str = "expires_at";

/// Binds a cursor of the key list to its operator and account.
pub fn keys_filter(operator_id: OperatorId, account_id: AccountId) -> String {
    format!("keys|{operator_id}|{account_id}")
}

/// API keys: authenticates callers and manages agents' keys.
#[derive(Clone)]
pub struct Keys {
    keys: store::Keys,
    accounts: store::Accounts,
    ambient: Ambient,
    keys_max: u32,
    cell: Option<CellName>,
    uses: KeyUses,
}

impl Keys {
    pub(super) fn new(parts: &Parts) -> Self {
        Self {
            keys: parts.store.keys.clone(),
            accounts: parts.store.accounts.clone(),
            ambient: parts.ambient.clone(),
            keys_max: parts.keys_max,
            cell: parts.cell.clone(),
            uses: KeyUses::new(parts),
        }
    }

    /// Authenticates the caller; `from` is the caller's address where it is known. Unauthorized: unknown, expired or
    /// revoked, or the key names another cell, even if it is known here. Forbidden: the key may not be used from this address.
    pub async fn authenticate(
        &self,
        key: &PlainKey,
        from: impl FnOnce() -> Option<IpAddr> + Send,
    ) -> Result<Principal, ServiceError> {
        let unknown = || ServiceError::Unauthorized(Unauthorized::UnknownKey);
        if key.cell().is_some() && key.cell() != self.cell.as_ref() {
            return Err(ServiceError::Unauthorized(Unauthorized::KeyOfOtherCell));
        }
        // The index finds a hash of 256 random bits, so the time it takes reveals nothing about a key.
        let Some((record, operator)) = self.keys.find_key_by_hash(&key.hash()).await? else {
            return Err(unknown());
        };
        if operator.network != key.network() {
            return Err(unknown());
        }
        self.admit(record, operator, from)
    }

    /// The principal of a known key. Errors as [`Keys::authenticate`].
    pub(super) fn admit(
        &self,
        record: ApiKey,
        operator: Operator,
        from: impl FnOnce() -> Option<IpAddr>,
    ) -> Result<Principal, ServiceError> {
        let unauthorized = |reason| Err(ServiceError::Unauthorized(reason));
        if record.revoked_at.is_some() {
            return unauthorized(Unauthorized::RevokedKey);
        }
        let now = self.ambient.now();
        if record.expires_at.is_some_and(|expires_at| expires_at <= now) {
            return unauthorized(Unauthorized::ExpiredKey);
        }
        if let Some(allowed) = &record.allowed_cidrs {
            let address = from();
            if !address.is_some_and(|address| allowed.contain(address)) {
                return Err(ServiceError::Forbidden(Forbidden::OtherAddress(address)));
            }
        }
        self.uses.note(record.id, now);
        Ok(match record.scope {
            KeyScope::Operator => Principal::Operator { operator, key_id: record.id },
            KeyScope::Agent(account_id) => Principal::Agent { operator, account_id, key_id: record.id },
        })
    }

    /// Whether an accepted key is still valid: neither revoked nor expired.
    pub async fn is_good(&self, key_id: KeyId) -> Result<bool, ServiceError> {
        let now = self.ambient.now();
        let key = self.keys.find_key(key_id).await?;
        Ok(key.is_some_and(|key| {
            key.revoked_at.is_none() && key.expires_at.is_none_or(|expires_at| expires_at > now)
        }))
    }

    /// Writes down key uses until the process stops.
    pub(super) fn note_uses(&self) {
        self.uses.write_until_stopped();
    }

    /// Makes a key for one account; with `drawn` from a request's name, repeating the call gives the same key. Invalid:
    /// `expires_at` is not in the future, or the operator has reached its maximum of keys. NotFound: the account.
    pub async fn create(
        &self,
        operator: &Operator,
        account_id: AccountId,
        asked: CreateKey,
        drawn: Option<Drawn>,
    ) -> Result<NewKey, ServiceError> {
        self.find_account(operator, account_id).await?;
        let now = self.ambient.now();
        let is_named = drawn.is_some();
        let drawn = drawn.unwrap_or_else(|| self.ambient.draw());
        let scope = KeyScope::Agent(account_id);
        if is_named && let Some(record) = self.find_made(operator, &drawn).await? {
            let plain = PlainKey::new(scope.role(), operator.network, self.cell.as_ref(), *drawn.secret);
            return Ok(NewKey { record, plain });
        }
        let NewKey { record, plain } = asked.make(operator, scope, self.cell.as_ref(), &drawn, now)?;
        let keys_max = self.keys_max;
        match self.keys.insert_key_within(&record, &plain.hash(), keys_max).await {
            Ok(()) => Ok(NewKey { record, plain }),
            Err(StoreError::Full) => {
                let message = format!(
                    "asks for one key too many: an operator may have {keys_max} keys that are not revoked; revoke some \
                     that you no longer need, expired ones too"
                );
                Err(Invalid::new("body", message).into())
            }
            Err(error) => Err(error.into()),
        }
    }

    /// The key that was made under the same name before a crash.
    async fn find_made(&self, operator: &Operator, drawn: &Drawn) -> Result<Option<ApiKey>, ServiceError> {
        Ok(self.keys.find_key_of(operator.id, KeyId::new(drawn.at, drawn.id_bits)).await?)
    }

    /// The keys of one account, newest first, expired and revoked ones included. NotFound: the account.
    pub async fn list(
        &self,
        operator: &Operator,
        account_id: AccountId,
        request: PageRequest,
    ) -> Result<Page<ApiKey>, ServiceError> {
        self.find_account(operator, account_id).await?;
        let after = request.after.as_ref().map(|cursor| cursor.position().parse::<KeyId>()).transpose();
        let after = after.map_err(|_| Invalid::new("cursor", "is not a cursor of this list"))?;
        let rows_max = request.limit.get() + 1;
        let rows = self.keys.list_account_keys(operator.id, account_id, after, rows_max).await?;
        let filter = keys_filter(operator.id, account_id);
        Ok(Page::from_rows(rows, request.limit, |last| Cursor::new(&filter, last.id.to_string())))
    }

    /// Revokes an agent key, or the caller's own key, at once; revoking it again changes nothing. NotFound: no key of the operator.
    /// Forbidden: another operator key, because whoever steals one key could lock the others out of the halt.
    pub async fn revoke(&self, caller: &Principal, key_id: KeyId) -> Result<(), ServiceError> {
        let operator_id = caller.operator_id();
        let missing = || ServiceError::NotFound(Resource::Key);
        let key = self.keys.find_key_of(operator_id, key_id).await?.ok_or_else(missing)?;
        match key.scope {
            KeyScope::Operator if key_id != caller.key_id() => {
                return Err(ServiceError::Forbidden(Forbidden::OtherOperatorKey));
            }
            KeyScope::Operator | KeyScope::Agent(_) => {}
        }
        let revoked = self.keys.mark_key_revoked(operator_id, key_id, self.ambient.now()).await?;
        revoked.map(|_| ()).ok_or_else(missing)
    }

    async fn find_account(&self, operator: &Operator, account_id: AccountId) -> Result<(), ServiceError> {
        let account = self.accounts.find_account(operator.id, account_id).await?;
        account.map(|_| ()).ok_or(ServiceError::NotFound(Resource::Account))
    }
}
