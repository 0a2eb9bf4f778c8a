//! Reads from the chain what happened to the accounts, and writes their history. Start at `walk.rs`.
//!
//! ```text
//! signatures of an operator  ->  walk  ->  its agents' transfers, withdrawals, policies, halts, new accounts
//! balances of all accounts   ->  sweep ->  where they differ from the ledger: walk the token account  ->  deposits
//! ```
//!
//! Invariants:
//! - A wake-up or a timer only says when to look. What happened comes from the signatures of an address, read from a stored
//!   cursor; the cursor commits with the entries found on the way to it.
//! - An entry gets its place when it is written, and is shown at once. The past of a found account is read newest first: its
//!   entries get their places once all are there, oldest first.
//! - Everything may be read twice: an entry's id follows from its transaction, and writing it again changes nothing.
//! - Money is checked, not trusted: the sweep looks into every account whose history does not add up to what it holds, and so
//!   finds what a node left out.
//! - A transaction that a node lists and cannot show is fetched again until it is shown or was forked away.
//! - Writing a fact announces it: an entry in its own transaction, a policy or a halt before its walk's cursor moves.
//!   A second reading announces nothing.
//! - Where `confirmed` counts as settled, entries stay open until their slots are final, and are taken back if forked away.
//! - The chain wins: a payment settles the transfer that it is, and its loss opens the transfer again, in the transaction that writes
//!   or deletes the entry.

mod book;
mod drafts;
mod finality;
mod grants;
mod hidden;
mod memory;
mod policies;
mod read;
mod sweep;
mod walk;

#[cfg(test)]
mod tests;

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use self::memory::Memory;
use purser_base::metrics::Metrics;
use purser_chain::{ChainError, SolanaHistory};
use purser_model::{Network, Operator};
use purser_service::{Inside, ServiceError, limit_looks};
use purser_store::SystemClock;
use purser_store::{self as store, Readings, StoreError, Walk, WalkOwner};

/// Operators walked per cycle, which bounds its cost; the others take their turn in the next cycles.
const OPERATORS_AT_ONCE: usize = 8;
/// Found accounts whose past is read per cycle.
const ADOPTED_AT_ONCE: u32 = 50;
/// Entries of a past that get their places per transaction.
const PLACED_AT_ONCE: u32 = 500;
/// The least time between two looks, however often the indexer is woken.
const PAUSE: Duration = Duration::from_secs(1);
/// The least time between two looks at deposits; reports within it are looked at together.
const DEPOSITS_PAUSE: Duration = Duration::from_millis(200);
/// Every so many cycles an audit looks again for anything that nodes may have left out at first.
const AUDIT_EVERY: u32 = 360;
/// How many slots back an audit reads an operator: a node may list a transaction after others with later slots.
const AUDIT_SLOTS: u64 = 50_000;
/// 25 hours of slots of 100 ms, a quarter of today's: how long an account remembers its payments.
const DAY_SLOTS: u64 = 900_000;
/// Accounts with unexplained money whose past is read again per audit.
const AUDITED_AT_ONCE: u32 = 50;
/// How long one process keeps the lease on a network beyond three intervals; then another process takes over.
const LEASE_MARGIN: Duration = Duration::from_secs(10);

/// Why the indexer looks at the chain.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Wake {
    Timer,
    Program,
}

