//! First reads of every verb: the account that the caller may use, and its current state on the chain.

use parking_lot::{Mutex, MutexGuard};
use std::collections::HashMap;
use std::hash::Hash;
use std::num::NonZeroU32;
use std::sync::Arc;
use std::time::Duration;

use governor::clock::DefaultClock;
use governor::state::keyed::DashMapStateStore;
use governor::{Quota, RateLimiter};
use tokio::sync::{Mutex as AsyncMutex, OnceCell};
use tokio::time::timeout;

use super::error::{Forbidden, Resource, ServiceError};
use super::{Chains, SystemClock};
use purser_chain::{AgentAddresses, AgentOnChain, ChainView, OperatorOnChain};
use purser_core::Chain as _;
use purser_core::Payment;
use purser_model::{Account, AccountId, Address, Operator, OperatorId, Principal, TransferId};
use purser_store as store;

/// How long a read waits for its turn.
const READ_PATIENCE: Duration = Duration::from_secs(2);
/// With so many reads under way or done, those that are done are forgotten.
const SHARED_MAX: usize = 1_024;

/// How often a link to one approval may be followed in a second, and how often at once.
const LINK_PER_SECOND: NonZeroU32 = NonZeroU32::new(2).expect("positive");
const LINK_BURST: NonZeroU32 = NonZeroU32::new(20).expect("positive");

type KeyedLimiter<K> = RateLimiter<K, DashMapStateStore<K>, DefaultClock>;

/// Reads of the chain for who only looks at it. Each operator has a budget for them, however many keys ask, and what several ask at
/// the same time is read once. Changes of policies and grants have a budget of their own, which no agent's reads use up. Payments,
/// stops and pauses do not count, do not wait and share nothing.
#[derive(Clone)]
pub struct ReadLimiter {
    budget: Arc<KeyedLimiter<OperatorId>>,
    changes: Arc<KeyedLimiter<OperatorId>>,
    links: Arc<KeyedLimiter<TransferId>>,
    operators: Shared<OperatorId, OperatorOnChain>,
    agents: Shared<AccountId, AgentOnChain>,
    views: Shared<(AccountId, Address, Option<Address>), ChainView>,
}

impl ReadLimiter {
    /// `per_second` reads a second, and as many at once.
    pub fn new(per_second: NonZeroU32) -> Self {
        let of_operators = || Arc::new(RateLimiter::dashmap(Quota::per_second(per_second)));
        let links = Quota::per_second(LINK_PER_SECOND).allow_burst(LINK_BURST);
        let (operators, agents, views) = Default::default();
        Self {
            budget: of_operators(),
            changes: of_operators(),
            links: Arc::new(RateLimiter::dashmap(links)),
            operators,
            agents,
            views,
        }
    }

    /// Waits for the operator's turn. TooManyReads: it does not come soon.
    pub async fn take(&self, operator: OperatorId) -> Result<(), ServiceError> {
        wait(&self.budget, operator).await
    }

    /// Waits for the operator's turn to read what it is about to change. TooManyReads: likewise.
    pub(super) async fn take_change(&self, operator: OperatorId) -> Result<(), ServiceError> {
        wait(&self.changes, operator).await
    }

    /// Counts somebody who follows a link to this approval, without a key. TooManyReads: the link is followed too often.
    pub fn follow_link(&self, transfer: TransferId) -> Result<(), ServiceError> {
        if self.links.len() > SHARED_MAX {
            self.links.retain_recent();
        }
        self.links.check_key(&transfer).map_err(|_| ServiceError::TooManyReads)
    }

    /// As [`read_operator`], which nobody reads without an account.
    pub(super) async fn read_operator(
        &self,
        chains: &Chains,
        operator: &Operator,
    ) -> Result<OperatorOnChain, ServiceError> {
        self.operators.read(operator.id, async { Ok(()) }, read_operator(chains, operator)).await
    }

    /// As [`read_agent`]. TooManyReads: the operator's turn does not come soon.
    pub(super) async fn read_agent(
        &self,
        chains: &Chains,
        operator: &Operator,
        account: &Account,
    ) -> Result<AgentOnChain, ServiceError> {
        let read = read_agent(chains, operator, account);
        self.agents.read(account.id, self.take(operator.id), read).await
    }

