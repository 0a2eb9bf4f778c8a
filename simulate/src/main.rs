//! Runs the payment engine in simulated worlds, one for each seed, and judges each by its true chain.

mod caller;
mod chain;
mod database;
mod ledger;
mod names;
mod node;
mod relayer;
mod rng;
mod run;
mod tasks;
mod world;

use std::collections::BTreeMap;
use std::io::Write;
use std::process::ExitCode;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use clap::Parser;
use parking_lot::Mutex;

/// The payment engine in simulated worlds
#[derive(Parser)]
struct Args {
    /// How many worlds
    #[arg(long, default_value_t = 10_000)]
    seeds: u64,
    /// The first seed
    #[arg(long, default_value_t = 1)]
    from: u64,
    /// Only this seed, with everything that happens in it
    #[arg(long)]
    seed: Option<u64>,
    /// Worlds side by side
    #[arg(long, default_value_t = 2)]
    jobs: u64,
    /// End at the first seed that fails
    #[arg(long)]
    first: bool,
}

/// How many failing seeds are named.
const NAMED_MAX: usize = 5;

fn main() -> ExitCode {
    let args = Args::parse();
    if let Some(seed) = args.seed {
        return show(seed);
    }
    let begun = Instant::now();
    let (next, payments, run) = (AtomicU64::new(args.from), AtomicU64::new(0), AtomicU64::new(0));
    let met = Mutex::new(BTreeMap::<&str, u64>::new());
    let until = args.from.saturating_add(args.seeds);
    let failed: Vec<(u64, String)> = std::thread::scope(|scope| {
        let work = || {
            let mut failed = Vec::new();
            loop {
                let seed = next.fetch_add(1, Ordering::Relaxed);
                if seed >= until {
                    return failed;
                }
                let verdict = run::run(seed, false);
                run.fetch_add(1, Ordering::Relaxed);
                payments.fetch_add(verdict.payments as u64, Ordering::Relaxed);
                verdict.met.iter().for_each(|name| *met.lock().entry(name).or_default() += 1);
                if let Some(fault) = verdict.faults.into_iter().next() {
                    failed.push((seed, fault));
                    if args.first {
                        next.store(until, Ordering::Relaxed);
                    }
                }
            }
        };
        let threads: Vec<_> = (0..args.jobs.max(1)).map(|_| scope.spawn(work)).collect();
        threads.into_iter().flat_map(|thread| thread.join().unwrap_or_default()).collect()
    });
    let mut failed = failed;
    failed.sort();
    for (seed, fault) in failed.iter().take(NAMED_MAX) {
        println!("seed {seed}: {fault}");
    }
    for (name, worlds) in met.into_inner() {
        println!("{worlds} worlds: {name}");
    }
    println!(
        "{} seeds, {} payments, {} failed, {:.1} s",
        run.load(Ordering::Relaxed),
        payments.load(Ordering::Relaxed),
        failed.len(),
        begun.elapsed().as_secs_f64()
    );
    if failed.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn show(seed: u64) -> ExitCode {
    let verdict = run::run(seed, true);
    let closing = format!("seed {seed}: {} payments, {} faults", verdict.payments, verdict.faults.len());
    let lines = verdict.trace.iter().chain(&verdict.faults).chain([&closing]);
    let text: String = lines.flat_map(|line| [line.as_str(), "\n"]).collect();
    // Whoever reads it may have seen enough.
    let _ = std::io::stdout().write_all(text.as_bytes());
    if verdict.faults.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
