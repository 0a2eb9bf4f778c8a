//! The nodes of one network: which to ask first, which to leave alone for a while, and when to ask all of them.

use crate::SEND;
use crate::node_fault::{CallError, NodeFault};
use crate::sysvar;
use crate::transport::Transport;
use crate::wire::WireAccount;
use parking_lot::{Mutex, MutexGuard};
use serde_json::{Value, json};
use std::sync::{Arc, OnceLock};
use std::time::Duration;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc};
use tokio::time::{Instant, sleep, timeout};
use tokio_util::task::TaskTracker;
use tracing::Instrument;

/// How long one of several nodes may take to answer before the next is asked.
const ATTEMPT_TIMEOUT: Duration = Duration::from_secs(3);
/// How long the first node may take to accept a transaction before all the others get it too.
const SEND_PATIENCE: Duration = Duration::from_millis(400);
/// How often to retry nodes that have not reached the wanted slot, and the pause between retries.
const LAGGING_RETRIES: usize = 4;
const LAGGING_PAUSE: Duration = Duration::from_millis(150);
/// How long a node rests after a fault; doubles with each further fault.
const REST: Duration = Duration::from_millis(500);
const REST_MAX: Duration = Duration::from_secs(15);
const REST_CONTRADICTED: Duration = Duration::from_secs(30);
/// The longest pause that a node may ask for.
const RETRY_AFTER_MAX: Duration = Duration::from_secs(10);
/// How often to compare several nodes with each other.
pub const COMPARE_EVERY: Duration = Duration::from_secs(5);
/// How many slots (10 s of them) a node may be behind two others.
const SLOTS_BEHIND_MAX: u64 = 50;
/// A node whose slot stays the same for so long is asked last, and after the longer time it has no say either in what all must
/// agree on.
const STILL_ASKED_LAST: Duration = Duration::from_secs(10);
const STILL_SET_ASIDE: Duration = Duration::from_secs(60);
/// After this many first sends in a row that reached the chain only once every node had them, a node gets no first sends for a
/// while; the pause doubles each time.
const UNFORWARDED_MAX: u32 = 3;
const DEAF_PAUSE: Duration = Duration::from_secs(30);
const DEAF_PAUSE_MAX: Duration = Duration::from_secs(900);
/// Sends to all nodes that may wait for one node's answer.
const SENDS_TO_ALL_AT_ONCE: usize = 64;
/// How long a node's clock counts as known after it was read.
const CLOCK_AGE_MAX: Duration = Duration::from_secs(30);

/// An answer, and the node (by its place in the configuration) that gave it.
#[derive(Debug, Clone, PartialEq)]
pub struct Answered {
    pub node: usize,
    pub value: Value,
}

/// The nodes of one network, in the order of the configuration.
pub struct Nodes {
    nodes: Vec<Arc<Node>>,
    /// Base58. Once it is known, a node must report it before it is used (again).
    genesis: Arc<OnceLock<String>>,
    /// How long one call may take.
    call_timeout: Duration,
    tasks: TaskTracker,
}

struct Node {
    number: usize,
    transport: Box<dyn Transport>,
    genesis: Arc<OnceLock<String>>,
    health: Mutex<NodeHealth>,
    sends_to_all: Arc<Semaphore>,
}

#[derive(Debug, Default)]
struct NodeHealth {
    faults_in_row: u32,
    rests_until: Option<Instant>,
    /// The node itself asked to rest.
    asked_for_rest: bool,
    on_our_cluster: bool,
    /// What its clock said, and when we read it.
    clock: Option<(i64, Instant)>,
    /// Its newest slot, and when it got there; before that, when we first asked.
    slot: Option<u64>,
    moved_at: Option<Instant>,
    /// First sends in a row that it did not forward.
    unforwarded: u32,
    deaf_until: Option<Instant>,
}

impl Nodes {
    pub fn new(transports: Vec<Box<dyn Transport>>, call_timeout: Duration, tasks: TaskTracker) -> Self {
        let genesis = Arc::new(OnceLock::new());
        let node = |(number, transport)| {
            let sends_to_all = Arc::new(Semaphore::new(SENDS_TO_ALL_AT_ONCE));
            let (genesis, health) = (genesis.clone(), Mutex::default());
            Arc::new(Node { number, transport, genesis, health, sends_to_all })
        };
        let nodes = transports.into_iter().enumerate().map(node).collect();
        Self { nodes, genesis, call_timeout, tasks }
    }

