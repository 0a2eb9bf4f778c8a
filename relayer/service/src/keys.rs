use std::sync::Arc;

use std::net::IpAddr;

use super::error::{Forbidden, Resource, ServiceError, Unauthorized};
use crate::audit_scope::AuditScope;
use crate::{Inside, key_uses};
use purser_model::{
    ApiKey, CellName, CreateKey, Invalid, KeyHolder, KeyId, Operator, OperatorId, Page, PageRequest,
    PlainKey, Principal, Scopes, SeededRandom, Timestamp,
};
use purser_store::StoreError;

/// The key that is asked for, as `maker` may make it: where nothing is asked for, the new key is like it. An agent is elsewhere
/// than who makes its key, so its addresses and its end are its own. Forbidden: the new key could do more than `maker`.
fn within(mut asked: CreateKey, maker: &ApiKey, holder: KeyHolder) -> Result<CreateKey, Forbidden> {
    let scopes = asked.scopes.or(match holder {
        KeyHolder::Operator => Some(maker.scopes),
        KeyHolder::Agent(_) => maker.scopes.covered(Scopes::OF_AGENTS),
    });
    asked.scopes = scopes.filter(|scopes| maker.scopes.cover(*scopes));
    if asked.scopes.is_none() {
        return Err(Forbidden::MoreThanItself(SCOPES));
    }
    if let (KeyHolder::Operator, Some(end)) = (holder, maker.expires_at)
        && *asked.expires_at.get_or_insert(end) > end
    {
        return Err(Forbidden::MoreThanItself(EXPIRES_AT));
    }
    if let (KeyHolder::Operator, Some(ranges)) = (holder, &maker.allowed_cidrs)
        && !ranges.cover(asked.allowed_cidrs.get_or_insert_with(|| ranges.clone()))
    {
        return Err(Forbidden::MoreThanItself(ALLOWED_CIDRS));
    }
    Ok(asked)
}

/// Makes the key in this cell, and its record. Invalid: it would expire before it begins, or has scopes that no key of this
/// holder can have.
pub fn make_key(
    asked: CreateKey,
    (operator, holder): (&Operator, KeyHolder),
    cell: Option<&CellName>,
    drawn: &SeededRandom,
    now: Timestamp,
) -> Result<NewKey, Invalid> {
    if asked.expires_at.is_some_and(|expires_at| expires_at <= now) {
        return Err(Invalid::new(EXPIRES_AT, "must be in the future"));
    }
    let most = holder.all_scopes();
    let scopes = asked.scopes.unwrap_or(most);
    if !most.cover(scopes) {
        return Err(Invalid::new(SCOPES, "may be `read` and `pay` for an agent's key, and no others"));
    }
    let plain = PlainKey::new(holder.role(), operator.network, cell, *drawn.secret);
    let record = ApiKey {
        id: KeyId::new(drawn.at, drawn.id_bits),
        operator_id: operator.id,
        holder,
        scopes,
        made_by: None,
        name: asked.name.map(|name| name.as_str().to_owned()),
        hint: plain.hint(),
        created_at: now,
        expires_at: asked.expires_at,
        revoked_at: None,
        last_used_at: None,
        allowed_cidrs: asked.allowed_cidrs,
    };
    Ok(NewKey { record, plain })
}

/// A new key with its text, which is never shown again.
#[derive(Debug, Clone)]
pub struct NewKey {
    pub record: ApiKey,
    pub plain: PlainKey,
}

const EXPIRES_AT: &str = "expires_at";
const ALLOWED_CIDRS: &str = "allowed_cidrs";
const SCOPES: &str = "scopes";

/// Binds a cursor of the key list to its operator and holder.
fn keys_filter(operator_id: OperatorId, holder: KeyHolder) -> String {
    match holder {
        KeyHolder::Operator => format!("keys|{operator_id}"),
        KeyHolder::Agent(account_id) => format!("keys|{operator_id}|{account_id}"),
    }
}

