//! `cargo xtask cu`: the cost of every instruction, measured on the virtual machine of the program's tests.

use anyhow::Result;

use crate::parts::program_example;
use crate::workspace::{Workspace, command, run as run_command};

#[derive(clap::Args)]
pub struct Args {
    /// Print one JSON array of rows instead of a table
    #[arg(long)]
    json: bool,
}

pub fn run(workspace: &Workspace, args: &Args) -> Result<()> {
    let mut cu = command(program_example(workspace, "cu")?);
    cu.arg("--program-so").arg(workspace.program_so());
    if args.json {
        cu.arg("--json");
    }
    run_command(&mut cu)
}
