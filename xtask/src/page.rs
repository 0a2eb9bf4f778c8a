//! `cargo xtask page`: builds the audit of a browser tab, and checks that the committed build matches the source.

use std::fs;
use std::path::Path;
use std::process::Stdio;

use anyhow::Result;

use crate::committed::Committed;
use crate::workspace::{Workspace, command, run as run_command};

#[derive(clap::Args)]
pub struct Args {
    /// Rebuild aside and compare with the committed build instead of replacing it
    #[arg(long)]
    check: bool,
}

pub fn run(workspace: &Workspace, args: &Args) -> Result<()> {
    let folder = workspace.root.join("audit/page/built");
    let committed = Committed { folder, name: "purser_page.wasm", command: "cargo xtask page" };
    if args.check {
        return committed.check(&workspace.target.join("page-check"), |aside| build(workspace, aside)).map(drop);
    }
    build(workspace, &committed.folder)
}

fn build(workspace: &Workspace, out_dir: &Path) -> Result<()> {
    fs::create_dir_all(out_dir)?;
    let mut script = command(workspace.root.join("audit/page/build.sh"));
    script.arg(out_dir);
    eprintln!("Building the audit to WebAssembly (some minutes)");
    run_command(script.stdout(Stdio::from(std::io::stderr())))
}
