//! `cargo xtask simulate`: the payment engine in simulated worlds, each drawn from a seed and judged by its true chain; and mistakes of
//! the payment engine that this must catch.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Instant;

use anyhow::{Context, Result, bail, ensure};

use crate::mutants::{apply, copy_tree, patches};
use crate::workspace::{Workspace, command, run as run_command};

#[derive(clap::Args)]
pub struct Args {
    /// How many worlds
    #[arg(long, default_value_t = 100_000)]
    seeds: u64,
    /// The first seed
    #[arg(long, default_value_t = 1)]
    from: u64,
    /// Only this world, with everything that happens in it
    #[arg(long)]
    seed: Option<u64>,
    /// Worlds side by side
    #[arg(long, default_value_t = 2)]
    jobs: u64,
    /// Put each known mistake into the payment engine and count by how many seeds it is caught
    #[arg(long)]
    mutants: bool,
    /// The mutants whose names have this in them
    #[arg(long, conflicts_with = "mutants")]
    mutant: Option<String>,
}

pub fn run(workspace: &Workspace, args: &Args) -> Result<()> {
    if args.mutants || args.mutant.is_some() {
        return mutants(workspace, args);
    }
    let mut simulation = simulator(&built(&workspace.root, &workspace.target)?, args);
    if let Some(seed) = args.seed {
        simulation.args(["--seed", &seed.to_string()]);
    }
    run_command(&mut simulation)
}

fn simulator(program: &Path, args: &Args) -> Command {
    let mut simulation = command(program);
    simulation.args(["--seeds", &args.seeds.to_string(), "--from", &args.from.to_string()]);
    simulation.args(["--jobs", &args.jobs.to_string()]);
    simulation
}

/// Builds the simulator of the tree at `root`, always as a release: it walks through thousands of worlds.
fn built(root: &Path, target: &Path) -> Result<PathBuf> {
    let mut cargo = command("cargo");
    cargo.current_dir(root).env("CARGO_TARGET_DIR", target);
    cargo.args(["build", "--quiet", "--release", "--package", "purser-simulate"]);
    run_command(&mut cargo).context("the simulator does not build")?;
    Ok(target.join("release/purser-simulate"))
}

fn mutants(workspace: &Workspace, args: &Args) -> Result<()> {
    let folder = workspace.root.join("simulate/mutants");
    let patches = patches(&folder, args.mutant.as_deref().unwrap_or(""))?;
    ensure!(!patches.is_empty(), "no mutant has such a name");
    let tree = workspace.target.join("simulate-mutants/tree");
    copy_tree(workspace, &tree)?;
    let begun = Instant::now();
    let mut survivors = Vec::new();
    for patch in &patches {
        let name = patch.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        apply(&tree, patch, &[])?;
        let failed = failed_seeds(&tree, args);
        apply(&tree, patch, &["--reverse"])?;
        let failed = failed?;
        println!("{name:40} caught by {failed:>6} of {} seeds", args.seeds);
        if failed == 0 {
            survivors.push(name);
        }
    }
    println!("{} of {} mutants caught", patches.len() - survivors.len(), patches.len());
    eprintln!("simulate: {} s, much of it builds", begun.elapsed().as_secs());
    if !survivors.is_empty() {
        bail!("not caught: {}", survivors.join(", "));
    }
    Ok(())
}

fn failed_seeds(tree: &Path, args: &Args) -> Result<u64> {
    let program = built(tree, &tree.with_file_name("target"))?;
    let output =
        simulator(&program, args).stderr(Stdio::null()).output().context("cannot start the simulator")?;
    let text = String::from_utf8_lossy(&output.stdout);
    // "N seeds, N payments, N failed, N s"
    let failed = text.lines().last().and_then(|line| line.split(", ").nth(2));
    let failed = failed.and_then(|part| part.strip_suffix(" failed")).and_then(|count| count.parse().ok());
    failed.context("the simulator gave no figures")
}
