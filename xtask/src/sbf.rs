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
    /// With --check, where the tools of the committed build can no longer be had: test a build with newer ones, and say so, instead of failing
    #[arg(long, requires = "check")]
    or_newer: bool,
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

#[derive(PartialEq, Eq)]
enum Tools {
    Found,
    /// Nobody has the packages of `sbf/packages.sha256` any more.
    Gone,
}

/// What `sbf/build.sh` ends with where it may take the pinned packages alone, and cannot have them.
const STATUS_GONE: i32 = 3;
const NOT_CHECKED: &str = "NOT CHECKED that the committed build is what the source gives";

pub fn run(workspace: &Workspace, args: &Args) -> Result<()> {
    let committed_dir = workspace.program_dir().join("idl");
    let record = if args.check {
        check(workspace, &committed_dir, args.or_newer)?
    } else {
        build(workspace, &committed_dir, false)?;
        BuildRecord::read(&committed_dir)?
    };
    if args.json {
        println!("{}", serde_json::to_string_pretty(&record)?);
    }
    Ok(())
}

fn check(workspace: &Workspace, committed_dir: &Path, or_newer: bool) -> Result<BuildRecord> {
    let committed = BuildRecord::read(committed_dir)?;
    ensure!(
        sha256_of(&committed_dir.join("purser.so"))? == committed.sha256,
        "programs/purser/idl/purser.so is not the file that purser.so.json describes; run `cargo xtask sbf`"
    );
    let fresh_dir = workspace.target.join("sbf-check");
    let pinned = build(workspace, &fresh_dir, true)?;
    if pinned == Tools::Gone {
        ensure!(or_newer, "{NOT_CHECKED}: its tools can no longer be had (sbf/packages.sha256)");
        build(workspace, &fresh_dir, false)?;
    }
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
        let tools = format!(
            "committed with {}, built here with {}",
            committed.tools().join(", "),
            fresh.tools().join(", ")
        );
        ensure!(or_newer, "{NOT_CHECKED}: {tools}");
        eprintln!("sbf: {NOT_CHECKED}: {tools}. The new build is tested in its place");
        let mut tests = workspace.program_tests_cargo("test");
        tests.env("PURSER_PROGRAM_SO", fresh_dir.join("purser.so"));
        run_command(linted(&mut tests)).context("the program tests fail on the fresh build")?;
    }
    Ok(fresh)
}

fn build(workspace: &Workspace, out_dir: &Path, only_pinned: bool) -> Result<Tools> {
    fs::create_dir_all(out_dir)?;
    let mut script = command(workspace.root.join("sbf/build.sh"));
    script.arg(workspace.program_dir()).arg(out_dir);
    if only_pinned {
        script.env("SBF_PINNED", "1");
    }
    eprintln!("Building the program to sBPF (about a minute; 10 where its tools are not installed yet)");
    // Its closing line is for people; stdout is reserved for the record.
    let status = script.stdout(std::process::Stdio::from(std::io::stderr())).status();
    match status.context("cannot start sbf/build.sh")?.code() {
        Some(0) => Ok(Tools::Found),
        Some(STATUS_GONE) if only_pinned => Ok(Tools::Gone),
        _ => anyhow::bail!("sbf/build.sh failed"),
    }
}

fn sha256_of(path: &Path) -> Result<String> {
    let bytes = fs::read(path).with_context(|| format!("cannot read {}", path.display()))?;
    Ok(Sha256::digest(&bytes).iter().map(|byte| format!("{byte:02x}")).collect())
}
