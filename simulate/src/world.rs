//! Everything outside the payment engine, under one lock, drawn from one seed.

use parking_lot::{Mutex, MutexGuard};
use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use purser_core::{FailureCode, Limit, PaymentEngine, Timestamp, TransferId, UsdcAmount};
use tokio::sync::Notify;
use tokio::time::{Instant, sleep};
use tokio_util::sync::CancellationToken;

use crate::chain::{self, CONFIRMED, FINALIZED, FIRST_SLOT, Leap, Swing, TrueChain};
use crate::database::Database;
use crate::names::amount;
use crate::rng::Rng;
use crate::tasks::SimTasks;

/// A node, and how it lies.
#[derive(Debug, Clone, Copy, Default)]
pub struct Node {
    /// How many slots its state is behind.
    pub lag: u64,
    /// How far off its clock is, in seconds.
    pub clock: i64,
    /// By how many seconds it dates blocks wrong.
    pub dates: i64,
    /// How many blocks more than there are it claims.
    pub height: u64,
    /// It accepts bytes and forwards none.
    pub drops_transactions: bool,
    /// It says of no transaction that it landed.
    pub denies: bool,
    /// It leaves out one in so many payments of a history; 0: none.
    pub leaves_out: u64,
}

/// What a caller was told.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LastAnswer {
    Settled(String),
    Rejected,
    Failed(FailureCode),
    Submitted,
    Conflict,
    Error(String),
}

#[derive(Debug, Clone)]
pub struct Answer {
    pub key: usize,
    /// What was asked for.
    pub amount: u64,
    /// The Unix second in which the caller heard it.
    pub answered_at: i64,
    pub database: usize,
    pub transfer: Option<TransferId>,
    pub told: LastAnswer,
}

/// A running relayer.
#[derive(Clone)]
pub struct Relayer {
    pub engine: PaymentEngine,
    pub process: Arc<Process>,
    pub tasks: SimTasks,
    pub database: usize,
}

pub struct State {
    pub rng: Rng,
    /// Draws the faults that take long. They came later: worlds that draw none have stayed as they were.
    pub long: Rng,
    /// The faults that take long and that took place.
    pub met: BTreeSet<&'static str>,
    pub chain: TrueChain,
    pub nodes: Vec<Node>,
    /// None of them answers.
    pub nodes_are_away: bool,
    pub databases: Vec<Database>,
    /// By how many seconds the clock of each relayer's host is off.
    pub clocks: Vec<i64>,
    pub relayers: Vec<Option<Relayer>>,
    pub answers: Vec<Answer>,
    /// For how long a fault lasts, if it takes long; callers ask as seldom.
    pub minutes: u64,
    /// Nothing goes wrong any more.
    pub is_calm: bool,
    pub has_forked: bool,
    /// For a while no node showed what had landed.
    pub has_hidden: bool,
    /// Between the reading of the account and the block that the next payment is signed over.
    pub forks_at_next_order: bool,
    pub trace: Option<Vec<String>>,
}

pub struct World {
    state: Mutex<State>,
    begun: Instant,
    leap: Leap,
    swings: bool,
    /// How deep a transaction must be to count.
    pub depth: u64,
    /// Wakes the readers of the chain's past.
    pub wanted: Notify,
}

impl World {
    pub fn new(seed: u64, is_traced: bool) -> Self {
        let mut rng = Rng::new(seed);
        let nodes = vec![Node::default(); rng.between(1, 3) as usize];
        let databases = vec![Database::default(); rng.between(1, 2) as usize];
        let relayers = databases.len().max(rng.between(1, 2) as usize);
        // In some worlds a day passes, and keys are free again.
        let seconds = if rng.chance(30) { rng.between(23 * 3_600, 30 * 3_600).cast_signed() } else { 0 };
        let leap = Leap { slot: FIRST_SLOT + rng.between(20, 300), seconds };
        // In few worlds the chain's clock is a day ahead for a while. Blocks are dated by it.
        let begins = FIRST_SLOT + rng.between(20, 300);
        let swing = Swing { slots: begins..begins + rng.between(5, 200), seconds: 26 * 3_600 };
        let swing = rng.chance(10).then_some(swing);
        // In some worlds a person has to approve all but the first key's payment.
        let max_single =
            if rng.chance(40) { Limit::AtMost(UsdcAmount::from_micros(amount(0))) } else { Limit::Unlimited };
        // In few worlds an account is given no room, or little.
        let buckets_max = if rng.chance(10) { rng.between(1, 2) as usize } else { 64 };
        let depth = if rng.chance(50) { CONFIRMED } else { FINALIZED };
        let state = State {
            chain: TrueChain::new(1_000_000_000, max_single, buckets_max, leap, swing.clone()),
            long: Rng::new(seed.reverse_bits()),
            met: BTreeSet::new(),
            nodes,
            nodes_are_away: false,
            databases,
            clocks: vec![0; relayers],
            relayers: (0..relayers).map(|_| None).collect(),
            answers: Vec::new(),
            minutes: 0,
            is_calm: false,
            has_forked: false,
            has_hidden: false,
            forks_at_next_order: false,
            trace: is_traced.then(Vec::new),
            rng,
        };
        Self {
            state: Mutex::new(state),
            begun: Instant::now(),
            leap,
            swings: swing.is_some(),
            depth,
            wanted: Notify::new(),
        }
    }