/// Authenticates the caller; `from` is the caller's address where it is known. Unauthorized: unknown, expired or
/// revoked, or the key names another cell, even if it is known here. Forbidden: the key may not be used from this address.
pub async fn authenticate(
    inside: &Arc<Inside>,
    key: &PlainKey,
    from: impl FnOnce() -> Option<IpAddr> + Send,
) -> Result<Principal, ServiceError> {
    let unknown = || ServiceError::Unauthorized(Unauthorized::UnknownKey);
    if key.cell().is_some() && key.cell() != inside.cell.as_ref() {
        return Err(ServiceError::Unauthorized(Unauthorized::KeyOfOtherCell));
    }
    // The index finds a hash of 256 random bits, so the time it takes reveals nothing about a key.
    let Some((record, operator)) = inside.store.keys.find_key_by_hash(&key.hash()).await? else {
        return Err(unknown());
    };
    if operator.network != key.network() {
        return Err(unknown());
    }
    admit(inside, record, operator, from)
}

/// The principal of a known key. Errors as [`authenticate`].
pub fn admit(
    inside: &Arc<Inside>,
    record: ApiKey,
    operator: Operator,
    from: impl FnOnce() -> Option<IpAddr>,
) -> Result<Principal, ServiceError> {
    let unauthorized = |reason| Err(ServiceError::Unauthorized(reason));
    if record.revoked_at.is_some() {
        return unauthorized(Unauthorized::RevokedKey);
    }
    let now = inside.clock.now();
    if record.expires_at.is_some_and(|expires_at| expires_at <= now) {
        return unauthorized(Unauthorized::ExpiredKey);
    }
    if let Some(allowed) = &record.allowed_cidrs {
        let address = from();
        if !address.is_some_and(|address| allowed.contain(address)) {
            return Err(ServiceError::Forbidden(Forbidden::OtherAddress(address)));
        }
    }
    key_uses::note(inside, record.id, now);
    let ApiKey { id: key_id, scopes, .. } = record;
    Ok(match record.holder {
        KeyHolder::Operator => Principal::Operator { operator, key_id, scopes },
        KeyHolder::Agent(account_id) => Principal::Agent { operator, account_id, key_id, scopes },
    })
}

/// Tells if an accepted key is still valid: neither revoked nor expired.
pub async fn is_good(inside: &Arc<Inside>, key_id: KeyId) -> Result<bool, ServiceError> {
    let now = inside.clock.now();
    let key = inside.store.keys.find_key(key_id).await?;
    Ok(key.is_some_and(|key| {
        key.revoked_at.is_none() && key.expires_at.is_none_or(|expires_at| expires_at > now)
    }))
}

