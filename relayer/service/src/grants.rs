//! Grants of an account: who may be paid past its policy, how much, until when. They stand on the chain alone. Nothing here opens
//! one: approvers, the admin and whoever has the policy authority's key do.

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use super::error::{Resource, ServiceError, after_sending};
use super::reads::{find_account, read_operator};
use crate::Inside;
use crate::audit_scope::AuditScope;
use crate::parts::finish;
pub use purser_chain::GrantOnChain;
use purser_model::{Account, AccountId, Address, GrantId, Operator, Page, PageRequest, Principal};

/// Newest first. NotFound: the account. TooManyReads: the operator's turn does not come soon.
pub async fn list(
    inside: &Arc<Inside>,
    principal: &Principal,
    id: AccountId,
    request: PageRequest,
) -> Result<Page<GrantOnChain>, ServiceError> {
    let operator = principal.operator();
    let listing = request.of::<GrantPlace>(format!("grants|{id}"))?;
    let account = find_account(&inside.store.accounts, principal, id).await?;
    inside.read_limiter.take(operator.id).await?;
    let chain = inside.chain(operator.network)?;
    let found = chain.read_grants(&operator.address, &account.address).await?;
    let after = listing.after.as_ref();
    let rest = found.into_iter().filter(|grant| after.is_none_or(|place| place.is_before(grant)));
    Ok(listing.page(rest.take(listing.rows_max() as usize).collect(), GrantPlace::of))
}

/// Takes one back. NotFound: the account, or the account has no such grant. TooManyReads: as `list`.
pub async fn close(
    inside: &Arc<Inside>,
    principal: &Principal,
    id: AccountId,
    grant: GrantId,
    scope: &AuditScope,
) -> Result<(), ServiceError> {
    let (operator, account) = to_change(inside, principal, id).await?;
    let work = {
        let (inside, scope) = (inside.clone(), scope.clone());
        async move {
            let chain = inside.chain(operator.network)?;
            let found = chain.read_grant(&operator.address, &account.address, &grant.0).await?;
            let found = found.ok_or(ServiceError::NotFound(Resource::Grant))?;
            let on_chain = read_operator(&inside.chains, &operator).await?;
            let closed = chain.recorded(&scope).close_grant(&on_chain, &found).await;
            closed.map(drop).map_err(after_sending)
        }
    };
    finish(&inside.tasks, work).await
}

/// Takes back all that were opened until now. NotFound: the account.
pub async fn void(
    inside: &Arc<Inside>,
    principal: &Principal,
    id: AccountId,
    scope: &AuditScope,
) -> Result<(), ServiceError> {
    let (operator, account) = to_change(inside, principal, id).await?;
    let work = {
        let (inside, scope) = (inside.clone(), scope.clone());
        async move {
            let on_chain = read_operator(&inside.chains, &operator).await?;
            let chain = inside.chain(operator.network)?;
            let voided = chain.recorded(&scope).void_grants(&on_chain, &account.address).await;
            voided.map(drop).map_err(after_sending)
        }
    };
    finish(&inside.tasks, work).await
}

async fn to_change(
    inside: &Arc<Inside>,
    principal: &Principal,
    id: AccountId,
) -> Result<(Operator, Account), ServiceError> {
    let account = find_account(&inside.store.accounts, principal, id).await?;
    inside.read_limiter.take_change(principal.operator_id()).await?;
    Ok((principal.operator().clone(), account))
}

/// Where a grant stands in the list: later ones were opened before, or have a higher address.
struct GrantPlace(i64, [u8; 32]);

impl GrantPlace {
    fn of(grant: &GrantOnChain) -> Self {
        Self(grant.opened_at, grant.address.bytes())
    }

    fn is_before(&self, grant: &GrantOnChain) -> bool {
        (std::cmp::Reverse(self.0), self.1) < (std::cmp::Reverse(grant.opened_at), grant.address.bytes())
    }
}

impl fmt::Display for GrantPlace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}|{}", self.0, Address::from_bytes(self.1))
    }
}

impl FromStr for GrantPlace {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        let (opened_at, address) = text.split_once('|').ok_or(())?;
        let address: Address = address.parse().map_err(drop)?;
        Ok(Self(opened_at.parse().map_err(drop)?, address.bytes()))
    }
}
