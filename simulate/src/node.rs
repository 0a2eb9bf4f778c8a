//! The chain as one process sees it, through nodes that lag and lie. What the relayer asks of several nodes is asked of all here:
//! bytes have expired when every node's height says so.

use parking_lot::Mutex;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use purser_core::{
    Beyond, CapsInUse, Chain, ChainFault, ChainView, Destination, Granted, Outcome, Payer, Payment,
    PaymentMade, REQUEST_AHEAD_SECONDS, Room, SharedAllowlist, SignedTransfer, Signer, Timestamp, Transfer,
    TransferState, UnsignedTransfer,
};
use purser_policy::{Allowlist, AsAllowlist, PaidTags, TagBucket, UsdcAmount};
use tokio::time::{Instant, sleep};

use crate::chain::{CONFIRMED, FINALIZED, LIFE, Landed};
use crate::names::{GRANT, PAYEE_OWNER};
use crate::world::{Process, State, World};

/// How many slots old the block may be over which transfers are signed.
const BLOCK_AGE_MAX: u64 = 25;
/// The shortest time in which bytes can expire.
const SHORTEST_LIFE: Duration = Duration::from_millis(LIFE * 350);
const ASK_EVERY: Duration = Duration::from_secs(2);

struct Anyone;

impl AsAllowlist for Anyone {
    fn as_allowlist(&self) -> Allowlist<'_> {
        Allowlist::Anyone
    }
}

pub struct SimChain {
    pub world: Arc<World>,
    pub process: Arc<Process>,
    /// No view may be older than what this process knows to have happened.
    seen_slot: AtomicU64,
    in_flight: Mutex<Vec<(usize, u64, UsdcAmount)>>,
}

impl SimChain {
    pub fn new(world: Arc<World>, process: Arc<Process>) -> Self {
        Self { world, process, seen_slot: AtomicU64::new(0), in_flight: Mutex::default() }
    }

    /// `clock`: by how many seconds the answering node's is off.
    fn view(
        &self,
        state: &State,
        slot: u64,
        clock: i64,
        counts_ours: bool,
        granted: Option<&Payment<'_>>,
    ) -> ChainView {
        let account = state.chain.at(slot).clone();
        let now = state.chain.second_of(slot) + clock;
        let at = account.window.effective(now);
        let waived = granted.and_then(|payment| account.granted(payment.tag, payment.request.amount, at));
        let granted = waived.map(|waived| Granted { address: GRANT, waived });
        let tags = account.tags.clone();
        let mut view = ChainView {
            transfer_authorities: Vec::new(),
            halt: account.halt(),
            policy: account.policy().over(SharedAllowlist::new(Anyone)),
            policy_version: account.policy_version,
            window: account.window,
            caps: CapsInUse::default(),
            // Of what is known without asking some is not known; there is room.
            tags: if counts_ours { vec![TagBucket::EMPTY; tags.len()].into() } else { account.tags.into() },
            balance: account.balance,
            is_frozen: false,
            destination: Destination::TokenAccount { owner: PAYEE_OWNER },
            granted,
            beyond: granted.map(|granted| Beyond { grant: Some(granted.address), ..Beyond::default() }),
            now,
        };
        if counts_ours {
            for (_, tag, amount) in self.in_flight.lock().iter() {
                if !PaidTags(&tags).contains(*tag, now) {
                    view.window.record(now, *amount);
                    view.balance = view.balance.saturating_sub(*amount);
                }
            }
        }
        view
    }

    fn saw(&self, slot: u64) {
        self.seen_slot.fetch_max(slot, Ordering::Relaxed);
    }

    fn ends(&self, signature: usize) {
        let mut all = self.in_flight.lock();
        all.retain(|(known, ..)| *known != signature);
    }

    async fn asks(&self, what: &str) -> Result<(), ChainFault> {
        self.process.lives(&self.world).await;
        self.world.pause(1, 60).await;
        if self.world.with(|state| state.nodes_are_away) || self.world.goes_wrong(4) {
            self.world.tell(|| format!("{}: no node answers ({what})", self.process.name));
            return Err(ChainFault::Unavailable("no node answers".into()));
        }
        Ok(())
    }

    /// Whether every node says that bytes with this height have expired.
    fn have_passed(state: &State, last_valid: u64) -> bool {
        let claimed = state
            .nodes
            .iter()
            .map(|node| (state.chain.tip + node.height).saturating_sub(FINALIZED + node.lag));
        claimed.min().is_some_and(|lowest| lowest > last_valid)
    }
}

fn number_of(signed: &SignedTransfer) -> usize {
    signed.signature.parse().unwrap_or(usize::MAX)
}

