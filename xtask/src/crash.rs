//! `cargo xtask crash`: the relayer dies at every step while the network and the clients misbehave; the chain is checked.

use std::path::Path;
use std::process::Command;

use anyhow::Result;

use crate::localnet;
use crate::workspace::{Workspace, command, run as run_command};

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
    /// Percent of rounds with a hazard, as `clock=100,history=0`: clock, history, restore, disk, rotation,
    /// skew, height, deaf, fork, copy, people, reuse, away. After `none`, only what is named
    #[arg(long)]
    hazards: Option<String>,
    /// Print {"runs","duplicates","lost","second_accounts","mismatches"} on stdout, and everything else on stderr
    #[arg(long)]
    json: bool,
}

pub fn run(workspace: &Workspace, args: &Args) -> Result<()> {
    localnet::ensure_built(workspace)?;
    workspace.build_crash_runs()?;
    let mut crash = in_a_mount_namespace(&workspace.target.join("debug/crash"));
    crash.current_dir(&workspace.root);
    crash.args(["--runs", &args.runs.to_string(), "--seed", &args.seed.to_string()]);
    crash.args(["--jobs", &args.jobs.to_string()]);
    if let Some(round) = args.round {
        crash.args(["--round", &round.to_string()]);
    }
    if let Some(hazards) = &args.hazards {
        crash.args(["--hazards", hazards]);
    }
    if args.json {
        crash.arg("--json");
    }
    crash.env("PURSER_LOCALNET_BIN", localnet::binary(workspace));
    // One build is enough: without a crash point it behaves like the shipped relayer.
    crash.env("PURSER_BIN", workspace.fault_injection());
    crash.env("PURSER_FAULT_INJECTION_BIN", workspace.fault_injection());
    run_command(&mut crash)
}

/// In a mount namespace, any user may mount the small file systems for the full-disk hazard, and they end with the process. If
/// the system does not allow it, disks do not fill up, and the report says so.
fn in_a_mount_namespace(program: &Path) -> Command {
    const UNSHARE: [&str; 2] = ["--map-root-user", "--mount"];
    let works =
        command("unshare").args(UNSHARE).arg("true").output().is_ok_and(|tried| tried.status.success());
    if !works {
        return command(program);
    }
    let mut unshare = command("unshare");
    unshare.args(UNSHARE).arg(program);
    unshare
}
