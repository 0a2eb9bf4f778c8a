//! `cargo xtask fuzz`: runs the built program against an oracle written from its documentation, and proves that the fuzzer
//! works: it must catch each of a set of small mistakes in the program's source.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Instant;

use anyhow::{Context, Result, bail, ensure};

use crate::mutants::{apply, copy_tree, patches};
use crate::parts::program_example;
use crate::workspace::{Workspace, command, run as run_command};

#[derive(clap::Args)]
pub struct Args {
    /// How many transactions; every test run takes 200,000
    #[arg(long, default_value_t = 200_000)]
    transactions: u64,
    /// Everything that happens follows from it
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Only this world: the replay of a divergence
    #[arg(long)]
    world: Option<u64>,
    /// Worlds side by side
    #[arg(long, default_value_t = 2)]
    jobs: u64,
    /// Another build of the program than the committed one
    #[arg(long)]
    program: Option<PathBuf>,
    /// Print the closing figures as JSON
    #[arg(long)]
    json: bool,
    /// Build every mutant of the program and see that it is caught; takes half a minute for each
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
    let mut fuzz = fuzzer(&program_example(workspace, "fuzz")?, args);
    if let Some(world) = args.world {
        fuzz.args(["--world", &world.to_string()]);
    }
    if let Some(program) = &args.program {
        fuzz.arg("--program").arg(program.canonicalize().with_context(|| program.display().to_string())?);
    }
    run_command(&mut fuzz)
}

fn fuzzer(program: &Path, args: &Args) -> Command {
    let mut fuzz = command(program);
    fuzz.args(["--transactions", &args.transactions.to_string(), "--seed", &args.seed.to_string()]);
    fuzz.args(["--jobs", &args.jobs.to_string()]);
    if args.json {
        fuzz.arg("--json");
    }
    fuzz
}

fn mutants(workspace: &Workspace, args: &Args) -> Result<()> {
    let folder = workspace.program_dir().join("tests/fuzz/mutants");
    let patches = patches(&folder, args.mutant.as_deref().unwrap_or(""))?;
    ensure!(!patches.is_empty(), "no mutant has such a name");
    let tree = workspace.target.join("fuzz-mutants/tree");
    copy_tree(workspace, &tree)?;
    let fuzzes = program_example(workspace, "fuzz")?;
    let begun = Instant::now();
    let mut survivors = Vec::new();
    for patch in &patches {
        let name = patch.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        let caught = apply(&tree, patch, &[]).and_then(|()| caught_after(&fuzzes, args, &tree))?;
        apply(&tree, patch, &["--reverse"])?;
        match caught {
            Some(transactions) => println!("{name:40} caught after {transactions:>7} transactions"),
            None => {
                println!("{name:40} not caught in {} transactions", args.transactions);
                survivors.push(name);
            }
        }
    }
    println!("{} of {} mutants caught", patches.len() - survivors.len(), patches.len());
    eprintln!("fuzz: {} s, most of it builds", begun.elapsed().as_secs());
    if !survivors.is_empty() {
        bail!("not caught: {}", survivors.join(", "));
    }
    Ok(())
}

/// Builds the program in `tree` and fuzzes it. Returns after how many transactions it was caught, if it was.
fn caught_after(fuzzes: &Path, args: &Args, tree: &Path) -> Result<Option<u64>> {
    let out = tree.with_file_name("built");
    let mut build = command(tree.join("sbf/build.sh"));
    build.arg(tree.join("programs/purser")).arg(&out).stdout(Stdio::null()).stderr(Stdio::null());
    run_command(&mut build).context("the mutant does not compile")?;
    let mut fuzz = fuzzer(fuzzes, args);
    fuzz.args(["--json", "--no-shrink"]).arg("--program").arg(out.join("purser.so"));
    let output = fuzz.stderr(Stdio::null()).output().context("cannot start the fuzzer")?;
    let figures: serde_json::Value =
        serde_json::from_slice(&output.stdout).context("the fuzzer gave no figures")?;
    let caught = figures["divergences"].as_u64().context("no count of divergences")? > 0;
    Ok(caught.then(|| figures["transactions"].as_u64()).flatten())
}