/// Why a cycle ended early. The next one continues.
#[derive(Debug, thiserror::Error)]
pub enum IndexError {
    #[error(transparent)]
    Chain(#[from] ChainError),
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error(transparent)]
    Service(#[from] ServiceError),
    /// The node does not know the walk's cursor; the walk starts again.
    #[error("a walk lost its place")]
    LostPlace,
}

/// What a network's indexer needs.
#[derive(Clone)]
pub struct IndexerParts {
    pub history: SolanaHistory,
    pub accounts: store::Accounts,
    pub entries: store::History,
    pub index: store::Index,
    pub operators: store::Operators,
    pub policies: store::Policies,
    pub inside: Arc<Inside>,
    pub clock: SystemClock,
    pub metrics: Metrics,
    /// How often it looks without being woken.
    pub interval: Duration,
}

/// The indexer of one network.
pub struct Indexer {
    parts: IndexerParts,
    network: Network,
    memory: Memory,
    cycles: AtomicU32,
}

impl Indexer {
    /// Starts nothing yet; see [`Indexer::run`].
    pub fn new(parts: IndexerParts) -> Self {
        let network = parts.history.network();
        Self { parts, network, memory: Memory::default(), cycles: AtomicU32::new(0) }
    }

    /// Looks at once, on a timer, on uses of the program and on reported deposits, until `stop`.
    pub async fn run(&self, stop: CancellationToken) {
        // Side by side: a sweep of all balances takes seconds, and no deposit should wait for it.
        let looking = async { tokio::join!(self.look_at_all(), self.look_at_risen()) };
        stop.run_until_cancelled(looking).await;
        if let Err(error) = self.parts.index.release_index(self.network).await {
            tracing::warn!(network = %self.network, %error, "cannot release the indexer's lease; it will expire");
        }
    }

    async fn look_at_all(&self) {
        let mut everything_at = Instant::now();
        let mut wake = Wake::Timer;
        loop {
            if everything_at <= Instant::now() {
                wake = Wake::Timer;
                everything_at = Instant::now() + self.parts.interval;
            }
            if self.take_lease().await {
                match wake {
                    Wake::Timer => self.cycle().await,
                    Wake::Program => self.look_at_operators().await,
                }
            }
            tokio::time::sleep(PAUSE.min(self.parts.interval)).await;
            wake = tokio::select! {
                () = tokio::time::sleep_until(everything_at) => Wake::Timer,
                () = self.parts.history.activity() => Wake::Program,
            };
        }
    }

    async fn look_at_risen(&self) {
        loop {
            let risen = self.parts.history.risen().await;
            if self.take_lease().await {
                self.done("looking at deposits", self.look_at_deposits(&risen).await);
            }
            tokio::time::sleep(DEPOSITS_PAUSE.min(self.parts.interval)).await;
        }
    }

    /// Takes or prolongs the lease. False while another process holds it.
    async fn take_lease(&self) -> bool {
        let now = self.parts.clock.now();
        let expires_at = now.after(self.parts.interval * 3 + LEASE_MARGIN);
        let leased = self.parts.index.lease_index(self.network, now, expires_at).await;
        leased.unwrap_or_else(|error| {
            tracing::warn!(network = %self.network, %error, "cannot index");
            false
        })
    }

    /// Does everything once. What fails is left for the next cycle and does not stop the rest.
    pub async fn cycle(&self) {
        let audits = self.cycles.fetch_add(1, Ordering::Relaxed).is_multiple_of(AUDIT_EVERY);
        if audits {
            self.done("learning policies", self.learn_policies().await);
        }
        self.look_at_operators().await;
        self.done("sweeping balances", self.sweep().await);
        self.done("looking for finality", self.settle_open().await);
        // Last, because it may read thousands of transactions again, also when a process starts.
        if audits {
            self.done("auditing", self.audit().await);
        }
    }

    /// Reads what the program did.
    async fn look_at_operators(&self) {
        self.done("walking operators", self.walk_operators().await);
        self.done("looking for hidden accounts", self.find_hidden().await);
        self.done("walking found accounts", self.walk_adopted().await);
        self.done("fetching what is pending", self.fetch_pending().await);
        self.done("looking for payments that were left out", self.find_left_out().await);
        self.done("reading changed policies", self.refresh_agents().await);
        self.done("looking at limits", self.look_at_limits().await);
    }

