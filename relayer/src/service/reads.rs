//! First reads of every verb: the account that the caller may use, and its current state on the chain.

use std::num::NonZeroU32;
use std::sync::Arc;
use std::time::Duration;

use governor::clock::DefaultClock;
use governor::state::keyed::DashMapStateStore;
use governor::{Quota, RateLimiter};
use tokio::time::timeout;

use super::Parts;
use super::error::{Forbidden, Resource, ServiceError, from_chain};
use crate::chain::{AgentAddresses, AgentOnChain, OperatorOnChain};
use crate::domain::{Account, AccountId, Operator, OperatorId, Principal};

/// How long a read waits for its turn.
const READ_PATIENCE: Duration = Duration::from_secs(2);

type ReadLimiter = RateLimiter<OperatorId, DashMapStateStore<OperatorId>, DefaultClock>;

/// How often each operator may have the chain read to look at it, however many keys ask. Payments, stops and changes of policies
/// do not count and do not wait.
#[derive(Clone)]
pub struct ReadBudget(Arc<ReadLimiter>);

impl ReadBudget {
    /// `per_second` reads a second, and as many at once.
    pub fn new(per_second: NonZeroU32) -> Self {
        Self(Arc::new(RateLimiter::dashmap(Quota::per_second(per_second))))
    }

    /// Waits for the operator's turn. TooManyReads: it does not come soon.
    pub(super) async fn take(&self, operator: OperatorId) -> Result<(), ServiceError> {
        let turn = timeout(READ_PATIENCE, self.0.until_key_ready(&operator));
        turn.await.map_err(|_| ServiceError::TooManyReads)
    }
}

/// Nodes may not show an account that is younger than this yet.
pub(super) const CREATED_SECONDS_MIN: i64 = 180;

/// An account's addresses, as the chain takes them.
pub(super) fn addresses(account: &Account) -> AgentAddresses {
    AgentAddresses { agent: account.address, token_account: account.token_account }
}

/// An account that the caller may use. Forbidden: an agent key of another account, whether or not that exists.
/// NotFound: unknown or another operator's.
pub(super) async fn find_account(
    parts: &Parts,
    principal: &Principal,
    id: AccountId,
) -> Result<Account, ServiceError> {
    match principal {
        Principal::Agent { account_id, .. } if *account_id != id => {
            return Err(ServiceError::Forbidden(Forbidden::OtherAccount));
        }
        Principal::Agent { .. } | Principal::Operator { .. } => {}
    }
    let account = parts.store.find_account(principal.operator_id(), id).await?;
    account.ok_or(ServiceError::NotFound(Resource::Account))
}

/// The account that a request names as its payer. Errors as [`find_account`], but NotFound names the payer.
pub(super) async fn find_payer(
    parts: &Parts,
    principal: &Principal,
    id: AccountId,
) -> Result<Account, ServiceError> {
    find_account(parts, principal, id).await.map_err(|error| match error {
        ServiceError::NotFound(_) => ServiceError::NotFound(Resource::Payer),
        other => other,
    })
}

/// An account's current state on the chain. NotFound: it was closed there.
pub(super) async fn read_agent(
    parts: &Parts,
    operator: &Operator,
    account: &Account,
) -> Result<AgentOnChain, ServiceError> {
    let chain = &parts.chains.get(operator.network)?.chain;
    let read = chain.read_agents(&[addresses(account)]).await;
    let agents = read.map_err(|error| from_chain(operator.network, &error, true))?;
    agents.into_iter().next().flatten().ok_or(ServiceError::NotFound(Resource::Account))
}

/// An operator's current state on the chain.
pub(super) async fn read_operator(
    parts: &Parts,
    operator: &Operator,
) -> Result<OperatorOnChain, ServiceError> {
    let chain = &parts.chains.get(operator.network)?.chain;
    let read = chain.read_operator(&operator.address).await;
    let found = read.map_err(|error| from_chain(operator.network, &error, true))?;
    found.ok_or_else(|| {
        tracing::error!(operator_id = %operator.id, address = %operator.address, "the operator is not on the chain");
        ServiceError::Internal
    })
}

/// The time in Unix seconds for the spend window. While clocks disagree, a spend counts as long as any of them still counts it.
pub(super) async fn window_now(parts: &Parts, operator: &Operator) -> Result<i64, ServiceError> {
    let chain = &parts.chains.get(operator.network)?.chain;
    let host_now = parts.ambient.now().unix_seconds();
    if let Some(agreed) = chain.agreed_now(host_now).await {
        return Ok(agreed);
    }
    let read = chain.now().await.map_err(|error| from_chain(operator.network, &error, true))?;
    Ok(read.min(host_now))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn reads_of_one_operator_use_up_no_other_operators_budget() {
        let budget = ReadBudget::new(NonZeroU32::new(20).expect("positive"));
        let [greedy, other] = [1, 2].map(|number| OperatorId::from_bytes([number; 16]));
        let many = futures::future::join_all((0..1_000).map(|_| budget.take(greedy)));
        let (many, alone) = tokio::join!(many, timeout(READ_PATIENCE / 2, budget.take(other)));
        assert!(matches!(alone, Ok(Ok(()))), "it waits for nobody");
        let passed = many.iter().filter(|turn| turn.is_ok()).count();
        assert!((20..=100).contains(&passed), "a burst, and what two seconds give: {passed}");
        assert!(many.iter().all(|turn| matches!(turn, Ok(()) | Err(ServiceError::TooManyReads))));
    }
}