#[async_trait]
impl Signer for SimChain {
    async fn sign_transfer(&self, order: &UnsignedTransfer) -> Result<SignedTransfer, ChainFault> {
        self.process.lives(&self.world).await;
        self.world.pause(0, 5).await;
        if self.world.goes_wrong(1) {
            return Err(ChainFault::SignerUnavailable);
        }
        if self.world.with(|state| std::mem::take(&mut state.forks_at_next_order)) {
            self.world.fork(10, 20);
        }
        // The newest block that this process knows is a few seconds old.
        let (signature, last_valid_block_height) = self.world.with(|state| {
            let known = state.chain.tip.saturating_sub(CONFIRMED + state.rng.below(BLOCK_AGE_MAX));
            state.chain.sign(order.clone(), state.chain.block(known))
        });
        let mut all = self.in_flight.lock();
        all.push((signature, order.tag(), order.amount));
        Ok(SignedTransfer { bytes: vec![0], signature: signature.to_string(), last_valid_block_height })
    }
}

#[async_trait]
impl Chain for SimChain {
    async fn now(&self) -> Result<i64, ChainFault> {
        self.asks("clock").await?;
        Ok(self.world.with(|state| {
            let node = state.nodes[state.rng.below(state.nodes.len() as u64) as usize];
            state.chain.second_of(state.chain.tip) + node.clock
        }))
    }

    async fn asking_second(&self) -> Result<i64, ChainFault> {
        self.asks("clocks").await?;
        Ok(self.world.with(|state| {
            let now = state.chain.second_of(state.chain.tip);
            let clocks = state.nodes.iter().map(|node| now + node.clock);
            let newest = clocks.clone().max().unwrap_or(now);
            clocks.filter(|clock| newest - clock <= REQUEST_AHEAD_SECONDS).min().unwrap_or(now)
        }))
    }

    async fn read_for_transfer(
        &self,
        _: &Payer,
        payment: &Payment<'_>,
        with_grant: bool,
    ) -> Result<ChainView, ChainFault> {
        let granted = with_grant.then_some(payment);
        self.asks("view").await?;
        Ok(self.world.with(|state| {
            let node = state.nodes[state.rng.below(state.nodes.len() as u64) as usize];
            let slot = state.chain.tip.saturating_sub(CONFIRMED + node.lag);
            let slot = slot.max(self.seen_slot.load(Ordering::Relaxed));
            self.view(state, slot, node.clock, false, granted)
        }))
    }

    async fn worth_a_look(&self, waiting: &[(Payer, Transfer)]) -> Result<Vec<bool>, ChainFault> {
        self.asks("approvals").await?;
        Ok(self.world.with(|state| {
            let node = state.nodes[state.rng.below(state.nodes.len() as u64) as usize];
            let slot = state.chain.tip.saturating_sub(CONFIRMED + node.lag);
            let account = state.chain.at(slot.max(self.seen_slot.load(Ordering::Relaxed)));
            let is_same = |transfer: &Transfer| {
                let TransferState::PendingApproval(wanted) = &transfer.state else { return false };
                let tag = transfer.id.tag();
                let is_paid = PaidTags(&account.tags).entries().any(|(paid, _)| paid == tag);
                let holds = wanted.holds(account.halted, account.paused, account.policy_version);
                !account.grants.contains_key(&tag) && !is_paid && holds
            };
            waiting.iter().map(|(_, transfer)| !is_same(transfer)).collect()
        }))
    }

    fn known_for_transfer(&self, _: &Payer, _: &Payment<'_>) -> Option<ChainView> {
        if self.world.goes_wrong(30) {
            return None;
        }
        Some(self.world.with(|state| {
            let slot = state.chain.tip.saturating_sub(CONFIRMED + state.rng.below(20));
            self.view(state, slot.max(self.seen_slot.load(Ordering::Relaxed)), 0, true, None)
        }))
    }

    async fn has_passed(&self, block_height: u64, signed_before: Instant) -> Result<bool, ChainFault> {
        self.asks("height").await?;
        if signed_before.elapsed() < SHORTEST_LIFE {
            return Ok(false);
        }
        Ok(self.world.with(|state| {
            let has_passed = Self::have_passed(state, block_height);
            if has_passed {
                self.saw(block_height + 1);
            }
            has_passed
        }))
    }

