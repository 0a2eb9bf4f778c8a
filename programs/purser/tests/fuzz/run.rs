//! Many worlds, each with its own seed, on a chosen number of threads.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::sync::Mutex;
use std::time::{Duration, Instant};

use crate::actions::Actions;
use crate::compare::{self, Differences};
use crate::oracle::Refusal;
use crate::shrink::shrink;
use crate::world::{Outcome, Step, World};

/// Transactions of a world: few enough to shrink and read such a history.
pub const WORLD: u64 = 3_000;

pub struct Plan {
    pub program: Vec<u8>,
    pub transactions: u64,
    pub seed: u64,
    /// Run only this world.
    pub world: Option<u64>,
    pub jobs: u64,
    pub shrink: bool,
    pub quiet: bool,
}

#[derive(Default)]
pub struct Tally {
    pub transactions: u64,
    pub accepted: u64,
    pub refused: BTreeMap<Refusal, u64>,
    /// Payments on days with more different seconds of spends than the window keeps apart.
    pub beyond_exact: u64,
}

pub struct Divergence {
    pub world: u64,
    /// The world's transactions up to and including the divergent one.
    pub transaction: u64,
    pub history: Vec<Step>,
    pub differences: Differences,
}

impl Tally {
    fn add(&mut self, other: Self) {
        self.transactions += other.transactions;
        self.accepted += other.accepted;
        self.beyond_exact += other.beyond_exact;
        for (refusal, count) in other.refused {
            *self.refused.entry(refusal).or_default() += count;
        }
    }
}

/// Runs until everything is done or something diverges.
pub fn run(plan: &Plan) -> (Tally, Option<Divergence>) {
    let worlds = plan.transactions.div_ceil(WORLD);
    let next = AtomicU64::new(0);
    let stop = AtomicBool::new(false);
    let done = Mutex::new(Tally::default());
    let found: Mutex<Option<Divergence>> = Mutex::new(None);
    let begun = Instant::now();
    let work = || {
        let fresh = World::new(&plan.program);
        loop {
            let number = next.fetch_add(1, Relaxed);
            if number >= worlds || stop.load(Relaxed) {
                return;
            }
            let transactions = WORLD.min(plan.transactions - number * WORLD);
            let world = plan.world.unwrap_or(number);
            let (tally, divergence) = one_world(plan, &fresh, world, transactions);
            done.lock().expect("no panic").add(tally);
            if let Some(divergence) = divergence {
                stop.store(true, Relaxed);
                let mut found = found.lock().expect("no panic");
                // Keeps the first divergence, so that a seed always shows the same one.
                if found.as_ref().is_none_or(|other| divergence.world < other.world) {
                    *found = Some(divergence);
                }
            }
            if plan.world.is_some() {
                return;
            }
        }
    };
    std::thread::scope(|scope| {
        let jobs = if plan.world.is_some() { 1 } else { plan.jobs };
        let workers: Vec<_> = (0..jobs).map(|_| scope.spawn(work)).collect();
        let mut said = Instant::now();
        while !workers.iter().all(std::thread::ScopedJoinHandle::is_finished) {
            std::thread::sleep(Duration::from_millis(20));
            if !plan.quiet && said.elapsed() > Duration::from_secs(5) {
                said = Instant::now();
                let done = done.lock().expect("no panic").transactions;
                let rate = done as f64 / begun.elapsed().as_secs_f64();
                eprintln!("fuzz: {done} of {} transactions, {rate:.0} a second", plan.transactions);
            }
        }
    });
    (done.into_inner().expect("no panic"), found.into_inner().expect("no panic"))
}

fn one_world(plan: &Plan, fresh: &World, number: u64, transactions: u64) -> (Tally, Option<Divergence>) {
    let mut world = fresh.clone();
    let mut actions = Actions::new(
        plan.seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) ^ number.wrapping_mul(0xD1B5_4A32_D192_ED03),
    );
    let mut history = Vec::new();
    let mut tally = Tally::default();
    let diverged = loop {
        if tally.transactions == transactions {
            break compare::everything(&world.chain, &world.model);
        }
        let step = actions.next(&world.model);
        tally.transactions += u64::from(matches!(step, Step::Call { .. }));
        history.push(step);
        let step = &history[history.len() - 1];
        match world.step(step) {
            Ok(Outcome::Accepted) => {
                tally.accepted += 1;
                tally.beyond_exact += u64::from(world.is_beyond_exact(step));
            }
            Ok(Outcome::Refused(refusal)) => *tally.refused.entry(refusal).or_default() += 1,
            Ok(Outcome::Edited) => {}
            Err(differences) => break differences,
        }
    };
    if diverged.is_empty() {
        return (tally, None);
    }
    let (history, differences) =
        if plan.shrink { shrink(fresh, history, diverged) } else { (history, diverged) };
    let transaction = tally.transactions;
    (tally, Some(Divergence { world: number, transaction, history, differences }))
}
