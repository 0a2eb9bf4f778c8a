//! `cargo xtask bench`: what is measured, with everything built the same way.

use std::fs;
use std::path::PathBuf;

use anyhow::{Context, Result};

use crate::localnet;
use crate::workspace::{Workspace, build, command, run as run_to_end};

/// What dev builds of our own crates lack; what they depend on is optimised in them already.
const OPTIMISED: [&str; 4] = ["purser-relayer", "purser-policy", "purser", "purser-tests"];

#[derive(clap::Subcommand)]
pub enum Bench {
    /// Latency and throughput of transfers: a tight loop, the stock client, the relayer, the relayer's own ceiling
    Transfers(Args),
    /// Webhooks: from a settlement to the first attempt, deliveries a second, and the same with half of the endpoints hanging
    Webhooks(Args),
}

#[derive(clap::Args)]
pub struct Args {
    /// Measure a release build of the relayer (about 10 minutes to compile the first time) instead of a dev build with
    /// our own crates at opt-level 2
    #[arg(long)]
    release: bool,
    /// Handed to the load: --transfers N, --ceiling-transfers N, --seconds S, --in-flight 1,8,64,
    /// --commitment confirmed|finalized, or --endpoints N, --transfers N, --in-flight N, --events N; --json, --help
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    load: Vec<String>,
}

pub fn run(workspace: &Workspace, bench: &Bench) -> Result<()> {
    let (binary, args) = match bench {
        Bench::Transfers(args) => ("bench_transfers", args),
        Bench::Webhooks(args) => ("bench_webhooks", args),
    };
    localnet::ensure_built(workspace)?;
    let relayer = built(workspace, "purser-relayer", "purser", args.release)?;
    // The load itself is not what is measured: it needs no release build.
    let load = built(workspace, "purser-tests", binary, false)?;
    let mut load = command(load);
    load.args(&args.load);
    load.env("PURSER_BIN", relayer);
    load.env("PURSER_LOCALNET_BIN", localnet::binary(workspace));
    load.env("PURSER_PROGRAM_SO", workspace.program_so());
    run_to_end(&mut load)
}

/// A binary in a folder of its own, where no later build of another kind replaces it.
fn built(workspace: &Workspace, package: &str, binary: &str, release: bool) -> Result<PathBuf> {
    let mut cargo = workspace.cargo("build");
    cargo.args(["--package", package, "--bin", binary]);
    if release {
        cargo.arg("--release");
    } else {
        for name in OPTIMISED {
            cargo.arg("--config").arg(format!("profile.dev.package.{name}.opt-level=2"));
        }
    }
    build(binary, &mut cargo)?;
    let profile = if release { "release" } else { "debug" };
    let folder = workspace.target.join("bench");
    fs::create_dir_all(&folder)?;
    let (from, to) = (workspace.target.join(profile).join(binary), folder.join(binary));
    // Not over a running one.
    if to.exists() {
        fs::remove_file(&to)?;
    }
    fs::copy(&from, &to).with_context(|| format!("cannot copy {}", from.display()))?;
    Ok(to)
}
