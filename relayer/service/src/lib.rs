//! The verbs of the product, for REST and the extensions: load, authorise, decide, act, record.
//! Sees neither HTTP nor SQL nor RPC types.
//!
//! Each module has functions that take [`Inside`], which [`Services::new`] makes; [`Services::reconcile`] starts the work that outlives
//! requests.
//! Start at `transfers/mod.rs`: it asks, hands the payment to `purser_core`, and answers.

pub mod accounts;
pub mod actions;
mod allowlist;
pub mod audit_scope;
pub mod budgets;
mod cleaning;
mod conditions;
mod error;
pub mod events;
mod fetches;
mod figures;
pub mod grants;
pub mod halts;
mod hand_overs;
pub mod health;
pub mod history;
mod key_uses;
pub mod keys;
mod last_seen;
pub mod limit_looks;
mod limits;
mod part;
mod parts;
mod pauses_and_halts;
mod planned;
pub mod policies;
mod reads;
pub mod requests;
pub mod signers;
pub mod streams;
mod transfers;
mod watch;
mod webhooks;

use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;
use std::time::Duration;

use purser_core::{Outside, PaymentEngine};

pub use self::accounts::AccountView;
pub use self::budgets::{BudgetComparison, BudgetUse, BudgetView, PendingCaps, SeenBudget};
pub use self::conditions::{APPROVAL_OLD, Condition, Severity, is_near};
pub use self::error::{Forbidden, INTERNAL, RequestConflict, Resource, ServiceError, Unauthorized};
pub use self::events::EventsFilter;
pub use self::fetches::{FetchPlace, Fetches};
pub use self::grants::GrantOnChain;
pub use self::hand_overs::{HandOvers, HandedOver, KeyState, Opening, PaidOn, Reply, WhenSigned};
pub use self::health::{CLOCK_SKEW_SECONDS_MAX, Report};
pub use self::history::EntryView;
pub use self::keys::{NewKey, make_key};
pub use self::last_seen::SeenAccount;
pub use self::limits::{BudgetLimit, DailyLimit, Limits, MonthLimit, SingleLimit};
pub use self::part::{Part, PartStatus};
pub use self::parts::{Chains, ExplorerUrl, NetworkParts, finish};
pub use self::planned::{Planned, RulesInForce, Will};
pub use self::policies::{PendingView, PolicyComparison, PolicyView};
pub use self::reads::{ReadLimiter, read_operator};
pub use self::requests::{NamedRequest, RequestOutcome, RequestStart, Run};
pub use self::streams::{StreamFilter, Streamed};
pub use self::transfers::{ApprovalPage, Preview, TransferAnswer, TransferView, TransferViews, Transfers};
pub use self::webhooks::{DeliveriesFilter, NewSecret, Replay, WebhookParts, Webhooks};
pub use purser_core::{PendingLimits, RefusalLimits, Started};
pub use purser_store::SystemClock;
pub use purser_webhooks::{Asked, Fetch, Fetched, NotFetched, Resolve, Resolved};

use self::health::CachedReport;
use self::last_seen::LastSeen;
use self::signers::KnownSigners;
use self::streams::OpenStreams;
use self::transfers::TransferObserver;
use self::watch::Watched;
use parking_lot::Mutex;
use purser_base::metrics::Metrics;
use purser_base::shares::Outgoing;
pub use purser_base::tasks::Tasks;
use purser_base::turns::OneAtATime;
use purser_chain::SolanaChain;
pub use purser_chain::{AccountBounds, Caps, ChainFigures};
use purser_model::{AccountId, BudgetId, CellName, KeyId, Network, OperatorId, Quotas, Retention, Timestamp};
pub use purser_store::RequestState;
use purser_store::Store;

/// How often to look for unfinished work.
const RECONCILE_EVERY: Duration = Duration::from_secs(5);

/// The context of every function here, and of extensions with tables of their own. Keys that seal or sign stay with the code that
/// uses them.
pub struct Inside {
    pub store: Store,
    pub chains: Chains,
    pub clock: SystemClock,
    pub tasks: Tasks,
    /// Reads of the chain for who only looks at it.
    pub read_limiter: ReadLimiter,
    pub quotas: Quotas,
    pub(crate) metrics: Metrics,
    pub(crate) retention: Retention,
    /// How many unrevoked keys an operator may have.
    pub(crate) keys_max: u32,
    /// The cell named in new keys. `None`: keys name no cell.
    pub(crate) cell: Option<CellName>,
    /// Accounts and budgets as reads of the chain last showed them.
    pub(crate) last_seen: LastSeen,
    pub(crate) signers: Mutex<KnownSigners>,
    pub(crate) health: tokio::sync::Mutex<Option<CachedReport>>,
    pub(crate) watched: Mutex<Watched>,
    /// When each key was last used, since that was last written.
    pub(crate) key_uses: Mutex<BTreeMap<KeyId, Timestamp>>,
    pub(crate) streams: OpenStreams,
    /// Operators that were refused one more account; some of their accounts may have been closed since.
    pub(crate) full: Mutex<HashSet<OperatorId>>,
    pub(crate) policy_turns: OneAtATime<AccountId>,
    pub(crate) budget_turns: OneAtATime<BudgetId>,
}

impl Inside {
    /// The chain of a network that is served.
    pub fn chain(&self, network: Network) -> Result<&Arc<SolanaChain>, ServiceError> {
        Ok(&self.chains.get(network)?.chain)
    }
}