    pub fn count(&self) -> usize {
        self.nodes.len()
    }

    /// Which nodes rest now.
    pub fn resting(&self) -> Vec<bool> {
        self.nodes.iter().map(|node| node.health().resting().is_some()).collect()
    }

    /// From now on, uses only nodes of the cluster with this genesis hash.
    pub fn require_genesis(&self, genesis: &str) {
        let _ = self.genesis.set(genesis.to_owned());
    }

    /// The genesis hash of our cluster, once it is known.
    pub fn genesis(&self) -> Option<&str> {
        self.genesis.get().map(String::as_str)
    }

    /// Asks the healthiest node that `suits` accepts, and on a fault the next one. Retries lagging nodes for a moment.
    pub async fn call_among(
        &self,
        method: &'static str,
        params: &Value,
        suits: impl Fn(usize) -> bool + Send + Sync,
    ) -> Result<Answered, CallError> {
        let mut rounds = 0;
        loop {
            let mut failure = CallError::Node(NodeFault::Unreachable);
            let (mut lagging, mut refused) = (false, true);
            let order: Vec<_> = self.by_health().into_iter().filter(|node| suits(node.number)).collect();
            for node in &order {
                let patience = if self.count() > 1 { ATTEMPT_TIMEOUT } else { self.call_timeout };
                match node.call(method, params, patience).await {
                    Ok(value) => return Ok(Answered { node: node.number, value }),
                    Err(error) if !error.may_be_served_elsewhere() => return Err(error),
                    // A refusal counts once every node says so.
                    Err(CallError::Refused { .. }) if !refused => {}
                    Err(error) => {
                        lagging |= error == CallError::Node(NodeFault::Lagging);
                        refused &= matches!(error, CallError::Refused { .. });
                        failure = error;
                    }
                }
            }
            if !lagging || rounds == LAGGING_RETRIES {
                return Err(failure);
            }
            rounds += 1;
            sleep(LAGGING_PAUSE).await;
        }
    }

    /// Sends to the healthiest node, and to all of them if it does not accept at once. Returns the node, if it alone accepted.
    pub async fn send(&self, params: &Value) -> Result<Option<usize>, CallError> {
        let mut waiting = self.by_send_reliability().into_iter();
        let Some(first) = waiting.next() else { return Err(CallError::Node(NodeFault::Unreachable)) };
        let number = first.number;
        let (results, mut answers) = mpsc::unbounded_channel();
        self.begin_send(first, params, &results, None);
        let fault = match timeout(SEND_PATIENCE, answers.recv()).await {
            Ok(Some(Ok(_))) => return Ok(Some(number)),
            Ok(Some(Err(error))) => error,
            Ok(None) | Err(_) => CallError::Node(NodeFault::Slow),
        };
        waiting.for_each(|node| self.begin_send(node, params, &results, None));
        drop(results);
        first_accepted(answers, fault).await.map(|()| None)
    }

    /// Sends to every node: the one that got the bytes first may have kept them to itself. Returns once one accepts.
    pub async fn send_to_all(&self, params: &Value) -> Result<(), CallError> {
        let (results, answers) = mpsc::unbounded_channel();
        for node in self.by_send_reliability() {
            // A node that does not answer the earlier ones gets no more.
            if let Ok(turn) = node.sends_to_all.clone().try_acquire_owned() {
                self.begin_send(node, params, &results, Some(turn));
            }
        }
        drop(results);
        first_accepted(answers, CallError::Node(NodeFault::Slow)).await
    }

    /// In a task of its own: a quick answer from one node must not stop the sends to the others.
    fn begin_send(
        &self,
        node: Arc<Node>,
        params: &Value,
        results: &mpsc::UnboundedSender<Result<Value, CallError>>,
        turn: Option<OwnedSemaphorePermit>,
    ) {
        let (results, params, patience) = (results.clone(), params.clone(), self.call_timeout);
        let sending = async move {
            let _ = results.send(node.call(SEND, &params, patience).await);
            drop(turn);
        };
        self.tasks.spawn(sending.in_current_span());
    }

    /// Notes whether bytes that this node alone had got reached the chain, or only once all had them.
    pub fn note_forwarding(&self, node: usize, forwarded: bool) {
        if let Some(node) = self.nodes.get(node).filter(|_| self.count() > 1) {
            node.note_forwarding(forwarded);
        }
    }

