//! `cargo xtask crash`: the relayer dies at every step while the network and the clients misbehave; the chain is checked.

use anyhow::Result;

use crate::localnet;
use crate::workspace::{Workspace, run as run_command};

#[derive(clap::Args)]
pub struct Args {
    /// How many idempotency keys, each under one fault; 10000 is the long mode
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
    /// Print {"runs","duplicates","lost","mismatches"} on stdout, and everything else on stderr
    #[arg(long)]
    json: bool,
}

pub fn run(workspace: &Workspace, args: &Args) -> Result<()> {
    localnet::ensure_built(workspace)?;
    workspace.build_fault_injection()?;
    let mut crash = workspace.cargo("run");
    crash.args(["--quiet", "--package", "purser-tests", "--bin", "crash", "--"]);
    crash.args(["--runs", &args.runs.to_string(), "--seed", &args.seed.to_string()]);
    crash.args(["--jobs", &args.jobs.to_string()]);
    if let Some(round) = args.round {
        crash.args(["--round", &round.to_string()]);
    }
    if args.json {
        crash.arg("--json");
    }
    crash.env("PURSER_LOCALNET_BIN", localnet::binary(workspace));
    // One build serves: without a crash point chosen it is the relayer as it ships.
    crash.env("PURSER_BIN", workspace.fault_injection());
    crash.env("PURSER_FAULT_INJECTION_BIN", workspace.fault_injection());
    run_command(&mut crash)
}
