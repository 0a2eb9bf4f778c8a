//! `cargo dev`: builds, then does what `purser dev` does.

use anyhow::Result;
use purser_dev::Programs;

use crate::localnet;
use crate::workspace::Workspace;

// The group would have the name of the flattened one's.
#[derive(clap::Args)]
#[group(skip)]
pub struct Args {
    #[command(flatten)]
    dev: purser_dev::Args,
    /// Print one JSON object
    #[arg(long, global = true)]
    json: bool,
}

pub fn run(workspace: &Workspace, args: &Args) -> Result<()> {
    // A relative --dir starts at the repository, wherever in it `cargo dev` is typed.
    std::env::set_current_dir(&workspace.root)?;
    purser_dev::run(&args.dev, args.json, || {
        localnet::ensure_built(workspace)?;
        workspace.build_relayer()?;
        Ok(Programs {
            purser: workspace.relayer(),
            localnet: localnet::binary(workspace),
            program_so: workspace.program_so(),
        })
    })
}