    /// What a payment of the account would be judged by, as `read` reads it: by its payee alone. TooManyReads: likewise.
    pub(super) async fn read_view(
        &self,
        account: &Account,
        payment: &Payment<'_>,
        read: impl Future<Output = Result<ChainView, ServiceError>>,
    ) -> Result<ChainView, ServiceError> {
        let key = (account.id, payment.destination, payment.request.to.wallet());
        self.views.read(key, self.take(account.operator_id), read).await
    }
}

async fn wait(limiter: &KeyedLimiter<OperatorId>, operator: OperatorId) -> Result<(), ServiceError> {
    let turn = timeout(READ_PATIENCE, limiter.until_key_ready(&operator));
    turn.await.map_err(|_| ServiceError::TooManyReads)
}

/// Reads of the same: one at most is under way, and one waits for all who asked since that began. So nobody gets an answer that
/// was begun before they asked.
struct Shared<K, V>(Arc<Mutex<HashMap<K, Turns<V>>>>);

struct Turns<V> {
    /// The read that has not begun.
    next: Arc<OnceCell<Result<V, ServiceError>>>,
    /// Held for the read that is under way.
    under_way: Arc<AsyncMutex<()>>,
}

impl<K: Copy + Eq + Hash, V: Clone> Shared<K, V> {
    /// Reads after `turn` has come, or waits for who does.
    async fn read(
        &self,
        key: K,
        turn: impl Future<Output = Result<(), ServiceError>>,
        read: impl Future<Output = Result<V, ServiceError>>,
    ) -> Result<V, ServiceError> {
        let (next, under_way) = {
            let mut all = self.all();
            if all.len() >= SHARED_MAX {
                all.retain(|_, turns| Arc::strong_count(&turns.under_way) > 1);
            }
            let turns = all.entry(key).or_default();
            (turns.next.clone(), turns.under_way.clone())
        };
        let begin = || async {
            let _under_way = under_way.lock().await;
            let turn = turn.await;
            self.begins(key, &next);
            turn?;
            read.await
        };
        next.get_or_init(begin).await.clone()
    }

    /// Who asks from now on waits for the read after this one.
    fn begins(&self, key: K, read: &Arc<OnceCell<Result<V, ServiceError>>>) {
        if let Some(turns) = self.all().get_mut(&key).filter(|turns| Arc::ptr_eq(&turns.next, read)) {
            turns.next = Arc::default();
        }
    }

    fn all(&self) -> MutexGuard<'_, HashMap<K, Turns<V>>> {
        self.0.lock()
    }
}

impl<K, V> Clone for Shared<K, V> {
    fn clone(&self) -> Self {
        Self(self.0.clone())
    }
}

impl<K, V> Default for Shared<K, V> {
    fn default() -> Self {
        Self(Arc::default())
    }
}

