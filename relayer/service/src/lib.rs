//! The verbs of the product, for REST and the extensions: load, authorise, decide, act, record.
//! Sees neither HTTP nor SQL nor RPC types.
//!
//! What they share is [`Inside`]; [`Services::new`] makes them, and [`Services::reconcile`] starts the work that outlives requests.
//! Start at `transfers/mod.rs`: it asks, hands the payment to `purser_core`, and answers.

mod accounts;
mod actions;
mod allowlist;
pub mod audit_scope;
mod budgets;
mod cleaning;
mod conditions;
mod error;
mod events;
mod fetches;
mod figures;
mod grants;
mod halts;
mod hand_overs;
mod health;
mod history;
mod key_uses;
mod keys;
mod last_seen;
mod limit_looks;
mod limits;
mod part;
mod parts;
mod pauses_and_halts;
mod planned;
mod policies;
mod reads;
mod requests;
mod signers;
mod streams;
mod transfers;
mod turns;
mod watch;
mod webhooks;

use std::sync::Arc;
use std::time::Duration;

use purser_core::{Outside, PaymentEngine};

pub use self::accounts::{AccountView, Accounts};
pub use self::actions::{ActionEnd, Actions};
pub use self::budgets::{BudgetComparison, BudgetUse, BudgetView, Budgets, PendingCaps, SeenBudget};
pub use self::conditions::{APPROVAL_OLD, Condition, Severity, is_near};
pub use self::error::{
    Forbidden, INTERNAL, RequestConflict, Resource, ServiceError, Unauthorized, from_chain, from_fault,
};
pub use self::events::{Events, EventsFilter};
pub use self::fetches::{FetchPlace, Fetches};
pub use self::grants::{GrantOnChain, Grants};
pub use self::halts::Halts;
pub use self::hand_overs::{HandOvers, HandedOver, KeyState, Opening, PaidOn, Reply, WhenSigned};
pub use self::health::{CLOCK_SKEW_SECONDS_MAX, Health, Report};
pub use self::history::{EntryView, History};
pub use self::keys::{Keys, NewKey, make_key};
pub use self::last_seen::SeenAccount;
pub use self::limits::{BudgetLimit, DailyLimit, Limits, MonthLimit, SingleLimit};
pub use self::part::{Part, PartStatus};
pub use self::parts::{Chains, ExplorerUrl, NetworkParts};
pub use self::planned::{Planned, RulesInForce, Will};
pub use self::policies::{PendingView, Policies, PolicyComparison, PolicyView};
pub use self::reads::{ReadLimiter, read_operator};
pub use self::requests::{NamedRequest, RequestOutcome, RequestStart, Requests, Run};
pub use self::signers::Signers;
pub use self::streams::{StreamFilter, Streamed, Streams};
pub use self::transfers::{ApprovalPage, Preview, TransferAnswer, TransferView, TransferViews, Transfers};
pub use self::turns::OneAtATime;
pub use self::webhooks::{DeliveriesFilter, NewSecret, Replay, WebhookParts, Webhooks};
pub use purser_core::{PendingLimits, RefusalLimits, Started};
pub use purser_store::SystemClock;
pub use purser_webhooks::{Asked, Fetch, Fetched, NotFetched, Resolve, Resolved};

use self::cleaning::Cleaning;
use self::figures::Figures;
use self::last_seen::LastSeen;
use self::pauses_and_halts::PausesAndHalts;
use self::transfers::TransferObserver;
use self::watch::Watch;
use purser_base::metrics::Metrics;
use purser_base::shares::Outgoing;
pub use purser_base::tasks::Tasks;
pub use purser_chain::{AccountBounds, Caps, ChainFigures};
use purser_model::{CellName, Quotas, Retention};
pub use purser_store::RequestState;
use purser_store::Store;

/// How often to look for unfinished work.
const RECONCILE_EVERY: Duration = Duration::from_secs(5);

/// What every service works with, and an extension with tables of its own. Keys that seal or sign are not in it: who uses one has
/// it.
pub struct Inside {
    pub store: Store,
    pub chains: Chains,
    pub clock: SystemClock,
    pub tasks: Tasks,
    /// Reads of the chain for who only looks at it.
    pub read_limiter: ReadLimiter,
    /// What reads of the chain last showed.
    pub(crate) last_seen: LastSeen,
    pub quotas: Quotas,
    pub(crate) metrics: Metrics,
}

/// What the services are made of. [`Services::new`] takes it apart: none of them sees it.
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

/// The services, one of each.
#[derive(Clone)]
pub struct Services {
    figures: Figures,
    cleaning: Cleaning,
    stops: PausesAndHalts,
    watch: Watch,
    pub inside: Arc<Inside>,
    pub tasks: Tasks,
    pub accounts: Accounts,
    pub policies: Policies,
    pub halts: Halts,
    pub signers: Signers,
    pub transfers: Transfers,
    pub budgets: Budgets,
    pub grants: Grants,
    pub hand_overs: HandOvers,
    pub fetches: Fetches,
    pub history: History,
    pub keys: Keys,
    pub actions: Actions,
    pub requests: Requests,
    pub events: Events,
    pub streams: Streams,
    pub health: Health,
    pub webhooks: Webhooks,
}