    /// Writes what was read.
    async fn write(
        &self,
        readings: &Readings,
        progress: Option<(&Option<Walk>, &Walk)>,
    ) -> Result<(), IndexError> {
        for contradiction in self.parts.index.insert_readings(self.network, readings, progress).await? {
            self.parts.metrics.contradicted(self.network.as_str());
            tracing::error!(network = %self.network, transfer_id = %contradiction.transfer_id,
                signature = contradiction.signature, "a payment carries a transfer's id and is not that transfer");
        }
        for payment in readings.entries.iter().filter(|entry| entry.spent.is_some()) {
            self.memory.mark_paid(payment.operator_id);
        }
        Ok(())
    }

    fn done(&self, what: &'static str, result: Result<(), IndexError>) {
        if let Err(error) = result {
            tracing::warn!(network = %self.network, %error, "{what} was interrupted; the next cycle continues");
        }
    }

    async fn walk_operators(&self) -> Result<(), IndexError> {
        let operators = self.operators().await?;
        let mut interrupted = Ok(());
        for operator in self.memory.next_operators(&operators, OPERATORS_AT_ONCE) {
            // One operator's failure must not stop the others.
            let walked = self.walk(operator.address, WalkOwner::Operator(operator.id)).await;
            interrupted = interrupted.and(walked.map(|_| ()));
        }
        interrupted
    }

    /// Reads a day of the accounts again whose balance nothing explains and whose transfers do not end: what is missing may be the
    /// payment that the transfer waits for.
    async fn find_left_out(&self) -> Result<(), IndexError> {
        let mut interrupted = Ok(());
        for ledger in self.parts.index.list_unexplained(self.network, true, AUDITED_AT_ONCE).await? {
            let whose = WalkOwner::Account(ledger.account_id);
            interrupted = interrupted.and(self.walk_again(ledger.token_account, whose, DAY_SLOTS).await);
        }
        interrupted
    }

    /// Reads again, for what nodes did not show the first time.
    async fn audit(&self) -> Result<(), IndexError> {
        let mut interrupted = Ok(());
        for operator in self.operators().await? {
            let walked =
                self.walk_again(operator.address, WalkOwner::Operator(operator.id), AUDIT_SLOTS).await;
            interrupted = interrupted.and(walked);
        }
        let unexplained = self.parts.index.list_unexplained(self.network, false, AUDITED_AT_ONCE).await?;
        for ledger in unexplained {
            let walked = self.walk_all(ledger.token_account, WalkOwner::Account(ledger.account_id)).await;
            interrupted = interrupted.and(walked.map(|_| ()));
        }
        interrupted
    }

    /// Announces the limits that payments reached, as far as their transactions do not tell.
    async fn look_at_limits(&self) -> Result<(), IndexError> {
        let mut interrupted = Ok(());
        for operator in self.operators().await? {
            if !self.memory.takes_paid(operator.id) {
                continue;
            }
            let looked = limit_looks::look_at_limits(&self.parts.inside, &operator).await;
            if !matches!(looked, Ok(true)) {
                self.memory.mark_paid(operator.id);
            }
            interrupted = interrupted.and(looked.map(|_| ()).map_err(IndexError::from));
        }
        interrupted
    }

    async fn operators(&self) -> Result<Vec<Operator>, IndexError> {
        let all = self.parts.operators.list_operators().await?;
        Ok(all.into_iter().filter(|operator| operator.network == self.network).collect())
    }

    async fn walk_adopted(&self) -> Result<(), IndexError> {
        let found = self.parts.index.list_walks_under_way(self.network, ADOPTED_AT_ONCE).await?;
        let mut interrupted = Ok(());
        for (account, token_account) in found {
            let walked = self.walk(token_account, WalkOwner::Account(account)).await;
            interrupted = interrupted.and(walked.map(|_| ()));
        }
        for account in self.parts.index.list_unplaced(self.network, ADOPTED_AT_ONCE).await? {
            while !self.parts.index.place_past(account, self.parts.clock.now(), PLACED_AT_ONCE).await? {}
        }
        interrupted
    }
}