/// Makes a key for the operator or one account; with `drawn` from a request's name, repeating the call gives the same key.
/// Invalid: `expires_at` is not in the future, scopes that an agent cannot have, or the operator has reached its maximum of
/// keys. NotFound: the account. Forbidden: it could do more than the caller's key.
pub async fn create(
    inside: &Arc<Inside>,
    caller: &Principal,
    holder: KeyHolder,
    asked: CreateKey,
    drawn: Option<SeededRandom>,
    scope: &AuditScope,
) -> Result<NewKey, ServiceError> {
    let operator = caller.operator();
    find_holder(inside, operator, holder).await?;
    let now = inside.clock.now();
    let is_named = drawn.is_some();
    let drawn = drawn.unwrap_or_else(|| inside.clock.draw());
    if is_named && let Some(record) = find_made(inside, operator, &drawn).await? {
        let plain = PlainKey::new(holder.role(), operator.network, inside.cell.as_ref(), *drawn.secret);
        return Ok(NewKey { record, plain });
    }
    let maker = inside.store.keys.find_key_of(operator.id, caller.key_id()).await?;
    let maker = maker.filter(|maker| maker.revoked_at.is_none());
    let maker = maker.ok_or(ServiceError::Unauthorized(Unauthorized::RevokedKey))?;
    let asked = within(asked, &maker, holder).map_err(ServiceError::Forbidden)?;
    let NewKey { record, plain } = make_key(asked, (operator, holder), inside.cell.as_ref(), &drawn, now)?;
    let record = ApiKey { made_by: Some(maker.id), ..record };
    let keys_max = inside.keys_max;
    scope.makes(record.id);
    match inside.store.keys.insert_key_within(&record, &plain.hash(), keys_max).await {
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
async fn find_made(
    inside: &Arc<Inside>,
    operator: &Operator,
    drawn: &SeededRandom,
) -> Result<Option<ApiKey>, ServiceError> {
    Ok(inside.store.keys.find_key_of(operator.id, KeyId::new(drawn.at, drawn.id_bits)).await?)
}

/// The operator's own keys or those of one account, newest first, expired and revoked ones included. NotFound: the account.
pub async fn list(
    inside: &Arc<Inside>,
    operator: &Operator,
    holder: KeyHolder,
    request: PageRequest,
) -> Result<Page<ApiKey>, ServiceError> {
    let listing = request.of(keys_filter(operator.id, holder))?;
    find_holder(inside, operator, holder).await?;
    let (after, rows_max) = (listing.after, listing.rows_max());
    let rows = inside.store.keys.list_keys_of(operator.id, holder, after, rows_max).await?;
    Ok(listing.page(rows, |last| last.id))
}

/// The operator's keys with these ids, those of its accounts too. At most 1,000.
pub async fn named(
    inside: &Arc<Inside>,
    operator: &Operator,
    ids: &[KeyId],
) -> Result<Vec<ApiKey>, ServiceError> {
    Ok(inside.store.keys.find_keys_of(operator.id, ids).await?)
}

/// Revokes a key at once: the caller's own, one that it made, directly or through others, or with `admin` an agent's. Revoking it
/// again changes nothing. All that it made stays. NotFound: no key of the operator. Forbidden: another key, because the thief
/// of one key could lock the others out of the halt.
pub async fn revoke(
    inside: &Arc<Inside>,
    caller: &Principal,
    key_id: KeyId,
    scope: &AuditScope,
) -> Result<(), ServiceError> {
    let operator_id = caller.operator_id();
    let missing = || ServiceError::NotFound(Resource::Key);
    let key = inside.store.keys.find_key_of(operator_id, key_id).await?.ok_or_else(missing)?;
    let is_agents = key.holder.account_id().is_some();
    let may =
        is_agents && caller.scopes().cover(Scopes::ALL) || is_own_or_made(inside, caller, key_id).await?;
    if !may {
        return Err(ServiceError::Forbidden(Forbidden::OtherKey));
    }
    scope.changes(key_id);
    let revoked = inside.store.keys.mark_key_revoked(operator_id, key_id, inside.clock.now()).await?;
    revoked.map(|_| ()).ok_or_else(missing)
}

/// Tells if the caller's key made this key, directly or through others.
async fn is_made_by(inside: &Arc<Inside>, caller: &Principal, key_id: KeyId) -> Result<bool, ServiceError> {
    Ok(inside.store.keys.is_made_by(caller.operator_id(), key_id, caller.key_id()).await?)
}

/// The key that the caller uses. Unauthorized: it is no more.
pub async fn own(inside: &Arc<Inside>, caller: &Principal) -> Result<ApiKey, ServiceError> {
    let found = inside.store.keys.find_key_of(caller.operator_id(), caller.key_id()).await?;
    found.ok_or(ServiceError::Unauthorized(Unauthorized::RevokedKey))
}

/// Tells if the caller may end the key: its own, or one that it made.
pub async fn is_own_or_made(
    inside: &Arc<Inside>,
    caller: &Principal,
    key_id: KeyId,
) -> Result<bool, ServiceError> {
    Ok(key_id == caller.key_id() || is_made_by(inside, caller, key_id).await?)
}

async fn find_holder(
    inside: &Arc<Inside>,
    operator: &Operator,
    holder: KeyHolder,
) -> Result<(), ServiceError> {
    let Some(account_id) = holder.account_id() else { return Ok(()) };
    let account = inside.store.accounts.find_account(operator.id, account_id).await?;
    account.map(|_| ()).ok_or(ServiceError::NotFound(Resource::Account))
}
