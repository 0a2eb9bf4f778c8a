//! Exactly once, whatever fails. The real relayer runs on the real program. It dies, gets false answers, and gets retries; an
//! independent reader of the chain judges the outcome.
//!
//! One run is one idempotency key under one fault. Runs share a round: one start of one or two relayers, their deaths, and
//! the network faults. Rounds share a world: a network with accounts on it. The seed decides everything except how the
//! operating system and the network interleave it: a replay meets the same faults, not the same microseconds.
//!
//! | Room | What it is for |
//! |---|---|
//! | [`plan`] | what is to happen, from the seed |
//! | [`hazards`] | the rarer things, from the seed too: lying nodes, restored databases, full disks, other keys, forks |
//! | [`weights`] | how often each of them is drawn |
//! | `world` | a network, two nodes in front of it, an operator, accounts, and the database from before any transfer |
//! | `storm` | carries the hazards out |
//! | `thief` | another operator that wants the round's accounts |
//! | `disk` | a file system that can be filled up |
//! | `relayer` | a relayer that dies as planned and is started again |
//! | `person` | the approver, with a wallet of its own |
//! | `maker` | makes accounts under idempotency keys |
//! | `announced` | that no event lacks its delivery |
//! | `client` | what a client does until it has its answer |
//! | `ledger` | what the chain says, read and decoded without any of the relayer's code |
//! | `patience` | deadlines that a loaded machine does not cut short |
//! | `verdict` | what must hold |
//! | `audit` | the auditor's command on a network whose rounds are over |

mod announced;
mod audit;
mod client;
mod disk;
pub mod hazards;
mod ledger;
mod maker;
mod patience;
mod person;
pub mod plan;
mod relayer;
mod storm;
mod thief;
mod verdict;
pub mod weights;
mod world;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use serde::Serialize;
use tokio::sync::Mutex;

use self::plan::{RUNS_PER_ROUND, RoundPlan};
use self::weights::Weights;
use self::world::World;

/// After this many rounds the network is audited and a new one starts, which keeps histories short.
const ROUNDS_PER_WORLD: usize = 12;

/// The phases of a round.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Phase {
    /// All planned faults happen.
    Storm,
    /// The wire is good again, but nodes still lie. Every client asks once more.
    Dusk,
    /// Nothing goes wrong any more, and every payment must reach an end.
    Calm,
}

/// The result of all runs.
#[derive(Debug, Default, Serialize)]
pub struct Report {
    pub runs: u64,
    /// Payments on the chain beyond the one that a key allows.
    pub duplicates: u64,
    /// Answered as settled but not on the chain, on the chain but never answered as settled, or never answered.
    pub lost: u64,
    /// Accounts on the chain beyond the one that a key makes.
    pub second_accounts: u64,
    /// Any other difference between an answer, the ledger and the chain, events without a delivery, and what another operator got.
    pub mismatches: u64,
    /// What went wrong, with the round to replay.
    #[serde(skip)]
    pub failures: Vec<String>,
    /// How often each thing happened: crash points, kills, hazards, network outcomes.
    #[serde(skip)]
    pub met: BTreeMap<String, u64>,
}

impl Report {
    /// True when nothing went wrong.
    pub fn is_clean(&self) -> bool {
        self.duplicates + self.lost + self.second_accounts + self.mismatches == 0 && self.failures.is_empty()
    }

    fn takes_in(&mut self, other: Report) {
        self.runs += other.runs;
        self.duplicates += other.duplicates;
        self.lost += other.lost;
        self.second_accounts += other.second_accounts;
        self.mismatches += other.mismatches;
        self.failures.extend(other.failures);
        for (what, count) in other.met {
            *self.met.entry(what).or_default() += count;
        }
    }
}

/// What to run.
#[derive(Debug, Clone, Copy)]
pub struct Options {
    pub runs: u64,
    pub seed: u64,
    /// Run only this round: the replay of a failure.
    pub round: Option<u64>,
    /// How many worlds run in parallel.
    pub jobs: u64,
    pub weights: Weights,
}

/// Executes the runs, and calls `progress` after each round.
pub async fn run(options: Options, progress: impl Fn(&RoundPlan, &Report) + Send + Sync + 'static) -> Report {
    let rounds: Vec<u64> = match options.round {
        Some(round) => vec![round],
        None => (0..options.runs.div_ceil(RUNS_PER_ROUND)).collect(),
    };
    let (next, total) = (AtomicU64::new(0), Mutex::new(Report::default()));
    let shared = Arc::new((rounds, next, total, progress));
    let jobs = options.jobs.clamp(1, shared.0.len() as u64);
    let workers = (0..jobs).map(|_| {
        let shared = Arc::clone(&shared);
        tokio::spawn(async move {
            let (rounds, next, total, progress) = &*shared;
            let mut world: Option<(World, Vec<u64>)> = None;
            while let Some(round) = rounds.get(next.fetch_add(1, Ordering::SeqCst) as usize) {
                let left = options.runs - (round * RUNS_PER_ROUND).min(options.runs);
                let runs = if options.round.is_some() { RUNS_PER_ROUND } else { left.min(RUNS_PER_ROUND) };
                let plan = RoundPlan::of(options.seed, *round, runs, options.weights);
                let (here, mut played) = match world.take() {
                    Some(world) => world,
                    None => (World::new().await, Vec::new()),
                };
                let report = here.plays(&plan).await;
                progress(&plan, &report);
                total.lock().await.takes_in(report);
                played.push(*round);
                if played.len() < ROUNDS_PER_WORLD {
                    world = Some((here, played));
                } else {
                    total.lock().await.takes_in(here.is_audited(&played).await);
                }
            }
            if let Some((here, played)) = world {
                total.lock().await.takes_in(here.is_audited(&played).await);
            }
        })
    });
    let started = Instant::now();
    for worker in workers.collect::<Vec<_>>() {
        if let Err(error) = worker.await {
            let failure = format!("the harness itself failed after {:?}: {error}", started.elapsed());
            shared.2.lock().await.failures.push(failure);
        }
    }
    std::mem::take(&mut *shared.2.lock().await)
}
