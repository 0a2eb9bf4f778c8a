//! `cargo xtask cu`: what every instruction costs, measured by the embedded network's own virtual machine.

use anyhow::Result;

use crate::localnet;
use crate::workspace::{Workspace, run as run_command};

#[derive(clap::Args)]
pub struct Args {
    /// Print one JSON array of rows instead of a table
    #[arg(long)]
    json: bool,
}

pub fn run(workspace: &Workspace, args: &Args) -> Result<()> {
    localnet::ensure_built(workspace)?;
    let mut cu = localnet::tool(workspace, "cu")?;
    cu.arg("--program-so").arg(workspace.program_so());
    if args.json {
        cu.arg("--json");
    }
    run_command(&mut cu)
}
