//! `cargo xtask bench`: a release build of the relayer under load, about 10 minutes to compile the first time; of the audit alone
//! about 5.

use std::fs;
use std::path::PathBuf;

use anyhow::{Context, Result};

use crate::build::build;
use crate::localnet;
use crate::workspace::{Workspace, command, run as run_to_end};

#[derive(clap::Subcommand)]
pub enum Bench {
    /// Latency and throughput of transfers: a tight loop, the stock client, the relayer, the relayer's own ceiling
    Transfers(Args),
    /// Webhooks: from a settlement to the first attempt, deliveries a second, and the same with half of the endpoints hanging
    Webhooks(Args),
    /// Deposits to 10,000 accounts: from the moment they count until they are shown, and what is asked of the node for it
    Deposits(Args),
    /// Every list and every page of the dashboard at 1,000,000 rows, and a start with them
    Pages(Args),
    /// `purser audit` of 10,000 payments, read from a node, again where nothing is new, and from what it saved
    Audit(Args),
}

#[derive(clap::Args)]
pub struct Args {
    /// Handed to the load: --clients loop,stock,purser,purser_ceiling, --in-flight 1,8,64, --transfers N,
    /// --ceiling-transfers N, --seconds S, --accounts N, --relayers 1,2,4, --database URL, --commitment confirmed|finalized, or --endpoints N, --transfers N,
    /// --in-flight N, --events N; or --accounts N, --per-second N, --seconds S, --phases NAMES, --answers-after-ms MS,
    /// --commitment confirmed|finalized; or --rows N, --accounts N, --operators N, --asks N,
    /// --database URL; or --payments N, --accounts N, --in-flight N,
    /// --answers-after-ms MS;
    /// --json, --help
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    load: Vec<String>,
}

pub fn run(workspace: &Workspace, bench: &Bench) -> Result<()> {
    let (binary, args) = match bench {
        Bench::Transfers(args) => ("bench_transfers", args),
        Bench::Webhooks(args) => ("bench_webhooks", args),
        Bench::Deposits(args) => ("bench_deposits", args),
        Bench::Pages(args) => ("bench_pages", args),
        Bench::Audit(args) => ("bench_audit", args),
    };
    localnet::ensure_built(workspace)?;
    let ([relayer, load], audit) = match bench {
        Bench::Audit(_) => (built_for_tests(workspace, binary)?, Some(built_audit(workspace)?)),
        Bench::Transfers(_) | Bench::Webhooks(_) | Bench::Deposits(_) | Bench::Pages(_) => {
            (built(workspace, binary)?, None)
        }
    };
    let mut load = command(load);
    load.envs(audit.map(|audit| ("PURSER_AUDIT_BIN", audit)));
    load.args(&args.load);
    load.env("PURSER_BIN", relayer);
    load.env("PURSER_LOCALNET_BIN", localnet::binary(workspace));
    load.env("PURSER_PROGRAM_SO", workspace.program_so());
    run_to_end(&mut load)
}

/// Builds the relayer and its load, which runs on the same cores. One build for both: separate ones would need other features
/// of shared crates, and every run would compile both again.
fn built(workspace: &Workspace, load: &str) -> Result<[PathBuf; 2]> {
    let mut cargo = workspace.cargo("build");
    cargo.args(["--release", "--package", "purser-main", "--package", "purser-tests"]);
    cargo.args(["--features", "purser-main/jemalloc"]);
    cargo.args(["--bin", "purser", "--bin", load]);
    build("the relayer and its load, optimised", "about 10 minutes", &mut cargo)?;
    Ok([kept(workspace, "purser")?, kept(workspace, load)?])
}

/// Builds the relayer and its load like the tests, from the crates that these have compiled already: for what is not measured.
fn built_for_tests(workspace: &Workspace, load: &str) -> Result<[PathBuf; 2]> {
    let mut cargo = workspace.cargo("build");
    cargo.args([
        "--workspace",
        "--features",
        "purser-relayer/fault-injection",
        "--bin",
        "purser",
        "--bin",
        load,
    ]);
    build("the relayer and its load", "about 9 minutes", &mut cargo)?;
    Ok(["purser", load].map(|binary| workspace.target.join("debug").join(binary)))
}

/// Builds the audit alone, optimised: some 380 crates, where the relayer with its load takes 660.
fn built_audit(workspace: &Workspace) -> Result<PathBuf> {
    let mut cargo = workspace.cargo("build");
    cargo.args(["--release", "--package", "purser-audit", "--bin", "audit_alone"]);
    build("the audit, optimised", "about 5 minutes", &mut cargo)?;
    kept(workspace, "audit_alone")
}

/// A binary in a folder of its own, where no other build replaces it.
fn kept(workspace: &Workspace, binary: &str) -> Result<PathBuf> {
    let folder = workspace.target.join("bench");
    fs::create_dir_all(&folder)?;
    let (from, to) = (workspace.target.join("release").join(binary), folder.join(binary));
    // Do not overwrite a running one.
    if to.exists() {
        fs::remove_file(&to)?;
    }
    fs::copy(&from, &to).with_context(|| format!("cannot copy {}", from.display()))?;
    Ok(to)
}
