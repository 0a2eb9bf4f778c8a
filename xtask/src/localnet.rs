//! The embedded network: built from its own workspace, used as a process.

use std::path::PathBuf;
use std::process::Command;

use anyhow::Result;

use crate::build::build;
use crate::workspace::{Workspace, command};

/// A separate target directory, because of the separate lock file: the two workspaces share no artifacts.
pub fn target_dir(workspace: &Workspace) -> PathBuf {
    workspace.target.join("localnet")
}

pub fn binary(workspace: &Workspace) -> PathBuf {
    target_dir(workspace).join("release/purser-localnet")
}

/// `cargo SUBCOMMAND` in the localnet workspace.
pub fn cargo(workspace: &Workspace, subcommand: &str) -> Command {
    let mut cargo = command("cargo");
    cargo.arg(subcommand).current_dir(workspace.root.join("localnet"));
    cargo.env("CARGO_TARGET_DIR", target_dir(workspace));
    if subcommand != "fmt" {
        // Its lock holds the one combination of crates known to build; never let it move by accident.
        cargo.arg("--locked");
    }
    cargo
}

/// On two cores.
pub const FROM_NOTHING: &str = "about 16 minutes";

/// Makes a release build, because the network's run loop bounds throughput.
pub fn ensure_built(workspace: &Workspace) -> Result<()> {
    build("the embedded network", FROM_NOTHING, cargo(workspace, "build").arg("--release")).map(drop)
}
