//! The indexer against a simulated chain, read through nodes that misbehave.

mod book;
mod chaos;
mod cost;
mod finality;
mod hidden;
mod node;
mod world;

use std::collections::BTreeSet;
use std::num::NonZeroU32;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use self::node::Node;
use self::world::{Expected, World};
use super::{Indexer, IndexerParts};
use purser_base::shares::Outgoing;
use purser_chain::{Commitment, SolanaHistory};
use purser_model::{
    Account, AccountStatus, Address, ApprovalRule, DuplicateRule, EntryOutcome, HistoryEntry, HistoryFilter,
    Label, Network, Operator, Quotas, Tags, Timestamp,
};
use purser_service::{Chains, ReadLimiter, Services, Setup, SystemClock, Tasks, WebhookParts};
use purser_store::Store;
use purser_webhooks::{Fetcher, SystemResolver};

/// The clock of the process under test; it only moves forward.
static NOW: AtomicI64 = AtomicI64::new(1_900_000_000);

fn pass_seconds(seconds: i64) {
    NOW.fetch_add(seconds, Ordering::SeqCst);
}

const CLOCK: SystemClock = SystemClock {
    now: || Timestamp::from_unix_seconds(NOW.load(Ordering::SeqCst)),
    server: None,
    fill_random: |bytes| bytes.fill(7),
};

/// A database, and indexers of a simulated chain that use it.
struct Scene {
    _folder: tempfile::TempDir,
    store: Store,
    node: Arc<Node>,
    commitment: Commitment,
}

impl Scene {
    /// The first accounts of each operator are known; the indexer finds the others once they exist.
    async fn new(world: World, commitment: Commitment) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let url = format!("sqlite://{}", folder.path().join("purser.db").display());
        let store = Store::open(&url).await.expect("a database");
        for operator in world.operators.iter().filter(|operator| operator.is_registered) {
            let registered = Operator {
                id: operator.id,
                network: Network::Test,
                name: Label::parse("operator").expect("valid"),
                address: operator.address,
                requires_reason: false,
                created_at: CLOCK.now(),
            };
            store.operators.insert_operator(&registered).await.expect("inserted");
        }
        for agent in world.agents.iter().filter(|agent| agent.is_known) {
            let account = Account {
                id: agent.id,
                operator_id: world.operators[agent.operator].id,
                name: Label::parse("agent").expect("valid"),
                metadata: None,
                tags: Tags::default(),
                address: agent.address,
                token_account: agent.token_account,
                status: AccountStatus::Active,
                allowlist_entries: 0,
                duplicates: DuplicateRule::AsAsked,
                approvals: ApprovalRule::On,
                create_token_accounts: false,
                created_at: CLOCK.now(),
            };
            store.accounts.insert_account(&account).await.expect("inserted");
        }
        Self { _folder: folder, store, node: Arc::new(Node::of(world)), commitment }
    }

    /// A process that starts with nothing but the database.
    fn indexer(&self) -> Indexer {
        let services = Services::new(Setup {
            store: self.store.clone(),
            chains: Chains::default(),
            tasks: Tasks::default(),
            clock: CLOCK,
            transfer_deadline: Duration::from_secs(1),
            pending: purser_service::PendingLimits { per_account: 1, per_operator: 1 },
            refusals: purser_service::RefusalLimits { per_account: 1, per_operator: 1 },
            quotas: Quotas::default(),
            approval_page: None,
            webhooks: WebhookParts {
                sealing_key: None,
                rules: Arc::default(),
                resolve: Arc::new(SystemResolver::default()),
            },
            fetch: Arc::new(
                Fetcher::new(Arc::new(SystemResolver::default()), Arc::default()).expect("TLS roots"),
            ),
            outgoing: Outgoing::of_files(1_024),
            read_limiter: ReadLimiter::new(NonZeroU32::new(1_000_000).expect("positive")),
            keys_max: 1_000,
            cell: None,
            retention: purser_model::Retention::default(),
            metrics: purser_base::metrics::Metrics::default(),
        });
        let node = self.node.clone();
        Indexer::new(IndexerParts {
            history: SolanaHistory::told_by(
                move |method, params| node.call(method, params),
                world::MINT,
                self.commitment,
            ),
            accounts: self.store.accounts.clone(),
            entries: self.store.history.clone(),
            index: self.store.index.clone(),
            operators: self.store.operators.clone(),
            policies: self.store.policies.clone(),
            inside: services.inside,
            clock: CLOCK,
            metrics: purser_base::metrics::Metrics::default(),
            interval: Duration::from_secs(10),
        })
    }

    /// Every account's history, as far as the chain determines it.
    async fn recorded(&self) -> BTreeSet<Expected> {
        let mut all = BTreeSet::new();
        let (operators, agents) = self.node.parties();
        for agent in &agents {
            let operator = operators[agent.operator].id;
            let entries = self
                .store
                .history
                .list_history(operator, agent.id, &HistoryFilter::default(), None, u32::MAX)
                .await
                .expect("listed");
            for entry in entries {
                let recorded = recorded(&entry.entry);
                assert!(all.insert(recorded), "twice in the history: {entry:?}");
            }
        }
        all
    }
}

fn recorded(entry: &HistoryEntry) -> Expected {
    let EntryOutcome::Settled { signature, slot } = &entry.outcome else {
        panic!("not of the chain: {entry:?}")
    };
    Expected {
        account: entry.account_id,
        signature: signature.clone(),
        slot: *slot,
        kind: entry.kind.as_str(),
        micros: entry.amount.micros(),
        transfer_id: entry.transfer_id.map(|id| id.bytes()),
        created_at: entry.created_at,
    }
}

fn address(kind: u8, number: u8) -> Address {
    let mut bytes = [kind; 32];
    bytes[0] = number;
    Address::from_bytes(bytes)
}