    /// The nodes that move. One that stands still, silent or not, has no say in what all must agree on; one that is ahead sets
    /// nobody aside.
    pub fn moving(&self) -> Vec<usize> {
        let moves = |node: &&Arc<Node>| self.count() == 1 || !node.stands_still(STILL_SET_ASIDE);
        self.nodes.iter().filter(moves).map(|node| node.number).collect()
    }

    /// Notes a fault that did not show in a call.
    pub fn blame(&self, node: usize, fault: NodeFault) {
        if let Some(node) = self.nodes.get(node) {
            node.note(Some(fault));
        }
    }

    /// What the clocks of several nodes say now; `None` while no clock is known.
    pub fn clocks(&self) -> Option<Vec<i64>> {
        let clocks: Vec<i64> = self.nodes.iter().filter_map(|node| node.clock()).collect();
        (self.count() < 2 || !clocks.is_empty()).then_some(clocks)
    }

    /// Compares the slots and clocks of several nodes, once.
    pub async fn compare(&self) {
        let params = json!([{ "commitment": "processed" }]);
        let params = &params;
        let asked = self.nodes.iter().map(|node| async move {
            node.read_clock().await;
            let answer = node.call("getEpochInfo", params, ATTEMPT_TIMEOUT).await.ok();
            let slot = answer.and_then(|answer| answer["absoluteSlot"].as_u64());
            node.note_slot(slot);
            slot.map(|slot| (node, slot))
        });
        let slots: Vec<_> = futures::future::join_all(asked).await.into_iter().flatten().collect();
        // Nobody lags behind what one node claims.
        let mut ahead: Vec<u64> = slots.iter().map(|(_, slot)| *slot).collect();
        ahead.sort_unstable_by(|one, other| other.cmp(one));
        let vouched = ahead.get(1).copied().unwrap_or(0);
        for (node, slot) in slots {
            let is_behind = slot.saturating_add(SLOTS_BEHIND_MAX) < vouched;
            if is_behind || node.stands_still(STILL_ASKED_LAST) {
                tracing::warn!(node = node.number, slot, vouched, "an RPC node lags or stands still");
                node.rest(COMPARE_EVERY * 2);
            }
        }
    }

    /// Nodes that are not resting first, in the order of the configuration; then those whose rest ends soonest.
    fn by_health(&self) -> Vec<Arc<Node>> {
        let mut nodes: Vec<_> =
            self.nodes.iter().map(|node| (node.health().resting(), node.number, node.clone())).collect();
        nodes.sort_by_key(|(resting, number, _)| (*resting, *number));
        nodes.into_iter().map(|(.., node)| node).collect()
    }

    /// The same, with those last that do not forward what they are sent.
    fn by_send_reliability(&self) -> Vec<Arc<Node>> {
        let mut nodes = self.by_health();
        nodes.sort_by_key(|node| node.health().drops_transactions());
        nodes
    }
}

/// Whether any send was accepted; `fault` when none was answered.
async fn first_accepted(
    mut answers: mpsc::UnboundedReceiver<Result<Value, CallError>>,
    mut fault: CallError,
) -> Result<(), CallError> {
    while let Some(answer) = answers.recv().await {
        match answer {
            Ok(_) => return Ok(()),
            Err(error) => fault = error,
        }
    }
    Err(fault)
}

impl Node {
    async fn call(
        &self,
        method: &'static str,
        params: &Value,
        patience: Duration,
    ) -> Result<Value, CallError> {
        // Sends go out even to a resting node: they are the one call that must not wait.
        if method != SEND && self.health().asked_for_rest && self.health().resting().is_some() {
            return Err(CallError::Node(NodeFault::RateLimited { retry_after: None }));
        }
        let attempt = async {
            self.check_cluster().await?;
            self.transport.call(method, params.clone()).await
        };
        let slow = |_| Err(CallError::Node(NodeFault::Slow));
        let answer = timeout(patience, attempt).await.unwrap_or_else(slow);
        self.note(match &answer {
            Err(CallError::Node(fault)) => Some(*fault),
            Ok(_) | Err(CallError::Refused { .. }) => None,
        });
        answer
    }