    async fn send(&self, signed: &SignedTransfer) -> Result<(), ChainFault> {
        self.asks("send").await?;
        self.world.with(|state| {
            let node = state.nodes[state.rng.below(state.nodes.len() as u64) as usize];
            if node.drops_transactions || (!state.is_calm && state.rng.chance(20)) {
                return;
            }
            let is_late = !state.is_calm && state.rng.chance(10);
            let after = if is_late { state.rng.below(LIFE) } else { state.rng.between(1, 4) };
            state.chain.send(number_of(signed), state.chain.tip + after);
        });
        if self.world.goes_wrong(5) {
            return Err(ChainFault::Unavailable("the answer is lost".into()));
        }
        Ok(())
    }

    async fn outcome(&self, signed: &SignedTransfer) -> Outcome {
        let followed_since = Instant::now();
        let signature = number_of(signed);
        loop {
            self.process.lives(&self.world).await;
            let is_old = followed_since.elapsed() >= SHORTEST_LIFE;
            let outcome = self.world.with(|state| {
                if state.nodes_are_away {
                    return None;
                }
                if let Some(landed) = shown(state, signature, self.world.depth) {
                    self.saw(landed.slot);
                    return Some(match &landed.result {
                        Ok(_) => Outcome::Settled { slot: landed.slot },
                        Err(refusal) => Outcome::Refused(*refusal),
                    });
                }
                let is_seen = shown(state, signature, 0).is_some();
                (is_old && !is_seen && Self::have_passed(state, signed.last_valid_block_height)).then(|| {
                    self.saw(signed.last_valid_block_height + 1);
                    Outcome::Expired
                })
            });
            if let Some(outcome) = outcome {
                if !matches!(outcome, Outcome::Settled { .. }) {
                    self.ends(signature);
                }
                self.world
                    .tell(|| format!("{}: transaction {signature} ends: {outcome:?}", self.process.name));
                return outcome;
            }
            if self.world.draw(0, 2) == 0 {
                let _ = self.send(signed).await;
            }
            sleep(ASK_EVERY).await;
        }
    }

    async fn block_time(&self, slot: u64) -> Result<Option<i64>, ChainFault> {
        self.asks("block time").await?;
        let dated = |state: &mut State| {
            let node = state.nodes[state.rng.below(state.nodes.len() as u64) as usize];
            state.chain.second_of(slot) + node.dates
        };
        Ok((!self.world.goes_wrong(10)).then(|| self.world.with(dated)))
    }

    fn look_again(&self) {
        self.world.wanted.notify_waiters();
    }

    async fn make_room(&self, _: &Payer, seen_buckets: usize) -> Result<Room, ChainFault> {
        self.asks("room").await?;
        let room = self.world.with(|state| {
            let mut room = Room::None;
            state.chain.change(|account| room = account.make_room(seen_buckets));
            room
        });
        self.world.tell(|| format!("{}: room for more payments: {room:?}", self.process.name));
        Ok(room)
    }
}

/// What nodes say of a transaction: one that denies it is contradicted by the others.
fn shown(state: &State, signature: usize, depth: u64) -> Option<&Landed> {
    if state.nodes.iter().all(|node| node.denies) { None } else { state.chain.status(signature, depth) }
}

/// Reads the account's past into this process's database, again and again.
pub async fn index(world: Arc<World>, process: Arc<Process>, relayer: usize) {
    loop {
        process.lives(&world).await;
        let now = world.now(world.with(|state| state.clocks[relayer]));
        world.with(|state| {
            let database = relayer % state.databases.len();
            let node = state.nodes[state.rng.below(state.nodes.len() as u64) as usize];
            let depth = world.depth.max(node.lag);
            let is_away = state.databases[database].is_away || state.nodes_are_away;
            if is_away || (!state.is_calm && state.rng.chance(20)) {
                return;
            }
            let is_listed = |number: u64| node.leaves_out == 0 || !number.is_multiple_of(node.leaves_out);
            let (chain, database) = (&state.chain, &mut state.databases[database]);
            for (number, payment) in chain.payments(depth).filter(|(number, _)| is_listed(*number)) {
                let made_at = Timestamp::from_unix_seconds(payment.made_at.unix_seconds() + node.dates);
                let asked_at = chain.asked_at(payment);
                database.read((*number, asked_at), &PaymentMade { made_at, ..payment.clone() }, now);
            }
            let is_gone = |payment: &PaymentMade| {
                let signature = payment.signature.parse().unwrap_or(usize::MAX);
                payment.slot + FINALIZED < chain.tip
                    && chain.status(signature, 0).is_none_or(|landed| landed.result.is_err())
            };
            if state.has_forked {
                database.take_back(is_gone, now);
            }
        });
        tokio::select! {
            biased;
            () = world.wanted.notified() => sleep(Duration::from_millis(300)).await,
            () = sleep(Duration::from_secs(4)) => {}
        }
    }
}