    pub fn with<T>(&self, work: impl FnOnce(&mut State) -> T) -> T {
        let slot = self.slot();
        let mut state = self.lock();
        state.chain.advance(slot);
        work(&mut state)
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock()
    }

    fn milliseconds(&self) -> u64 {
        u64::try_from(self.begun.elapsed().as_millis()).unwrap_or(u64::MAX)
    }

    pub fn slot(&self) -> u64 {
        chain::slot_at(self.milliseconds())
    }

    /// Whether a day passes, by the chain's clock.
    pub const fn leaps(&self) -> bool {
        self.leap.seconds > 0 || self.swings
    }

    /// Whether the day that passes has passed.
    pub fn has_leapt(&self) -> bool {
        self.slot() >= self.leap.slot
    }

    /// The time by a clock that is off by so many seconds.
    pub fn now(&self, off: i64) -> Timestamp {
        let second = chain::FIRST_SECOND + self.leap.by(self.slot()) + off;
        Timestamp::from_unix_seconds(second).after(Duration::from_millis(self.milliseconds()))
    }

    /// Adds a sentence to the trace.
    pub fn tell(&self, said: impl FnOnce() -> String) {
        let milliseconds = self.milliseconds();
        let mut state = self.lock();
        if let Some(trace) = &mut state.trace {
            let said = said();
            trace.push(format!("{:>9}.{:03} s  {said}", milliseconds / 1_000, milliseconds % 1_000));
        }
    }

    /// Whether something goes wrong that happens so often.
    pub fn goes_wrong(&self, percent: u64) -> bool {
        let mut state = self.lock();
        !state.is_calm && state.rng.chance(percent)
    }

    /// From `low` to `high`, both included.
    pub fn draw(&self, low: u64, high: u64) -> u64 {
        self.lock().rng.between(low, high)
    }

    /// The chain leaves its newest blocks. Some of their transactions land again.
    pub fn fork(&self, at_least: u64, land_again_percent: u64) {
        let depth = self.draw(at_least, 25);
        let dropped = self.with(|state| {
            let mut rng = state.rng.clone();
            let lands_again = || rng.chance(land_again_percent).then(|| rng.between(1, 20));
            let dropped = state.chain.fork(depth, lands_again);
            state.rng = rng;
            state.has_forked = true;
            dropped
        });
        self.tell(|| format!("a fork drops {depth} blocks with {dropped} transactions"));
    }

    pub async fn pause(&self, low_ms: u64, high_ms: u64) {
        sleep(Duration::from_millis(self.draw(low_ms, high_ms))).await;
    }
}

/// A process, which may die at any call that it makes.
pub struct Process {
    pub name: String,
    calls_left: Mutex<Option<u64>>,
    pub died: CancellationToken,
}

impl Process {
    pub fn new(name: String, calls_left: Option<u64>) -> Self {
        Self { name, calls_left: Mutex::new(calls_left), died: CancellationToken::new() }
    }

    /// It makes a call, or the answer arrives: if its time has come, it dies here.
    pub async fn lives(&self, world: &World) {
        let dies = {
            let mut left = self.calls_left.lock();
            match left.as_mut() {
                Some(0) => true,
                Some(left) => {
                    *left -= 1;
                    false
                }
                None => false,
            }
        };
        if dies && !world.with(|state| state.is_calm) {
            self.died.cancel();
        }
        if self.died.is_cancelled() {
            std::future::pending::<()>().await;
        }
    }
}