impl Services {
    /// No task runs yet; see [`Services::reconcile`].
    pub fn new(setup: Setup) -> Self {
        let Setup { store, chains, tasks, clock, read_limiter, quotas, metrics, webhooks: hooks, .. } = setup;
        let last_seen = LastSeen::default();
        let inside =
            Arc::new(Inside { store, chains, clock, tasks, read_limiter, last_seen, quotas, metrics });
        let of = || inside.clone();

        let (signers, actions, events) = (Signers::new(of()), Actions::new(of()), Events::new(of()));
        let keys = Keys::new(of(), setup.keys_max, setup.cell);
        let stops = PausesAndHalts::new(of());
        let policies = Policies::new(of(), stops.clone());
        let halts = Halts::new(of(), stops.clone());
        let engine = PaymentEngine::new(Outside {
            ledger: Arc::new(inside.store.transfers.clone()),
            chains: inside.chains.to_pay(),
            clock: Arc::new(inside.clock.clone()),
            observer: Arc::new(TransferObserver::new(of(), events.clone())),
            tasks: Arc::new(inside.tasks.clone()),
            stop: inside.tasks.stop.clone(),
            deadline: setup.transfer_deadline,
            refusals: setup.refusals,
        });
        let views = TransferViews::new(of(), setup.approval_page);
        let transfers = Transfers::new(of(), engine, setup.transfer_deadline, setup.pending, views);
        let (accounts, health) = (Accounts::new(of(), policies.clone()), Health::new(of(), signers.clone()));
        let watch = Watch::new(of(), health.clone(), signers.clone(), accounts.clone());
        Self {
            figures: Figures::new(of(), transfers.clone(), signers.clone(), watch.clone()),
            cleaning: Cleaning::new(of(), setup.retention),
            budgets: Budgets::new(of()),
            grants: Grants::new(of()),
            hand_overs: HandOvers::new(of(), setup.transfer_deadline, transfers.clone()),
            fetches: Fetches::new(setup.outgoing.fetches, hooks.rules.clone(), setup.fetch),
            history: History::new(of()),
            requests: Requests::new(of()),
            streams: Streams::new(of(), keys.clone()),
            webhooks: Webhooks::new(of(), hooks, events.clone()),
            tasks: inside.tasks.clone(),
            inside,
            accounts,
            actions,
            events,
            halts,
            health,
            keys,
            policies,
            signers,
            stops,
            transfers,
            watch,
        }
    }

    /// Starts the tasks that finish what a crash or an outage left behind, carry on what had to wait, and delete
    /// expired rows. They run at once, by timer, and on a wake-up.
    pub fn reconcile(&self) {
        self.transfers.sweep_until_stopped();
        self.keys.note_uses();
        self.stops.follow();
        let this = self.clone();
        let stop = self.tasks.stop.clone();
        self.tasks.keep("reconciler", async move {
            loop {
                this.reconcile_once().await;
                if let Err(error) = this.clean_up().await {
                    tracing::warn!(%error, "cannot delete expired rows; retrying later");
                }
                tokio::select! {
                    () = stop.cancelled() => return,
                    () = tokio::time::sleep(RECONCILE_EVERY) => {}
                }
            }
        });
    }

    /// Starts counting conditions for the metrics, at once and then every so often.
    pub fn watch(&self, every: Duration) {
        self.watch.run(every);
    }

    /// One look at the conditions.
    #[cfg(any(test, feature = "testing"))]
    pub async fn look_at_conditions(&self) {
        self.watch.look().await;
    }

    /// One pass over what is deleted by its age, or with something else.
    pub async fn clean_up(&self) -> Result<(), ServiceError> {
        self.cleaning.clean_up().await
    }

    /// One pass over the transfers that nobody carries.
    #[cfg(any(test, feature = "testing"))]
    pub async fn sweep_transfers(&self) {
        self.transfers.sweep().await;
    }

    /// One pass over the pauses and halts that are not final.
    #[cfg(any(test, feature = "testing"))]
    pub async fn look_at_stops(&self) -> Result<(), ServiceError> {
        self.stops.look().await
    }

    /// One pass over the actions that are open although nobody works on them.
    #[cfg(any(test, feature = "testing"))]
    pub async fn look_at_open_actions(&self) -> Result<(), ServiceError> {
        self.actions.look_at_open().await
    }

    /// One pass over our keys, unfinished accounts and pending policies, and interrupted actions.
    pub async fn reconcile_once(&self) {
        self.signers.look().await;
        if let Err(error) = self.accounts.reconcile().await {
            tracing::warn!(%error, "cannot reconcile accounts; retrying later");
        }
        if let Err(error) = self.policies.reconcile().await {
            tracing::warn!(%error, "cannot check pending policies; retrying later");
        }
        if let Err(error) = self.actions.look_at_open().await {
            tracing::warn!(%error, "cannot find out how interrupted actions ended; retrying later");
        }
    }
}