    /// A node that was away may come back as a different one, even on another cluster.
    async fn check_cluster(&self) -> Result<(), CallError> {
        let Some(genesis) = self.genesis.get() else { return Ok(()) };
        if self.health().on_our_cluster {
            return Ok(());
        }
        let answer = self.transport.call("getGenesisHash", Value::Null).await?;
        if answer.as_str() != Some(genesis) {
            tracing::error!(node = self.number, "an RPC node is on another cluster");
            return Err(CallError::Node(NodeFault::OtherCluster));
        }
        self.health().on_our_cluster = true;
        Ok(())
    }

    /// Unix seconds, moved on by our own clock.
    fn clock(&self) -> Option<i64> {
        let (time, at) = self.health().clock?;
        let elapsed = at.elapsed();
        let seconds = i64::try_from(elapsed.as_secs()).ok()?;
        (elapsed < CLOCK_AGE_MAX).then(|| time.saturating_add(seconds))
    }

    async fn read_clock(&self) {
        let params = json!([sysvar::CLOCK.to_string(), { "encoding": "base64", "commitment": "confirmed" }]);
        let Ok(answer) = self.call("getAccountInfo", &params, ATTEMPT_TIMEOUT).await else { return };
        let account = serde_json::from_value::<WireAccount>(answer["value"].clone()).ok();
        let time =
            account.and_then(WireAccount::decode).and_then(|account| sysvar::unix_timestamp(&account.data));
        self.health().clock = time.map(|time| (time, Instant::now()));
    }

    fn note(&self, fault: Option<NodeFault>) {
        let mut health = self.health();
        let Some(fault) = fault else {
            health.faults_in_row = 0;
            health.rests_until = None;
            return;
        };
        let rest = REST.saturating_mul(1 << health.faults_in_row.min(8)).min(REST_MAX);
        health.faults_in_row = health.faults_in_row.saturating_add(1);
        health.asked_for_rest = false;
        let rest = match fault {
            NodeFault::RateLimited { retry_after: Some(pause) } => {
                health.asked_for_rest = true;
                pause.min(RETRY_AFTER_MAX)
            }
            NodeFault::Lagging => REST,
            NodeFault::Contradicted => REST_CONTRADICTED,
            NodeFault::Unreachable | NodeFault::OtherCluster => {
                health.on_our_cluster = false;
                rest
            }
            NodeFault::Slow
            | NodeFault::Denied
            | NodeFault::Unhealthy
            | NodeFault::Unreadable
            | NodeFault::TooLong
            | NodeFault::NoAgreement(_)
            | NodeFault::RateLimited { retry_after: None } => rest,
        };
        health.rests_until = Some(Instant::now() + rest);
    }

    /// Where the node says it is; `None` when it says nothing.
    fn note_slot(&self, slot: Option<u64>) {
        let mut health = self.health();
        let has_moved = slot.is_some() && slot != health.slot;
        if has_moved || health.moved_at.is_none() {
            health.moved_at = Some(Instant::now());
        }
        health.slot = slot.or(health.slot);
    }

    fn stands_still(&self, long: Duration) -> bool {
        self.health().moved_at.is_some_and(|at| at.elapsed() >= long)
    }

    fn note_forwarding(&self, forwarded: bool) {
        let mut health = self.health();
        if forwarded {
            health.unforwarded = 0;
            health.deaf_until = None;
            return;
        }
        // What was under way when it was found out says nothing new.
        if health.drops_transactions() {
            return;
        }
        health.unforwarded = health.unforwarded.saturating_add(1);
        if let Some(times) = health.unforwarded.checked_sub(UNFORWARDED_MAX) {
            tracing::warn!(node = self.number, "an RPC node accepts transactions and does not forward them");
            let pause = DEAF_PAUSE.saturating_mul(1 << times.min(8)).min(DEAF_PAUSE_MAX);
            health.deaf_until = Some(Instant::now() + pause);
        }
    }

    fn rest(&self, rest: Duration) {
        let mut health = self.health();
        health.asked_for_rest = false;
        health.rests_until = Some(Instant::now() + rest);
    }

    fn health(&self) -> MutexGuard<'_, NodeHealth> {
        self.health.lock()
    }
}

impl NodeHealth {
    /// When its rest ends, if it rests now.
    fn resting(&self) -> Option<Instant> {
        self.rests_until.filter(|until| *until > Instant::now())
    }

    fn drops_transactions(&self) -> bool {
        self.deaf_until.is_some_and(|until| until > Instant::now())
    }
}

#[cfg(test)]
mod tests;
