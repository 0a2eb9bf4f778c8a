//! `cargo dev`: builds, then does what `purser dev` does.

use anyhow::Result;
use purser_dev::Programs;

use crate::build::build;
use crate::localnet;
use crate::workspace::Workspace;

/// Of both workspaces: it compiles fast. Tests build another, whose networks cost half as much at rest.
const PROFILE: &str = "quick";

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
        let quickly = ["--profile", PROFILE];
        let mut network = localnet::cargo(workspace, "build");
        build("the embedded network", "about 9 minutes on two cores", network.args(quickly))?;
        build("the relayer", "about 7 minutes", workspace.relayer_cargo().args(quickly))?;
        Ok(Programs {
            purser: workspace.target.join(PROFILE).join("purser"),
            localnet: localnet::target_dir(workspace).join(PROFILE).join("purser-localnet"),
            program_so: workspace.program_so(),
        })
    })
}
