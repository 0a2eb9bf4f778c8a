//! `cargo xtask crash`: crashes, faults and retries by seed.

use std::process::ExitCode;

use clap::Parser;
use purser_tests::crash::plan::{ACCOUNT_POINTS, APPROVAL_POINTS, CRASH_POINTS};
use purser_tests::crash::weights::Weights;
use purser_tests::crash::{self, Options};

/// Lets the relayer die at every step while the network and the clients misbehave, and checks by the chain that every
/// idempotency key was paid at most once and answered truthfully
#[derive(Parser)]
#[command(name = "crash")]
struct Arguments {
    /// How many idempotency keys
    #[arg(long, default_value_t = 288)]
    runs: u64,
    /// Everything that happens follows from it
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Only this round: the replay of a failure
    #[arg(long)]
    round: Option<u64>,
    /// Networks side by side
    #[arg(long, default_value_t = 2)]
    jobs: u64,
    /// Percent of rounds with a hazard, as `clock=100,history=0`: clock, history, restore, disk, rotation,
    /// skew, height, deaf, landings, fork, copy, people, reuse, away. `none` is none
    #[arg(long, default_value = "")]
    hazards: Weights,
    /// Print one line of JSON on stdout, and everything else on stderr
    #[arg(long)]
    json: bool,
}

#[tokio::main]
async fn main() -> ExitCode {
    let Arguments { runs, seed, round, jobs, hazards, json } = Arguments::parse();
    let report = crash::run(Options { runs, seed, round, jobs, weights: hazards }, |plan, report| {
        let verdict = if report.is_clean() { "clean" } else { "NOT CLEAN" };
        eprintln!("round {} ({}): {} runs, {verdict}", plan.index, plan.title(), report.runs);
        for failure in &report.failures {
            eprintln!("  {failure}");
        }
    })
    .await;
    for failure in report.failures.iter().filter(|failure| failure.starts_with("the audit")) {
        eprintln!("{failure}");
    }
    for (what, count) in &report.met {
        eprintln!("{count:>8}  {what}");
    }
    for point in CRASH_POINTS.iter().chain(&APPROVAL_POINTS).chain(&ACCOUNT_POINTS) {
        if !report.met.contains_key(&format!("crash point {point}")) {
            eprintln!("       -  crash point {point}");
        }
    }
    if json {
        println!("{}", serde_json::to_string(&report).expect("a report is JSON"));
    } else {
        let crash::Report { runs, duplicates, lost, second_accounts, mismatches, .. } = report;
        println!(
            "{runs} runs, {duplicates} duplicates, {lost} lost, {second_accounts} second accounts, {mismatches} mismatches"
        );
    }
    if report.is_clean() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