/// From which [`Services::new`] makes all of it.
pub struct Setup {
    pub store: Store,
    pub chains: Chains,
    pub tasks: Tasks,
    pub clock: SystemClock,
    /// How long a transfer's request waits for settlement.
    pub transfer_deadline: Duration,
    /// The maximum numbers of pending transfers.
    pub pending: PendingLimits,
    /// The most transfers that may be refused in a day.
    pub refusals: RefusalLimits,
    pub webhooks: WebhookParts,
    /// `None`: the build has no extension that asks people, and nobody is asked.
    pub approval_page: Option<ApprovalPage>,
    /// Asks other people's servers.
    pub fetch: Arc<dyn Fetch>,
    /// How many connections there may be to such servers and to receivers of webhooks.
    pub outgoing: Outgoing,
    /// Reads of the chain for who only looks at it.
    pub read_limiter: ReadLimiter,
    /// How many unrevoked keys an operator may have.
    pub keys_max: u32,
    /// The cell named in new keys. `None`: keys name no cell.
    pub cell: Option<CellName>,
    pub retention: Retention,
    /// The most each operator may have the service pay rent for.
    pub quotas: Quotas,
    pub metrics: Metrics,
}

/// The context, and the services that hold more than it: an engine, keys, connections.
#[derive(Clone)]
pub struct Services {
    pub inside: Arc<Inside>,
    pub transfers: Transfers,
    pub hand_overs: HandOvers,
    pub fetches: Fetches,
    pub webhooks: Webhooks,
}

impl Services {
    /// No task runs yet; see [`Services::reconcile`].
    pub fn new(setup: Setup) -> Self {
        let inside = Arc::new(Inside {
            store: setup.store,
            chains: setup.chains,
            clock: setup.clock,
            tasks: setup.tasks,
            read_limiter: setup.read_limiter,
            quotas: setup.quotas,
            metrics: setup.metrics,
            retention: setup.retention,
            keys_max: setup.keys_max,
            cell: setup.cell,
            last_seen: LastSeen::default(),
            signers: Mutex::default(),
            health: tokio::sync::Mutex::default(),
            watched: Mutex::default(),
            key_uses: Mutex::default(),
            streams: OpenStreams::default(),
            full: Mutex::default(),
            policy_turns: OneAtATime::default(),
            budget_turns: OneAtATime::default(),
        });
        let of = || inside.clone();
        let engine = PaymentEngine::new(Outside {
            ledger: Arc::new(inside.store.transfers.clone()),
            chains: inside.chains.to_pay(),
            clock: Arc::new(inside.clock.clone()),
            observer: Arc::new(TransferObserver::new(of())),
            tasks: Arc::new(inside.tasks.clone()),
            stop: inside.tasks.stop.clone(),
            deadline: setup.transfer_deadline,
            refusals: setup.refusals,
        });
        let views = TransferViews::new(of(), setup.approval_page);
        let transfers = Transfers::new(of(), engine, setup.transfer_deadline, setup.pending, views);
        Self {
            hand_overs: HandOvers::new(of(), setup.transfer_deadline, transfers.clone()),
            fetches: Fetches::new(setup.outgoing.fetches, setup.webhooks.rules.clone(), setup.fetch),
            webhooks: Webhooks::new(of(), setup.webhooks),
            inside,
            transfers,
        }
    }

    /// Starts the tasks that finish what a crash or an outage left behind, carry on what had to wait, and delete
    /// expired rows. They run at once, by timer, and on a wake-up.
    pub fn reconcile(&self) {
        self.transfers.sweep_until_stopped();
        key_uses::write_until_stopped(&self.inside);
        events::place_until_stopped(&self.inside);
        pauses_and_halts::follow(&self.inside);
        let inside = self.inside.clone();
        self.inside.tasks.every("reconciler", RECONCILE_EVERY, move || {
            let inside = inside.clone();
            async move {
                reconcile_once(&inside).await;
                cleaning::clean_up(&inside).await
            }
        });
    }

    /// Starts counting conditions for the metrics, at once and then every so often.
    pub fn watch(&self, every: Duration) {
        watch::run(&self.inside, every);
    }

    /// One look at the conditions.
    #[cfg(any(test, feature = "testing"))]
    pub async fn look_at_conditions(&self) {
        watch::look(&self.inside).await;
    }

    /// One pass over what is deleted by its age, or with something else.
    #[cfg(any(test, feature = "testing"))]
    pub async fn clean_up(&self) -> Result<(), ServiceError> {
        cleaning::clean_up(&self.inside).await
    }

    /// One pass over the transfers that nobody carries.
    #[cfg(any(test, feature = "testing"))]
    pub async fn sweep_transfers(&self) {
        self.transfers.sweep().await;
    }

    /// One pass over the pauses and halts that are not final.
    #[cfg(any(test, feature = "testing"))]
    pub async fn look_at_stops(&self) -> Result<(), ServiceError> {
        pauses_and_halts::look(&self.inside).await
    }

    /// One pass over the actions that are open although nobody works on them.
    #[cfg(any(test, feature = "testing"))]
    pub async fn look_at_open_actions(&self) -> Result<(), ServiceError> {
        actions::look_at_open(&self.inside).await
    }

    /// As [`reconcile_once`].
    #[cfg(any(test, feature = "testing"))]
    pub async fn reconcile_once(&self) {
        reconcile_once(&self.inside).await;
    }
}

/// One pass over our keys, unfinished accounts and pending policies, and interrupted actions.
async fn reconcile_once(inside: &Arc<Inside>) {
    signers::look(inside).await;
    if let Err(error) = accounts::reconcile(inside).await {
        tracing::warn!(%error, "cannot reconcile accounts; retrying later");
    }
    if let Err(error) = policies::reconcile(inside).await {
        tracing::warn!(%error, "cannot check pending policies; retrying later");
    }
    if let Err(error) = actions::look_at_open(inside).await {
        tracing::warn!(%error, "cannot find out how interrupted actions ended; retrying later");
    }
}
