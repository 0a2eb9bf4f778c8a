//! `cargo xtask check`: everything that can be said of the tree without running it.

use anyhow::Result;

use crate::workspace::{Workspace, command, run as run_command};
use crate::{idl, imports, localnet};

pub fn run(workspace: &Workspace) -> Result<()> {
    step("formatting");
    run_command(workspace.cargo("fmt").args(["--all", "--check"]))?;
    run_command(workspace.program_tests_cargo("fmt").arg("--check"))?;
    run_command(localnet::cargo(workspace, "fmt").arg("--check"))?;

    step("direction of imports");
    imports::check(&workspace.root.join("relayer/src"))?;

    step("lints");
    let deny_warnings = ["--all-targets", "--quiet", "--", "--deny", "warnings"];
    let features = ["--workspace", "--features", "purser-relayer/fault-injection"];
    run_command(workspace.cargo("clippy").args(features).args(deny_warnings))?;
    run_command(workspace.program_tests_cargo("clippy").args(deny_warnings))?;
    run_command(localnet::cargo(workspace, "clippy").arg("--release").args(deny_warnings))?;

    step("IDL");
    idl::check(workspace)?;

    let deny_installed =
        command("cargo").args(["deny", "--version"]).output().is_ok_and(|it| it.status.success());
    if deny_installed {
        step("dependencies");
        // Advisories are left out: they need a download that a closed network does not allow.
        run_command(workspace.cargo("deny").args(["check", "bans", "licenses", "sources"]))?;
    } else {
        step("dependencies: skipped, cargo-deny is not installed");
    }
    Ok(())
}

fn step(name: &str) {
    eprintln!("check: {name}");
}