impl<V> Default for Turns<V> {
    fn default() -> Self {
        Self { next: Arc::default(), under_way: Arc::default() }
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
    accounts: &store::Accounts,
    principal: &Principal,
    id: AccountId,
) -> Result<Account, ServiceError> {
    match principal {
        Principal::Agent { account_id, .. } if *account_id != id => {
            return Err(ServiceError::Forbidden(Forbidden::OtherAccount));
        }
        Principal::Agent { .. } | Principal::Operator { .. } => {}
    }
    let account = accounts.find_account(principal.operator_id(), id).await?;
    account.ok_or(ServiceError::NotFound(Resource::Account))
}

/// The account that a request names as its payer. Errors as [`find_account`], but NotFound names the payer.
pub(super) async fn find_payer(
    accounts: &store::Accounts,
    principal: &Principal,
    id: AccountId,
) -> Result<Account, ServiceError> {
    find_account(accounts, principal, id).await.map_err(|error| match error {
        ServiceError::NotFound(_) => ServiceError::NotFound(Resource::Payer),
        other => other,
    })
}

/// An account's current state on the chain. NotFound: it was closed there.
pub(super) async fn read_agent(
    chains: &Chains,
    operator: &Operator,
    account: &Account,
) -> Result<AgentOnChain, ServiceError> {
    let chain = &chains.get(operator.network)?.chain;
    let agents = chain.read_agents(&[addresses(account)]).await?;
    agents.into_iter().next().flatten().ok_or(ServiceError::NotFound(Resource::Account))
}

/// An operator's current state on the chain.
pub async fn read_operator(chains: &Chains, operator: &Operator) -> Result<OperatorOnChain, ServiceError> {
    let chain = &chains.get(operator.network)?.chain;
    let found = chain.read_operator(&operator.address).await?;
    found.ok_or_else(|| {
        tracing::error!(operator_id = %operator.id, address = %operator.address, "the operator is not on the chain");
        ServiceError::Internal
    })
}

/// The time in Unix seconds for the spend window. While clocks disagree, a spend counts as long as any of them still counts it.
pub(super) async fn window_now(
    chains: &Chains,
    clock: &SystemClock,
    operator: &Operator,
) -> Result<i64, ServiceError> {
    let chain = &chains.get(operator.network)?.chain;
    let host_now = clock.now().unix_seconds();
    if let Some(agreed) = chain.agreed_now(host_now).await {
        return Ok(agreed);
    }
    let read = chain.now().await?;
    Ok(read.min(host_now))
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;

    #[tokio::test]
    async fn reads_of_one_operator_use_up_no_other_operators_budget() {
        let budget = ReadLimiter::new(NonZeroU32::new(20).expect("positive"));
        let [greedy, other] = [1, 2].map(|number| OperatorId::from_bytes([number; 16]));
        let many = futures::future::join_all((0..1_000).map(|_| budget.take(greedy)));
        let (many, alone) = tokio::join!(many, timeout(READ_PATIENCE / 2, budget.take(other)));
        assert!(matches!(alone, Ok(Ok(()))), "it waits for nobody");
        let passed = many.iter().filter(|turn| turn.is_ok()).count();
        assert!((20..=100).contains(&passed), "a burst, and what two seconds give: {passed}");
        assert!(many.iter().all(|turn| matches!(turn, Ok(()) | Err(ServiceError::TooManyReads))));
    }

    #[tokio::test]
    async fn reads_of_agents_use_up_no_change_and_one_link_is_followed_a_bounded_number_of_times() {
        let budget = ReadLimiter::new(NonZeroU32::new(2).expect("positive"));
        let operator = OperatorId::from_bytes([1; 16]);
        let reads = futures::future::join_all((0..100).map(|_| budget.take(operator)));
        let (reads, change) = tokio::join!(reads, timeout(READ_PATIENCE / 2, budget.take_change(operator)));
        assert!(reads.iter().any(Result::is_err));
        assert!(matches!(change, Ok(Ok(()))), "it waits for no read");
        let [busy, other] = [1, 2].map(|number| TransferId::from_bytes([number; 16]));
        let followed = (0..1_000).filter(|_| budget.follow_link(busy).is_ok()).count();
        assert!((20..=24).contains(&followed), "{followed}");
        assert!(budget.follow_link(other).is_ok(), "another link has its own number");
    }

    #[tokio::test]
    async fn twenty_who_ask_at_once_share_a_read_that_began_after_each_of_them_asked() {
        let shared = Shared::<u8, usize>::default();
        let (begun, gate) = (AtomicUsize::new(0), tokio::sync::Semaphore::new(0));
        let asks = async || {
            let before = begun.load(Ordering::Relaxed);
            let read = async {
                let number = begun.fetch_add(1, Ordering::Relaxed) + 1;
                gate.acquire().await.expect("open").forget();
                Ok(number)
            };
            let read = shared.read(1, async { Ok(()) }, read).await.expect("read");
            assert!(read > before, "no answer is older than its question");
            read
        };
        let opens = async {
            // Polled last: all have asked by now, and the first read is under way.
            assert_eq!(begun.load(Ordering::Relaxed), 1);
            gate.add_permits(2);
        };
        let all = futures::future::join_all((0..20).map(|_| asks()));
        let (all, ()) = tokio::join!(all, opens);
        assert!(begun.load(Ordering::Relaxed) <= 2, "{all:?}");
        gate.add_permits(1);
        assert!(asks().await > *all.iter().max().expect("twenty"), "what was read is not kept");
    }

    #[tokio::test]
    async fn who_reads_for_others_may_leave_and_a_refusal_is_everybodys() {
        let shared = Shared::<u8, usize>::default();
        let turn = || async { Ok(()) };
        let leaves = timeout(Duration::ZERO, shared.read(1, turn(), std::future::pending()));
        let (left, read) = tokio::join!(leaves, shared.read(1, turn(), async { Ok(7) }));
        assert!(left.is_err());
        assert_eq!(read.expect("read"), 7);
        let refuses = || shared.read(1, async { Err(ServiceError::TooManyReads) }, async { Ok(7) });
        let refused = futures::future::join_all([refuses(), refuses()]).await;
        assert!(refused.iter().all(|read| matches!(read, Err(ServiceError::TooManyReads))));
        assert_eq!(shared.read(1, turn(), async { Ok(8) }).await.expect("read"), 8);
    }
}
