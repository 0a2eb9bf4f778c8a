//! Exactly once, whatever fails: the real relayer on the real program dies, is lied to and is asked again, and an
//! independent reading of the chain says what came of it.
//!
//! One run is one idempotency key under one fault. Runs share a round: a start of one relayer or two, their deaths, and
//! the wire's weather. Rounds share a world: a network with accounts on it. Everything follows from the seed, except how
//! the operating system and the network interleave it: a replay meets the same faults, not the same microseconds.
//!
//! | Room | What it is for |
//! |---|---|
//! | [`plan`] | what is to happen, from the seed |
//! | [`hazards`] | the rarer things, from the seed too: lying nodes, restored databases, full disks, other keys |
//! | `world` | a network, two nodes before it, an operator, accounts, and a database as it was before any transfer |
//! | `storm` | what carries the hazards out |
//! | `disk` | a file system that can be filled up |
//! | `relayer` | a relayer that dies as planned and is started again |
//! | `client` | what a client does until it has its answer |
//! | `ledger` | what the chain says, read and decoded by nothing of the relayer's |
//! | `verdict` | what must hold |

mod client;
mod disk;
pub mod hazards;
mod ledger;
pub mod plan;
mod relayer;
mod storm;
mod verdict;
mod world;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use serde::Serialize;
use tokio::sync::Mutex;

use self::hazards::Weights;
use self::plan::{RUNS_PER_ROUND, RoundPlan};
use self::world::World;

/// After so many rounds on one network a new one is begun: histories stay short.
const ROUNDS_PER_WORLD: u64 = 12;

/// How far a round is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Phase {
    /// Everything goes wrong that is planned.
    Storm,
    /// The wire is good again, nodes still lie. Everybody asks once more.
    Dusk,
    /// Nothing goes wrong any more, and all must come to an end.
    Calm,
}

/// What came of all runs.
#[derive(Debug, Default, Serialize)]
pub struct Report {
    pub runs: u64,
    /// Payments on the chain beyond the one that a key stands for.
    pub duplicates: u64,
    /// Answered as settled and not on the chain, on the chain and never answered as settled, or never answered.
    pub lost: u64,
    /// Everything else in which an answer, the ledger and the chain differ.
    pub mismatches: u64,
    /// What was wrong, with the round to replay.
    #[serde(skip)]
    pub failures: Vec<String>,
    /// How often what was met: crash points, kills, hazards, network outcomes.
    #[serde(skip)]
    pub met: BTreeMap<String, u64>,
}

impl Report {
    /// Nothing was wrong.
    pub fn is_clean(&self) -> bool {
        self.duplicates + self.lost + self.mismatches == 0 && self.failures.is_empty()
    }

    fn takes_in(&mut self, other: Report) {
        self.runs += other.runs;
        self.duplicates += other.duplicates;
        self.lost += other.lost;
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
    /// Only this round: the replay of a failure.
    pub round: Option<u64>,
    /// Worlds side by side.
    pub jobs: u64,
    pub weights: Weights,
}

/// Carries out the runs; `progress` hears of each round.
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
            let mut world: Option<(World, u64)> = None;
            while let Some(round) = rounds.get(next.fetch_add(1, Ordering::SeqCst) as usize) {
                let left = options.runs - (round * RUNS_PER_ROUND).min(options.runs);
                let runs = if options.round.is_some() { RUNS_PER_ROUND } else { left.min(RUNS_PER_ROUND) };
                let plan = RoundPlan::of(options.seed, *round, runs, options.weights);
                let (here, used) = match world.take() {
                    Some((here, used)) if used < ROUNDS_PER_WORLD => (here, used + 1),
                    _ => (World::new().await, 1),
                };
                let report = here.plays(&plan).await;
                progress(&plan, &report);
                total.lock().await.takes_in(report);
                world = Some((here, used));
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
