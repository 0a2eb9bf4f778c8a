//! `cargo xtask sbf`: builds the on-chain program, and checks that the committed build matches the source.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result, ensure};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::parts::linted;
use crate::workspace::{Workspace, command, run as run_command};

#[derive(clap::Args)]
pub struct Args {
    /// Rebuild aside and compare with the committed build instead of replacing it
    #[arg(long)]
    check: bool,
    /// Print the build record as JSON
    #[arg(long)]
    json: bool,
}

/// What `sbf/build.sh` records next to the shared object.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
struct BuildRecord {
    /// Of the shared object, lower-case hex.
    sha256: String,
    rustc: String,
    llvm: String,
    linker: String,
    target: String,
}

impl BuildRecord {
    fn read(directory: &Path) -> Result<Self> {
        let path = directory.join("purser.so.json");
        let text = fs::read_to_string(&path).with_context(|| format!("cannot read {}", path.display()))?;
        serde_json::from_str(&text).with_context(|| format!("{} is not a build record", path.display()))
    }

    fn tools(&self) -> [&str; 4] {
        [&self.rustc, &self.llvm, &self.linker, &self.target]
    }
}

pub fn run(workspace: &Workspace, args: &Args) -> Result<()> {
    let committed_dir = workspace.program_dir().join("idl");
    let record = if args.check {
        check(workspace, &committed_dir)?
    } else {
        build(workspace, &committed_dir)?;
        BuildRecord::read(&committed_dir)?
    };
    if args.json {
        println!("{}", serde_json::to_string_pretty(&record)?);
    }
    Ok(())
}

fn check(workspace: &Workspace, committed_dir: &Path) -> Result<BuildRecord> {
    let committed = BuildRecord::read(committed_dir)?;
    ensure!(
        sha256_of(&committed_dir.join("purser.so"))? == committed.sha256,
        "programs/purser/idl/purser.so is not the file that purser.so.json describes; run `cargo xtask sbf`"
    );
    let fresh_dir = workspace.target.join("sbf-check");
    build(workspace, &fresh_dir)?;
    let fresh = BuildRecord::read(&fresh_dir)?;
    if fresh.sha256 == committed.sha256 {
        eprintln!("sbf: the committed build is what the source gives ({})", fresh.sha256);
    } else if fresh.tools() == committed.tools() {
        anyhow::bail!(
            "the same tools give other bytes: committed {}, rebuilt {}. The committed build is stale; run `cargo xtask sbf`",
            committed.sha256,
            fresh.sha256
        );
    } else {
        eprintln!(
            "sbf: other tools than those of the committed build, so other bytes; testing the fresh build"
        );
        eprintln!("     committed with {}", committed.tools().join(", "));
        eprintln!("     rebuilt with   {}", fresh.tools().join(", "));
        let mut tests = workspace.program_tests_cargo("test");
        tests.env("PURSER_PROGRAM_SO", fresh_dir.join("purser.so"));
        run_command(linted(&mut tests)).context("the program tests fail on the fresh build")?;
    }
    Ok(fresh)
}

fn build(workspace: &Workspace, out_dir: &Path) -> Result<()> {
    fs::create_dir_all(out_dir)?;
    let mut script = command(workspace.root.join("sbf/build.sh"));
    script.arg(workspace.program_dir()).arg(out_dir);
    eprintln!("Building the program to sBPF (about a minute; 10 where its tools are not installed yet)");
    // Its closing line is for people; stdout is reserved for the record.
    run_command(script.stdout(std::process::Stdio::from(std::io::stderr())))
}

fn sha256_of(path: &Path) -> Result<String> {
    let bytes = fs::read(path).with_context(|| format!("cannot read {}", path.display()))?;
    Ok(Sha256::digest(&bytes).iter().map(|byte| format!("{byte:02x}")).collect())
}
